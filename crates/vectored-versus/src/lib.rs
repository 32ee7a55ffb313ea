//! Two commands side by side: [`Counter`] counts the calls of one run, [`judge`] turns the runs of all commands into ratios
//! with intervals, and [`report`] puts them into words.
//!
//! It runs no command: `vectored versus` does.

mod calls;
mod capture;
pub mod judge;
pub mod model;
pub mod report;
mod words;

pub use crate::calls::Counter;
pub use crate::capture::{Captured, Varying, capture, difference, sum, varying};
pub use crate::words::{SplitError, split};
