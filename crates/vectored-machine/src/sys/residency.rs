//! The part of a file that is in the page cache.
//!
//! # Safety
//!
//! `unsafe` for a mapping, which is never read, and for `mincore`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::BorrowedFd;

use memmap2::MmapOptions;

/// Number of the first `bytes` bytes of a file whose pages are in the page cache.
///
/// Uses `mincore(2)`. Since Linux 5.2, `mincore` is accurate only for processes that may write to the file. For other
/// processes, `mincore` reports all pages as resident.
pub fn resident_bytes(fd: BorrowedFd<'_>, bytes: u64) -> io::Result<u64> {
    let length = usize::try_from(bytes).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(0);
    }
    let page = rustix::param::page_size();
    let mut pages = vec![0_u8; length.div_ceil(page)];
    // SAFETY: nothing reads the mapping.
    let mapping = unsafe { MmapOptions::new().len(length).map(&fd) }?;
    let base = mapping.as_ptr().cast_mut().cast();
    // SAFETY: `length` bytes are mapped at `base`, and there is a byte in the vector for each of their pages.
    if unsafe { libc::mincore(base, length, pages.as_mut_ptr().cast()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Only the lowest bit is defined.
    let resident = pages.iter().filter(|page| **page & 1 == 1).count();
    Ok(((resident * page) as u64).min(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn bytes_just_written_are_resident() {
        let directory = std::env::temp_dir();
        let file = crate::platform::files::unnamed_file(&directory, rustix::fs::OFlags::empty());
        let mut file = std::fs::File::from(file.unwrap());
        assert_eq!(resident_bytes(file.as_fd(), 0).unwrap(), 0);
        file.write_all(&[1; 10_000]).unwrap();
        assert_eq!(resident_bytes(file.as_fd(), 10_000).unwrap(), 10_000);
    }
}
