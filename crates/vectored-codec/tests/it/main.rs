//! Frames through writers of tokio.

// A socket pair.
#[cfg(unix)]
mod allocations;
mod frames;
#[cfg(unix)]
#[path = "../../../vectored/tests/allocations/sys/mod.rs"]
mod sys;
