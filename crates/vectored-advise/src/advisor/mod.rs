//! Where gathering would help in a program: from the log of its system calls to the time that merging calls would save.
//!
//! `log → `[`Event`](vectored_strace::Event)`s → `[`Tallies`]` → `[`Advisory`](crate::model::Advisory)

pub mod analysis;
pub(crate) mod descriptors;
pub(crate) mod fd_kind;
pub(crate) mod findings;
pub(crate) mod keys;
pub(crate) mod name_table;
mod options;
pub(crate) mod runs;
pub(crate) mod stalls;
mod tracker;
pub mod wording;

pub use crate::advisor::analysis::Analysis;
pub use crate::advisor::descriptors::runtime::runtime_of_executable;
pub use crate::advisor::findings::advise::{UNPRICED, advise};
pub use crate::advisor::findings::merge::merge;
pub use crate::advisor::findings::named_files::{RunFiles, unescaped};
pub use crate::advisor::findings::price::{Saving, operation_of, price};
pub use crate::advisor::findings::tallies::Tallies;
pub use crate::advisor::options::{Look, Options, Seen};
pub use crate::languages::interprets_others;

#[cfg(test)]
mod tests;
