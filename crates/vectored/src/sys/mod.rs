//! System calls, their limits, and memory that is copied into: the only part of the crate that may have `unsafe` code.

pub(crate) mod coalesce;
pub(crate) mod copy;
#[cfg(test)]
mod copy_tests;
#[cfg(all(test, target_os = "linux"))]
pub(crate) mod fork;
pub(crate) mod limits;
pub(crate) mod owned_bytes;
pub(crate) mod staging;
pub(crate) mod syscalls;
pub(crate) mod uninit;

/// The assembly in `copy/x86_64.rs` reads an `IoSlice`, which "is guaranteed to be ABI compatible with the `iovec` type",
/// as an address and the length behind it, 16 bytes apart.
const _: () = {
    use std::mem::offset_of;

    assert!(offset_of!(libc::iovec, iov_base) == 0);
    assert!(offset_of!(libc::iovec, iov_len) == size_of::<*const u8>());
    assert!(size_of::<libc::iovec>() == 2 * size_of::<usize>());
    assert!(size_of::<std::io::IoSlice<'_>>() == size_of::<libc::iovec>());
};
