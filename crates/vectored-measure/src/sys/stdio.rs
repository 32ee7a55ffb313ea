//! A buffered stream of the C library over a descriptor.
//!
//! # Safety
//!
//! `unsafe` for the functions of stdio.h, which have no safe interface.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::ptr::NonNull;

use libc::{FILE, c_int};

unsafe extern "C" {
    /// Discards the contents of the buffer (stdio_ext.h; in glibc and musl). Elsewhere the function is `fpurge` of stdio.h,
    /// whose result says only whether the stream is open.
    #[cfg_attr(not(target_os = "linux"), link_name = "fpurge")]
    fn __fpurge(stream: *mut FILE);
}

/// A `FILE` over a descriptor of its own.
#[derive(Debug)]
struct File(NonNull<FILE>);

impl File {
    fn open(fd: BorrowedFd<'_>, mode: &CStr) -> io::Result<Self> {
        let duplicate = fd.try_clone_to_owned()?.into_raw_fd();
        // SAFETY: the mode is a C string, and the descriptor is open. It has no
        // other owner, so the file may close it.
        let file = unsafe { libc::fdopen(duplicate, mode.as_ptr()) };
        NonNull::new(file).map(File).ok_or_else(|| {
            let error = io::Error::last_os_error();
            // SAFETY: `fdopen` failed, so the descriptor is still ours alone.
            unsafe { libc::close(duplicate) };
            error
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the file is open, and is not used after this.
        unsafe { libc::fclose(self.0.as_ptr()) };
    }
}

/// A stream for writing. The size of the buffer is given, or is the size that glibc chooses: `st_blksize`, at most `BUFSIZ`
/// (8 KiB). The buffer is allocated here so that the first call need not allocate it.
#[derive(Debug)]
pub struct Stream {
    file: File,
    /// The memory of `file`'s buffer. The memory is freed after `file` is closed; only `file` touches the memory until
    /// then.
    _buffer: Vec<u8>,
}

impl Stream {
    pub fn open(fd: BorrowedFd<'_>, buffer_bytes: Option<usize>) -> io::Result<Self> {
        let preferred = rustix::fs::fstat(fd)?.st_blksize as usize;
        let most = libc::BUFSIZ as usize;
        let usual = if preferred == 0 { most } else { preferred.min(most) };
        let mut buffer = vec![0; buffer_bytes.unwrap_or(usual)];
        let file = File::open(fd, c"w")?;
        // SAFETY: nothing has been done with the stream yet. The memory of the buffer
        // stays where it is when the vector is moved, and it is freed after the file is closed.
        let refused = unsafe {
            let memory = buffer.as_mut_ptr().cast();
            libc::setvbuf(file.0.as_ptr(), memory, libc::_IOFBF, buffer.len())
        };
        match refused {
            0 => Ok(Stream {
                file,
                _buffer: buffer,
            }),
            _ => Err(io::Error::other("setvbuf refused a buffer")),
        }
    }

    /// `fwrite`. Unlike the calls of other techniques, `fwrite` is not repeated after `EINTR`, since the number of written
    /// bytes is then unknown.
    #[inline(never)]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the stream is open, and pointer and length come from one
        // slice.
        let written =
            unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), self.file.0.as_ptr()) };
        self.check(written == bytes.len())
    }

    #[inline(never)]
    pub fn flush(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open.
        let outcome: c_int = unsafe { libc::fflush(self.file.0.as_ptr()) };
        self.check(outcome == 0)
    }

    #[inline]
    fn check(&self, good: bool) -> io::Result<()> {
        if good { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Bytes that an error left in the buffer must not be written now: the target may have been emptied since, and would
        // count these bytes as new.
        // SAFETY: the stream is open.
        unsafe { __fpurge(self.file.0.as_ptr()) };
    }
}

/// Copies with `fgetc` and `fputc`, one byte at a time, as in section 5.8 of
/// APUE. Both streams have the buffers that the C library chooses. Returns the
/// number of bytes.
pub fn copy_characters(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<u64> {
    let input = File::open(from, c"r")?;
    let mut output = Stream::open(to, None)?;
    let mut bytes = 0;
    loop {
        // SAFETY: both streams are open as long as their values live.
        let character = unsafe { libc::fgetc(input.0.as_ptr()) };
        if character == libc::EOF {
            break;
        }
        // SAFETY: as above.
        if unsafe { libc::fputc(character, output.file.0.as_ptr()) } == libc::EOF {
            return Err(io::Error::last_os_error());
        }
        bytes += 1;
    }
    // SAFETY: the stream is open.
    if unsafe { libc::ferror(input.0.as_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    output.flush()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn small_writes_wait_for_the_flush_and_large_ones_do_not() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut stream = Stream::open(writer.as_fd(), None).unwrap();
        let waiting = || rustix::io::ioctl_fionread(&reader).unwrap();
        stream.write(b"abc").unwrap();
        assert_eq!(waiting(), 0);
        stream.flush().unwrap();
        assert_eq!(waiting(), 3);
        stream.write(&[7; 10_000]).unwrap();
        assert!(waiting() > 8000);
        stream.flush().unwrap();
        drop((stream, writer));
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 10_003);
    }

    #[test]
    fn unflushed_bytes_are_discarded() {
        let (reader, writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let mut stream = Stream::open(writer.as_fd(), None).unwrap();
        let error = loop {
            if let Err(error) = stream.write(&[1; 1000]).and_then(|()| stream.flush()) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let mut all = vec![0; 1 << 20];
        assert!((&reader).read(&mut all).unwrap() > 0);
        stream.write(b"the rest").unwrap();
        drop(stream);
        assert_eq!(rustix::io::ioctl_fionread(&reader).unwrap(), 0);
    }
}
