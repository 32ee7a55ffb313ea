//! The error of [`GatherWriter::into_inner`](crate::GatherWriter::into_inner).

use std::error::Error;
use std::fmt;
use std::io;

/// The error of [`GatherWriter::into_inner`](crate::GatherWriter::into_inner) if the staged bytes cannot be
/// written. The error contains the writer with the staged bytes.
///
/// Only the standard library can construct [`std::io::IntoInnerError`], so this crate has its own type.
#[derive(Debug)]
pub struct IntoInnerError<W> {
    /// Boxed, so that the `Result` of `into_inner` is small.
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

    /// Returns the writer. The caller can try again, or call [`into_parts`](crate::GatherWriter::into_parts).
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
