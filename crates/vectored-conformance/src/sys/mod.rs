//! Signals. `unsafe` code is allowed nowhere else in this crate.

mod interval;
pub mod signals;

use std::io;

/// The result of a call that returns 0 if it succeeds.
fn check(outcome: libc::c_int) -> io::Result<()> {
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
