//! An error that does not forget how much was done before it.

use std::fmt;
use std::io;

/// A transfer of a list that ended before its end.
///
/// It carries the [`io::Error`] that ended it and the number of bytes that had been
/// [transferred](TransferError::transferred) by then, which are the first bytes of the list.
///
/// ```
/// use std::io::{ErrorKind, IoSlice};
/// use vectored::write_all_vectored;
///
/// # fn main() -> std::io::Result<()> {
/// // Nothing may be written through a descriptor that is open for reading.
/// let file = std::fs::File::open("/dev/null")?;
/// let error = write_all_vectored(&file, &[IoSlice::new(b"abc")]).unwrap_err();
/// assert_eq!(error.transferred(), 0);
/// assert_eq!(error.io_error().raw_os_error(), Some(9)); // EBADF
/// # Ok(())
/// # }
/// ```
///
/// It converts into an [`io::Error`], so `?` works in a function that returns one. That drops the
/// count and keeps the kind and the operating system's code.
#[derive(Debug)]
pub struct TransferError {
    transferred: u64,
    error: io::Error,
    direction: Direction,
}

/// What was being done with the bytes.
#[derive(Clone, Copy, Debug)]
enum Direction {
    Write,
    Read,
}

impl TransferError {
    /// An error of writing.
    pub(crate) fn new(transferred: u64, error: io::Error) -> TransferError {
        TransferError {
            transferred,
            error,
            direction: Direction::Write,
        }
    }

    /// An error of reading.
    pub(crate) fn reading(transferred: u64, error: io::Error) -> TransferError {
        TransferError {
            transferred,
            error,
            direction: Direction::Read,
        }
    }

    /// The bytes that had been moved before the error: the first bytes of the list, empty
    /// segments and all.
    ///
    /// Exact where the system call reports what it moved, as write(2) does; bytes in the page
    /// cache or a socket's queue count as moved.
    #[must_use]
    pub fn transferred(&self) -> u64 {
        self.transferred
    }

    /// The error that ended the transfer.
    #[must_use]
    pub fn io_error(&self) -> &io::Error {
        &self.error
    }

    /// The kind of the error that ended the transfer.
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock): the descriptor is non-blocking and takes or has no
    /// more at present; [`WriteZero`](io::ErrorKind::WriteZero): a call took none of the bytes it was
    /// given, without an error; [`UnexpectedEof`](io::ErrorKind::UnexpectedEof): the file or stream
    /// ended before the list was full. [`Interrupted`](io::ErrorKind::Interrupted) does not occur: it is
    /// retried.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.error.kind()
    }

    /// The error that ended the transfer, without the count.
    #[must_use]
    pub fn into_io_error(self) -> io::Error {
        self.error
    }
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = match self.direction {
            Direction::Write => "written",
            Direction::Read => "read",
        };
        match self.transferred {
            0 => write!(f, "before any of its bytes were {done}: "),
            1 => write!(f, "after 1 of its bytes was {done}: "),
            bytes => write!(f, "after {bytes} of its bytes were {done}: "),
        }?;
        self.error.fmt(f)
    }
}

impl std::error::Error for TransferError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<TransferError> for io::Error {
    fn from(error: TransferError) -> io::Error {
        error.into_io_error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    fn no_space(transferred: u64) -> TransferError {
        TransferError::new(transferred, io::Error::from_raw_os_error(libc::ENOSPC))
    }

    #[test]
    fn the_message_says_how_many_bytes_had_gone_and_why_no_more() {
        let check = |transferred, expected: &str| {
            let message = no_space(transferred).to_string();
            assert!(message.starts_with(expected), "{message}");
        };
        check(300, "after 300 of its bytes were written: No space left");
        check(1, "after 1 of its bytes was written: No space left");
        check(0, "before any of its bytes were written: No space left");
    }

    #[test]
    fn the_message_of_a_read_says_read() {
        let check = |transferred, expected: &str| {
            let error = TransferError::reading(transferred, io::ErrorKind::UnexpectedEof.into());
            let message = error.to_string();
            assert!(message.starts_with(expected), "{message}");
        };
        check(300, "after 300 of its bytes were read: ");
        check(1, "after 1 of its bytes was read: ");
        check(0, "before any of its bytes were read: ");
    }

    #[test]
    fn kind_and_code_survive_the_conversion_into_an_io_error() {
        let error = io::Error::from(no_space(300));
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    }

    #[test]
    fn the_source_is_the_io_error() {
        let error = no_space(300);
        let source = error.source().unwrap().downcast_ref::<io::Error>();
        assert_eq!(source.unwrap().raw_os_error(), Some(libc::ENOSPC));
    }
}
