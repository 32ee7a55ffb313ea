//! A list of another language that is written.

use std::fmt;
use std::io::{self, IoSlice};

use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::gather::Gather;
use crate::sys::codes;
use crate::sys::span::{Span, are_objects};
use crate::write::all::{resume_write, write_all};
use crate::write::once::write_once;
use crate::write::positional::write_all_at;

/// A list that a caller in another language passed as an array of `iovec`: for bindings.
///
/// The array is neither changed nor copied. No `&[u8]` to the bytes of a segment exists while the list is written: the
/// kernel reads the bytes, or they are copied by address, as memcpy(3) does. So other threads may change the bytes, as with
/// writev(2): it is unspecified then whether old or new bytes are written. The address of an empty segment may be null.
///
/// Each method calls the function that it names, and has the errors and panics of that function. If a segment has more than
/// `isize::MAX` bytes, or ends beyond the last address, the method returns `EINVAL` before any byte, as writev(2) does.
///
/// If the memory of a referenced segment cannot be read, the error is `EFAULT`. If the memory of a copied segment cannot
/// be read, this process receives `SIGSEGV` (a [`Gather`] copies short segments): the promise of [`new`](RawList::new)
/// excludes this.
///
/// # Examples
///
/// ```
/// use vectored::bindings::RawList;
///
/// # fn main() -> std::io::Result<()> {
/// let null = std::fs::File::create("/dev/null")?;
/// let iov = [libc::iovec { iov_base: c"word".as_ptr().cast_mut().cast(), iov_len: 4 }];
/// // SAFETY: there is one entry, whose 4 bytes live as long as the program.
/// let list = unsafe { RawList::new(iov.as_ptr(), iov.len()) }?;
/// assert_eq!(list.write_all(&null)?, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct RawList<'a> {
    /// No reference to the bytes of a segment may be made: see `sys/span.rs`.
    segments: &'a [IoSlice<'a>],
}

impl<'a> RawList<'a> {
    #[inline(always)]
    pub(super) fn from_slices(segments: &'a [IoSlice<'a>]) -> RawList<'a> {
        RawList { segments }
    }

    /// Calls the function [`write_all`].
    pub fn write_all(self, fd: impl AsDescriptor) -> Result<u64, TransferError> {
        self.check_lengths()?;
        write_all(fd, self.segments)
    }

    /// Calls the function [`resume_write`].
    pub fn resume_write(
        self,
        fd: impl AsDescriptor,
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        self.check_lengths()?;
        resume_write(fd, self.segments, cursor)
    }

    /// Calls the function [`write_all_at`].
    pub fn write_all_at(self, fd: impl AsDescriptor, offset: u64) -> Result<u64, TransferError> {
        self.check_lengths()?;
        write_all_at(fd, self.segments, offset)
    }

    /// Calls the function [`write_once`].
    pub fn write_once(self, fd: impl AsDescriptor) -> Result<u64, TransferError> {
        self.check_lengths()?;
        write_once(fd, self.segments)
    }

    /// Calls [`Gather::write_all`].
    #[inline(always)]
    pub fn gather_all(
        self,
        gather: &mut Gather,
        fd: impl AsDescriptor,
    ) -> Result<u64, TransferError> {
        gather.write_all_to(fd.as_descriptor(), self.segments, true)
    }

    /// Calls [`Gather::resume_write`].
    pub fn resume_gather(
        self,
        gather: &mut Gather,
        fd: impl AsDescriptor,
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        self.check_lengths()?;
        gather.resume_write(fd, self.segments, cursor)
    }

    /// Calls [`Gather::write_all_at`].
    pub fn gather_all_at(
        self,
        gather: &mut Gather,
        fd: impl AsDescriptor,
        offset: u64,
    ) -> Result<u64, TransferError> {
        self.check_lengths()?;
        gather.write_all_at(fd, self.segments, offset)
    }

    /// Whether the cursor is a position of the list.
    #[must_use]
    #[inline]
    pub fn contains(self, cursor: SegmentCursor) -> bool {
        cursor.is_within(self.segments)
    }

    /// Calls [`SegmentCursor::remaining_bytes`].
    #[must_use]
    pub fn remaining_bytes(self, cursor: SegmentCursor) -> u64 {
        cursor.bytes_left_in(self.segments)
    }

    /// Calls [`SegmentCursor::advance`].
    pub fn advance(self, cursor: &mut SegmentCursor, bytes: usize) {
        cursor.advance_over(self.segments, bytes);
    }

    fn check_lengths(self) -> Result<(), TransferError> {
        if are_objects(self.segments) {
            Ok(())
        } else {
            let refusal = io::Error::from_raw_os_error(codes::EINVAL);
            Err(TransferError::new(0, refusal))
        }
    }
}

impl fmt::Debug for RawList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.segments.iter().map(Span::byte_len);
        f.debug_list().entries(lengths).finish()
    }
}
