//! System calls, their limits, and copying of memory. Only this folder and the folders `sys` of other rooms have
//! `unsafe` code.
//!
//! `unix` and `windows` have one interface, and all other code is shared: `syscalls` (one call each), `files` (what a
//! descriptor is) and `codes` (numbers of errors).

pub(crate) mod coalesce;
pub(crate) mod copy;
#[cfg(test)]
mod copy_tests;
pub(crate) mod entry;
pub(crate) mod limits;
#[cfg(target_os = "linux")]
pub(crate) mod moves;
pub(crate) mod open_file;
pub(crate) mod owned_bytes;
#[cfg(unix)]
pub(crate) mod raw;
pub(crate) mod span;
#[cfg(test)]
mod span_tests;
pub(crate) mod staging;
pub(crate) mod uninit;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(all(test, target_os = "linux"))]
pub(crate) use unix::fork;
#[cfg(unix)]
pub(crate) use unix::{codes, files, syscalls};
#[cfg(windows)]
pub(crate) use windows::{codes, event, files, syscalls};
