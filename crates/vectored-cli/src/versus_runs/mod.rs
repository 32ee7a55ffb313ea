//! Runs the commands of `vectored versus`: counted runs under strace, then timed runs in rounds.

mod command;
mod counted;
mod session;

pub use command::{Program, Surroundings};
pub use counted::end_in_words;
pub use session::{Plan, measure};
