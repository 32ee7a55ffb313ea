//! Describes a machine, and what it offers to programs that move several buffers.
//!
//! [`host`] describes and probes it, [`model`] has the results, [`report`] puts them into words. [`platform`] has the
//! calls that differ from system to system behind the same functions.
//!
//! The public items of this crate are for the program alone; names say what most of them are.
#![allow(missing_docs)]

mod clock;
pub mod host;
pub mod model;
pub mod platform;
pub mod report;
mod sys;

pub use crate::clock::{Clock, FakeClock, MonotonicClock};
