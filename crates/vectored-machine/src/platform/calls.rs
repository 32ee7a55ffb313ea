//! System calls that only Linux has.

use std::io;
use std::os::fd::AsFd;

/// Has TCP acknowledge at once what has arrived, where that can be asked for: `TCP_QUICKACK` of `tcp(7)`.
pub fn acknowledge_now(socket: impl AsFd) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_quickack(socket, true)?;
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
    Ok(())
}
