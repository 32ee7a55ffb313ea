//! Where gathering would help in a program: from the log of its system calls to the time that
//! merging them would save.
//!
//! `log → `[`Event`](vectored_strace::Event)`s → `[`Tallies`]` → `[`Advisory`](crate::model::Advisory)
//!
//! - [`vectored_strace`]: from the text of strace(1) to events.
//! - [`analysis`]: from events to tallies. It owns a `tracker`, which applies each event to the state of
//!   the log's processes.
//! - `descriptors`: threads, processes, descriptor tables, open file descriptions.
//! - `runs`: the transfers of one direction, cut into runs, and their patterns; which calls are barriers.
//! - `findings`: the kind of finding that a run is; counts of findings, and of all calls by file; prices; from
//!   tallies to an advisory ([`advise`]), and from several advisories to one ([`merge`]).
//! - [`wording`]: patterns, actions and remedies in words.

pub mod analysis;
pub(crate) mod descriptors;
pub(crate) mod findings;
mod options;
pub(crate) mod runs;
pub(crate) mod stalls;
mod tracker;
pub mod wording;

pub use crate::advisor::analysis::Analysis;
pub use crate::advisor::descriptors::runtime::runtime_of_executable;
pub use crate::advisor::findings::advise::{UNPRICED, advise};
pub use crate::advisor::findings::merge::merge;
pub use crate::advisor::findings::named_files::{RunFiles, WrittenFile, unescaped};
pub use crate::advisor::findings::price::{Saving, operation_of, price};
pub use crate::advisor::findings::tallies::Tallies;
pub use crate::advisor::options::{Look, Options, Seen};
pub use crate::languages::interprets_others;

#[cfg(test)]
mod tests;
