//! A list of another language that is read into.

use std::fmt;
use std::io::IoSliceMut;

use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::read::all::{read_exact, read_exact_at, read_up_to_eof, read_up_to_eof_at, resume_read};
use crate::read::scatter::Scatter;
use crate::sys::span::Span;

/// A list to read into that a caller in another language passed as an array of `iovec`. See
/// [`RawList`](crate::bindings::RawList) for lists that are written.
///
/// Each method calls the function that it names, and has the errors and panics of that function.
pub struct RawListMut<'a> {
    /// No reference to the bytes of a segment may be made: see `sys/span.rs`.
    segments: Vec<IoSliceMut<'a>>,
}

impl<'a> RawListMut<'a> {
    pub(super) fn from_slices(segments: Vec<IoSliceMut<'a>>) -> RawListMut<'a> {
        RawListMut { segments }
    }

    /// Calls the function [`read_exact`].
    pub fn read_exact(&mut self, fd: impl AsDescriptor) -> Result<u64, TransferError> {
        read_exact(fd, &mut self.segments)
    }

    /// Calls the function [`resume_read`], which panics if the cursor lies outside of the list.
    /// [`contains`](RawListMut::contains) checks a cursor.
    pub fn resume_read(
        &mut self,
        fd: impl AsDescriptor,
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        resume_read(fd, &mut self.segments, cursor)
    }

    /// Calls the function [`read_up_to_eof`].
    pub fn read_up_to_eof(&mut self, fd: impl AsDescriptor) -> Result<u64, TransferError> {
        read_up_to_eof(fd, &mut self.segments)
    }

    /// Calls the function [`read_exact_at`].
    pub fn read_exact_at(
        &mut self,
        fd: impl AsDescriptor,
        offset: u64,
    ) -> Result<u64, TransferError> {
        read_exact_at(fd, &mut self.segments, offset)
    }

    /// Calls the function [`read_up_to_eof_at`].
    pub fn read_up_to_eof_at(
        &mut self,
        fd: impl AsDescriptor,
        offset: u64,
    ) -> Result<u64, TransferError> {
        read_up_to_eof_at(fd, &mut self.segments, offset)
    }

    /// Calls [`Scatter::resume_read`], which from the start of the list is [`Scatter::read_exact`].
    pub fn resume_scatter(
        &mut self,
        scatter: &mut Scatter,
        fd: impl AsDescriptor,
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        scatter.resume_read(fd, &mut self.segments, cursor)
    }

    /// Calls [`Scatter::read_up_to_eof`].
    pub fn scatter_up_to_eof(
        &mut self,
        scatter: &mut Scatter,
        fd: impl AsDescriptor,
    ) -> Result<u64, TransferError> {
        scatter.read_up_to_eof(fd, &mut self.segments)
    }

    /// Calls [`Scatter::read_exact_at`].
    pub fn scatter_exact_at(
        &mut self,
        scatter: &mut Scatter,
        fd: impl AsDescriptor,
        offset: u64,
    ) -> Result<u64, TransferError> {
        scatter.read_exact_at(fd, &mut self.segments, offset)
    }

    /// Calls [`Scatter::read_up_to_eof_at`].
    pub fn scatter_up_to_eof_at(
        &mut self,
        scatter: &mut Scatter,
        fd: impl AsDescriptor,
        offset: u64,
    ) -> Result<u64, TransferError> {
        scatter.read_up_to_eof_at(fd, &mut self.segments, offset)
    }

    /// Whether the cursor is a position of the list.
    #[must_use]
    pub fn contains(&self, cursor: SegmentCursor) -> bool {
        cursor.is_within(&self.segments)
    }
}

impl fmt::Debug for RawListMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.segments.iter().map(Span::byte_len);
        f.debug_list().entries(lengths).finish()
    }
}
