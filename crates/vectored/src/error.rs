//! The error of a transfer, with the count of bytes before the error.

use std::fmt;
use std::io;

/// The error of a transfer that stopped before the end of its list.
///
/// The error contains the [`io::Error`] that stopped the transfer, and the number of bytes that were
/// [transferred](TransferError::transferred) before. The transferred bytes are the first bytes of the list.
///
/// The message of a `TransferError` includes the message of the `io::Error`. So
/// [`source`](std::error::Error::source) returns the source of the `io::Error`, and not the `io::Error` itself.
///
/// An implementation of [`VectoredWrite`](crate::buffered::VectoredWrite) makes the error by
/// [`new`](TransferError::new).
///
/// A `TransferError` converts into an [`io::Error`], so `?` works in a function that returns an `io::Result`. The
/// conversion drops the count, and keeps the kind and the operating system's code.
///
/// # Signals, timeouts and full descriptors
///
/// - **`EINTR`** is always retried: an interrupted call has moved no byte. So a signal handler cannot end a
///   transfer, except through [`interruptible`](crate::bindings::interruptible). If a signal interrupts a call
///   that has moved some bytes, the call is short, and the transfer continues.
/// - **On a full non-blocking descriptor** (for reads: an empty descriptor), the error is
///   [`WouldBlock`](std::io::ErrorKind::WouldBlock). No byte is held back: [`resume_write`](crate::resume_write)
///   resumes when the descriptor is ready.
/// - **After a timeout of `SO_SNDTIMEO` or `SO_RCVTIMEO`**, the error is also `WouldBlock`. Each system call has
///   the whole timeout.
/// - **`SIGPIPE`**: functions that take a descriptor ([`AsDescriptor`](crate::AsDescriptor)) call write(2) and
///   writev(2), even for a `TcpStream` or `UnixStream`. After the reader has closed, these calls raise the
///   signal. The signal ends a process that does not ignore the signal. A Rust program ignores the signal from
///   its start. [`VectoredWrite`](crate::buffered::VectoredWrite) for `TcpStream` and `UnixStream` raises no
///   signal. So a [`GatherWriter`](crate::GatherWriter) of these two types raises no signal.
/// - **A segment in a mapped file that another process truncates**: if the segment is referenced, the call fails
///   with `EFAULT`. If the segment is copied ([`Gather`](crate::Gather), [`GatherWriter`](crate::GatherWriter)),
///   this process reads the segment and receives the signal `SIGBUS`. To avoid the signal, use
///   [`write_all`](crate::write_all), or a `Gather` with [`staging_bytes`](crate::CostModel::staging_bytes) 0.
#[derive(Debug)]
pub struct TransferError {
    transferred: u64,
    error: io::Error,
    direction: Direction,
}

#[derive(Clone, Copy, Debug)]
enum Direction {
    Write,
    Read,
}

impl TransferError {
    /// An error that stopped a write after `transferred` bytes of the list.
    #[must_use]
    pub fn new(transferred: u64, error: io::Error) -> TransferError {
        TransferError {
            transferred,
            error,
            direction: Direction::Write,
        }
    }

    pub(crate) fn reading(transferred: u64, error: io::Error) -> TransferError {
        TransferError {
            transferred,
            error,
            direction: Direction::Read,
        }
    }

    /// The number of bytes that were moved before the error. These bytes are the first bytes of the list.
    ///
    /// The number is the sum of the counts that the system calls returned. Bytes in the page cache or in a
    /// socket's queue count as moved.
    #[must_use]
    pub fn transferred(&self) -> u64 {
        self.transferred
    }

    /// The error that stopped the transfer.
    #[must_use]
    pub fn io_error(&self) -> &io::Error {
        &self.error
    }

    /// The kind of the error that stopped the transfer.
    ///
    /// - [`WouldBlock`](io::ErrorKind::WouldBlock): a non-blocking descriptor is full (for reads: empty), or a
    ///   socket's timeout has passed.
    /// - [`WriteZero`](io::ErrorKind::WriteZero): a call took no byte and returned no error, or the one call of
    ///   [`write_once`](crate::write_once) took only a part.
    /// - [`UnexpectedEof`](io::ErrorKind::UnexpectedEof): the file or stream ended before the list was full.
    /// - [`Interrupted`](io::ErrorKind::Interrupted): [`interruptible`](crate::bindings::interruptible) ended the
    ///   transfer. Outside `interruptible`, interrupted calls are retried.
    /// - Any other kind comes from the system call, or from the function of this crate. The function documents
    ///   the kind.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.error.kind()
    }

    /// The system's number of the error that stopped the transfer, for example `EPIPE`. `None` if this crate made
    /// the error.
    #[must_use]
    pub fn raw_os_error(&self) -> Option<i32> {
        self.error.raw_os_error()
    }

    /// Returns the error that stopped the transfer, without the count.
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
            0 => write!(f, "before any byte was {done}: "),
            1 => write!(f, "after 1 byte was {done}: "),
            bytes => write!(f, "after {bytes} bytes were {done}: "),
        }?;
        self.error.fmt(f)
    }
}

impl std::error::Error for TransferError {
    /// The source of the [`io::Error`], if it has a source.
    ///
    /// The `io::Error` itself is not returned: its message is part of this error's message, and a report of the
    /// chain of sources would repeat the message.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
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
    use crate::sys::codes;
    use std::error::Error;

    fn no_space(transferred: u64) -> TransferError {
        TransferError::new(transferred, io::Error::from_raw_os_error(codes::ENOSPC))
    }

    #[test]
    fn the_message_has_the_count_what_was_done_and_the_cause() {
        // The message is "No space left on device" on Unix.
        let cause = || io::Error::from_raw_os_error(codes::ENOSPC);
        for (transferred, bytes) in [
            (300, "after 300 bytes were"),
            (1, "after 1 byte was"),
            (0, "before any byte was"),
        ] {
            let written = no_space(transferred).to_string();
            assert_eq!(written, format!("{bytes} written: {}", cause()));
            let read = TransferError::reading(transferred, cause()).to_string();
            assert_eq!(read, format!("{bytes} read: {}", cause()));
        }
    }

    #[test]
    fn kind_and_code_survive_the_conversion_into_an_io_error() {
        assert_eq!(no_space(300).raw_os_error(), Some(codes::ENOSPC));
        let error = io::Error::from(no_space(300));
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(error.raw_os_error(), Some(codes::ENOSPC));
    }

    #[test]
    fn no_message_is_repeated_in_the_chain_of_sources() {
        assert!(no_space(300).source().is_none());
        #[derive(Debug)]
        struct Outer(std::fmt::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the outer one")
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = TransferError::new(1, io::Error::other(Outer(fmt::Error)));
        assert_eq!(error.to_string(), "after 1 byte was written: the outer one");
        let source = error.source().unwrap();
        assert!(source.is::<fmt::Error>(), "{source}");
        assert!(source.source().is_none());
    }
}
