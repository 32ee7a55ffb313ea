//! `SIGALRM` for one thread in intervals: by a timer of Linux, elsewhere by another thread.
//!
//! # Safety
//!
//! `unsafe` for the timers of timer_create(2), and for pthread_kill(3), for which there is no safe interface.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::time::Duration;

/// A timer that sends `SIGALRM` to the thread that made it, until it is dropped.
///
/// With setitimer(2) the kernel would choose the thread, and seldom the one that moves bytes.
#[derive(Debug)]
pub(super) struct Interval {
    #[cfg(target_os = "linux")]
    timer: libc::timer_t,
    /// A sender that is dropped ends the thread.
    #[cfg(not(target_os = "linux"))]
    thread: Option<(std::sync::mpsc::Sender<()>, std::thread::JoinHandle<()>)>,
    /// Keeps the value on the thread that made it, which gets the signals.
    not_send: PhantomData<*const ()>,
}

#[cfg(target_os = "linux")]
impl Interval {
    /// Starts the timer.
    ///
    /// # Errors
    ///
    /// If it cannot be made or set.
    pub(super) fn begin(interval: Duration) -> io::Result<Interval> {
        use std::ptr;

        use super::check;

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
        let started = Interval {
            timer,
            not_send: PhantomData,
        };
        let interval = libc::timespec {
            tv_sec: interval.as_secs() as libc::time_t,
            tv_nsec: interval.subsec_nanos() as libc::c_long,
        };
        let setting = libc::itimerspec {
            it_interval: interval,
            it_value: interval,
        };
        // SAFETY: the timer exists until `started` is dropped, and the setting is only read.
        check(unsafe { libc::timer_settime(timer, 0, &setting, ptr::null_mut()) })?;
        Ok(started)
    }
}

#[cfg(target_os = "linux")]
impl Drop for Interval {
    fn drop(&mut self) {
        // SAFETY: the timer is this value's own, and not used again. The handler stays, and catches a
        // signal that is still pending.
        unsafe { libc::timer_delete(self.timer) };
    }
}

#[cfg(not(target_os = "linux"))]
impl Interval {
    /// Starts the thread that sends the signals.
    ///
    /// # Errors
    ///
    /// If there can be no other thread.
    pub(super) fn begin(interval: Duration) -> io::Result<Interval> {
        use std::sync::mpsc::{RecvTimeoutError, channel};

        // SAFETY: it has no requirement.
        let target = unsafe { libc::pthread_self() } as usize;
        let (ender, ended) = channel::<()>();
        let thread = std::thread::Builder::new().spawn(move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // SAFETY: the target waits for the end of this thread before it ends: `Interval` stays on it.
                unsafe { libc::pthread_kill(target as libc::pthread_t, libc::SIGALRM) };
            }
        })?;
        Ok(Interval {
            thread: Some((ender, thread)),
            not_send: PhantomData,
        })
    }
}

#[cfg(not(target_os = "linux"))]
impl Drop for Interval {
    fn drop(&mut self) {
        if let Some((ender, thread)) = self.thread.take() {
            drop(ender);
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}
