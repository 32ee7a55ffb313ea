//! `SIGALRM` for one thread in intervals, sent by another thread.
//!
//! # Safety
//!
//! `unsafe` for pthread_kill(3), for which there is no safe interface.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// A thread that sends `SIGALRM` to the thread that made it, until it is dropped.
///
/// With setitimer(2) the kernel would choose the thread, and seldom the one that moves bytes.
#[derive(Debug)]
pub(super) struct Interval {
    /// A sender that is dropped ends the thread.
    thread: Option<(Sender<()>, JoinHandle<()>)>,
    /// Keeps the value on the thread that made it, which gets the signals.
    not_send: PhantomData<*const ()>,
}

impl Interval {
    pub(super) fn begin(interval: Duration) -> io::Result<Interval> {
        // SAFETY: it has no requirement.
        let target = unsafe { libc::pthread_self() } as usize;
        let (ender, ended) = channel::<()>();
        let thread = Builder::new().spawn(move || {
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

impl Drop for Interval {
    fn drop(&mut self) {
        if let Some((ender, thread)) = self.thread.take() {
            drop(ender);
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}
