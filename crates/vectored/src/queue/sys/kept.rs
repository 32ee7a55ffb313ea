//! The segments of a queue that were not copied, and the copied bytes between them.
//!
//! A call of the kernel gets pointers and lengths. Pointers and lengths are stored as such, apart from the owners of the
//! segments: making the list of a call reads 16 bytes a segment, and a segment without an owner costs nothing when it is
//! removed.
//!
//! # Safety
//!
//! A [`Part`] with a pointer names bytes that are `'static`, or the last bytes of the owner in `owners` that has its
//! number. An owner's bytes lie on the heap or are `'static`, so they do not move with the owner. Nothing writes these
//! bytes, or gives out an owner, while the part of the owner is there. A part is removed before its owner. So the bytes
//! are valid while a `Kept` is borrowed.
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
    /// The parts in the order of the queue, none of them empty. The last part is a segment. The parts before `start` were
    /// removed.
    ///
    /// Appending to a `Vec` takes a third of the instructions of a `VecDeque`.
    parts: Vec<Part>,
    start: usize,
    /// The owners of the segments that have one, in the order of `parts`.
    owners: VecDeque<Owned>,
    /// The number of the first of `parts`, whether it was removed or not.
    first_number: usize,
    pub(in crate::queue) bytes: usize,
    /// The copied bytes that are before a segment.
    enclosed_bytes: usize,
    /// Whether two segments followed each other since the list was empty.
    may_adjoin: bool,
}

/// A segment, or copied bytes. Laid out as an `iovec`.
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

// SAFETY: the pointers of parts come from shared references to bytes, of owners that are `Send` and `Sync`, as is asserted
// below.
unsafe impl Send for Kept {}

// SAFETY: as above. A shared `Kept` only reads bytes.
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

    /// The number of parts: segments, and runs of copied bytes before a segment.
    #[inline]
    pub(in crate::queue) fn parts(&self) -> usize {
        self.parts.len() - self.start
    }

    #[inline]
    pub(in crate::queue) fn may_adjoin(&self) -> bool {
        self.may_adjoin
    }

    /// Appends the copied bytes after the last segment, and then `segment`. The queue has `copied_bytes` in all.
    /// Returns false for an empty segment, which is not kept.
    #[inline(always)]
    pub(in crate::queue) fn push(&mut self, copied_bytes: usize, segment: Segment) -> bool {
        let part = Part::of_bytes(&segment);
        if part.bytes == 0 {
            return false;
        }
        // Each term is at most `isize::MAX`, and so are the copied bytes: the sum of all fits a `usize`.
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
            // A static segment has nothing to drop.
            std::mem::forget(segment);
        } else {
            self.owners.push_back(Owned {
                part: number,
                owner: segment.into_owner(),
            });
        }
        // The part comes after its owner, which may need memory.
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

    /// Makes room for two parts. Uses the memory of removed parts again, if they are half of all or more.
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

    /// The bytes of all parts, and the rest of the copied bytes. `copied` are all copied bytes of the queue.
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

    /// Appends what [`slices`](Kept::slices) returns, in a shorter loop.
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

    /// The list that [`slices`](Kept::slices) returns, if it is there already; `None` if any bytes were copied.
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
        // SAFETY: an `IoSlice` is "guaranteed to be ABI compatible with the `iovec` type", which a part has the layout of.
        // No part is of copied bytes, since these would be `enclosed_bytes`. So each names bytes that are valid and not
        // written while `self` is borrowed, as the list is.
        Some(unsafe { slice::from_raw_parts(parts.as_ptr().cast(), parts.len()) })
    }

    /// The bytes of a part of this list. Copied bytes are taken from the front of `copied`.
    #[inline]
    fn bytes_of<'a>(&'a self, part: Part, copied: &mut &'a [u8]) -> &'a [u8] {
        if part.is_copied() {
            let (here, after) = copied.split_at(part.bytes);
            *copied = after;
            return here;
        }
        // SAFETY: the part is one of `self`, so its bytes are valid and not written while `self` is borrowed.
        unsafe { slice::from_raw_parts(part.start, part.bytes) }
    }

    /// Removes the first `bytes` of the parts, or all of them, and returns how many removed bytes are of segments.
    ///
    /// It removes no owner: [`drop_owners`](Kept::drop_owners) does that.
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
        // The numbers wrap, but no two numbers are `isize::MAX` or more apart.
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
                // SAFETY: a segment without an owner, whose bytes are `'static`.
                None => Segment::from(unsafe {
                    slice::from_raw_parts::<'static, u8>(part.start, part.bytes)
                }),
            });
            number = number.wrapping_add(1);
        }
        segments
    }

    /// If the first part is a segment of `least` bytes or more, returns its bytes without a copy. The segment stays in
    /// the list.
    #[cfg(feature = "bytes")]
    pub(in crate::queue) fn share_first(&mut self, least: usize) -> Option<Bytes> {
        let number = self.first_left();
        let part = self.parts.get_mut(self.start)?;
        if part.is_copied() || part.bytes < least {
            return None;
        }
        let shared = match self.owners.front_mut() {
            Some(owned) if owned.part == number => {
                // `last_of` does not panic, so no owner is lost while its part is there.
                let owner = std::mem::take(&mut owned.owner);
                let shared = Bytes::from(Segment::last_of(owner, part.bytes));
                owned.owner = Owner::Bytes(shared.clone());
                shared
            }
            // SAFETY: a segment without an owner, whose bytes are `'static`.
            _ => Bytes::from_static(unsafe {
                slice::from_raw_parts::<'static, u8>(part.start, part.bytes)
            }),
        };
        // The bytes are the same; the pointer is to the bytes of their present owner.
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
            // The part has at least `bytes` bytes, so the address stays within the part. `wrapping_add` asks for no proof.
            self.start = self.start.wrapping_add(bytes);
        }
    }
}
