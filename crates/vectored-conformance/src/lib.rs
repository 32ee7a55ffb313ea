//! One suite for every way to move bytes: what it is compared with, where it moves them, and what
//! goes wrong meanwhile.
//!
//! - [`writers`] is the table of the ways to write, [`readers`] that of the ways to read. A new one is
//!   a new entry; everything else here then tries it.
//! - [`model`] is the obvious right answer: concatenate the segments, and compare.
//! - [`target`] receives what was moved, through real descriptors; [`script`] without any. [`source`]
//!   gives what is to be read.
//! - [`host`] is what tests need of the machine: mounts, child processes, reported skips.
//! - [`soak`] is the suite at random, [`fuzz`] what the fuzz targets run.
//!
//! It is not published, and not made for speed.

pub mod fuzz;
pub mod host;
pub mod model;
pub mod readers;
pub mod script;
pub mod soak;
pub mod source;
mod sys;
pub mod target;
pub mod writers;

pub use sys::signals;
