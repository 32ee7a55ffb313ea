//! Signals during a transfer: Python's handlers run between the system calls of the transfer.

use std::cell::Cell;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use vectored::bindings::CallEnd;

/// A check for signals takes Python's lock. A thread may wait 5 ms for that lock while another thread computes. After
/// calls that no signal has ended, all checks together take at most `1 / SHARE` of a transfer's time.
const SHARE: u32 = 20;

thread_local! {
    /// The exception of the handler that ended the transfer.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
    /// Before this time, no check is made after a call that no signal has ended.
    static NOT_BEFORE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Runs the handlers of the signals that have come. Returns true if a handler has raised an exception.
pub fn should_stop(end: CallEnd) -> bool {
    let began = Instant::now();
    if end != CallEnd::Cut && NOT_BEFORE.get().is_some_and(|time| began < time) {
        return false;
    }
    // An interpreter that shuts down runs no handlers.
    let checked = Python::try_attach(run_handlers).unwrap_or(Ok(()));
    let pause = began
        .elapsed()
        .saturating_mul(SHARE)
        .min(Duration::from_secs(1));
    NOT_BEFORE.set(Some(began + pause));
    match checked {
        Ok(()) => false,
        Err(raised) => {
            RAISED.set(Some(raised));
            true
        }
    }
}

/// Runs the handlers of the signals that have come, until one raises an exception.
fn run_handlers(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Takes the exception that ended the last transfer of this thread.
pub fn take_raised() -> Option<PyErr> {
    RAISED.take()
}
