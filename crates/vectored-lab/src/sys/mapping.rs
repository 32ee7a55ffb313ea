//! A shared mapping of a part of a file.
//!
//! # Safety
//!
//! `unsafe` for `mmap`, `munmap` and the copies between a mapping and slices.
//! Other processes may write to a mapped file, so no reference into a mapping is
//! ever made: bytes are copied through raw pointers.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Some bytes of a file, from which or to which is copied, in order.
///
/// The file must be that long, and stay so while the mapping is used: the
/// kernel kills a process that touches a mapping behind the end of the file, or
/// that a full file system cannot give a block for (`SIGBUS`). Memory is safe
/// even then.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<c_void>,
    length: usize,
    /// Where the next byte is.
    at: usize,
    is_writable: bool,
}

impl Mapping {
    /// Maps `bytes` bytes from `place` on, to be written.
    pub fn to_write(fd: BorrowedFd<'_>, place: u64, bytes: usize) -> io::Result<Self> {
        Mapping::new(fd, place, bytes, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps `bytes` bytes from `place` on, to be read.
    pub fn to_read(fd: BorrowedFd<'_>, place: u64, bytes: usize) -> io::Result<Self> {
        Mapping::new(fd, place, bytes, ProtFlags::READ)
    }

    fn new(
        fd: BorrowedFd<'_>,
        place: u64,
        bytes: usize,
        protection: ProtFlags,
    ) -> io::Result<Self> {
        // A mapping begins with a page.
        let at = (place % rustix::param::page_size() as u64) as usize;
        let Some(length) = at.checked_add(bytes) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "cannot map {bytes} bytes from byte {place} of a file on: with the start of their page they \
                     exceed the address space; map fewer at a time"
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

    /// Copies `bytes` to where the last ones ended.
    ///
    /// # Panics
    ///
    /// When there is no room left, or the bytes were mapped to be read.
    pub fn put(&mut self, bytes: &[u8]) {
        assert!(self.is_writable, "mapped to be read");
        let place = self.take(bytes.len());
        // SAFETY: `take` has seen that so many bytes from `place` on belong to
        // the mapping, which is writable, as was just asserted, and lives as long
        // as `self`. A slice of Rust's never lies in it, so they do not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
    }

    /// Copies from where the last ones ended.
    ///
    /// # Panics
    ///
    /// When there are not so many left.
    pub fn get(&mut self, bytes: &mut [u8]) {
        let place = self.take(bytes.len());
        // SAFETY: as in `put`; every mapping is readable.
        unsafe { ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), bytes.len()) };
    }

    fn take(&mut self, count: usize) -> *mut u8 {
        assert!(count <= self.length - self.at, "past the end of a mapping");
        // SAFETY: `at` is at most `length`, so the result is in the mapping or
        // right behind it.
        let place = unsafe { self.base.as_ptr().cast::<u8>().add(self.at) };
        self.at += count;
        place
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this range was mapped by `new` and is unmapped nowhere else;
        // no pointer into it has left this type. That it fails is impossible for
        // a range that is mapped.
        let _ = unsafe { munmap(self.base.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn bytes_go_to_their_place_and_come_back() {
        let mut file = tempfile();
        file.write_all(&[b'-'; 5000]).unwrap();
        let mut mapping = Mapping::to_write(file.as_fd(), 4099, 5).unwrap();
        mapping.put(b"ab");
        mapping.put(b"cde");
        drop(mapping);
        let mut there = [0; 7];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut there, 4098).unwrap();
        assert_eq!(&there, b"-abcde-");
        let mut mapping = Mapping::to_read(file.as_fd(), 4098, 7).unwrap();
        let (mut head, mut tail) = ([0; 3], [0; 4]);
        mapping.get(&mut head);
        mapping.get(&mut tail);
        assert_eq!((&head, &tail), (b"-ab", b"cde-"));
    }

    #[test]
    fn more_than_the_address_space_is_an_error_that_says_so() {
        let file = tempfile();
        let error = Mapping::to_read(file.as_fd(), 4098, usize::MAX).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let message = error.to_string();
        assert!(message.contains(&usize::MAX.to_string()), "{message}");
        assert!(message.contains("from byte 4098"), "{message}");
        // At the start of a page nothing is added: the kernel answers.
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
    #[should_panic(expected = "mapped to be read")]
    fn nothing_is_put_where_is_only_read() {
        let mut file = tempfile();
        file.write_all(&[b'-'; 10]).unwrap();
        Mapping::to_read(file.as_fd(), 0, 4).unwrap().put(b"ab");
    }

    fn tempfile() -> std::fs::File {
        let directory = std::env::temp_dir();
        crate::measure::unnamed_file(&directory, rustix::fs::OFlags::empty())
            .unwrap()
            .into()
    }
}
