//! An entry of a list for a system call: `iovec` on Unix, `WSABUF` on Windows.
//!
//! An [`IoSlice`](std::io::IoSlice) "is guaranteed to be ABI compatible" with both types.

#[cfg(unix)]
pub(crate) use libc::iovec as Entry;
#[cfg(windows)]
pub(crate) use windows_sys::Win32::Networking::WinSock::WSABUF as Entry;

/// Makes an entry of `len` bytes at an exposed address.
#[cfg(unix)]
pub(super) fn entry(base: usize, len: usize) -> Entry {
    Entry {
        // The pointer is `*mut` because `readv(2)` uses the same type. `writev(2)` does not write through an entry.
        iov_base: std::ptr::with_exposed_provenance_mut(base),
        iov_len: len,
    }
}

/// Makes an entry of `len` bytes at an exposed address. A call has at most
/// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES), so the length fits the 32 bits of `WSABUF`.
#[cfg(windows)]
pub(super) fn entry(base: usize, len: usize) -> Entry {
    Entry {
        // The pointer is `*mut` because `WSARecv` uses the same type. `WSASend` does not write through an entry.
        buf: std::ptr::with_exposed_provenance_mut(base),
        len: len as u32,
    }
}

const _: () = assert!(size_of::<std::io::IoSlice<'_>>() == size_of::<Entry>());

/// The assembly in `copy/x86_64.rs` relies on this layout: an address, a length at offset 8, and a size of 16 bytes.
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
