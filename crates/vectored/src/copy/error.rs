//! The error of a copy, with the counts of bytes before the error.

use std::error::Error;
use std::fmt;
use std::io;

/// One of the two descriptors of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// The descriptor that is read.
    Input,
    /// The descriptor that is written.
    Output,
}

/// The error of a copy that did not reach the end of its input or its limit.
///
/// The output has exactly the first [`written`](CopyError::written) bytes of the input.
/// [`unwritten`](CopyError::unwritten) has the bytes that were read and not written. To lose no byte, write the
/// unwritten bytes, and then copy the rest.
///
/// The message of a `CopyError` includes the message of the [`io::Error`], like the message of a
/// [`TransferError`](crate::TransferError). Converting a `CopyError` into an `io::Error` drops the counts and the
/// bytes.
#[derive(Debug)]
pub struct CopyError {
    side: Option<Side>,
    written: u64,
    unwritten: Vec<u8>,
    error: io::Error,
}

impl CopyError {
    pub(super) fn new(
        side: Option<Side>,
        written: u64,
        unwritten: Vec<u8>,
        error: io::Error,
    ) -> CopyError {
        CopyError {
            side,
            written,
            unwritten,
            error,
        }
    }

    pub(super) fn before_any_byte(side: Option<Side>, error: io::Error) -> CopyError {
        CopyError::new(side, 0, Vec::new(), error)
    }

    /// The descriptor that failed. `None` in three cases:
    ///
    /// - The program stopped the copy.
    /// - There was no memory for the buffer.
    /// - The kernel does not say on which side a named [technique](super::Options::technique) failed.
    #[must_use]
    pub fn side(&self) -> Option<Side> {
        self.side
    }

    /// The number of bytes that were read: the written bytes and the [`unwritten`](CopyError::unwritten) bytes.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.written + self.unwritten.len() as u64
    }

    /// The number of bytes that were written. The written bytes are the first bytes of the input.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The bytes that were read and not written. In the input, they follow the written bytes.
    #[must_use]
    pub fn unwritten(&self) -> &[u8] {
        &self.unwritten
    }

    /// The error that stopped the copy.
    #[must_use]
    pub fn io_error(&self) -> &io::Error {
        &self.error
    }

    /// The kind of the error that stopped the copy.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.error.kind()
    }

    /// The system's number of the error that stopped the copy. `None` if this crate made the error.
    #[must_use]
    pub fn raw_os_error(&self) -> Option<i32> {
        self.error.raw_os_error()
    }

    /// Returns the error that stopped the copy, without the counts and the bytes.
    #[must_use]
    pub fn into_io_error(self) -> io::Error {
        self.error
    }
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.side {
            Some(Side::Input) => "cannot read",
            Some(Side::Output) => "cannot write",
            None => "the copy stopped",
        })?;
        match self.written {
            1 => f.write_str(" after 1 byte")?,
            bytes => write!(f, " after {bytes} bytes")?,
        }
        if !self.unwritten.is_empty() {
            write!(f, " ({} more were read)", self.unwritten.len())?;
        }
        write!(f, ": {}", self.error)
    }
}

impl Error for CopyError {
    /// The source of the [`io::Error`], if it has a source. [`TransferError`](crate::TransferError) has the same
    /// rule.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl From<CopyError> for io::Error {
    fn from(error: CopyError) -> io::Error {
        error.into_io_error()
    }
}
