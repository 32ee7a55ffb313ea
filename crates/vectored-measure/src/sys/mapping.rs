//! A shared mapping of a part of a file.
//!
//! # Safety
//!
//! `unsafe` for `mmap`, `munmap`, the copies between a mapping and slices, and `write` from a mapping.
//! Other processes may write to a mapped file, so no reference into a mapping is
//! ever created: bytes are copied through raw pointers.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapped range of a file, which is read or written in order.
///
/// The file must contain the range as long as the mapping is used. The kernel
/// kills the process with `SIGBUS` if it touches a mapping beyond the end of the
/// file, or a page for which a full file system has no block. Even then, memory
/// safety is not violated.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<c_void>,
    length: usize,
    /// Offset of the next byte in the mapping.
    at: usize,
    is_writable: bool,
}

impl Mapping {
    /// Maps `bytes` bytes from file offset `place`, for writing.
    pub fn to_write(fd: BorrowedFd<'_>, place: u64, bytes: usize) -> io::Result<Self> {
        Mapping::new(fd, place, bytes, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps `bytes` bytes from file offset `place`, for reading.
    pub fn to_read(fd: BorrowedFd<'_>, place: u64, bytes: usize) -> io::Result<Self> {
        Mapping::new(fd, place, bytes, ProtFlags::READ)
    }

    fn new(
        fd: BorrowedFd<'_>,
        place: u64,
        bytes: usize,
        protection: ProtFlags,
    ) -> io::Result<Self> {
        // A mapping begins at a page boundary.
        let at = (place % rustix::param::page_size() as u64) as usize;
        let Some(length) = at.checked_add(bytes) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "cannot map {bytes} bytes from byte {place} of a file: with the start of their \
                     page they exceed the address space; map fewer bytes at a time"
                ),
            ));
        };
        // SAFETY: with a null hint and without `MAP_FIXED` the kernel chooses
        // addresses that nothing of this process uses.
        let base = unsafe {
            mmap(
                ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                fd,
                place - at as u64,
            )?
        };
        let base = NonNull::new(base).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Mapping {
            base,
            length,
            at,
            is_writable: protection.contains(ProtFlags::WRITE),
        })
    }

    /// Copies `bytes` into the mapping, after the bytes of the previous call.
    ///
    /// # Panics
    ///
    /// If too few bytes are left, or the range was mapped for reading.
    pub fn put(&mut self, bytes: &[u8]) {
        assert!(self.is_writable, "mapped for reading");
        let place = self.take(bytes.len());
        // SAFETY: `take` has checked that `bytes.len()` bytes from `place` belong
        // to the mapping, which is writable (asserted above) and lives as long as
        // `self`. No Rust slice ever lies in it, so the two do not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
    }

    /// Fills `bytes` from the mapping, after the bytes of the previous call.
    ///
    /// # Panics
    ///
    /// If too few bytes are left.
    pub fn get(&mut self, bytes: &mut [u8]) {
        let place = self.take(bytes.len());
        // SAFETY: as in `put`; every mapping is readable.
        unsafe { ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), bytes.len()) };
    }

    /// Writes the next `bytes` bytes of the mapping to `to`.
    ///
    /// # Errors
    ///
    /// The errors of `write(2)`; `EFAULT` if the file has become shorter.
    ///
    /// # Panics
    ///
    /// If too few bytes are left.
    pub fn write_all_to(&mut self, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let place = self.take(left);
            let written = write_from(to, place, left);
            left = match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left - count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => left,
                Err(error) => return Err(error),
            };
            self.at -= left;
        }
        Ok(())
    }

    /// The address of the next `count` bytes, which count as used afterwards.
    fn take(&mut self, count: usize) -> *mut u8 {
        assert!(count <= self.length - self.at, "past the end of a mapping");
        // SAFETY: `at` is at most `length`, so the result is in the mapping or
        // one past its end.
        let place = unsafe { self.base.as_ptr().cast::<u8>().add(self.at) };
        self.at += count;
        place
    }
}

/// One `write(2)` from a mapping. Never inlined: see `write_all` of `write-each`.
#[inline(never)]
fn write_from(to: BorrowedFd<'_>, place: *const u8, bytes: usize) -> io::Result<usize> {
    // SAFETY: `to` is open. The kernel checks the addresses, and reads no others than those `bytes`; no Rust reference
    // to them exists.
    let count = unsafe { libc::write(to.as_raw_fd(), place.cast(), bytes) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this range was mapped by `new` and is unmapped nowhere else;
        // no pointer into it has left this type. Unmapping a mapped range
        // cannot fail, so the result is ignored.
        let _ = unsafe { munmap(self.base.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_range_beyond_the_address_space_is_an_error() {
        let file = tempfile();
        let error = Mapping::to_read(file.as_fd(), 4098, usize::MAX).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let message = error.to_string();
        assert!(message.contains(&usize::MAX.to_string()), "{message}");
        assert!(message.contains("from byte 4098"), "{message}");
        // At a page boundary the sum does not overflow, and the kernel refuses the length.
        assert!(Mapping::to_read(file.as_fd(), 4096, usize::MAX).is_err());
    }

    #[test]
    #[should_panic(expected = "past the end")]
    fn nothing_is_put_past_the_end() {
        let mut file = tempfile();
        file.write_all(&[b'-'; 10]).unwrap();
        let mut mapping = Mapping::to_write(file.as_fd(), 2, 4).unwrap();
        mapping.put(b"abcde");
    }

    #[test]
    #[should_panic(expected = "mapped for reading")]
    fn nothing_is_put_into_a_mapping_for_reading() {
        let mut file = tempfile();
        file.write_all(&[b'-'; 10]).unwrap();
        Mapping::to_read(file.as_fd(), 0, 4).unwrap().put(b"ab");
    }

    fn tempfile() -> std::fs::File {
        let directory = std::env::temp_dir();
        vectored_machine::platform::files::unnamed_file(&directory, rustix::fs::OFlags::empty())
            .unwrap()
            .into()
    }
}
