//! Lists through a [`GatherWriter`].

use std::io::{self, IoSlice, Write};

use vectored::bindings::BorrowedDescriptor;
use vectored::{GatherWriter, SegmentCursor};

use super::adapters::rest;
use crate::outcome::Outcome;

pub(super) struct PlainWrites<'fd>(pub(super) BorrowedDescriptor<'fd>);

impl Write for PlainWrites<'_> {
    fn write(&mut self, slice: &[u8]) -> io::Result<usize> {
        // On other systems only the library makes calls on a borrowed descriptor.
        #[cfg(unix)]
        return Ok(rustix::io::write(self.0, slice)?);
        #[cfg(windows)]
        return Ok(vectored::write_all(self.0, &[IoSlice::new(slice)])? as usize);
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn slice_by_slice<W>(mut writer: GatherWriter<W>, segments: &[IoSlice<'_>]) -> Outcome {
    let mut accepted = 0;
    for segment in segments {
        let mut slice = &segment[..];
        while !slice.is_empty() {
            let error = match writer.write(slice) {
                Ok(0) => Some(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    accepted += bytes as u64;
                    slice = &slice[bytes..];
                    None
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
                Err(error) => Some(error),
            };
            if error.is_some() {
                return written(writer, accepted, error);
            }
        }
    }
    let error = writer.flush().err();
    written(writer, accepted, error)
}

pub(super) fn list_by_list<W>(
    mut writer: GatherWriter<W>,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
) -> Outcome {
    let mut accepted = *cursor;
    let error = loop {
        if accepted.is_at_end(segments) {
            break writer.flush().err();
        }
        match writer.write_vectored(&rest(segments, accepted)) {
            Ok(bytes) => accepted.advance(segments, bytes),
            Err(error) => break Some(error),
        }
    };
    let left = accepted.remaining_bytes(segments);
    let accepted = cursor.remaining_bytes(segments) - left;
    let outcome = written(writer, accepted, error);
    cursor.advance(segments, outcome.transferred as usize);
    outcome
}

/// The outcome after `accepted` bytes were accepted. Bytes that are still staged were not written, and are dropped. All
/// other bytes were written.
fn written<W>(writer: GatherWriter<W>, accepted: u64, error: Option<io::Error>) -> Outcome {
    let (_, staged) = writer.into_parts();
    Outcome {
        transferred: accepted - staged.len() as u64,
        error,
    }
}
