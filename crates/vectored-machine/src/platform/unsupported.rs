//! The error of a call that a system does not have.

use std::io;

/// The error for what this system does not have.
pub fn lacks(what: &str) -> io::Error {
    let system = std::env::consts::OS;
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{system} has no {what}"),
    )
}
