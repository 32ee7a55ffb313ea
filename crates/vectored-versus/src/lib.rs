//! Compares two commands. [`Counter`] counts the calls of one run. [`judge`] turns the runs of all commands into
//! ratios with intervals. [`ends`] says which runs failed. [`report`] makes documents of the results.
//!
//! This crate runs no command. The program `vectored` runs the commands.

// Only the program `vectored` uses the public items of this crate. The names say what most items are.
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
