//! Measures the adaptive gather against its peers: `cargo xtask bench-peers`.
//!
//! The engine of `vectored measure` samples all techniques in turns. This crate adds the techniques of other projects
//! ([`peers`]), chooses the cells ([`grid`]) and compares the figures with the library's promises
//! ([`promises`]). Arithmetic and rendering are pure functions of results, which can be saved and loaded.
//!
//! [`args`] reads the command line, [`measure`] runs, [`table`] and [`page`] render. A cell writes a
//! list ([`grid::List`], some of them a [`mix`]) to a target ([`bench_target`]) by each of the [`techniques`].
//!
//! [`programs`] is another bench: whole programs instead of lists.

pub mod args;
pub mod bench_target;
mod c_callers;
pub mod command_line;
pub mod grid;
pub mod measure;
pub mod mix;
pub mod page;
pub mod peers;
pub mod programs;
pub mod promises;
mod sys;
pub use sys::liburing;
pub mod table;
pub mod techniques;
