//! The loop that every complete transfer runs: one batch after another until the list's end.

use std::io::{self, IoSlice};

use crate::cursor::{Batch, SegmentCursor};
use crate::error::TransferError;

/// One call that was made.
pub(crate) struct Attempt {
    given: usize,
    end: SegmentCursor,
    result: io::Result<usize>,
}

impl Batch<'_> {
    /// Gives the batch to `sink`, which makes one system call, until it is not interrupted.
    ///
    /// An interrupted call has moved nothing ("Errors" of write(2)), so it is made again as it was.
    pub(crate) fn send(
        self,
        sink: &mut impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Attempt {
        let result = loop {
            match sink(self.slices) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        Attempt {
            given: self.bytes,
            end: self.end,
            result,
        }
    }
}

/// Makes attempts from `cursor` on until `attempt` finds nothing left; moves the cursor along.
///
/// `attempt` plans and makes the call at a position, and returns `None` at the end of the list. A
/// short write moves the cursor in the caller's list, and the next call is planned anew from there:
/// what was staged or built for the last call is never a position.
///
/// # Errors
///
/// The first error other than `EINTR`, and `WriteZero` for a call that moved nothing.
pub(crate) fn send_all(
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    mut attempt: impl FnMut(SegmentCursor) -> Option<Attempt>,
) -> Result<u64, TransferError> {
    let mut transferred = 0;
    while let Some(Attempt { given, end, result }) = attempt(*cursor) {
        match result {
            Ok(0) => {
                let nothing = io::Error::new(
                    io::ErrorKind::WriteZero,
                    "the system call wrote none of the bytes it was given",
                );
                return Err(TransferError::new(transferred, nothing));
            }
            Ok(written) => {
                assert!(
                    written <= given,
                    "the system call reported {written} bytes of {given}"
                );
                transferred += written as u64;
                if written == given {
                    *cursor = end;
                } else {
                    cursor.advance(segments, written);
                }
            }
            Err(error) => return Err(TransferError::new(transferred, error)),
        }
    }
    Ok(transferred)
}
