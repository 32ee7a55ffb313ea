//! Programs before and after the change that `vectored advise` proposes: is the predicted saving
//! the one that comes?
//!
//! `cargo bench -p vectored-pairs` runs both versions of each pair in turns, lets the advisor look
//! at the first one's system calls, and holds the one against the other.
//!
//! - `src/bin/` and `c/` are the programs: real work in small, the same bytes either way.
//! - [`PAIRS`] is the list of them; [`Workshop`] builds them and makes what they read.
//! - [`time_in_turns`] measures, [`trace()`] records system calls, [`forecast`] asks the
//!   advisor.

mod call;
mod catalogue;
pub mod forecast;
mod measured;
mod table;
mod traced;
mod workshop;

pub use call::{Call, INPUT, OUTPUT, Version};
pub use catalogue::{Input, Language, PAIRS, Pair};
pub use measured::{Measured, time_in_turns};
pub use table::{Row, table};
pub use traced::{strace_is_missing, trace};
pub use workshop::Workshop;
