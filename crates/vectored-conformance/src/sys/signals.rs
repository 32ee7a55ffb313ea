//! Interrupts system calls by signals, and sets the actions of signals.
//!
//! # Safety
//!
//! `unsafe` for `sigaction`, `signal` and the timers of timer_create(2), for which there is no safe
//! interface. The handler only adds to an atomic, which is allowed in a handler (signal-safety(7)).
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

/// An interval timer that sends signals to the thread that made it, until it is dropped.
///
/// The handler is set without `SA_RESTART`, so signals interrupt system calls. With setitimer(2) the kernel
/// would choose the thread, and seldom the one that moves bytes.
#[derive(Debug)]
pub struct SignalStorm {
    timer: libc::timer_t,
    /// Keeps the value on the thread that made it, which gets the signals.
    not_send: PhantomData<*const ()>,
}

impl SignalStorm {
    /// Starts the timer.
    ///
    /// # Errors
    ///
    /// If the handler or the timer cannot be set.
    pub fn begin(interval: Duration) -> io::Result<SignalStorm> {
        // SAFETY: a zeroed `sigaction` is valid: no flags (no SA_RESTART among them), an empty mask.
        // The handler is a function that lives as long as the process and is safe in a signal.
        let outcome = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(libc::SIGALRM, &action, ptr::null_mut())
        };
        check(outcome)?;
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: a zeroed `sigevent` is valid, and says then that the signal goes to this thread.
        // Both pointers are to values on this stack, which the call does not keep.
        let outcome = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGALRM;
            event.sigev_notify_thread_id = libc::gettid();
            libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer)
        };
        check(outcome)?;
        // From here on `drop` deletes the timer, also after an error.
        let storm = SignalStorm {
            timer,
            not_send: PhantomData,
        };
        let interval = libc::timespec {
            tv_sec: interval.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(interval.subsec_nanos()),
        };
        let setting = libc::itimerspec {
            it_interval: interval,
            it_value: interval,
        };
        // SAFETY: the timer exists until `rain` is dropped, and the setting is only read.
        check(unsafe { libc::timer_settime(timer, 0, &setting, ptr::null_mut()) })?;
        Ok(storm)
    }

    /// The number of signals that this process has caught so far, of all storms.
    #[must_use]
    pub fn caught() -> u64 {
        CAUGHT.load(Ordering::Relaxed)
    }
}

impl Drop for SignalStorm {
    fn drop(&mut self) {
        // SAFETY: the timer is this value's own, and not used again. The handler stays, and catches a
        // signal that is still pending.
        unsafe { libc::timer_delete(self.timer) };
    }
}

fn check(outcome: libc::c_int) -> io::Result<()> {
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
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
