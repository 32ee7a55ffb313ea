//! The progress of one send, which stays correct if the inner writer panics.

use std::io::{self, ErrorKind, IoSlice};

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::sys::staging::StagingBuffer;

/// The drop of the guard removes the sent bytes from the staging buffer, also during a panic.
pub(super) struct SendGuard<'s> {
    pub(super) staged: &'s mut StagingBuffer,
    /// The position in the list that is sent. The first segment of the list is the staged bytes.
    pub(super) cursor: SegmentCursor,
}

impl SendGuard<'_> {
    fn sent_staged_bytes(&self) -> usize {
        match self.cursor.segment() {
            0 => self.cursor.offset().min(self.staged.len()),
            _ => self.staged.len(),
        }
    }

    /// Returns the error that stopped the write, if any.
    pub(super) fn write_staged(
        &mut self,
        mut write: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> Option<io::Error> {
        loop {
            let rest = &self.staged[self.sent_staged_bytes()..];
            if rest.is_empty() {
                return None;
            }
            match write(rest) {
                Ok(0) => return Some(write_zero()),
                Ok(bytes) if bytes > rest.len() => {
                    self.cursor = SegmentCursor::at(1, 0);
                    return Some(wrong_count());
                }
                Ok(bytes) => self.cursor = SegmentCursor::at(0, self.sent_staged_bytes() + bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Some(error),
            }
        }
    }
}

impl Drop for SendGuard<'_> {
    fn drop(&mut self) {
        self.staged.remove_first(self.sent_staged_bytes());
    }
}

/// The number of bytes of `list` that were written, and the error that stopped the transfer. `None` if `result` and
/// `cursor` contradict each other or the list.
pub(super) fn consistent_progress(
    list: &[IoSlice<'_>],
    cursor: SegmentCursor,
    result: Result<u64, TransferError>,
) -> Option<(u64, Option<io::Error>)> {
    let all = SegmentCursor::new().remaining_bytes(list);
    let segment_bytes = list
        .get(cursor.segment())
        .map_or(0, |segment| segment.len());
    if cursor.segment() > list.len() || cursor.offset() > segment_bytes {
        return None;
    }
    let sent = all - cursor.remaining_bytes(list);
    let (reported, error) = match result {
        Ok(bytes) => (bytes, None),
        Err(error) => (error.transferred(), Some(error.into_io_error())),
    };
    (reported == sent && (error.is_some() || sent == all)).then_some((sent, error))
}

pub(super) fn wrong_count() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        "the inner writer reported a count that does not match the bytes it was given: how much it wrote is \
         unknown",
    )
}

pub(super) fn write_zero() -> io::Error {
    io::Error::new(
        ErrorKind::WriteZero,
        "the inner writer wrote none of the bytes it was given",
    )
}
