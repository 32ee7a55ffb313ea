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

/// Passes the list from the cursor on to a writer by `put`, and flushes the writer. Bytes that are still staged after
/// an error were not written, and are dropped. All other bytes were written.
pub(super) fn through<W>(
    mut writer: GatherWriter<W>,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    put: fn(&mut GatherWriter<W>, &[IoSlice<'_>], SegmentCursor) -> io::Result<usize>,
) -> Outcome {
    let mut accepted = *cursor;
    let error = loop {
        if accepted.is_at_end(segments) {
            break writer.flush().err();
        }
        match put(&mut writer, segments, accepted) {
            Ok(0) => break Some(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => accepted.advance(segments, bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Some(error),
        }
    };
    let (_, staged) = writer.into_parts();
    let left = accepted.remaining_bytes(segments) + staged.len() as u64;
    let transferred = cursor.remaining_bytes(segments) - left;
    cursor.advance(segments, transferred as usize);
    Outcome { transferred, error }
}

pub(super) fn slice_by_slice<W>(
    writer: &mut GatherWriter<W>,
    segments: &[IoSlice<'_>],
    from: SegmentCursor,
) -> io::Result<usize> {
    let mut offset = from.offset();
    let slices = segments[from.segment()..].iter();
    let mut slices = slices.map(|slice| &slice[std::mem::take(&mut offset)..]);
    writer.write(slices.find(|slice| !slice.is_empty()).unwrap_or_default())
}

pub(super) fn list_by_list<W>(
    writer: &mut GatherWriter<W>,
    segments: &[IoSlice<'_>],
    from: SegmentCursor,
) -> io::Result<usize> {
    writer.write_vectored(&rest(segments, from))
}
