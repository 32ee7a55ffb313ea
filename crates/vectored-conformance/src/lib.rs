//! One test suite for every function of `vectored` that moves bytes.
//!
//! - [`write_ways`] is the table of the functions that write a list, [`read_ways`] the table of the functions that
//!   read one. Add a function to its table, and the whole suite tests it.
//! - [`model`] computes the expected result: the bytes of all segments in a row.
//! - [`rings`] has the functions that need io_uring, [`ring_sessions`] many of their transfers at once.
//! - [`target`] has the descriptors that are written to, [`source`] the descriptors that are read from.
//! - [`signals`] interrupts system calls.
//! - [`host`] has mounts, child processes and reported skips.
//! - [`queue`] has what is done with a `SegmentQueue` at random.
//! - [`soak`] runs the suite at random, [`fuzz`] for the fuzz targets.
//!
//! On Windows there are the ways, the targets and the sources that it has.
//!
//! The crate is not published, and not made for speed. The public items of this crate are for the program alone; names say what
//! most of them are.
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
