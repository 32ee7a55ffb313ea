//! The adaptive gather against its peers, on this machine: what
//! `cargo bench -p vectored-bench` runs.
//!
//! The lab's engine interleaves everything in rounds; this crate brings the
//! techniques of other projects ([`peers`]), chooses the cells ([`grid`]) and
//! says what the figures mean for the library ([`bars`]). Arithmetic and
//! rendering are pure functions of results, which can be saved and loaded.

pub mod args;
pub mod bench_target;
pub mod grid;
pub mod measure;
pub mod mix;
pub mod page;
pub mod peers;
pub mod promises;
mod sys;
pub mod table;
