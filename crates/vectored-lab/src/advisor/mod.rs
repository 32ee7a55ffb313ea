//! Where gathering would help in a program: from the log of its system calls to what merging
//! them would save.
//!
//! `log → `[`Event`]`s → tallies of what could be merged → `[`Advisory`](crate::model::Advisory)
//!
//! - [`event`]: one system call, as far as it matters.
//! - [`strace`]: from the text of strace(1) to events.
//! - `tables`: which descriptor of which process leads where.
//! - `runs`: which calls one call would replace, and what lies between them.
//! - `tally`: what was found, counted, in memory bounded by the number of patterns.
//! - `price`: what it would save, by a cost model.

pub mod event;
pub mod strace;

pub use event::Event;
