//! Tools of the unit tests of reads: sources with a script, and the model of a read.

use std::io::{self, ErrorKind, IoSliceMut};

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::sys::codes;
use crate::sys::limits::Limits;
use crate::testing::{Answer, check_place, failure, payload};

/// The bytes of a source after the bytes of the list.
const EXTRA_BYTES: usize = 500;

/// A source that answers calls by its script, and checks every call. After the end of the script, the source
/// fills every call. `Answer::Take(0)` is an end of file. More bytes may follow, because a file may grow.
#[derive(Debug)]
pub(crate) struct ScriptedSource {
    script: std::vec::IntoIter<Answer>,
    limits: Limits,
    pub(crate) data: Vec<u8>,
    pub(crate) given: usize,
    pub(crate) calls: usize,
    /// The number of answers that must end a transfer: an end of file, or a failure other than `EINTR`.
    pub(crate) refusals: usize,
    pub(crate) last: Answer,
}

impl ScriptedSource {
    pub(crate) fn new(data: Vec<u8>, script: &[Answer], limits: Limits) -> ScriptedSource {
        ScriptedSource {
            script: Vec::from(script).into_iter(),
            limits,
            data,
            given: 0,
            calls: 0,
            refusals: 0,
            last: Answer::Take(usize::MAX),
        }
    }

    pub(crate) fn call(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.calls += 1;
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(!slices.is_empty(), "a call without a slice");
        assert!(slices.iter().all(|s| !s.is_empty()), "an empty slice");
        assert!(slices.len() <= self.limits.segments, "too many slices");
        assert!(bytes <= self.limits.bytes, "too many bytes");
        self.last = self.script.next().unwrap_or(Answer::Take(usize::MAX));
        let ends = match self.last {
            Answer::Take(most) => most == 0,
            Answer::Fail(code) => code != codes::EINTR,
        };
        self.refusals += usize::from(ends);
        let most = match self.last {
            Answer::Fail(code) => return Err(failure(code)),
            Answer::Take(most) => most,
        };
        let left = &self.data[self.given..];
        let mut given = left.len().min(most).min(bytes);
        let whole = given;
        let mut from = left;
        for slice in slices {
            let (here, after) = from.split_at(given.min(slice.len()));
            slice[..here.len()].copy_from_slice(here);
            // The memory after a short read is unspecified, so the source changes it.
            if here.len() < slice.len() && whole < bytes {
                let len = slice.len().min(here.len() + 1);
                slice[here.len()..len].fill(0xfd);
            }
            from = after;
            given -= here.len();
        }
        self.given += whole;
        Ok(whole)
    }
}

/// Runs a read to its end, resumes after every error and end of file, and compares the segments with the model.
/// The model is the next bytes of the source, and the read must take no further byte.
///
/// `transfer` must resume at its cursor. `is_exact` is true if an early end of file is an error of `transfer`.
pub(crate) fn check_read_against_model(
    sizes: &[usize],
    script: &[Answer],
    limits: Limits,
    is_exact: bool,
    mut transfer: impl FnMut(
        &mut [IoSliceMut<'_>],
        &mut SegmentCursor,
        &mut ScriptedSource,
    ) -> Result<u64, TransferError>,
) {
    let expected = payload(sizes);
    let total = expected.concat().len();
    let mut all_sizes = sizes.to_vec();
    all_sizes.push(EXTRA_BYTES);
    let mut source = ScriptedSource::new(payload(&all_sizes).concat(), script, limits);
    let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0xfe; size]).collect();
    let mut cursor = SegmentCursor::new();
    let mut ends = 0;
    loop {
        let given_before = source.given;
        let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        let before: Vec<_> = segments.iter().map(|s| (s.as_ptr(), s.len())).collect();
        let result = transfer(&mut segments, &mut cursor, &mut source);
        let after: Vec<_> = segments.iter().map(|s| (s.as_ptr(), s.len())).collect();
        assert_eq!(before, after, "the caller's array was changed");
        let transferred = match &result {
            Ok(bytes) => *bytes,
            Err(error) => error.transferred(),
        };
        assert_eq!(transferred, (source.given - given_before) as u64);
        let remaining = cursor.remaining_bytes(&segments);
        assert_eq!(remaining, (total - source.given) as u64);
        check_place(&segments, cursor, remaining == 0 || transferred > 0);
        assert!(buffers.concat()[..source.given] == source.data[..source.given]);
        match result {
            Ok(_) if remaining == 0 => break,
            Ok(_) => {
                assert!(!is_exact, "success, though {remaining} bytes are missing");
                assert_eq!(
                    source.last,
                    Answer::Take(0),
                    "it stopped before the end of the file"
                );
            }
            Err(error) => match source.last {
                Answer::Take(most) => {
                    assert_eq!(most, 0, "an error, though the call succeeded: {error}");
                    assert!(is_exact, "the end of the file was an error");
                    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
                }
                Answer::Fail(code) => {
                    assert_ne!(code, codes::EINTR, "an interrupted call was not made again");
                    assert_eq!(error.io_error().raw_os_error(), Some(code));
                }
            },
        }
        ends += 1;
    }
    assert_eq!(buffers, expected);
    assert_eq!(source.given, total, "bytes beyond the list were taken");
    assert_eq!(ends, source.refusals, "a refusal was ignored");
    assert!(source.calls <= script.len() + total);
    if total == 0 {
        assert_eq!(source.calls, 0, "a system call for no bytes");
    }
}
