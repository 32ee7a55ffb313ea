//! A rain of signals, and signals that are ignored.
//!
//! # Safety
//!
//! `unsafe` for `sigaction`, `signal` and `pthread_kill`, for which there is no safe interface. The
//! handler only adds to an atomic, which is allowed in a handler (signal-safety(7)).
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

/// Signals that fall on the thread which made this, at an interval, until it is dropped.
///
/// The handler is set without `SA_RESTART`, so system calls are interrupted. A timer of the process
/// (setitimer(2)) would pick a thread itself, and seldom the one that writes.
#[derive(Debug)]
pub struct Rain {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// The signals are for the thread that made it, so it stays there.
    here: PhantomData<*const ()>,
}

impl Rain {
    /// Begins.
    ///
    /// # Errors
    ///
    /// If the handler cannot be set.
    pub fn begin(interval: Duration) -> io::Result<Rain> {
        // SAFETY: a zeroed `sigaction` is valid: no flags (no SA_RESTART among them), an empty mask.
        // The handler is a function that lives as long as the process and is safe in a signal.
        let outcome = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut())
        };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it takes nothing and cannot fail.
        let target = unsafe { libc::pthread_self() };
        let is_over = Arc::new(AtomicBool::new(false));
        let is_over_there = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            while !is_over_there.load(Ordering::Relaxed) {
                thread::sleep(interval);
                // SAFETY: the target is alive: it owns the `Rain`, which cannot be sent away, and
                // joins this thread before the `Rain` is gone.
                unsafe { libc::pthread_kill(target, libc::SIGALRM) };
            }
        });
        Ok(Rain {
            is_over,
            thread: Some(thread),
            here: PhantomData,
        })
    }

    /// How many signals were caught in this process so far, in every rain.
    #[must_use]
    pub fn caught() -> u64 {
        CAUGHT.load(Ordering::Relaxed)
    }
}

impl Drop for Rain {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Ignores `SIGXFSZ`, which otherwise ends a process that writes beyond `RLIMIT_FSIZE`.
pub fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN is no function of ours, and no other part of these programs asks for SIGXFSZ.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
