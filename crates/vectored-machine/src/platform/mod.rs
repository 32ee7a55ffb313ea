//! What the systems do differently, behind the same functions. If a system lacks something, the function returns an error or
//! `None`. No other module here knows which system it is.

use std::io;

#[cfg(unix)]
pub mod command_run;
#[cfg(unix)]
pub mod cpus;
#[cfg(unix)]
pub mod descriptors;
#[cfg(unix)]
pub mod fd;
#[cfg(unix)]
pub mod files;
#[cfg(unix)]
pub mod plain_calls;
#[cfg(unix)]
pub mod processes;
pub mod system_names;
#[cfg(unix)]
pub mod times;
#[cfg(windows)]
mod windows;

#[cfg(windows)]
pub use windows::{cpus, descriptors, fd, files, plain_calls, times};

/// The error of a call that this system does not have.
pub fn lacks(what: &str) -> io::Error {
    let system = std::env::consts::OS;
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{system} has no {what}"),
    )
}

pub(crate) struct Space {
    /// Whether the file system has a limit.
    pub(crate) is_limited: bool,
    pub(crate) is_read_only: bool,
}

/// Requested size of the send and receive buffers of a TCP connection: the
/// usual limit without privilege, `net.core.wmem_max`. Linux doubles the value
/// it grants. Setting a size turns off auto-tuning, see `tcp(7)`.
const TCP_BUFFER_BYTES: usize = 212_992;
