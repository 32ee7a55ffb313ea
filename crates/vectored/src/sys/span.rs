//! The address and the length of a segment, without a reference to its bytes.
//!
//! A list may come from another language ([`RawList`](crate::bindings::RawList)). Other threads may change the bytes
//! during a write, and the address of an empty segment may be null. No `&[u8]` may refer to such memory. So all code
//! that moves lists reads addresses and lengths by [`Span`], and cuts entries by [`part`] and [`part_mut`].
//!
//! Only the kernel and the copying functions of `sys/copy` read the bytes. The copying functions take addresses, and
//! the values of the bytes do not affect the code. So a change during a copy affects only the bytes that arrive.

#![allow(unsafe_code)]

use std::io::{IoSlice, IoSliceMut};
use std::ops::Deref;

use super::entry::Entry;

pub(crate) trait Span {
    /// Returns the address of the first byte. An empty span may have any address, even null.
    fn start(&self) -> *const u8;

    fn byte_len(&self) -> usize;

    #[inline(always)]
    fn end(&self) -> *const u8 {
        self.start().wrapping_add(self.byte_len())
    }
}

impl Span for IoSlice<'_> {
    #[inline(always)]
    fn start(&self) -> *const u8 {
        start_of(entry(self))
    }

    #[inline(always)]
    fn byte_len(&self) -> usize {
        length_of(entry(self))
    }
}

impl Span for IoSliceMut<'_> {
    #[inline(always)]
    fn start(&self) -> *const u8 {
        start_of(entry_mut(self))
    }

    #[inline(always)]
    fn byte_len(&self) -> usize {
        length_of(entry_mut(self))
    }
}

impl Span for [u8] {
    #[inline(always)]
    fn start(&self) -> *const u8 {
        self.as_ptr()
    }

    #[inline(always)]
    fn byte_len(&self) -> usize {
        self.len()
    }
}

/// A segment of a Rust list, which derefs to bytes.
#[repr(transparent)]
pub(crate) struct Bytes<S>(S);

impl<S: Deref<Target = [u8]>> Span for Bytes<S> {
    #[inline(always)]
    fn start(&self) -> *const u8 {
        self.0.as_ptr()
    }

    #[inline(always)]
    fn byte_len(&self) -> usize {
        self.0.len()
    }
}

#[inline(always)]
pub(crate) fn spans<S: Deref<Target = [u8]>>(list: &[S]) -> &[Bytes<S>] {
    // SAFETY: `Bytes<S>` is a transparent wrapper of `S`, so both slices have the same layout.
    unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), list.len()) }
}

/// Returns the bytes of a segment from `from` up to `to`, as an entry.
#[inline(always)]
pub(crate) fn part<'a>(segment: &IoSlice<'a>, from: usize, to: usize) -> IoSlice<'a> {
    let part = part_of(entry(segment), from, to);
    // SAFETY: `IoSlice` is guaranteed to have the layout of an entry. The part is within memory that is borrowed for
    // `'a`.
    unsafe { std::mem::transmute::<Entry, IoSlice<'a>>(part) }
}

/// The counterpart of [`part`] for reads.
#[inline(always)]
pub(crate) fn part_mut<'a>(
    segment: &'a mut IoSliceMut<'_>,
    from: usize,
    to: usize,
) -> IoSliceMut<'a> {
    let part = part_of(entry_mut(segment), from, to);
    // SAFETY: `IoSliceMut` is guaranteed to have the layout of an entry. The part is within memory that the segment
    // borrows exclusively. The segment is borrowed exclusively for `'a`.
    unsafe { std::mem::transmute::<Entry, IoSliceMut<'a>>(part) }
}

/// Returns whether each segment has at most `isize::MAX` bytes and ends within the address space. A list of another
/// language may have any numbers.
pub(crate) fn are_objects<S: Span>(segments: &[S]) -> bool {
    segments.iter().all(|segment| {
        let (start, bytes) = (segment.start().addr(), segment.byte_len());
        isize::try_from(bytes).is_ok() && start.checked_add(bytes).is_some()
    })
}

#[inline(always)]
fn part_of(entry: &Entry, from: usize, to: usize) -> Entry {
    assert!(from <= to && to <= length_of(entry));
    #[cfg(unix)]
    return Entry {
        iov_base: entry.iov_base.wrapping_byte_add(from),
        iov_len: to - from,
    };
    #[cfg(windows)]
    return Entry {
        buf: entry.buf.wrapping_add(from),
        // The length is at most the length of `entry`, which is a `u32`.
        len: (to - from) as u32,
    };
}

#[inline(always)]
fn start_of(entry: &Entry) -> *const u8 {
    #[cfg(unix)]
    return entry.iov_base.cast_const().cast();
    #[cfg(windows)]
    return entry.buf.cast_const();
}

#[inline(always)]
fn length_of(entry: &Entry) -> usize {
    #[cfg(unix)]
    return entry.iov_len;
    #[cfg(windows)]
    return entry.len as usize;
}

#[inline(always)]
fn entry<'s>(segment: &'s IoSlice<'_>) -> &'s Entry {
    // SAFETY: `IoSlice` is guaranteed to have the layout of an entry. The entry is only read.
    unsafe { &*std::ptr::from_ref(segment).cast::<Entry>() }
}

#[inline(always)]
fn entry_mut<'s>(segment: &'s IoSliceMut<'_>) -> &'s Entry {
    // SAFETY: `IoSliceMut` is guaranteed to have the layout of an entry. The entry is only read.
    unsafe { &*std::ptr::from_ref(segment).cast::<Entry>() }
}

#[cfg(test)]
impl Span for Vec<u8> {
    fn start(&self) -> *const u8 {
        self.as_ptr()
    }

    fn byte_len(&self) -> usize {
        self.len()
    }
}
