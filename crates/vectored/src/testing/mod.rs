//! Tools of the unit tests: payloads with a byte pattern, sinks with a script, and random lists.

pub(crate) mod reads;

use std::io::{self, IoSlice};
use std::ops::Deref;

use proptest::prelude::*;

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::sys::codes;
use crate::sys::limits::Limits;
use crate::sys::span::spans;

/// Neighbouring bytes differ, and the period of the pattern is not a power of two.
pub(crate) fn payload(sizes: &[usize]) -> Vec<Vec<u8>> {
    // Whole periods are repeated, because a loop over bytes is slow under Miri.
    let period: Vec<u8> = (0..251).collect();
    let all = period.repeat(sizes.iter().sum::<usize>() / period.len() + 1);
    let mut left = &all[..];
    let mut next = |size: &usize| {
        let (buffer, after) = left.split_at(*size);
        left = after;
        buffer.to_vec()
    };
    sizes.iter().map(&mut next).collect()
}

pub(crate) fn null_device() -> std::fs::File {
    let path = if cfg!(windows) { "NUL" } else { "/dev/null" };
    std::fs::File::options().write(true).open(path).unwrap()
}

/// Windows has no number for an interrupted call.
pub(crate) fn failure(code: i32) -> io::Error {
    if cfg!(windows) && code == codes::EINTR {
        io::ErrorKind::Interrupted.into()
    } else {
        io::Error::from_raw_os_error(code)
    }
}

pub(crate) fn list(data: &[Vec<u8>]) -> Vec<IoSlice<'_>> {
    data.iter().map(|bytes| IoSlice::new(bytes)).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// At most this many bytes.
    Take(usize),
    /// The `errno` of a call that takes no byte.
    Fail(i32),
}

/// A sink that answers calls by its script, checks every call, and keeps the bytes. After the end of the script,
/// the sink takes all bytes.
#[derive(Debug)]
pub(crate) struct ScriptedSink {
    script: std::vec::IntoIter<Answer>,
    limits: Limits,
    pub(crate) last: Answer,
    pub(crate) taken: Vec<u8>,
    pub(crate) calls: usize,
    /// The number of answers that must end a transfer: no byte taken, or a failure other than `EINTR`.
    pub(crate) refusals: usize,
}

impl ScriptedSink {
    pub(crate) fn new(script: Vec<Answer>, limits: Limits) -> ScriptedSink {
        ScriptedSink {
            script: script.into_iter(),
            limits,
            last: Answer::Take(usize::MAX),
            taken: Vec::new(),
            calls: 0,
            refusals: 0,
        }
    }

    pub(crate) fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.calls += 1;
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(!slices.is_empty(), "a call without a slice");
        assert!(
            slices.iter().all(|slice| !slice.is_empty()),
            "an empty slice"
        );
        assert!(slices.len() <= self.limits.segments, "too many slices");
        assert!(bytes <= self.limits.bytes, "too many bytes");
        self.last = self.script.next().unwrap_or(Answer::Take(usize::MAX));
        let ends = match self.last {
            Answer::Take(most) => most == 0,
            Answer::Fail(code) => code != codes::EINTR,
        };
        self.refusals += usize::from(ends);
        match self.last {
            Answer::Fail(code) => Err(failure(code)),
            Answer::Take(most) => {
                let taken = most.min(bytes);
                let mut left = taken;
                for slice in slices {
                    let here = slice.len().min(left);
                    self.taken.extend_from_slice(&slice[..here]);
                    left -= here;
                }
                Ok(taken)
            }
        }
    }
}

impl ScriptedSink {
    pub(crate) fn check_error(&self, error: &TransferError) {
        match self.last {
            Answer::Take(most) => {
                assert_eq!(most, 0, "an error, though the call succeeded: {error}");
                assert_eq!(error.kind(), io::ErrorKind::WriteZero);
            }
            Answer::Fail(code) => {
                assert_ne!(code, codes::EINTR, "an interrupted call was not made again");
                assert_eq!(error.io_error().raw_os_error(), Some(code));
            }
        }
    }
}

