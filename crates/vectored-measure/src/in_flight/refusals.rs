//! What happens to a system call that the kernel refuses while transfers are in flight.

use std::io;
use std::process::abort;
use std::time::Duration;

/// The pause after the kernel had no memory for a system call. The pause before a system call is made again for which the
/// kernel had no memory.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// After this number of refusals in a row, a call is not made again.
pub(super) const MAX_REFUSALS: u32 = 1000;

/// Aborts the process: the kernel may still use borrowed memory. `call` is the system call that failed.
pub(super) fn cannot_wait(call: &str, error: &io::Error) -> ! {
    eprintln!(
        "vectored: {call} failed while transfers were in flight: {error}; the process is aborted because the kernel may \
         still use their buffers"
    );
    abort()
}
