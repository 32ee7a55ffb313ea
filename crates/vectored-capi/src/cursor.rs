//! Positions in a list.

use libc::{c_int, iovec, size_t, ssize_t};
use vectored::SegmentCursor;
use vectored::bindings::RawList;

use crate::entry::{Failure, object, object_ref, status, transfer};

/// A position in a list of segments. `{0, 0}` is the start of a list.
///
/// To continue a transfer that stopped, for example because a non-blocking descriptor is full, pass the same cursor and
/// list again. At the end of a list, `segment` is the number of segments.
///
/// A cursor holds no pointer: you may copy it and set its members. Segments may be added at the end of the list. If the
/// first `k` segments, all of them moved, are removed from the list, subtract `k` from `segment`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vectored_cursor {
    /// The index of the segment with the next byte.
    pub segment: size_t,
    /// The number of bytes of segment `segment` that were moved.
    pub offset: size_t,
}

/// Returns the number of bytes from `cursor` to the end of the list, or SSIZE_MAX if there are more bytes. (Only a list
/// that names the same memory several times can have more.)
///
/// Errors (-1 and errno): EFAULT if `cursor` is NULL, or if `iov` is NULL and `iovcnt` is not 0; EINVAL if the cursor is outside of
/// the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_cursor_remaining_bytes(
    cursor: *const vectored_cursor,
    iov: *const iovec,
    iovcnt: size_t,
) -> ssize_t {
    // SAFETY: `done` is null, and the caller promises the list and the cursor.
    unsafe {
        transfer(std::ptr::null_mut(), || {
            let list = RawList::new(iov, iovcnt)?;
            let cursor = position(object_ref(cursor)?, |at| list.contains(at))?;
            Ok(list.remaining_bytes(cursor))
        })
    }
}

/// Moves `cursor` forward by `bytes`, which were written or read by other means, such as a sendmsg(2) of your own. Returns 0.
///
/// Errors (-1 and errno; the cursor has not moved): as `vectored_cursor_remaining_bytes`; EINVAL if fewer bytes remain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_cursor_advance(
    cursor: *mut vectored_cursor,
    iov: *const iovec,
    iovcnt: size_t,
    bytes: size_t,
) -> c_int {
    // SAFETY: the caller promises the list and the cursor.
    status(|| unsafe {
        let list = RawList::new(iov, iovcnt)?;
        let cursor = object(cursor)?;
        let mut to = position(cursor, |at| list.contains(at))?;
        if (bytes as u64) > list.remaining_bytes(to) {
            return Err(Failure::with_code(libc::EINVAL));
        }
        list.advance(&mut to, bytes);
        keep(cursor, to);
        Ok(())
    })
}

/// The position of a cursor of C.
///
/// # Errors
///
/// `EINVAL` if the position is outside of the list.
#[inline]
pub(crate) fn position(
    cursor: &vectored_cursor,
    is_within: impl FnOnce(SegmentCursor) -> bool,
) -> Result<SegmentCursor, Failure> {
    let at = SegmentCursor::at(cursor.segment, cursor.offset);
    if is_within(at) { Ok(at) } else { Err(Failure::with_code(libc::EINVAL)) }
}

#[inline]
pub(crate) fn keep(cursor: &mut vectored_cursor, position: SegmentCursor) {
    cursor.segment = position.segment();
    cursor.offset = position.offset();
}
