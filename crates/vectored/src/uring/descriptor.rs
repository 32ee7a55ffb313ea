//! The owners of the descriptors of transfers: [`Descriptor`], [`SharedDescriptor`].

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;

/// The owner of the descriptor of one transfer.
///
/// Any owner that can be sent to another thread converts into a `Descriptor`, for example a `File`, an `OwnedFd`, or an
/// `Arc` of an owner. A [`SharedDescriptor`] also converts into a `Descriptor`. So the functions of
/// [`Ring`](crate::uring::Ring) accept all of these types.
pub struct Descriptor(Owner);

enum Owner {
    None,
    One(Box<dyn AsFd + Send>),
    Shared(SharedDescriptor),
}

/// A descriptor for many transfers.
///
/// Each transfer calls lseek(2) to learn whether the descriptor takes offsets, and to learn the position. A shared
/// descriptor calls lseek(2) only once. The exception is a transfer at the position of a regular file or a block
/// device. Cloning a `SharedDescriptor` costs no allocation. Converting any other owner into a [`Descriptor`] costs an
/// allocation.
///
/// The descriptor must stay open on the same file, so dup2(2) must not replace the descriptor.
#[derive(Clone)]
pub struct SharedDescriptor(Arc<Shared<dyn AsFd + Send + Sync>>);

struct Shared<T: ?Sized> {
    kind: Kind,
    owner: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file or a block device. A transfer without an offset uses and moves the position.
    File,
    /// Any other descriptor that takes offsets, for example `/dev/null`.
    Device,
    Stream,
}

impl SharedDescriptor {
    /// Takes the owner of a descriptor, and calls lseek(2) to learn the kind of the descriptor.
    ///
    /// # Errors
    ///
    /// The errors of lseek(2) and fstat(2).
    pub fn new(owner: impl AsFd + Send + Sync + 'static) -> io::Result<SharedDescriptor> {
        let kind = kind(owner.as_fd())?;
        Ok(SharedDescriptor(Arc::new(Shared { kind, owner })))
    }
}

impl Descriptor {
    /// The transfer has not begun, or has ended and dropped the owner.
    pub(super) const NONE: Descriptor = Descriptor(Owner::None);

    /// Returns the descriptor and its kind. The kind of an unshared descriptor is `None`.
    pub(super) fn get(&self) -> (BorrowedFd<'_>, Option<Kind>) {
        match &self.0 {
            Owner::None => panic!("a transfer without a descriptor"),
            Owner::One(owner) => (owner.as_fd(), None),
            Owner::Shared(shared) => (shared.0.owner.as_fd(), Some(shared.0.kind)),
        }
    }
}

impl<T: AsFd + Send + 'static> From<T> for Descriptor {
    fn from(owner: T) -> Descriptor {
        Descriptor(Owner::One(Box::new(owner)))
    }
}

impl From<SharedDescriptor> for Descriptor {
    fn from(shared: SharedDescriptor) -> Descriptor {
        Descriptor(Owner::Shared(shared))
    }
}

impl From<&SharedDescriptor> for Descriptor {
    fn from(shared: &SharedDescriptor) -> Descriptor {
        Descriptor::from(shared.clone())
    }
}

impl fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fd = match &self.0 {
            Owner::None => None,
            _ => Some(self.get().0),
        };
        f.debug_tuple("Descriptor").field(&fd).finish()
    }
}

impl fmt::Debug for SharedDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDescriptor")
            .field("fd", &self.0.owner.as_fd())
            .field("kind", &self.0.kind)
            .finish()
    }
}

fn kind(fd: BorrowedFd<'_>) -> io::Result<Kind> {
    match rustix::fs::tell(fd) {
        Err(Errno::SPIPE) => return Ok(Kind::Stream),
        position => position?,
    };
    let mode = rustix::fs::fstat(fd)?.st_mode;
    Ok(match FileType::from_raw_mode(mode) {
        FileType::RegularFile | FileType::BlockDevice => Kind::File,
        _ => Kind::Device,
    })
}
