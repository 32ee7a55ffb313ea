//! What the systems do differently, behind the same functions. A system that lacks something says so, by an error or by
//! `None`, and nothing else here knows which system it is.

#[cfg(unix)]
pub(crate) mod calls;
#[cfg(unix)]
pub(crate) mod cpus;
#[cfg(unix)]
pub(crate) mod descriptors;
#[cfg(unix)]
pub(crate) mod fd;
#[cfg(unix)]
pub(crate) mod files;
pub(crate) mod machine;
#[cfg(unix)]
pub(crate) mod plain_calls;
#[cfg(unix)]
pub(crate) mod processes;
#[cfg(unix)]
pub(crate) mod rings;
#[cfg(unix)]
pub(crate) mod times;
pub(crate) mod unsupported;
#[cfg(windows)]
mod windows;

#[cfg(windows)]
pub(crate) use windows::{calls, cpus, descriptors, fd, files, plain_calls, rings, times};

pub(crate) use unsupported::lacks;
