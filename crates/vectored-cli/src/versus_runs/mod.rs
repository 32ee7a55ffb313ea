//! Runs the commands of `vectored versus`: counted runs under strace, then timed runs in rounds.

mod command;
mod counted;
mod restored;
mod run_end;
mod session;

pub use command::{Program, Surroundings};
pub use session::{Plan, measure};
