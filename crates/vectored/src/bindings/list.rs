//! Lists that programs in other languages pass.

use std::fmt;
use std::io::{IoSlice, IoSliceMut};

use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::gather::Gather;
use crate::sys::span::Span;

/// A list that a caller in another language passes as an array of `iovec`.
///
/// The array is not changed and not copied. No `&[u8]` to the bytes of a segment exists while the list is
/// written: the kernel reads the bytes, or this crate copies them by address, like memcpy(3). So other threads
/// may change the bytes during the write. The same is allowed during a writev(2). If the bytes change, it is
/// unspecified whether old or new bytes are written. The address of an empty segment may be null.
///
/// The safety contract of [`new`](RawList::new) excludes memory that cannot be read. A [`Gather`] copies short
/// segments and references long segments. If the memory of a referenced segment cannot be read, the error is
/// `EFAULT`. If a copied segment cannot be read, this process receives `SIGSEGV`.
///
/// # Examples
///
/// ```
/// use vectored::bindings::RawList;
///
/// # fn main() -> std::io::Result<()> {
/// let null = std::fs::File::create("/dev/null")?;
/// let iov = [libc::iovec { iov_base: c"word".as_ptr().cast_mut().cast(), iov_len: 4 }];
/// // SAFETY: the array has one entry, and its 4 bytes live as long as the program.
/// let list = unsafe { RawList::new(iov.as_ptr(), iov.len()) }?;
/// // SAFETY: the library makes no reference to the bytes.
/// assert_eq!(vectored::write_all(&null, unsafe { list.slices() }?)?, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct RawList<'a> {
    /// No Rust reference to the bytes of a segment may be made: see `sys/span.rs`.
    pub(super) segments: &'a [IoSlice<'a>],
}

impl RawList<'_> {
    /// Calls [`Gather::write_all`]. The lengths are checked only if the list takes more than one call.
    ///
    /// # Errors
    ///
    /// The errors of [`Gather::write_all`] and, before any byte is written, the errors of
    /// [`slices`](RawList::slices).
    #[inline(always)]
    pub fn gather_all(
        self,
        gather: &mut Gather,
        fd: impl AsDescriptor,
    ) -> Result<u64, TransferError> {
        gather.write_all_to(fd.as_descriptor(), self.segments, true)
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
}

impl fmt::Debug for RawList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.segments.iter().map(Span::byte_len);
        f.debug_list().entries(lengths).finish()
    }
}

/// A list to read into, which a caller in another language passes as an array of `iovec`.
pub struct RawListMut<'a> {
    /// No Rust reference to the bytes of a segment may be made: see `sys/span.rs`.
    pub(super) segments: Vec<IoSliceMut<'a>>,
}

impl RawListMut<'_> {
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
