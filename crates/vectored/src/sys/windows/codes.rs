//! Error codes of Windows, with the names of the equivalent Unix errors.

use windows_sys::Win32::Foundation as win32;
use windows_sys::Win32::Networking::WinSock;

pub(crate) const EINVAL: i32 = win32::ERROR_INVALID_PARAMETER as i32;
pub(crate) const ENOSYS: i32 = win32::ERROR_CALL_NOT_IMPLEMENTED as i32;
pub(crate) const ENOTSUP: i32 = WinSock::WSAEOPNOTSUPP;
pub(crate) const EOPNOTSUPP: i32 = win32::ERROR_NOT_SUPPORTED as i32;

/// The descriptor has no position.
pub(crate) const ESPIPE: i32 = win32::ERROR_SEEK_ON_DEVICE as i32;

/// In a call with an input and an output, only the output causes these errors. Windows has no call of this kind.
pub(crate) const OF_OUTPUT: [i32; 1] = [win32::ERROR_DISK_FULL as i32];

/// After one of these errors, a read and a write replace the refused call. Windows has no call of this kind.
pub(crate) const REFUSALS: [i32; 0] = [];

#[cfg(test)]
pub(crate) use for_scripts::*;

#[cfg(test)]
mod for_scripts {
    use super::{WinSock, win32};

    pub(crate) const EAGAIN: i32 = WinSock::WSAEWOULDBLOCK;
    pub(crate) const EFAULT: i32 = win32::ERROR_NOACCESS as i32;
    pub(crate) const EINTR: i32 = WinSock::WSAEINTR;
    pub(crate) const EIO: i32 = win32::ERROR_IO_DEVICE as i32;
    pub(crate) const ENOSPC: i32 = win32::ERROR_DISK_FULL as i32;
}
