//! One entry of a list as the system calls take it: `iovec` on Unix, `WSABUF` on Windows.
//!
//! An [`IoSlice`](std::io::IoSlice) "is guaranteed to be ABI compatible" with either.

#[cfg(unix)]
pub(crate) use libc::iovec as Entry;
#[cfg(windows)]
pub(crate) use windows_sys::Win32::Networking::WinSock::WSABUF as Entry;

/// The entry of `len` bytes at an address that was exposed.
#[cfg(unix)]
pub(super) fn entry(base: usize, len: usize) -> Entry {
    Entry {
        // `*mut` since `readv(2)` has the same type of entries. `writev(2)` does not write through an entry.
        iov_base: std::ptr::with_exposed_provenance_mut(base),
        iov_len: len,
    }
}

/// The entry of `len` bytes at an address that was exposed. One call takes at most
/// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES), so the length fits the 32 bits of `WSABUF`.
#[cfg(windows)]
pub(super) fn entry(base: usize, len: usize) -> Entry {
    Entry {
        // `*mut` since `WSARecv` has the same type of entries. `WSASend` does not write through an entry.
        buf: std::ptr::with_exposed_provenance_mut(base),
        len: len as u32,
    }
}

const _: () = assert!(size_of::<std::io::IoSlice<'_>>() == size_of::<Entry>());

/// The assembly in `copy/x86_64.rs` reads an `IoSlice` as an address, and its length 8 bytes later. The next `IoSlice`
/// begins after 16 bytes.
#[cfg(unix)]
const _: () = {
    use std::mem::offset_of;

    assert!(offset_of!(Entry, iov_base) == 0);
    assert!(offset_of!(Entry, iov_len) == size_of::<*const u8>());
    assert!(size_of::<Entry>() == 2 * size_of::<usize>());
};

#[cfg(test)]
pub(super) fn parts(entry: &Entry) -> (usize, usize) {
    #[cfg(unix)]
    return (entry.iov_base.addr(), entry.iov_len);
    #[cfg(windows)]
    return (entry.buf.addr(), entry.len as usize);
}
