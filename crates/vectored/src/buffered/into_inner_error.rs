//! Errors of taking a [`GatherWriter`](crate::GatherWriter) apart.

use std::error::Error;
use std::fmt;
use std::io;

/// [`GatherWriter::into_inner`](crate::GatherWriter::into_inner) could not write what was staged: the error, and the writer, whole.
///
/// As [`std::io::IntoInnerError`], which nobody else can make.
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
    /// On the heap, since a `Result` has the size of its error also where there is none.
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

    /// Why what was staged could not be written.
    #[must_use]
    pub fn error(&self) -> &io::Error {
        &self.error
    }

    /// The error alone. The writer is dropped, which tries once more to write what is staged.
    #[must_use]
    pub fn into_error(self) -> io::Error {
        self.error
    }

    /// The writer, to try again or to take it [apart](crate::GatherWriter::into_parts).
    #[must_use]
    pub fn into_inner(self) -> W {
        *self.writer
    }

    /// Both.
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

/// The inner writer panicked, and which of the staged bytes it took is not known.
///
/// As [`std::io::WriterPanicked`].
#[derive(Clone, PartialEq, Eq)]
pub struct WriterPanicked {
    staged: Vec<u8>,
}

impl WriterPanicked {
    pub(crate) fn new(staged: Vec<u8>) -> WriterPanicked {
        WriterPanicked { staged }
    }

    /// What was staged and not yet reported as written. Some of it may have been.
    #[must_use]
    pub fn into_inner(self) -> Vec<u8> {
        self.staged
    }
}

impl fmt::Debug for WriterPanicked {
    /// Without the bytes, which are a caller's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterPanicked")
            .field("staged_bytes", &self.staged.len())
            .finish()
    }
}

impl fmt::Display for WriterPanicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the inner writer panicked, and which of the staged bytes it took is not known")
    }
}

impl Error for WriterPanicked {}
