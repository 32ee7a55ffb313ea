//! What the systems do differently, behind the same functions. A system that lacks something says so, by an error or by
//! `None`, and nothing else here knows which system it is.

pub(crate) mod calls;
pub(crate) mod cpus;
pub(crate) mod descriptors;
pub(crate) mod files;
pub(crate) mod processes;
pub(crate) mod rings;

use std::io;

/// The error for what this system does not have.
fn lacks(what: &str) -> io::Error {
    let system = std::env::consts::OS;
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{system} has no {what}"),
    )
}
