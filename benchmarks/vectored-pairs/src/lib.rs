//! Compares the savings that `vectored advise` predicts with those that programs really gain.
//!
//! A pair is a program before and after the advised change. `cargo xtask pairs` runs both
//! versions in turns, analyses the system calls of the first, and compares the measured saving with the
//! predicted one.
//!
//! - `src/bin/` and `c/` have the programs. They do real work on a small scale; both versions write the same
//!   bytes.
//! - [`PAIRS`] is the list of pairs. [`Sandbox`] builds the programs and makes their input. [`Invocation`] is
//!   how they are called.
//! - [`time_in_turns`] measures, [`trace()`] records system calls, [`prediction`] runs the advisor,
//!   [`table()`] renders.

mod catalogue;
mod closeness;
mod invocation;
pub mod prediction;
mod sandbox;
mod saving;

mod tracing;

pub use catalogue::{Input, Language, PAIRS, Pair};
pub use closeness::{Row, table};
pub use invocation::{INPUT, Invocation, OUTPUT, Version};
pub use sandbox::Sandbox;
pub use saving::{MeasuredSaving, time_in_turns};
pub use tracing::{strace_unavailable, trace};
