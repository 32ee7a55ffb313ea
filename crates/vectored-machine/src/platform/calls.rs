//! System calls that only Linux has: `ENOSYS` elsewhere, as from an old kernel.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;

use rustix::io::Errno;
#[cfg(target_os = "linux")]
use rustix::io::ReadWriteFlags;

/// `pwritev2(2)`. The offset `u64::MAX` is the position of the descriptor.
#[inline]
pub fn pwritev2(
    fd: impl AsFd,
    slices: &[IoSlice<'_>],
    offset: u64,
    flags: u32,
) -> Result<usize, Errno> {
    #[cfg(target_os = "linux")]
    return rustix::io::pwritev2(fd, slices, offset, ReadWriteFlags::from_bits_retain(flags));
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (fd, slices, offset, flags);
        Err(Errno::NOSYS)
    }
}

/// Has TCP acknowledge at once what has arrived, where that can be asked for: `TCP_QUICKACK` of `tcp(7)`.
pub fn acknowledge_now(socket: impl AsFd) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_quickack(socket, true)?;
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
    Ok(())
}
