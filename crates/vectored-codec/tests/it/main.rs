//! Frames through writers of tokio.

// On Unix only: the tests use a socket pair.
#[cfg(unix)]
mod allocations;
#[cfg(unix)]
// The lines are broken as on the pages.
#[rustfmt::skip]
mod before_and_after;
mod frames;
#[cfg(unix)]
#[path = "../../../vectored/tests/allocations/sys/mod.rs"]
mod sys;
