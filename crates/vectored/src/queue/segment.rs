//! A buffer that a queue owns.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

#[cfg(feature = "bytes")]
use bytes::{Buf, Bytes};

use crate::sys::owned_bytes::OwnedBytes;

/// A buffer that a [`SegmentQueue`](crate::SegmentQueue) owns until its bytes are written.
///
/// `From` makes a segment of a `Vec<u8>`, `Box<[u8]>`, `Arc<[u8]>`, `String`, `Arc<str>`, `&'static [u8]` or
/// `&'static str`, and with feature `bytes` of a `Bytes` or `BytesMut`. Nothing is copied or allocated. (A `BytesMut`
/// with spare capacity allocates the header of a `Bytes`.) [`from_owner`](Segment::from_owner) takes any other owner.
/// The owner is dropped with the segment. A `Bytes` that is a part of a larger allocation keeps the whole allocation in
/// memory until then.
#[derive(Default)]
pub struct Segment {
    owner: Owner,
    /// The bytes before this position were written.
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
    /// A segment of the bytes of any owner, such as a memory mapping or a buffer of a pool. The owner is dropped when its
    /// bytes are written.
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

    /// The owner, whose last bytes are the segment.
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

/// With feature `bytes`. Copies nothing. Allocates only for a segment of an `Arc`, of a `Vec` with spare capacity, or
/// made by [`from_owner`](Segment::from_owner).
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

/// Copies, except that a whole `Vec<u8>`, `Box<[u8]>` or `String` is returned as it is.
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
    /// Shows the number of bytes and not the bytes, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment")
            .field("bytes", &self.len())
            .finish_non_exhaustive()
    }
}
