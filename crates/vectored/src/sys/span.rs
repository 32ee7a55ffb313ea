//! The place of a segment in memory, without a reference to its bytes.
//!
//! A list may come from another language ([`RawList`](crate::bindings::RawList)): other threads may change the bytes
//! while they are written, and the address of an empty segment may be null. No `&[u8]` may refer to such memory. So all
//! code that moves lists reads addresses and lengths by [`Span`], from the entry itself, and cuts entries by [`part`] and
//! [`part_mut`]. The bytes are read by the kernel, and by the copying functions of `sys/copy`, which take addresses:
//! these functions move bytes and look at none, so a change at the same time decides only which bytes arrive.
//!
//! # Safety
//!
//! `unsafe` to view an entry as the `iovec` (or `WSABUF`) that it is, and to view a value as its transparent wrapper.

#![allow(unsafe_code)]

use std::io::{IoSlice, IoSliceMut};
use std::ops::Deref;

use super::entry::Entry;

pub(crate) trait Span {
    /// The address of the first byte. An empty span may have any address, even null.
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

/// A segment of a list of Rust: anything that derefs to bytes.
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

/// A list of anything that derefs to bytes, as spans.
#[inline(always)]
pub(crate) fn spans<S: Deref<Target = [u8]>>(list: &[S]) -> &[Bytes<S>] {
    // SAFETY: `Bytes<S>` is a transparent wrapper of `S`, so both slices have the same layout.
    unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), list.len()) }
}

/// The bytes of a segment from `from` up to `to`, as an entry.
#[inline(always)]
pub(crate) fn part<'a>(segment: &IoSlice<'a>, from: usize, to: usize) -> IoSlice<'a> {
    let part = part_of(entry(segment), from, to);
    // SAFETY: `IoSlice` is guaranteed to have the layout of an entry. The part lies within memory that is borrowed for `'a`.
    unsafe { std::mem::transmute::<Entry, IoSlice<'a>>(part) }
}

/// The [`part`] of a segment to read into.
#[inline(always)]
pub(crate) fn part_mut<'a>(
    segment: &'a mut IoSliceMut<'_>,
    from: usize,
    to: usize,
) -> IoSliceMut<'a> {
    let part = part_of(entry_mut(segment), from, to);
    // SAFETY: `IoSliceMut` is guaranteed to have the layout of an entry. The part lies within memory that the segment
    // borrows exclusively, and the segment is borrowed exclusively for `'a`.
    unsafe { std::mem::transmute::<Entry, IoSliceMut<'a>>(part) }
}

/// Whether no segment is longer than an object can be, and each segment ends within the address space. A list of
/// another language may hold any numbers.
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
        // No more than the length of the whole.
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
    // SAFETY: `IoSlice` is guaranteed to have the layout of an entry, and is only read.
    unsafe { &*std::ptr::from_ref(segment).cast::<Entry>() }
}

#[inline(always)]
fn entry_mut<'s>(segment: &'s IoSliceMut<'_>) -> &'s Entry {
    // SAFETY: as in `entry`.
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
