//! A buffered writer and a buffered reader.

pub(crate) mod gather_writer;
pub(crate) mod into_inner_error;
pub(crate) mod scatter_reader;
