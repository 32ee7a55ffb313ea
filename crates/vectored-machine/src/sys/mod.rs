//! Wrappers of system and C library calls without a safe interface. `unsafe` is
//! allowed only in this module of the crate.

#[cfg(unix)]
pub(crate) mod provisional;
#[cfg(unix)]
pub(crate) mod residency;
#[cfg(target_os = "linux")]
pub(crate) mod session;
#[cfg(unix)]
pub(crate) mod signals;
#[cfg(unix)]
pub(crate) mod sockets;
#[cfg(unix)]
pub(crate) mod standard;
#[cfg(unix)]
pub(crate) mod usage;
#[cfg(windows)]
pub(crate) mod windows;
