//! A position in a list of segments.

use std::ops::Deref;

use crate::runs::Stretch;
use crate::sys::limits::Limits;
use crate::sys::span::{Span, spans};

/// A position in a list of segments. [`segment`](SegmentCursor::segment) is the index of a segment, and
/// [`offset`](SegmentCursor::offset) is the number of its bytes that were moved.
///
/// The list belongs to the caller and is never changed. The cursor is plain data and does not borrow the list:
/// each method takes the list as an argument. So a cursor is the whole state of an interrupted transfer. Keep the
/// cursor, wait until the descriptor is ready, and resume from the cursor.
///
/// Pass the same bytes in the same segments each time. The array of entries may be built anew for each call, so a
/// connection can keep its buffers and a cursor. Segments may be added at the end of the list. If `taken`
/// segments are removed from the front of the list, resume from [`at`](SegmentCursor::at) `(cursor.segment() -
/// taken, cursor.offset())`.
///
/// The end of a segment and the start of the next segment are the same position.
/// [`advance`](SegmentCursor::advance) moves the cursor to the next byte that is not moved yet, or to the end of
/// the list.
///
/// Methods that read only lengths take a list of any type that dereferences to bytes:
/// [`IoSlice`](std::io::IoSlice), [`IoSliceMut`](std::io::IoSliceMut), `Vec<u8>`, `&[u8]`.
///
/// # Examples
///
/// A writer that makes the calls itself:
///
/// ```
/// use std::io::{IoSlice, Write};
/// use vectored::SegmentCursor;
/// use vectored::limits::Limits;
///
/// # fn main() -> std::io::Result<()> {
/// let segments = [IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"two ")];
/// let mut out = Vec::new();
///
/// let mut cursor = SegmentCursor::new();
/// let mut scratch = Vec::new();
/// while !cursor.is_at_end(&segments) {
///     let batch = cursor.batch(&segments, Limits::default(), &mut scratch);
///     let written = out.write_vectored(batch)?; // may be short
///     cursor.advance(&segments, written);
/// }
/// assert_eq!(out, b"one two ");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SegmentCursor {
    segment: usize,
    offset: usize,
}

impl SegmentCursor {
    /// The start of a list.
    #[must_use]
    pub const fn new() -> SegmentCursor {
        SegmentCursor::at(0, 0)
    }

    /// The position `offset` bytes after the start of the segment with the index `segment`.
    ///
    /// The methods that take a list check the position.
    #[must_use]
    pub const fn at(segment: usize, offset: usize) -> SegmentCursor {
        SegmentCursor { segment, offset }
    }

    /// The index of the segment with the next byte. At the end of the list, the index is the number of segments.
    #[must_use]
    pub const fn segment(&self) -> usize {
        self.segment
    }

    /// The number of bytes of the segment that were moved.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Advances by `bytes` bytes, and then skips empty segments.
    ///
    /// # Panics
    ///
    /// If fewer than `bytes` bytes remain. In this case, the cursor does not move. A system call never moves more
    /// bytes than the list has, so resuming after a wrong count would corrupt the data.
    pub fn advance<S: Deref<Target = [u8]>>(&mut self, segments: &[S], bytes: usize) {
        self.advance_over(spans(segments), bytes);
    }

    pub(crate) fn advance_over<S: Span>(&mut self, segments: &[S], bytes: usize) {
        self.assert_within(segments);
        let mut to = *self;
        let mut left = bytes;
        while let Some(segment) = segments.get(to.segment) {
            let here = segment.byte_len() - to.offset;
            if left < here {
                to.offset += left;
                left = 0;
                break;
            }
            left -= here;
            to = SegmentCursor::at(to.segment + 1, 0);
        }
        assert!(
            left == 0,
            "cannot advance by {bytes} bytes: only {} remain",
            bytes - left
        );
        *self = to;
    }

    /// Whether no byte is left. Empty segments do not count.
    #[must_use]
    pub fn is_at_end<S: Deref<Target = [u8]>>(&self, segments: &[S]) -> bool {
        self.is_end_of(spans(segments))
    }

    pub(crate) fn is_end_of<S: Span>(&self, segments: &[S]) -> bool {
        self.skip_empty(segments).segment == segments.len()
    }

    /// The number of bytes from the cursor to the end of the list.
    ///
    /// A list may contain a segment many times, so the number may exceed the size of memory. The result is
    /// limited to [`u64::MAX`].
    #[must_use]
    pub fn remaining_bytes<S: Deref<Target = [u8]>>(&self, segments: &[S]) -> u64 {
        self.bytes_left_in(spans(segments))
    }

