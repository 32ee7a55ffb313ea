//! Memory without content that is filled from its start and handed out in pieces.
//!
//! # Safety
//!
//! `unsafe` for handing out as bytes what is known to be initialised.
#![allow(unsafe_code)]

use std::io::IoSlice;
use std::mem::{self, MaybeUninit};
use std::ptr;

use super::copy::{Copier, copy_one, copy_run, copy_run_while, copy_short};

/// Staging memory: what is pushed lies in one piece until it is [taken](Room::take).
///
/// Invariant: the first `filled` bytes of `memory` are initialised.
pub(crate) struct Room<'a> {
    memory: &'a mut [MaybeUninit<u8>],
    filled: usize,
}

impl<'a> Room<'a> {
    pub(crate) fn new(memory: &'a mut [MaybeUninit<u8>]) -> Room<'a> {
        Room { memory, filled: 0 }
    }

    /// The first `bytes` of the memory of `vec`, with its content as what was pushed. The vector is
    /// empty then.
    ///
    /// # Panics
    ///
    /// If it has less memory or more content.
    pub(crate) fn with_content(vec: &'a mut Vec<u8>, bytes: usize) -> Room<'a> {
        let filled = vec.len();
        assert!(filled <= bytes, "{filled} of {bytes} bytes are filled");
        // A vector's content is initialised, and stays so when it is forgotten.
        vec.clear();
        Room {
            memory: &mut vec.spare_capacity_mut()[..bytes],
            filled,
        }
    }

    /// How much more it holds.
    pub(crate) fn free_bytes(&self) -> usize {
        self.memory.len() - self.filled
    }

    /// Copies one segment behind what is there.
    ///
    /// # Panics
    ///
    /// If it does not fit.
    #[inline]
    pub(crate) fn push(&mut self, segment: &[u8]) {
        let len = segment.len();
        let to = &mut self.memory[self.filled..][..len];
        // SAFETY: both are slices of `len` bytes, and `to` is borrowed exclusively, so they do not
        // overlap.
        unsafe { copy_one(segment.as_ptr(), to.as_mut_ptr().cast(), len) };
        self.filled += len;
    }

    /// The memory behind what is there: so many bytes, or what there is.
    #[inline(always)]
    fn free(&mut self, most_bytes: usize) -> &mut [MaybeUninit<u8>] {
        let free = &mut self.memory[self.filled..];
        let room = free.len().min(most_bytes);
        &mut free[..room]
    }

    /// As [`push_run_by`](Room::push_run_by), but it also ends before a segment of more than 128 bytes, and
    /// where less than 128 bytes are left.
    #[inline(always)]
    pub(crate) fn push_short_run(
        &mut self,
        segments: &[IoSlice<'_>],
        most_segment_bytes: usize,
        most_bytes: usize,
    ) -> usize {
        let (count, bytes) = copy_short(segments, most_segment_bytes, self.free(most_bytes));
        self.filled += bytes;
        count
    }

    /// Copies segments behind what is there, up to where `goes_on` says no of what is left of them or more than
    /// `most_bytes` more would be there. Returns how many it copied.
    #[inline(always)]
    pub(crate) fn push_while(
        &mut self,
        segments: &[IoSlice<'_>],
        most_bytes: usize,
        goes_on: impl Fn(&[IoSlice<'_>]) -> bool,
    ) -> usize {
        let (count, bytes) = copy_run_while(segments, self.free(most_bytes), goes_on);
        self.filled += bytes;
        count
    }

    /// Copies segments behind what is there, up to the first that is longer than `most_segment_bytes` or
    /// with which more than `most_bytes` more would be there. Returns how many it copied.
    #[inline(always)]
    pub(crate) fn push_run_by(
        &mut self,
        copier: Copier,
        segments: &[IoSlice<'_>],
        most_segment_bytes: usize,
        most_bytes: usize,
    ) -> usize {
        let (count, bytes) = copy_run(copier, segments, most_segment_bytes, self.free(most_bytes));
        self.filled += bytes;
        count
    }

    /// What was pushed since the last time. The room goes on behind it.
    #[inline]
    pub(crate) fn take(&mut self) -> &'a mut [u8] {
        let memory = mem::take(&mut self.memory);
        let (filled, free) = memory.split_at_mut(mem::take(&mut self.filled));
        self.memory = free;
        let filled: *mut [MaybeUninit<u8>] = ptr::from_mut(filled);
        // SAFETY: the pointer is made from a `&'a mut` slice that nothing else refers to: `self` has
        // kept only what lies behind it. `MaybeUninit<u8>` has the layout of `u8`, and by the
        // invariant all of these bytes are initialised.
        unsafe { &mut *(filled as *mut [u8]) }
    }
}

/// Copies `segment` behind what `to` holds. Its memory stays where it is.
///
/// # Panics
///
/// If it does not fit the spare capacity.
#[inline]
pub(crate) fn append(to: &mut Vec<u8>, segment: &[u8]) {
    let mut room = Room::new(to.spare_capacity_mut());
    room.push(segment);
    let len = to.len() + segment.len();
    // SAFETY: `push` has initialised so many bytes at the start of the spare capacity, and did not
    // panic, so they lie within it.
    unsafe { to.set_len(len) };
}

/// As [`append_run_by`], but it also ends before a segment of more than 128 bytes, and where less than
/// 128 bytes are free. For short segments, where each instruction counts.
///
/// # Panics
///
/// If `to` has less spare capacity than the second number says.
#[inline(always)]
pub(crate) fn append_short(
    to: &mut Vec<u8>,
    segments: &[IoSlice<'_>],
    (most_segment_bytes, most_bytes): (usize, usize),
) -> usize {
    let before = to.len();
    let room = &mut to.spare_capacity_mut()[..most_bytes];
    let (count, bytes) = copy_short(segments, most_segment_bytes, room);
    // SAFETY: so many bytes at the start of the spare capacity are initialised.
    unsafe { to.set_len(before + bytes) };
    count
}

/// Copies as many of `segments` as fit the spare capacity of `to`, one behind the other, and returns
/// how many.
#[inline]
pub(crate) fn append_run(to: &mut Vec<u8>, segments: &[IoSlice<'_>]) -> usize {
    append_run_by(
        Copier::for_list(segments),
        to,
        segments,
        usize::MAX,
        usize::MAX,
    )
}

/// The same, by a copier of the caller's choice, up to the first segment that is longer than
/// `most_segment_bytes` or with which more than `most_bytes` more would be there.
#[inline(always)]
pub(crate) fn append_run_by(
    copier: Copier,
    to: &mut Vec<u8>,
    segments: &[IoSlice<'_>],
    most_segment_bytes: usize,
    most_bytes: usize,
) -> usize {
    append_by(to, |room| {
        room.push_run_by(copier, segments, most_segment_bytes, most_bytes)
    })
}

/// Copies segments behind what `to` holds, up to where `goes_on` says no of what is left of them or more
/// than `most_bytes` more would be there. Returns how many.
#[inline(always)]
pub(crate) fn append_while(
    to: &mut Vec<u8>,
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    goes_on: impl Fn(&[IoSlice<'_>]) -> bool,
) -> usize {
    append_by(to, |room| room.push_while(segments, most_bytes, goes_on))
}

/// Makes what `push` pushes a part of `to`, and returns what it returns.
#[inline(always)]
fn append_by(to: &mut Vec<u8>, push: impl FnOnce(&mut Room<'_>) -> usize) -> usize {
    let before = to.len();
    let mut room = Room::new(to.spare_capacity_mut());
    let count = push(&mut room);
    let len = before + room.filled;
    // SAFETY: by the invariant of `Room` so many bytes at the start of the spare capacity are
    // initialised, and they lie within it.
    unsafe { to.set_len(len) };
    count
}
