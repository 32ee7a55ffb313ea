//! Lists of `iovec`s whose memory belongs to another language.
//!
//! # Safety
//!
//! `unsafe` for views of an array of `iovec` as an array of `IoSlice` or `IoSliceMut`, which have the same layout.

#![allow(unsafe_code)]

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::{Deref, DerefMut};

use libc::iovec;

/// A list of segments that a caller in another language passed as an array of `iovec`.
///
/// For bindings: the list is checked as `writev(2)` checks it, and can be passed to every function that takes `&[IoSlice]`.
/// The array is not changed, and it is not copied unless it has an empty segment with a null address.
///
/// # Errors
///
/// [`new`](RawSegments::new) returns an error with the operating system's code:
///
/// - `EFAULT` if the array is null and `count` is not 0, or if a segment that is not empty has a null address;
/// - `EINVAL` if a segment has more than `isize::MAX` bytes, or the array has;
/// - `ENOMEM` if the array has to be copied and there is no memory.
///
/// # Examples
///
/// ```
/// use vectored::{RawSegments, write_all_vectored};
///
/// # fn main() -> std::io::Result<()> {
/// let null = std::fs::File::create("/dev/null")?;
/// let iov = [libc::iovec { iov_base: c"word".as_ptr().cast_mut().cast(), iov_len: 4 }];
/// // SAFETY: there is one entry, whose 4 bytes live as long as the program.
/// let segments = unsafe { RawSegments::new(iov.as_ptr(), iov.len()) }?;
/// assert_eq!(write_all_vectored(&null, &segments)?, 4);
/// # Ok(())
/// # }
/// ```
pub struct RawSegments<'a>(List<'a>);

/// A list of segments to read into that a caller in another language passed as an array of `iovec`: as
/// [`RawSegments`], for functions that take `&mut [IoSliceMut]`.
pub struct RawSegmentsMut<'a>(Vec<IoSliceMut<'a>>);

/// The caller's array, or a copy of it.
enum List<'a> {
    AsItIs(&'a [IoSlice<'a>]),
    Copied(Vec<IoSlice<'a>>),
}

impl RawSegments<'_> {
    /// The segments of the `count` entries at `iov`. A null `iov` with a `count` of 0 is an empty list.
    ///
    /// # Safety
    ///
    /// - The `count` entries at `iov`, if any, are aligned and can be read as long as the result lives, and do not change.
    /// - The bytes of each segment can be read as long.
    ///
    /// # Errors
    ///
    /// [As the type says](RawSegments#errors).
    #[inline]
    pub unsafe fn new<'a>(iov: *const iovec, count: usize) -> io::Result<RawSegments<'a>> {
        // SAFETY: the caller's promise.
        let entries = unsafe { entries(iov, count) }?;
        if has_doubtful(entries) {
            return copied(entries).map(|list| RawSegments(List::Copied(list)));
        }
        // SAFETY: `IoSlice` is guaranteed to have the layout of `iovec`. No address is null and no length is more than
        // `isize::MAX`. The bytes can be read for `'a` by the caller's promise.
        let segments = unsafe { std::slice::from_raw_parts(entries.as_ptr().cast(), count) };
        Ok(RawSegments(List::AsItIs(segments)))
    }
}

impl RawSegmentsMut<'_> {
    /// The segments of the `count` entries at `iov`. A null `iov` with a `count` of 0 is an empty list.
    ///
    /// The array is copied: a caller may share it between threads, and functions that read borrow it exclusively.
    ///
    /// # Safety
    ///
    /// - The `count` entries at `iov`, if any, are aligned and can be read.
    /// - The bytes of each segment can be read and written as long as the result lives, and no two segments overlap.
    ///
    /// # Errors
    ///
    /// [As `RawSegments`](RawSegments#errors).
    pub unsafe fn new<'a>(iov: *const iovec, count: usize) -> io::Result<RawSegmentsMut<'a>> {
        // SAFETY: the caller's promise.
        let entries = unsafe { entries(iov, count) }?;
        let mut list = try_vec(entries.len())?;
        for entry in entries {
            let base = checked_base(entry)?;
            // SAFETY: the address is not null, the length is at most `isize::MAX`, and the bytes are the caller's to
            // write for `'a` by its promise. An empty segment may begin at any address.
            let bytes = unsafe { std::slice::from_raw_parts_mut(base, entry.iov_len) };
            list.push(IoSliceMut::new(bytes));
        }
        Ok(RawSegmentsMut(list))
    }
}

impl<'a> Deref for RawSegments<'a> {
    type Target = [IoSlice<'a>];

    #[inline]
    fn deref(&self) -> &[IoSlice<'a>] {
        match &self.0 {
            List::AsItIs(segments) => segments,
            List::Copied(segments) => segments,
        }
    }
}

impl<'a> Deref for RawSegmentsMut<'a> {
    type Target = [IoSliceMut<'a>];

    fn deref(&self) -> &[IoSliceMut<'a>] {
        &self.0
    }
}

impl<'a> DerefMut for RawSegmentsMut<'a> {
    fn deref_mut(&mut self) -> &mut [IoSliceMut<'a>] {
        &mut self.0
    }
}

impl fmt::Debug for RawSegments<'_> {
    /// Without the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.iter().map(|segment| segment.len());
        f.debug_list().entries(lengths).finish()
    }
}

impl fmt::Debug for RawSegmentsMut<'_> {
    /// Without the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.iter().map(|segment| segment.len());
        f.debug_list().entries(lengths).finish()
    }
}

