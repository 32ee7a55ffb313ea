//! A buffered writer and a buffered reader.

pub(crate) mod gather_writer;
pub(crate) mod into_inner_error;
pub(crate) mod scatter_reader;

pub use self::gather_writer::GatherWriter;
pub use self::into_inner_error::IntoInnerError;
pub use self::scatter_reader::ScatterReader;
pub use crate::gather::vectored_write::VectoredWrite;
