//! A list as a [`bytes::Buf`].

use std::io::IoSlice;
use std::mem;

use bytes::Buf;
use vectored::SegmentCursor;

/// A list of segments as a `Buf` with one chunk for each.
#[derive(Clone)]
pub(super) struct SegmentsBuf<'a> {
    segments: &'a [IoSlice<'a>],
    /// The cursor is at a byte or at the end, never at an empty segment.
    cursor: SegmentCursor,
    left: usize,
}

impl<'a> SegmentsBuf<'a> {
    pub(super) fn of(segments: &'a [IoSlice<'a>]) -> SegmentsBuf<'a> {
        let mut cursor = SegmentCursor::new();
        let left = cursor.remaining_bytes(segments) as usize;
        // Skips the empty segments at the start.
        cursor.advance(segments, 0);
        SegmentsBuf {
            segments,
            cursor,
            left,
        }
    }

    /// The segments from the cursor on, the first one cut.
    fn rest(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut offset = self.cursor.offset();
        let segments = &self.segments[self.cursor.segment()..];
        segments
            .iter()
            .map(move |segment| &segment[mem::take(&mut offset)..])
    }
}

impl Buf for SegmentsBuf<'_> {
    fn remaining(&self) -> usize {
        self.left
    }

    fn chunk(&self) -> &[u8] {
        self.rest().next().unwrap_or_default()
    }

    fn advance(&mut self, bytes: usize) {
        self.cursor.advance(self.segments, bytes);
        self.left -= bytes;
    }

    fn chunks_vectored<'a>(&'a self, to: &mut [IoSlice<'a>]) -> usize {
        let shown = to.iter_mut().zip(self.rest());
        shown.map(|(to, chunk)| *to = IoSlice::new(chunk)).count()
    }
}
