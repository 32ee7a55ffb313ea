//! A buffered writer, a buffered reader, and a sender of a `bytes::Buf`.

#[cfg(feature = "bytes")]
pub(crate) mod buf_sender;
pub(crate) mod gather_writer;
pub(crate) mod into_inner_error;
pub(crate) mod scatter_reader;
