//! The error of a [`GatherWriter`](crate::GatherWriter) that is consumed.

use std::error::Error;
use std::fmt;
use std::io;

/// The error of [`GatherWriter::into_inner`](crate::GatherWriter::into_inner), which could not write the staged bytes.
/// The error carries the writer with the staged bytes.
///
/// It corresponds to [`std::io::IntoInnerError`], which only the standard library can construct.
#[derive(Debug)]
pub struct IntoInnerError<W> {
    /// Boxed, to keep the `Result` of `into_inner` small.
    writer: Box<W>,
    error: io::Error,
}

impl<W> IntoInnerError<W> {
    pub(crate) fn new(writer: W, error: io::Error) -> IntoInnerError<W> {
        IntoInnerError {
            writer: Box::new(writer),
            error,
        }
    }

    /// The error that stopped the write of the staged bytes.
    #[must_use]
    pub fn error(&self) -> &io::Error {
        &self.error
    }

    /// Returns the writer, to try again or to call [`into_parts`](crate::GatherWriter::into_parts).
    #[must_use]
    pub fn into_inner(self) -> W {
        *self.writer
    }
}

impl<W> fmt::Display for IntoInnerError<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<W: fmt::Debug> Error for IntoInnerError<W> {}

impl<W> From<IntoInnerError<W>> for io::Error {
    fn from(error: IntoInnerError<W>) -> io::Error {
        error.error
    }
}
