//! Runs the commands of `vectored versus`: counted runs under strace, then timed runs in rounds.

mod observed;
mod restored;
mod session;

pub use observed::Program;
pub use session::measure;
