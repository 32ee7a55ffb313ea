//! A question between two system calls of a transfer: shall the transfer go on? So a program can end a transfer at a
//! signal.
//!
//! The question is a fn pointer for each thread, and not an argument of every function: only bindings to languages with
//! signal handlers need it, and a transfer of one call pays nothing.

use std::cell::Cell;
use std::io;

/// How the last system call of a transfer ended, if more calls are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEnd {
    /// The call ended with `EINTR`, or with a part of the bytes of a write: a signal may be the cause.
    Cut,
    /// The call ended in another way. A signal may have come since, or during the call.
    Other,
}

type ShouldStop = fn(CallEnd) -> bool;

thread_local! {
    static SHOULD_STOP: Cell<Option<ShouldStop>> = const { Cell::new(None) };
}

/// Runs `transfer`, which `should_stop` can end between two system calls.
///
/// A transfer retries after `EINTR`, so a signal handler cannot end it. Within `transfer`, the functions of this crate
/// that take a descriptor ask `should_stop` on this thread before they make another system call. If `should_stop` returns
/// true, the functions return an error of the kind [`Interrupted`](io::ErrorKind::Interrupted) with the bytes moved
/// before. A transfer that takes one call, and is not interrupted, does not ask.
///
/// This function is for bindings to languages that run signal handlers outside of the signal: `PyErr_CheckSignals` runs
/// the handlers of Python. An inner call of `interruptible` replaces the function until the inner call returns.
///
/// A signal that comes after `should_stop` has returned and before the system call begins does not interrupt that call.
pub fn interruptible<T>(should_stop: fn(CallEnd) -> bool, transfer: impl FnOnce() -> T) -> T {
    let _restored = Restored(SHOULD_STOP.replace(Some(should_stop)));
    transfer()
}

/// A guard that restores the earlier function, even after a panic.
struct Restored(Option<ShouldStop>);

impl Drop for Restored {
    fn drop(&mut self) {
        SHOULD_STOP.set(self.0);
    }
}

#[cold]
pub(crate) fn go_on_after(end: CallEnd) -> io::Result<()> {
    match SHOULD_STOP.get() {
        Some(should_stop) if should_stop(end) => Err(interrupted()),
        _ => Ok(()),
    }
}

fn interrupted() -> io::Error {
    // The error has the number `EINTR`: Python and C tell errors apart by their numbers.
    #[cfg(unix)]
    return io::Error::from_raw_os_error(crate::sys::codes::EINTR);
    // `WSAEINTR` is not of this kind in the standard library.
    #[cfg(windows)]
    return io::ErrorKind::Interrupted.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::reads::ScriptedSource;
    use crate::testing::{Answer, ScriptedSink, any_limits, any_script, any_sizes, list, payload};
    use crate::transfer::read_loop::AtEof;
    use crate::write::all::send_all_referenced;
    use crate::{CostModel, Gather, SegmentCursor, TransferError};
    use proptest::prelude::*;
    use std::io::{IoSlice, IoSliceMut};

    thread_local! {
        static ASKED: Cell<Vec<CallEnd>> = const { Cell::new(Vec::new()) };
    }

    fn note_and_stop(end: CallEnd) -> bool {
        let mut asked = ASKED.take();
        asked.push(end);
        ASKED.set(asked);
        true
    }

    /// Runs `transfer` until it succeeds, and checks that each run stopped after one call. `transfer` returns the
    /// number of calls so far, and its result.
    fn stop_after_each_call(mut transfer: impl FnMut() -> (usize, Result<u64, TransferError>)) {
        let mut calls_before = 0;
        loop {
            let (calls, result) = interruptible(note_and_stop, &mut transfer);
            let asked = ASKED.take();
            assert!(calls - calls_before <= 1, "{} calls", calls - calls_before);
            assert!(asked.len() <= 1, "{asked:?}");
            calls_before = calls;
            match result {
                Ok(_) => {
                    assert!(asked.is_empty(), "asked at the end of the list");
                    return;
                }
                Err(error) => {
                    let is_stopped = error.kind() == io::ErrorKind::Interrupted;
                    assert_eq!(is_stopped, asked.len() == 1, "{error}: {asked:?}");
                    let is_cut = is_stopped && error.transferred() == 0;
                    assert!(!is_cut || asked == [CallEnd::Cut]);
                }
            }
        }
    }

    type Send<'f> = &'f mut dyn FnMut(
        &[IoSlice<'_>],
        &mut SegmentCursor,
        &mut ScriptedSink,
    ) -> Result<u64, TransferError>;

    fn check_write(
        sizes: &[usize],
        script: &[Answer],
        limits: crate::sys::limits::Limits,
        send: Send<'_>,
    ) {
        let data = payload(sizes);
        let (segments, mut cursor) = (list(&data), SegmentCursor::new());
        let mut sink = ScriptedSink::new(script.to_vec(), limits);
        stop_after_each_call(|| {
            let result = send(&segments, &mut cursor, &mut sink);
            (sink.calls, result)
        });
        assert_eq!(sink.taken, data.concat());
    }

    proptest! {
        #[test]
        fn a_transfer_that_is_stopped_after_each_call_loses_nothing(
            sizes in any_sizes(), script in any_script(), limits in any_limits()
        ) {
            check_write(&sizes, &script, limits, &mut |segments, cursor, sink| {
                send_all_referenced(segments, cursor, limits, || Ok(()), |slices| sink.call(slices))
            });
            let mut gather = Gather::within(limits, CostModel::default());
            check_write(&sizes, &script, limits, &mut |segments, cursor, sink| {
                gather.send_all(segments, cursor, || Ok(()), |slices| sink.call(slices))
            });

            let data = payload(&sizes).concat();
            let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size]).collect();
            let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
            let mut cursor = SegmentCursor::new();
            let mut source = ScriptedSource::new(data, &script, limits);
            stop_after_each_call(|| {
                let result = crate::read::all::receive_directly(
                    &mut segments, &mut cursor, limits, AtEof::Stop, |slices| source.call(slices),
                );
                (source.calls, result)
            });
        }
    }

    #[test]
    fn the_function_holds_for_its_thread_and_until_the_transfer_is_over() {
        let is_set = || SHOULD_STOP.get().is_some();
        interruptible(
            |_| true,
            || {
                assert!(is_set());
                interruptible(|_| false, || assert!(go_on_after(CallEnd::Cut).is_ok()));
                assert!(go_on_after(CallEnd::Cut).is_err());
                std::thread::scope(|scope| assert!(!scope.spawn(is_set).join().unwrap()));
            },
        );
        let panicked = std::panic::catch_unwind(|| interruptible(|_| true, || panic!("expected")));
        assert!(panicked.is_err() && !is_set());
    }
}
