//! Writers of `bytes::Buf`.

pub(crate) mod chunks;
pub(crate) mod sender;
