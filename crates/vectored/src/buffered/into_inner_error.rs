//! Errors of the methods that consume a [`GatherWriter`](crate::GatherWriter).

use std::error::Error;
use std::fmt;
use std::io;

/// The error of [`GatherWriter::into_inner`](crate::GatherWriter::into_inner), which could not write the staged
/// bytes. It carries the writer, with those bytes.
///
/// It corresponds to [`std::io::IntoInnerError`], which only the standard library can construct.
///
/// # Examples
///
/// ```
/// use std::io::{ErrorKind, Write};
/// use vectored::GatherWriter;
///
/// # fn main() -> std::io::Result<()> {
/// let mut room = [0; 4];
/// let mut writer = GatherWriter::copying(&mut room[..]);
/// writer.write_all(b"too long")?; // staged
/// let error = writer.into_inner().unwrap_err();
/// assert_eq!(error.error().kind(), ErrorKind::WriteZero);
/// let writer = error.into_inner();
/// assert_eq!(writer.buffer(), b"long");
/// # Ok(())
/// # }
/// ```
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

    /// Returns the error. The writer is dropped, which tries once more to write the staged bytes.
    #[must_use]
    pub fn into_error(self) -> io::Error {
        self.error
    }

    /// Returns the writer, to try again or to call [`into_parts`](crate::GatherWriter::into_parts).
    #[must_use]
    pub fn into_inner(self) -> W {
        *self.writer
    }

    /// Returns the error and the writer.
    #[must_use]
    pub fn into_parts(self) -> (io::Error, W) {
        (self.error, *self.writer)
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

/// The inner writer panicked, so how many of the staged bytes it wrote is unknown.
///
/// It corresponds to [`std::io::WriterPanicked`]. [`GatherWriter::into_parts`](crate::GatherWriter::into_parts)
/// returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct WriterPanicked {
    staged: Vec<u8>,
}

impl WriterPanicked {
    pub(crate) fn new(staged: Vec<u8>) -> WriterPanicked {
        WriterPanicked { staged }
    }

    /// Returns the staged bytes that the inner writer had not reported as written. It may have written some of
    /// them.
    #[must_use]
    pub fn into_inner(self) -> Vec<u8> {
        self.staged
    }
}

impl fmt::Debug for WriterPanicked {
    /// Shows the number of staged bytes and not the bytes, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterPanicked")
            .field("staged_bytes", &self.staged.len())
            .finish()
    }
}

impl fmt::Display for WriterPanicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the inner writer panicked: how many of the staged bytes it wrote is unknown")
    }
}

impl Error for WriterPanicked {}
