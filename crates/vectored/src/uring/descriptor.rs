//! The descriptors of transfers.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;

/// The owner of the descriptor of one transfer.
///
/// Any owner that can be sent to another thread (a `File`, an `OwnedFd`, an `Arc` of one) and a [`SharedDescriptor`]
/// convert into a `Descriptor`, so both can be passed to the functions of [`Ring`](crate::uring::Ring).
pub struct Descriptor(Owner);

enum Owner {
    None,
    One(Box<dyn AsFd + Send>),
    Shared(SharedDescriptor),
}

/// A descriptor for many transfers.
///
/// A transfer first asks the kernel whether the descriptor takes offsets, and for the position: lseek(2). For a shared
/// descriptor the kernel is asked once, except for transfers at the position of a regular file or a block device. A
/// clone costs no allocation, unlike a [`Descriptor`] of any other owner.
///
/// The descriptor must stay open on the same file: dup2(2) must not replace it.
#[derive(Clone)]
pub struct SharedDescriptor(Arc<Shared<dyn AsFd + Send + Sync>>);

struct Shared<T: ?Sized> {
    kind: Kind,
    owner: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file or a block device: transfers without an offset use and move its position.
    File,
    /// Another descriptor that takes offsets, as `/dev/null`.
    Device,
    Stream,
}

impl SharedDescriptor {
    /// Takes the owner of a descriptor, and asks the kernel for the kind of the descriptor.
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
    /// No descriptor: the transfer has not begun, or has ended and the owner of its descriptor was dropped.
    pub(super) const NONE: Descriptor = Descriptor(Owner::None);

    /// The descriptor, and its kind as far as that is known.
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
