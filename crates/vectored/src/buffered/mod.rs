//! A buffered writer, a buffered reader, and a sender of a `bytes::Buf`.

#[cfg(feature = "bytes")]
pub(crate) mod buf_sender;
pub(crate) mod gather_writer;
pub(crate) mod into_inner_error;
pub(crate) mod scatter_reader;

#[cfg(feature = "bytes")]
pub use self::buf_sender::BufSender;
pub use self::gather_writer::GatherWriter;
pub use self::into_inner_error::{IntoInnerError, WriterPanicked};
pub use self::scatter_reader::ScatterReader;
pub use crate::gather::vectored_write::VectoredWrite;
