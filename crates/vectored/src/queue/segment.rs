//! A buffer that a queue owns: [`Segment`].

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

#[cfg(feature = "bytes")]
use bytes::{Buf, Bytes};

use crate::sys::owned_bytes::OwnedBytes;

/// A buffer that a [`SegmentQueue`](crate::SegmentQueue) owns until the bytes of the buffer are written.
///
/// `From` makes a segment of a `Vec<u8>`, `Box<[u8]>`, `Arc<[u8]>`, `String`, `Arc<str>`, `&'static [u8]` or
/// `&'static str`. With feature `bytes`, `From` also takes a `Bytes` or `BytesMut`. [`from_owner`](Segment::from_owner)
/// takes any other owner.
///
/// `From` copies no bytes and allocates no memory, with one exception: a `BytesMut` with spare capacity allocates the
/// header of a `Bytes`.
///
/// The owner is dropped with the segment. A `Bytes` that is a part of a larger allocation keeps the whole allocation in
/// memory until the segment is dropped.
#[derive(Default)]
pub struct Segment {
    owner: Owner,
    /// The bytes before this position are already written.
    start: usize,
}

pub(super) enum Owner {
    Static(&'static [u8]),
    Vec(Vec<u8>),
    Shared(Arc<[u8]>),
    #[cfg(feature = "bytes")]
    Bytes(Bytes),
    Other(OwnedBytes),
}

impl Default for Owner {
    fn default() -> Owner {
        Owner::Static(&[])
    }
}

impl Segment {
    /// Makes a segment of the bytes of any owner, for example a memory mapping or a pooled buffer. The queue drops the
    /// owner after all bytes of the segment are written.
    ///
    /// Allocates once, for the owner. [`AsRef::as_ref`] is called once.
    pub fn from_owner(owner: impl AsRef<[u8]> + Send + 'static) -> Segment {
        Segment::of_owner(Owner::Other(OwnedBytes::new(owner)))
    }

    #[inline]
    fn of_owner(owner: Owner) -> Segment {
        Segment { owner, start: 0 }
    }

    pub(super) fn last_of(owner: Owner, bytes: usize) -> Segment {
        let start = owner.bytes().len() - bytes;
        Segment { owner, start }
    }

    #[inline]
    pub(super) fn is_static(&self) -> bool {
        matches!(self.owner, Owner::Static(_))
    }

    /// Returns the owner. The segment is the last bytes of the owner.
    #[inline]
    pub(super) fn into_owner(self) -> Owner {
        self.owner
    }
}

impl Owner {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Owner::Static(bytes) => bytes,
            Owner::Vec(bytes) => bytes,
            Owner::Shared(bytes) => bytes,
            #[cfg(feature = "bytes")]
            Owner::Bytes(bytes) => bytes,
            Owner::Other(owner) => owner.as_slice(),
        }
    }
}

impl Deref for Segment {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.owner.bytes()[self.start..]
    }
}

impl AsRef<[u8]> for Segment {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Segment {
    #[inline]
    fn from(bytes: Vec<u8>) -> Segment {
        Segment::of_owner(Owner::Vec(bytes))
    }
}

impl From<Box<[u8]>> for Segment {
    #[inline]
    fn from(bytes: Box<[u8]>) -> Segment {
        Segment::from(bytes.into_vec())
    }
}

impl From<String> for Segment {
    #[inline]
    fn from(text: String) -> Segment {
        Segment::from(text.into_bytes())
    }
}

impl From<Arc<[u8]>> for Segment {
    #[inline]
    fn from(bytes: Arc<[u8]>) -> Segment {
        Segment::of_owner(Owner::Shared(bytes))
    }
}

impl From<Arc<str>> for Segment {
    #[inline]
    fn from(text: Arc<str>) -> Segment {
        Segment::from(Arc::<[u8]>::from(text))
    }
}

impl From<&'static [u8]> for Segment {
    #[inline]
    fn from(bytes: &'static [u8]) -> Segment {
        Segment::of_owner(Owner::Static(bytes))
    }
}

impl<const N: usize> From<&'static [u8; N]> for Segment {
    #[inline]
    fn from(bytes: &'static [u8; N]) -> Segment {
        Segment::from(bytes.as_slice())
    }
}

impl From<&'static str> for Segment {
    #[inline]
    fn from(text: &'static str) -> Segment {
        Segment::from(text.as_bytes())
    }
}

/// With feature `bytes`.
#[cfg(feature = "bytes")]
impl From<Bytes> for Segment {
    #[inline]
    fn from(bytes: Bytes) -> Segment {
        Segment::of_owner(Owner::Bytes(bytes))
    }
}

/// With feature `bytes`.
#[cfg(feature = "bytes")]
impl From<bytes::BytesMut> for Segment {
    #[inline]
    fn from(bytes: bytes::BytesMut) -> Segment {
        Segment::from(bytes.freeze())
    }
}

/// With feature `bytes`. Copies nothing. Allocates only for a segment made of an `Arc`, of a `Vec` with spare capacity,
/// or by [`from_owner`](Segment::from_owner).
#[cfg(feature = "bytes")]
impl From<Segment> for Bytes {
    #[inline]
    fn from(segment: Segment) -> Bytes {
        let start = segment.start;
        let mut bytes = match segment.owner {
            Owner::Static(bytes) => Bytes::from_static(bytes),
            Owner::Vec(bytes) => Bytes::from(bytes),
            Owner::Shared(bytes) => Bytes::from_owner(bytes),
            Owner::Bytes(bytes) => bytes,
            Owner::Other(owner) => Bytes::from_owner(owner),
        };
        bytes.advance(start);
        bytes
    }
}

/// Copies the bytes, except for a whole `Vec<u8>`, `Box<[u8]>` or `String`, which is returned without a copy.
impl From<Segment> for Vec<u8> {
    #[inline]
    fn from(segment: Segment) -> Vec<u8> {
        match segment.owner {
            Owner::Vec(bytes) if segment.start == 0 => bytes,
            _ => segment.to_vec(),
        }
    }
}

impl fmt::Debug for Segment {
    /// Prints the number of bytes, not the bytes, because the bytes may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment")
            .field("bytes", &self.len())
            .finish_non_exhaustive()
    }
}