    pub(crate) fn bytes_left_in<S: Span>(&self, segments: &[S]) -> u64 {
        self.assert_within(segments);
        let rest = &segments[self.segment..];
        remaining(rest.iter().map(Span::byte_len), self.offset)
    }

    /// Moves past empty segments: to the next byte that is not moved yet, or to the end of the list.
    pub(crate) fn skip_empty<S: Span>(self, segments: &[S]) -> SegmentCursor {
        self.assert_within(segments);
        match segments.get(self.segment) {
            None => self,
            Some(segment) if self.offset < segment.byte_len() => self,
            Some(_) => {
                let after = &segments[self.segment + 1..];
                let empties = after.iter().take_while(|segment| segment.byte_len() == 0);
                SegmentCursor::at(self.segment + 1 + empties.count(), 0)
            }
        }
    }

    /// The segments from the cursor that one call can send without copying. Empty if the cursor is inside a
    /// segment.
    pub(crate) fn stretch<S: Span>(
        self,
        segments: &[S],
        limits: Limits,
        small_bytes: usize,
    ) -> Stretch {
        match self.offset {
            0 => Stretch::at_start_of(&segments[self.segment..], limits, small_bytes),
            _ => Stretch {
                count: 0,
                bytes: 0,
                is_whole_call: false,
            },
        }
    }

    pub(crate) fn is_within<S: Span>(self, segments: &[S]) -> bool {
        match segments.get(self.segment) {
            Some(segment) => self.offset <= segment.byte_len(),
            None => self.segment == segments.len() && self.offset == 0,
        }
    }

    fn assert_within<S: Span>(self, segments: &[S]) {
        assert!(
            self.is_within(segments),
            "{self:?} is outside of the list of segments"
        );
    }
}

fn remaining(mut lengths: impl Iterator<Item = usize>, offset: usize) -> u64 {
    let first = lengths.next().unwrap_or(0) - offset;
    lengths.fold(first as u64, |sum, len| sum.saturating_add(len as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn the_end_of_a_segment_is_the_start_of_the_next() {
        let segments = [&b"abc"[..], b"", b"de"].map(IoSlice::new);
        for (segment, offset) in [(0, 3), (1, 0), (2, 0)] {
            let mut cursor = SegmentCursor::at(segment, offset);
            assert_eq!(cursor.remaining_bytes(&segments), 2);
            let mut scratch = Vec::new();
            let batch = cursor.batch(&segments, Limits::default(), &mut scratch);
            assert_eq!(*batch[0], *b"de");
            cursor.advance(&segments, 0);
            assert_eq!(cursor, SegmentCursor::at(2, 0));
        }
    }

    #[test]
    fn what_no_list_has_is_a_panic_that_leaves_the_cursor_alone() {
        type Call = fn(&mut SegmentCursor, &[IoSlice<'_>]);
        let cases: [(usize, usize, Call, &str); 4] = [
            (
                0,
                1,
                |cursor, list| cursor.advance(list, 5),
                "by 5 bytes: only 4 remain",
            ),
            (
                0,
                4,
                |cursor, list| _ = cursor.remaining_bytes(list),
                "outside of the list",
            ),
            (
                3,
                0,
                |cursor, list| _ = cursor.is_at_end(list),
                "outside of the list",
            ),
            (
                0,
                0,
                |cursor, list| {
                    let (segments, bytes) = (0, 1);
                    cursor.batch(list, Limits { segments, bytes }, &mut Vec::new());
                },
                "must not be zero",
            ),
        ];
        let segments = [IoSlice::new(b"abc"), IoSlice::new(b"de")];
        for (segment, offset, call, words) in cases {
            let mut cursor = SegmentCursor::at(segment, offset);
            let panic = catch_unwind(AssertUnwindSafe(|| call(&mut cursor, &segments)));
            let panic = panic.unwrap_err();
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or(panic.downcast_ref::<&str>().copied()).unwrap();
            assert!(message.contains(words), "{message}");
            assert_eq!(cursor, SegmentCursor::at(segment, offset));
        }
    }

    #[test]
    fn what_remains_of_more_than_a_number_holds_is_the_largest_number() {
        let most = isize::MAX as usize;
        assert_eq!(remaining([most, most].into_iter(), 0), 2 * most as u64);
        // With 32-bit addresses, no sum reaches `u64::MAX`.
        #[cfg(target_pointer_width = "64")]
        {
            assert_eq!(remaining([most, most, 1].into_iter(), 0), u64::MAX);
            for (count, offset) in [(3, 0), (3, 1), (4, most), (1000, most)] {
                assert_eq!(remaining(vec![most; count].into_iter(), offset), u64::MAX);
            }
        }
        assert_eq!(remaining([5, 0, 7].into_iter(), 2), 10);
        assert_eq!(remaining([].into_iter(), 0), 0);
    }
}
