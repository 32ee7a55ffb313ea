//! Describes a machine, and what it offers to programs that move several buffers.
//!
//! [`host`] describes and probes a machine, [`model`] has the results, [`report`] puts the results into words. [`platform`]
//! has the calls that differ between systems, under the same names.
//!
//! Only the command `vectored` uses the public items of this crate; names say what most of them are.
#![allow(missing_docs)]

mod clock;
pub mod host;
pub mod model;
pub mod platform;
pub mod report;
mod sys;

pub use crate::clock::{Clock, FakeClock, MonotonicClock};
