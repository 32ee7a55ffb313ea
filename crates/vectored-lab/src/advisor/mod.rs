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

pub mod analysis;
pub(crate) mod descriptors;
pub(crate) mod findings;
mod hash;
mod options;
pub(crate) mod runs;
mod slab;
mod tracker;
pub mod untraced;
pub mod wording;

pub use crate::advisor::analysis::Analysis;
pub use crate::advisor::findings::advise::{About, UNPRICED, Untraced, Words, advise};
pub use crate::advisor::findings::merge::merge;
pub use crate::advisor::findings::price::{Saving, operation_of, price};
pub use crate::advisor::findings::tallies::Tallies;
pub use crate::advisor::options::Options;
pub use crate::advisor::untraced::{Traced, without_strace};

#[cfg(test)]
mod tests;
