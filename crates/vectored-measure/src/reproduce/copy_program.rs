//! The copy program: copies from one descriptor to another until end of file.

use std::fmt;
use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{Errno, read, write};

use crate::sys::stdio;

/// The counts of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Bytes that were read and written.
    pub bytes: u64,
    /// Reads that returned at least one byte. `None` if the C library makes them.
    pub reads: Option<u64>,
}

/// Copies with `read` and `write` and one buffer until end of file, like the
/// program of Figure 3.4 of APUE (2nd edition).
///
/// A short write is completed by further writes, and a call interrupted by a
/// signal is repeated. The book's program ends in both cases.
///
/// # Errors
///
/// The kernel's error, with the side on which it occurred and the number of
/// bytes copied before.
///
/// # Panics
///
/// If the buffer is empty.
///
/// # Examples
///
/// ```
/// use std::os::fd::AsFd;
/// use vectored_measure::reproduce::copy_program::read_write;
///
/// let from = std::fs::File::open("/proc/self/maps")?;
/// let to = std::fs::File::options().write(true).open("/dev/null")?;
/// let copied = read_write(from.as_fd(), to.as_fd(), &mut [0; 100])?;
/// assert!(copied.reads >= Some(copied.bytes / 100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_write(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> Result<Copied, CopyError> {
    assert!(!buffer.is_empty(), "the buffer must not be empty");
    let mut bytes = 0;
    let mut reads = 0;
    let failed = |side, copied_bytes| {
        move |source| CopyError {
            copied_bytes,
            side,
            source,
        }
    };
    loop {
        let length = read_some(from, buffer).map_err(failed(Side::Input, bytes))?;
        if length == 0 {
            return Ok(Copied {
                bytes,
                reads: Some(reads),
            });
        }
        reads += 1;
        let mut left = &buffer[..length];
        while !left.is_empty() {
            let written = write_some(to, left).map_err(failed(Side::Output, bytes))?;
            bytes += written as u64;
            left = &left[written..];
        }
    }
}

/// Copies with `fgetc` and `fputc` of the C library, one byte at a time, as in
/// section 5.8 of APUE.
///
/// # Errors
///
/// The kernel's error. The number of bytes copied before is not known.
pub fn stdio(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<Copied> {
    let bytes = stdio::copy_characters(from, to)?;
    Ok(Copied { bytes, reads: None })
}

/// One `read`, repeated after `EINTR`. Never inlined, for the reason given at
/// `write_all`.
#[inline(never)]
fn read_some(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match read(fd, &mut *buffer) {
            Err(Errno::INTR) => {}
            outcome => return Ok(outcome?),
        }
    }
}

/// One `write`, repeated after `EINTR`. Never inlined, like [`read_some`].
#[inline(never)]
fn write_some(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match write(fd, bytes) {
            Err(Errno::INTR) => {}
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            outcome => return Ok(outcome?),
        }
    }
}

/// One of the two descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The descriptor that is read.
    Input,
    /// The descriptor that is written.
    Output,
}

/// The error of a copy that did not reach end of file.
#[derive(Debug)]
pub struct CopyError {
    /// Bytes of the buffers that were written completely.
    pub copied_bytes: u64,
    /// The descriptor on which it failed.
    pub side: Side,
    /// The kernel's error.
    pub source: io::Error,
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.side {
            Side::Input => "cannot read standard input",
            Side::Output => "cannot write to standard output",
        };
        let CopyError {
            copied_bytes,
            source,
            ..
        } = self;
        write!(f, "{what} after {copied_bytes} bytes: {source}")
    }
}

impl std::error::Error for CopyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use proptest::prelude::*;

    use super::*;

    /// The bytes that arrive, and the counts.
    fn copied(all: &[u8], buffer_bytes: usize) -> (Vec<u8>, Copied) {
        let (from, mut writer) = io::pipe().unwrap();
        let (mut reader, to) = io::pipe().unwrap();
        writer.write_all(all).unwrap();
        drop(writer);
        let copied = read_write(from.as_fd(), to.as_fd(), &mut vec![0; buffer_bytes]).unwrap();
        drop(to);
        let mut arrived = Vec::new();
        reader.read_to_end(&mut arrived).unwrap();
        (arrived, copied)
    }

    proptest! {
        #[test]
        fn all_bytes_arrive_and_each_read_fills_the_buffer(
            all in prop::collection::vec(any::<u8>(), 0..5000),
            buffer_bytes in 1_usize..700,
        ) {
            let (arrived, copied) = copied(&all, buffer_bytes);
            prop_assert_eq!(&arrived, &all);
            prop_assert_eq!(copied.bytes, all.len() as u64);
            prop_assert_eq!(copied.reads, Some(all.len().div_ceil(buffer_bytes) as u64));
        }
    }

    #[test]
    fn an_error_names_its_side_and_the_bytes_copied_before() {
        let (from, mut writer) = io::pipe().unwrap();
        writer.write_all(&[1; 100]).unwrap();
        drop(writer);
        let not_writable = std::fs::File::open("/dev/null").unwrap();
        let error = read_write(from.as_fd(), not_writable.as_fd(), &mut [0; 10]).unwrap_err();
        assert_eq!((error.side, error.copied_bytes), (Side::Output, 0));
        // A buffer of which a part was written counts.
        let from = std::fs::File::open("/dev/zero").unwrap();
        let (reader, to) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&to, true).unwrap();
        let error = read_write(from.as_fd(), to.as_fd(), &mut vec![0; 200_000]).unwrap_err();
        let held = rustix::io::ioctl_fionread(&reader).unwrap();
        assert_eq!((error.side, error.copied_bytes), (Side::Output, held));
        assert!(held > 0);
        let directory = std::fs::File::open("/").unwrap();
        let null = std::fs::File::options().write(true).open("/dev/null");
        let error = read_write(directory.as_fd(), null.unwrap().as_fd(), &mut [0; 10]).unwrap_err();
        assert_eq!(error.side, Side::Input);
        assert!(
            error
                .to_string()
                .starts_with("cannot read standard input after 0 bytes: ")
        );
    }
}
