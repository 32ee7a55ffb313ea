//! Interrupts system calls by signals, and sets the actions of signals.
//!
//! # Safety
//!
//! `unsafe` for `sigaction`, `signal` and pthread_kill(3), for which there is no safe interface. The handler only adds to an
//! atomic, which is allowed in a handler (signal-safety(7)).
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

/// A thread that sends `SIGALRM` again and again to the thread that made this value. Dropping the value ends the
/// sending.
///
/// The handler is set without `SA_RESTART`, so signals interrupt system calls. With setitimer(2), the kernel would
/// choose the thread: seldom the thread that moves bytes.
#[derive(Debug)]
pub struct SignalStorm {
    /// Dropping the sender ends the thread.
    thread: Option<(Sender<()>, JoinHandle<()>)>,
    /// Keeps the value on the thread that made the value: this thread gets the signals.
    not_send: PhantomData<*const ()>,
}

impl SignalStorm {
    pub fn begin(interval: Duration) -> io::Result<SignalStorm> {
        // SAFETY: a zeroed `sigaction` is valid: no flags (no SA_RESTART among them), an empty mask.
        // The handler is a function that lives as long as the process and is safe in a signal.
        let outcome = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(libc::SIGALRM, &action, ptr::null_mut())
        };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has no requirement.
        let target = unsafe { libc::pthread_self() } as usize;
        let (ender, ended) = channel::<()>();
        let thread = Builder::new().spawn(move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // SAFETY: the target waits for the end of this thread before it ends: a `SignalStorm` stays on the
                // target.
                unsafe { libc::pthread_kill(target as libc::pthread_t, libc::SIGALRM) };
            }
        })?;
        Ok(SignalStorm {
            thread: Some((ender, thread)),
            not_send: PhantomData,
        })
    }

    /// The number of signals that this process has caught so far, of all storms.
    pub fn caught() -> u64 {
        CAUGHT.load(Ordering::Relaxed)
    }
}

impl Drop for SignalStorm {
    fn drop(&mut self) {
        if let Some((ender, thread)) = self.thread.take() {
            drop(ender);
            // The thread does not panic.
            let _ = thread.join();
        }
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
