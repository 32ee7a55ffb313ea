//! The segments of a queue that were not copied, and the positions of the copied bytes between them.
//!
//! Pointers and lengths are stored without the owners of the segments. To make the list of a call, the code reads only
//! 16 bytes for each segment. To remove a segment without an owner costs nothing.
//!
//! # Safety
//!
//! A [`Part`] with a null pointer has no bytes of its own. Any other [`Part`] names `'static` bytes, or the last bytes
//! of the owner in `owners` that has the part's number.
//!
//! - An owner's bytes are on the heap or `'static`, so moving the owner does not move the bytes.
//! - While the part exists, nothing writes the bytes, and the owner is not returned to a caller.
//! - A part is removed before its owner.
//!
//! So the bytes are valid while a `Kept` is borrowed.
#![allow(unsafe_code)]

use std::collections::{TryReserveError, VecDeque};
use std::io::IoSlice;
#[cfg(all(
    feature = "uring",
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
use std::mem::offset_of;
use std::{ptr, slice};

#[cfg(feature = "bytes")]
use bytes::Bytes;

use crate::queue::segment::{Owner, Segment};

pub(in crate::queue) struct Kept {
    /// The parts in the order of the queue. No part is empty, and the last part is a segment. The parts before `start`
    /// are removed.
    ///
    /// Appending to a `Vec` takes a third of the instructions of appending to a `VecDeque`.
    parts: Vec<Part>,
    start: usize,
    /// Owners in the order of `parts`. A `'static` segment has no owner.
    owners: VecDeque<Owned>,
    /// The number of the part at index 0, even if that part is removed.
    first_number: usize,
    pub(in crate::queue) bytes: usize,
    /// The number of copied bytes before the last segment.
    enclosed_bytes: usize,
    /// Whether two neighbouring segments were added since the list was last empty.
    may_adjoin: bool,
}

/// A segment, or a number of copied bytes. The layout is the layout of an `iovec`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Part {
    /// Null for copied bytes, which are in the queue.
    start: *const u8,
    bytes: usize,
}

struct Owned {
    part: usize,
    owner: Owner,
}

// SAFETY: the pointers come from shared references to bytes of owners. The owners are `Send` and `Sync`, as asserted
// below.
unsafe impl Send for Kept {}

// SAFETY: the argument for `Send` applies. A shared `Kept` only reads bytes.
unsafe impl Sync for Kept {}

const _: () = {
    const fn is_send_sync<T: Send + Sync>() {}
    is_send_sync::<Owner>();
};

impl Kept {
    pub(in crate::queue) const fn new() -> Kept {
        Kept {
            parts: Vec::new(),
            start: 0,
            owners: VecDeque::new(),
            first_number: 0,
            bytes: 0,
            enclosed_bytes: 0,
            may_adjoin: false,
        }
    }

    #[inline]
    pub(in crate::queue) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    #[inline]
    pub(in crate::queue) fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub(in crate::queue) fn enclosed_bytes(&self) -> usize {
        self.enclosed_bytes
    }

    #[inline]
    fn left(&self) -> &[Part] {
        &self.parts[self.start..]
    }

    /// Returns the number of parts: the segments, and the runs of copied bytes before segments.
    #[inline]
    pub(in crate::queue) fn parts(&self) -> usize {
        self.parts.len() - self.start
    }

    #[inline]
    pub(in crate::queue) fn may_adjoin(&self) -> bool {
        self.may_adjoin
    }

    /// Appends the copied bytes after the last segment, and then `segment`. `copied_bytes` is the number of all copied
    /// bytes in the queue. Returns false for an empty segment, which is not kept.
    #[inline(always)]
    pub(in crate::queue) fn push(&mut self, copied_bytes: usize, segment: Segment) -> bool {
        let part = Part::of_bytes(&segment);
        if part.bytes == 0 {
            return false;
        }
        // Both terms are at most `isize::MAX`, so the sum does not wrap. The sum and all copied bytes together fit a
        // `usize`.
        let bytes = self.bytes.wrapping_add(part.bytes);
        assert!(
            isize::try_from(bytes).is_ok(),
            "more bytes than a queue can count"
        );
        if self.parts.capacity() - self.parts.len() < 2 {
            self.grow();
        }
        self.bytes = bytes;
        match copied_bytes - self.enclosed_bytes {
            0 => self.may_adjoin |= !self.parts.is_empty(),
            before => self.parts.push(Part::copied(before)),
        }
        self.enclosed_bytes = copied_bytes;
        let number = self.first_number.wrapping_add(self.parts.len());
        if segment.is_static() {
            // A static segment has no owner to drop.
            std::mem::forget(segment);
        } else {
            self.owners.push_back(Owned {
                part: number,
                owner: segment.into_owner(),
            });
        }
        // The owner is added before the part, because adding the owner may fail.
        self.parts.push(part);
        true
    }

