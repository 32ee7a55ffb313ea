//! Where gathering would help in a program: from the log of its system calls to what merging
//! them would save.
//!
//! `log → `[`Event`](vectored_strace::Event)`s → tallies of what could be merged → `[`Advisory`](crate::model::Advisory)
//!
//! - [`vectored_strace`]: from the text of strace(1) to events. `follow`: hands them to an analysis.
//! - [`analysis`]: from events to tallies. `log` what each event changes; `tables` which descriptor of which process leads where
//!   (`leads`, `opening`, `groups`), `between` what a call between two transfers means, `lane` the
//!   transfers of one direction, cut into runs, `run` and `steps` a run and its pattern, `pending` the
//!   runs of an opening until it is closed, `tally` what was found, counted in memory bounded by the number of patterns, `uses` all calls by file.
//! - [`price`](mod@price): what it would save, by a cost model.
//! - [`advise`](mod@advise): from tallies to an advisory. [`merge`](mod@merge): from several
//!   advisories to one.
//! - [`untraced`]: how long the program takes without strace.
//! - [`words`]: patterns and what to do, in words. [`remedies`]: how, in the language of a runtime
//!   (`runtime`).

pub mod advise;
pub mod analysis;
mod between;
mod follow;
mod groups;
mod hash;
mod lane;
mod leads;
mod log;
mod marks;
pub mod merge;
mod opening;
mod pending;
pub mod price;
mod reason;
pub mod remedies;
mod run;
mod runtime;
mod slab;
mod steps;
mod tables;
mod tally;
pub mod untraced;
mod uses;
pub mod words;

pub use advise::{About, UNPRICED, Untraced, Words, advise};
pub use analysis::{Analysis, Options};
pub use merge::merge;
pub use price::{Saving, operation_of, price};
pub use tally::Tallies;
pub use untraced::{Traced, without_strace};

#[cfg(test)]
mod tests;
