//! Memory without content that is filled from its start and handed out in pieces.
//!
//! # Safety
//!
//! `unsafe` for handing out as bytes what is known to be initialised.
#![allow(unsafe_code)]

use std::io::IoSlice;
use std::mem::{self, MaybeUninit};
use std::ptr;

use super::copy::{Copier, copy_one, copy_run, copy_short};
use super::staging::Staged;

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

    /// That of `staged`, with its content as what was pushed. `staged` is empty then.
    pub(crate) fn with_content(staged: &'a mut Staged) -> Room<'a> {
        let filled = staged.take_filled();
        Room {
            memory: staged.memory(),
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
