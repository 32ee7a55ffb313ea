//! Random lists through random faults, for `cargo xtask soak`. Unix only: the faults are signals, mounts and
//! io_uring.

use std::process::ExitCode;

#[cfg(unix)]
mod unix;

#[cfg(unix)]
fn main() -> ExitCode {
    unix::main()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("error: the soak runs on Unix only");
    ExitCode::from(2)
}
