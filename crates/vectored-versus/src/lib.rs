//! Two commands side by side. [`Counter`] counts the calls of one run. [`judge`] turns the runs of all commands into ratios
//! with intervals. [`ends`] says which runs failed. [`report`] makes documents of these results.
//!
//! This crate runs no command: `vectored versus` does.

// Only the command `vectored` uses the public items of this crate; names say what most of them are.
#![allow(missing_docs)]

mod calls;
mod capture;
pub mod ends;
pub mod judge;
pub mod model;
pub mod report;
mod stacks;
mod words;

pub use crate::calls::{Counter, is_script_name};
pub use crate::capture::{Captured, Varying, capture, difference, last_line, sum, varying};
pub use crate::stacks::{Stacks, grown_stacks, stacks};
pub use crate::words::{SplitError, split};