    #[inline]
    pub(in crate::queue) fn try_reserve_one(&mut self) -> Result<(), TryReserveError> {
        if self.parts.capacity() - self.parts.len() < 2 {
            self.forget_if_half();
            self.parts.try_reserve(2)?;
        }
        match self.owners.capacity() - self.owners.len() {
            0 => self.owners.try_reserve(1),
            _ => Ok(()),
        }
    }

    /// Makes room for two parts. Reuses the memory of removed parts if at least half of the parts are removed.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.forget_if_half();
        self.parts.reserve(2);
    }

    fn forget_if_half(&mut self) {
        if self.start >= self.parts.len() / 2 {
            self.forget_removed();
        }
    }

    fn forget_removed(&mut self) {
        self.parts.drain(..self.start);
        self.first_number = self.first_number.wrapping_add(self.start);
        self.start = 0;
    }

    /// Returns the bytes of all parts, then the copied bytes after the last segment. `copied` has all copied bytes of
    /// the queue.
    #[inline]
    pub(in crate::queue) fn slices<'a>(
        &'a self,
        mut copied: &'a [u8],
    ) -> impl Iterator<Item = &'a [u8]> {
        let mut parts = self.left().iter();
        std::iter::from_fn(move || match parts.next() {
            Some(part) => Some(self.bytes_of(*part, &mut copied)),
            None => (!copied.is_empty()).then(|| std::mem::take(&mut copied)),
        })
    }

    /// Appends the slices of [`slices`](Kept::slices) in a shorter loop.
    pub(in crate::queue) fn add_to<'a>(
        &'a self,
        mut copied: &'a [u8],
        slices: &mut Vec<IoSlice<'a>>,
    ) {
        let parts = self.left().iter();
        slices.extend(parts.map(|part| IoSlice::new(self.bytes_of(*part, &mut copied))));
        if !copied.is_empty() {
            slices.push(IoSlice::new(copied));
        }
    }

    /// Returns the slices of [`slices`](Kept::slices) without making a list. Returns `None` if any bytes were copied.
    #[cfg(all(
        feature = "uring",
        target_os = "linux",
        target_pointer_width = "64",
        target_endian = "little"
    ))]
    #[inline]
    pub(in crate::queue) fn as_list(&self, copied: &[u8]) -> Option<&[IoSlice<'_>]> {
        const {
            assert!(size_of::<Part>() == size_of::<libc::iovec>());
            assert!(align_of::<Part>() == align_of::<libc::iovec>());
            assert!(offset_of!(Part, start) == offset_of!(libc::iovec, iov_base));
            assert!(offset_of!(Part, bytes) == offset_of!(libc::iovec, iov_len));
        }
        if self.enclosed_bytes > 0 || !copied.is_empty() {
            return None;
        }
        let parts = self.left();
        // SAFETY: an `IoSlice` is "guaranteed to be ABI compatible with the `iovec` type", and a part has the layout of
        // an `iovec`. No part is of copied bytes, because `enclosed_bytes` is 0. So each part names bytes that are
        // valid and not written while `self` is borrowed. The list borrows `self`.
        Some(unsafe { slice::from_raw_parts(parts.as_ptr().cast(), parts.len()) })
    }

    /// Returns the bytes of a part of this list. Takes copied bytes from the front of `copied`.
    #[inline]
    fn bytes_of<'a>(&'a self, part: Part, copied: &mut &'a [u8]) -> &'a [u8] {
        if part.is_copied() {
            let (here, after) = copied.split_at(part.bytes);
            *copied = after;
            return here;
        }
        // SAFETY: the part belongs to `self`, so its bytes are valid and not written while `self` is borrowed.
        unsafe { slice::from_raw_parts(part.start, part.bytes) }
    }

    /// Removes the first `bytes` bytes of the parts, or all bytes if the parts have fewer. Returns the number of
    /// removed bytes that belong to segments.
    ///
    /// Removes no owner. The caller then calls [`drop_owners`](Kept::drop_owners), which removes the owners.
    pub(in crate::queue) fn advance(&mut self, bytes: usize) -> usize {
        let kept_bytes = self.bytes;
        let mut left = bytes;
        for part in &mut self.parts[self.start..] {
            let taken = part.bytes.min(left);
            left -= taken;
            if part.is_copied() {
                self.enclosed_bytes -= taken;
            } else {
                self.bytes -= taken;
            }
            if taken < part.bytes {
                part.advance(taken);
                break;
            }
            self.start += 1;
        }
        if self.start == self.parts.len() {
            self.forget_removed();
            self.may_adjoin = false;
        }
        kept_bytes - self.bytes
    }

    pub(in crate::queue) fn drop_owners(&mut self) {
        // The numbers wrap. The difference of two numbers is always below `isize::MAX`.
        let first = self.first_left();
        let is_over = |owned: &Owned| (owned.part.wrapping_sub(first) as isize) < 0;
        let count = self.owners.partition_point(is_over);
        self.owners.drain(..count);
    }

    fn first_left(&self) -> usize {
        self.first_number.wrapping_add(self.start)
    }

    pub(in crate::queue) fn clear(&mut self) {
        self.parts.clear();
        (self.start, self.first_number, self.may_adjoin) = (0, 0, false);
        (self.bytes, self.enclosed_bytes) = (0, 0);
        if !self.owners.is_empty() {
            self.owners.clear();
        }
    }

    #[inline]
    pub(in crate::queue) fn free_beyond(&mut self, bytes: usize) {
        if self.parts.capacity() > bytes / size_of::<Part>() && self.parts.is_empty() {
            self.parts = Vec::new();
        }
        if self.owners.capacity() > bytes / size_of::<Owned>() && self.owners.is_empty() {
            self.owners = VecDeque::new();
        }
    }

    #[cfg(test)]
    pub(in crate::queue) fn memory(&self) -> [usize; 2] {
        [
            self.parts.capacity() * size_of::<Part>(),
            self.owners.capacity() * size_of::<Owned>(),
        ]
    }

    pub(in crate::queue) fn into_segments(mut self, mut copied: &[u8]) -> Vec<Segment> {
        self.forget_removed();
        let mut segments = Vec::with_capacity(self.parts.len() + 1);
        let mut number = self.first_number;
        for part in std::mem::take(&mut self.parts) {
            let is_owned = self
                .owners
                .front()
                .is_some_and(|owned| owned.part == number);
            let owned = is_owned.then(|| self.owners.pop_front()).flatten();
            segments.push(match owned {
                Some(owned) => Segment::last_of(owned.owner, part.bytes),
                None if part.is_copied() => {
                    let (here, after) = copied.split_at(part.bytes);
                    copied = after;
                    Segment::from(here.to_vec())
                }
                // SAFETY: a segment without an owner has `'static` bytes.
                None => Segment::from(unsafe {
                    slice::from_raw_parts::<'static, u8>(part.start, part.bytes)
                }),
            });
            number = number.wrapping_add(1);
        }
        segments
    }

    /// Returns the bytes of the first part without a copy if the part is a segment of at least `least` bytes. The
    /// segment stays in the list.
    #[cfg(feature = "bytes")]
    pub(in crate::queue) fn share_first(&mut self, least: usize) -> Option<Bytes> {
        let number = self.first_left();
        let part = self.parts.get_mut(self.start)?;
        if part.is_copied() || part.bytes < least {
            return None;
        }
        let shared = match self.owners.front_mut() {
            Some(owned) if owned.part == number => {
                // `last_of` does not panic, so the owner is not lost while its part exists.
                let owner = std::mem::take(&mut owned.owner);
                let shared = Bytes::from(Segment::last_of(owner, part.bytes));
                owned.owner = Owner::Bytes(shared.clone());
                shared
            }
            // SAFETY: a segment without an owner has `'static` bytes.
            _ => Bytes::from_static(unsafe {
                slice::from_raw_parts::<'static, u8>(part.start, part.bytes)
            }),
        };
        // The new pointer comes from the new owner of the bytes.
        part.start = shared.as_ptr();
        Some(shared)
    }
}

impl Part {
    fn copied(bytes: usize) -> Part {
        Part {
            start: ptr::null(),
            bytes,
        }
    }

    #[inline]
    fn of_bytes(bytes: &[u8]) -> Part {
        Part {
            start: bytes.as_ptr(),
            bytes: bytes.len(),
        }
    }

    #[inline]
    fn is_copied(self) -> bool {
        self.start.is_null()
    }

    fn advance(&mut self, bytes: usize) {
        self.bytes -= bytes;
        if !self.is_copied() {
            // `bytes` is at most the length of the part, so the address stays within the part.
            self.start = self.start.wrapping_add(bytes);
        }
    }
}
