//! Lets a program end a transfer between two system calls, for example after a signal.
//!
//! Each thread has a function pointer that decides whether a transfer continues. The pointer is not an argument
//! of every function, because only bindings to languages with signal handlers need it. A transfer of one call
//! does not read the pointer.

use std::cell::Cell;
use std::io;

/// The end of a system call in a transfer that needs further calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEnd {
    /// The call ended with `EINTR`, or a write took only a part of its bytes. A signal may be the cause.
    Cut,
    /// The call ended in another way. A signal may have come during or after the call.
    Other,
}

type ShouldStop = fn(CallEnd) -> bool;

thread_local! {
    static SHOULD_STOP: Cell<Option<ShouldStop>> = const { Cell::new(None) };
}

/// Runs `transfer`, which `should_stop` can end between two system calls.
///
/// A transfer retries after `EINTR`, so a signal handler cannot end the transfer. Within `transfer`, the
/// functions of this crate that take a descriptor call `should_stop` on this thread before each further system
/// call. If `should_stop` returns true, the functions return an error of the kind
/// [`Interrupted`](io::ErrorKind::Interrupted) with the number of bytes moved before. If the first call completes
/// the transfer, `should_stop` is not called.
///
/// `interruptible` is for bindings to languages that run signal handlers outside of the signal context. For
/// example, `PyErr_CheckSignals` runs the handlers of Python. An inner call of `interruptible` replaces
/// `should_stop` until the inner call returns.
///
/// A signal that comes between the return of `should_stop` and the start of the system call does not interrupt
/// the system call.
pub fn interruptible<T>(should_stop: fn(CallEnd) -> bool, transfer: impl FnOnce() -> T) -> T {
    let _restored = Restored(SHOULD_STOP.replace(Some(should_stop)));
    transfer()
}

/// Restores the earlier function, even after a panic.
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
    // The error has the number `EINTR`, because Python and C distinguish errors by their numbers.
    #[cfg(unix)]
    return io::Error::from_raw_os_error(crate::sys::codes::EINTR);
    // In the standard library, `WSAEINTR` has another kind than `Interrupted`.
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

    /// Checks that each run of `transfer` stopped after one call. `transfer` returns the number of calls of all
    /// runs, and its result.
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