/// Runs a transfer to its end, resumes after every error, and compares the bytes with the model. The model is the
/// bytes of all segments in order. `transfer` must resume at its cursor.
pub(crate) fn check_against_model(
    sizes: &[usize],
    script: &[Answer],
    limits: Limits,
    mut transfer: impl FnMut(
        &[IoSlice<'_>],
        &mut SegmentCursor,
        &mut ScriptedSink,
    ) -> Result<u64, TransferError>,
) {
    let data = payload(sizes);
    let segments = list(&data);
    let model = data.concat();
    let mut sink = ScriptedSink::new(script.to_vec(), limits);
    let mut cursor = SegmentCursor::new();
    let mut errors = 0;
    loop {
        let taken_before = sink.taken.len();
        let result = transfer(&segments, &mut cursor, &mut sink);
        let transferred = match &result {
            Ok(bytes) => *bytes,
            Err(error) => error.transferred(),
        };
        assert_eq!(transferred, (sink.taken.len() - taken_before) as u64);
        assert_eq!(sink.taken, model[..sink.taken.len()]);
        let remaining = (model.len() - sink.taken.len()) as u64;
        assert_eq!(cursor.remaining_bytes(&segments), remaining);
        check_place(&segments, cursor, result.is_ok() || transferred > 0);
        match result {
            Ok(_) => break,
            Err(error) => {
                errors += 1;
                sink.check_error(&error);
            }
        }
    }
    assert_eq!(sink.taken, model);
    assert_eq!(errors, sink.refusals, "a refusal was ignored");
    assert!(cursor.is_at_end(&segments));
    // Each call used an answer of the script. After the end of the script, each call took at least one byte.
    assert!(sink.calls <= script.len() + model.len());
    if model.is_empty() {
        assert_eq!(sink.calls, 0, "a system call for no bytes");
    }
}

/// Checks the cursor after a transfer that `has_moved` the cursor. The cursor must be on a byte or at the end of
/// the list, and not on an empty segment.
pub(crate) fn check_place<S: Deref<Target = [u8]>>(
    segments: &[S],
    cursor: SegmentCursor,
    has_moved: bool,
) {
    if has_moved {
        assert_eq!(cursor, cursor.skip_empty(spans(segments)));
    }
}

/// Lists with many empty segments, and with lengths below and above any threshold up to 64 bytes.
pub(crate) fn any_sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![2 => Just(0), 4 => 1..8_usize, 3 => 8..70_usize, 1 => 70..300_usize];
    prop::collection::vec(size, 0..40)
}

/// Lists of equal segments, sometimes with a body at the end. Most lists of programs have this form.
pub(crate) fn any_even_sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![1 => 0..8_usize, 3 => 8..140_usize, 2 => 140..700_usize];
    let body = prop_oneof![2 => Just(None), 1 => (0..2000_usize).prop_map(Some)];
    (0..40_usize, size, body).prop_map(|(count, size, body)| {
        let mut sizes = vec![size; count];
        sizes.extend(body);
        sizes
    })
}

pub(crate) fn any_script() -> impl Strategy<Value = Vec<Answer>> {
    let answer = prop_oneof![
        6 => (1..60_usize).prop_map(Answer::Take),
        2 => Just(Answer::Take(usize::MAX)),
        1 => Just(Answer::Take(0)),
        2 => Just(Answer::Fail(codes::EINTR)),
        1 => Just(Answer::Fail(codes::EAGAIN)),
        1 => Just(Answer::Fail(codes::EIO)),
    ];
    prop::collection::vec(answer, 0..30)
}

pub(crate) fn any_limits() -> impl Strategy<Value = Limits> {
    (1..12_usize, 1..200_usize).prop_map(|(segments, bytes)| Limits { segments, bytes })
}

/// Real systems have larger limits of bytes.
pub(crate) fn any_wide_limits() -> impl Strategy<Value = Limits> {
    let bytes = prop_oneof![100..20_000_usize, Just(usize::MAX)];
    (16..50_usize, bytes).prop_map(|(segments, bytes)| Limits { segments, bytes })
}

/// Reports on standard error, and in the file that `VECTORED_SKIPS` names.
#[cfg(all(
    feature = "uring",
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub(crate) fn skip(test: &str, reason: &str) {
    use std::io::Write as _;
    let line = format!("{test}: {reason}\n");
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os("VECTORED_SKIPS") {
        let file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the list of skipped tests can be written");
    }
}