/// The array as a slice.
///
/// # Safety
///
/// The `count` entries at `iov`, if any, are aligned and can be read for `'a`.
#[inline]
unsafe fn entries<'a>(iov: *const iovec, count: usize) -> io::Result<&'a [iovec]> {
    if count == 0 {
        return Ok(&[]);
    }
    if iov.is_null() {
        return Err(refusal(libc::EFAULT));
    }
    // A negative number of C, as a `size_t`, is one of these.
    if count > isize::MAX as usize / size_of::<iovec>() {
        return Err(refusal(libc::EINVAL));
    }
    // SAFETY: the caller's promise, and the array has at most `isize::MAX` bytes.
    Ok(unsafe { std::slice::from_raw_parts(iov, count) })
}

/// Whether any entry is no slice as it is: its address is null, or its length is more than `isize::MAX`.
///
/// Without a branch for each entry: nearly no list has one.
#[inline(always)]
fn has_doubtful(entries: &[iovec]) -> bool {
    let mut is_doubtful = false;
    for entry in entries {
        is_doubtful |= entry.iov_base.is_null() | (entry.iov_len > isize::MAX as usize);
    }
    is_doubtful
}

/// The segments of a list, in memory of its own.
#[cold]
#[inline(never)]
fn copied<'a>(entries: &'a [iovec]) -> io::Result<Vec<IoSlice<'a>>> {
    let mut list = try_vec(entries.len())?;
    for entry in entries {
        let base = checked_base(entry)?;
        // SAFETY: the address is not null, the length is at most `isize::MAX`, and the bytes can be read for `'a` by the
        // promise of the caller of `RawSegments::new`. An empty segment may begin at any address.
        let bytes = unsafe { std::slice::from_raw_parts(base.cast_const(), entry.iov_len) };
        list.push(IoSlice::new(bytes));
    }
    Ok(list)
}

/// The address of a segment, which is not null.
fn checked_base(entry: &iovec) -> io::Result<*mut u8> {
    match (entry.iov_base.is_null(), entry.iov_len) {
        (true, 0) => Ok(std::ptr::dangling_mut()),
        (true, _) => Err(refusal(libc::EFAULT)),
        (false, len) if len > isize::MAX as usize => Err(refusal(libc::EINVAL)),
        (false, _) => Ok(entry.iov_base.cast()),
    }
}

fn try_vec<T>(count: usize) -> io::Result<Vec<T>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(count) {
        Ok(()) => Ok(list),
        Err(_) => Err(refusal(libc::ENOMEM)),
    }
}

#[cold]
fn refusal(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    fn entry(bytes: &[u8]) -> iovec {
        let base = bytes.as_ptr().cast_mut().cast();
        iovec {
            iov_base: base,
            iov_len: bytes.len(),
        }
    }

    /// The content of a list and whether its array is the caller's, or the error's code.
    fn outcome(list: &[iovec]) -> Result<(Vec<u8>, usize, bool), i32> {
        // SAFETY: the entries are those of slices, of an empty segment, or are refused.
        let segments = unsafe { RawSegments::new(list.as_ptr(), list.len()) };
        let segments = segments.map_err(|error| error.raw_os_error().unwrap())?;
        let is_same = segments.as_ptr().addr() == list.as_ptr().addr();
        let bytes = segments.iter().flat_map(|segment| segment.to_vec());
        Ok((bytes.collect(), segments.len(), is_same))
    }

    const NULL: iovec = iovec {
        iov_base: null_mut(),
        iov_len: 0,
    };

    #[test]
    fn a_list_is_seen_where_it_is_and_copied_if_an_empty_segment_is_null() {
        let (one, other) = (b"one".to_vec(), b"other".to_vec());
        let plain = [entry(&one), entry(&other[..0]), entry(&other)];
        assert_eq!(outcome(&plain), Ok((b"oneother".to_vec(), 3, true)));
        let with_null = [NULL, entry(&one), NULL, entry(&other)];
        assert_eq!(outcome(&with_null), Ok((b"oneother".to_vec(), 4, false)));
        // SAFETY: there is no entry.
        assert!(unsafe { RawSegments::new(null_mut(), 0) }.is_ok_and(|list| list.is_empty()));
    }

    #[test]
    fn what_no_slice_can_be_is_refused() {
        let one = b"one".to_vec();
        let (mut long, mut null) = (entry(&one), NULL);
        long.iov_len = isize::MAX as usize + 1;
        null.iov_len = 1;
        assert_eq!(outcome(&[entry(&one), long]), Err(libc::EINVAL));
        assert_eq!(outcome(&[null, entry(&one)]), Err(libc::EFAULT));
        for (count, code) in [(1, libc::EFAULT), (usize::MAX, libc::EFAULT)] {
            // SAFETY: a null list is refused.
            let error = unsafe { RawSegments::new(null_mut(), count) }.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(code));
        }
        // SAFETY: so is a count that no array has.
        let error = unsafe { RawSegments::new(&entry(&one), usize::MAX) }.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn segments_to_read_into_are_those_of_the_array() {
        let mut bytes = *b"abcdef";
        let base = bytes.as_mut_ptr();
        let at = |offset, iov_len| iovec {
            iov_base: base.wrapping_add(offset).cast(),
            iov_len,
        };
        let list = [at(4, 2), NULL, at(0, 3)];
        // SAFETY: the two segments lie in `bytes` and do not overlap.
        let mut segments = unsafe { RawSegmentsMut::new(list.as_ptr(), list.len()) }.unwrap();
        segments[0].copy_from_slice(b"56");
        segments[2].copy_from_slice(b"123");
        assert_eq!(segments.len(), 3);
        drop(segments);
        assert_eq!(&bytes, b"123d56");
    }
}
