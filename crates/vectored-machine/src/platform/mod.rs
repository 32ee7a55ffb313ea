//! The calls that differ between systems, under the same names. If a system lacks a call, the function returns an error or
//! `None`.

use std::io;

#[cfg(unix)]
pub mod command_run;
#[cfg(unix)]
pub mod cpus;
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
pub use windows::{cpus, fd, files, plain_calls, times};

/// The error of a call that this system does not have.
pub fn lacks(what: &str) -> io::Error {
    let system = std::env::consts::OS;
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{system} has no {what}"),
    )
}

/// Bytes that this thread has fetched from storage devices: `read_bytes` in `proc_pid_io(5)`. Reading a page that is in
/// memory adds nothing.
pub fn fetched_bytes() -> io::Result<u64> {
    if !cfg!(target_os = "linux") {
        return Err(lacks(
            "count of the bytes that a thread fetches from devices",
        ));
    }
    let text = std::fs::read_to_string("/proc/thread-self/io")?;
    text.lines()
        .find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
        .ok_or_else(|| io::Error::other("/proc/thread-self/io has no valid line 'read_bytes: N'"))
}
