//! Writing from a `bytes::Buf` (feature `bytes`).

pub(crate) mod chunks;
pub(crate) mod sender;
