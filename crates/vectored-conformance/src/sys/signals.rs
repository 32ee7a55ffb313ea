//! Interrupts system calls by signals, and sets the actions of signals.
//!
//! # Safety
//!
//! `unsafe` for `sigaction` and `signal`, for which there is no safe interface. The handler only adds to an atomic, which
//! is allowed in a handler (signal-safety(7)).
#![allow(unsafe_code)]

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::check;
use super::interval::Interval;

static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

/// A source of signals to the thread that made it, again and again until it is dropped.
///
/// The handler is set without `SA_RESTART`, so signals interrupt system calls.
#[derive(Debug)]
pub struct SignalStorm(#[expect(dead_code, reason = "it is dropped")] Interval);

impl SignalStorm {
    /// Starts the signals.
    pub fn begin(interval: Duration) -> io::Result<SignalStorm> {
        // SAFETY: a zeroed `sigaction` is valid: no flags (no SA_RESTART among them), an empty mask.
        // The handler is a function that lives as long as the process and is safe in a signal.
        let outcome = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(libc::SIGALRM, &action, ptr::null_mut())
        };
        check(outcome)?;
        Ok(SignalStorm(Interval::begin(interval)?))
    }

    /// The number of signals that this process has caught so far, of all storms.
    #[must_use]
    pub fn caught() -> u64 {
        CAUGHT.load(Ordering::Relaxed)
    }
}

/// Ignores `SIGXFSZ`, which ends a process that writes beyond `RLIMIT_FSIZE`.
pub fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN installs no handler, and no other part of these programs handles SIGXFSZ.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Restores the default action of `SIGPIPE`, which ends the process. The Rust runtime ignores the signal.
pub fn end_on_broken_pipes() {
    // SAFETY: SIG_DFL installs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
