//! Runs the commands of `vectored versus`: counted runs under strace, then timed runs in rounds.

mod command;
mod counted;
mod earlier;
mod restored;
mod run_end;
mod session;

pub use command::{Program, Surroundings};
pub use earlier::differs;
pub use session::{Plan, measure};
