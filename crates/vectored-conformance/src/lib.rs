//! One test suite for every function of `vectored` that moves bytes.
//!
//! - [`write_ways`] is the table of the functions that write a list, [`read_ways`] the table of the functions that
//!   read a list. The suite tests each function of the tables.
//! - [`model`] computes the expected result: the bytes of all segments in a row.
//! - [`rings`] has the functions that need io_uring, [`ring_sessions`] runs many transfers at once.
//! - [`target`] has the descriptors that are written to, [`source`] the descriptors that are read from.
//! - [`signals`] interrupts system calls.
//! - [`host`] has mounts, child processes and reported skips.
//! - [`queue`] does random operations on a `SegmentQueue`.
//! - [`soak`] runs the suite with random lists and faults, [`fuzz`] has the bodies of the fuzz targets.
//!
//! On Windows, only the ways, the targets and the sources of Windows exist.
//!
//! This crate is not published, and is not made for speed. Names say what most public items are.
#![allow(missing_docs)]

#[cfg(unix)]
#[cfg_attr(
    not(all(
        target_os = "linux",
        target_pointer_width = "64",
        target_endian = "little"
    )),
    path = "asynchronous/none.rs"
)]
mod asynchronous;
mod ends;
#[cfg(unix)]
pub mod fuzz;
#[cfg(unix)]
pub mod host;
pub mod model;
pub mod outcome;
pub mod queue;
pub mod read_ways;
#[cfg(unix)]
pub mod soak;
pub mod source;
#[cfg(unix)]
mod sys;
pub mod target;
pub mod way;
pub mod write_ways;

#[cfg(unix)]
pub use asynchronous::{ring_sessions, rings};
#[cfg(unix)]
pub use sys::signals;
