//! Runs the commands of `vectored versus`: counted runs under strace, and timed runs in rounds.

mod earlier;
mod observed;
mod restored;
mod session;

pub use earlier::differs;
pub use observed::Program;
pub use session::measure;
