//! Bytes that were copied together, in memory that begins with a page.
//!
//! A file that is open with `O_DIRECT` takes bytes only from aligned addresses, 4096 being enough for nearly
//! all of them. ("O_DIRECT" in open(2); [`DirectAlignment`](crate::DirectAlignment).) Segments whose lengths
//! are multiples of the file's block stay aligned when they are copied one behind the other.
//!
//! For other files a page is the start of a cache line, which matters to a processor that copies by whole
//! lines: `write(2)` of 8 KiB into a pipe takes 6 % less from there than from 16 bytes behind it, which is where
//! an allocator's large blocks begin, and into files 5 % less (Zen 4; on Cascade Lake 2 % and nothing).
//!
//! # Safety
//!
//! `unsafe` for looking at pages as bytes, for handing out what is initialised, for saying how many of these are initialised, and for zeroed
//! memory that the allocator may refuse.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::{mem, ptr, slice};

use super::copy::{Copier, copy_one, copy_run, copy_short};

/// The alignment of staging memory, in bytes.
pub(crate) const STAGING_ALIGNMENT: usize = 4096;

#[repr(C, align(4096))]
struct Page([u8; STAGING_ALIGNMENT]);

const _: () = assert!(align_of::<Page>() == STAGING_ALIGNMENT);

/// A buffer that never grows beyond what it was made with, and never moves.
///
/// Invariant: the first `filled` bytes of `pages` are initialised, and no more than `capacity`, which is no
/// more than there is.
pub(crate) struct StagingBuffer {
    /// Always empty: kept for its memory.
    pages: Vec<Page>,
    capacity: usize,
    filled: usize,
}

impl StagingBuffer {
    /// One without memory, which holds nothing.
    pub(crate) const fn new() -> StagingBuffer {
        StagingBuffer {
            pages: Vec::new(),
            capacity: 0,
            filled: 0,
        }
    }

    /// An empty one that holds `bytes` bytes. Without memory for it the process ends, as with any `Vec`.
    pub(crate) fn with_capacity(bytes: usize) -> StagingBuffer {
        StagingBuffer {
            pages: Vec::with_capacity(bytes.div_ceil(size_of::<Page>())),
            capacity: bytes,
            filled: 0,
        }
    }

    /// The same; `None` if there is no memory for it.
    pub(crate) fn try_with_capacity(bytes: usize) -> Option<StagingBuffer> {
        let mut pages = Vec::new();
        pages
            .try_reserve_exact(bytes.div_ceil(size_of::<Page>()))
            .ok()?;
        Some(StagingBuffer {
            pages,
            capacity: bytes,
            filled: 0,
        })
    }

    /// How many bytes it holds at most.
    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many more it holds.
    #[inline(always)]
    pub(crate) fn free_bytes(&self) -> usize {
        self.capacity - self.filled
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.filled = 0;
    }

    /// Takes the first `bytes` out; the others move to the start.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub(crate) fn remove_first(&mut self, bytes: usize) {
        let (filled, memory) = (self.filled, self.memory());
        memory.copy_within(bytes..filled, 0);
        self.filled = filled - bytes;
    }

    /// All of its memory.
    #[inline(always)]
    fn memory(&mut self) -> &mut [MaybeUninit<u8>] {
        let memory = self.pages.as_mut_ptr().cast();
        // SAFETY: so many bytes are allocated by the invariant, or it is none of them; those of `Page` may
        // be looked at as such, and none need be initialised. `self` is borrowed exclusively as long.
        unsafe { slice::from_raw_parts_mut(memory, self.capacity) }
    }

    /// Takes what is there: that many bytes of [`memory`](StagingBuffer::memory) are initialised.
    fn take_filled(&mut self) -> usize {
        mem::take(&mut self.filled)
    }

    /// The memory behind what is there.
    #[inline(always)]
    fn free(&mut self) -> &mut [MaybeUninit<u8>] {
        let filled = self.filled;
        &mut self.memory()[filled..]
    }

    /// Copies one segment behind what is there.
    ///
    /// # Panics
    ///
    /// If it does not fit.
    #[inline]
    pub(crate) fn push(&mut self, segment: &[u8]) {
        StagingTail::new(self.free()).push(segment);
        self.filled += segment.len();
    }

    /// Copies segments to the start, up to the first of more than `most_segment_bytes` or 128 bytes, or to
    /// where less than 128 bytes are free, and returns how many. What was there is gone. For short segments,
    /// where each instruction counts.
    #[inline(always)]
    pub(crate) fn fill_short(
        &mut self,
        segments: &[IoSlice<'_>],
        most_segment_bytes: usize,
    ) -> usize {
        let (count, bytes) = copy_short(segments, most_segment_bytes, self.memory());
        self.filled = bytes;
        count
    }

    /// Copies as many of `segments` as fit behind what is there, and returns how many.
    #[inline]
    pub(crate) fn push_run(&mut self, segments: &[IoSlice<'_>]) -> usize {
        self.push_run_by(Copier::for_list(segments), segments, usize::MAX)
    }

    /// The same, by a copier of the caller's choice, up to the first segment that is longer than
    /// `most_segment_bytes`.
    #[inline(always)]
    pub(crate) fn push_run_by(
        &mut self,
        copier: Copier,
        segments: &[IoSlice<'_>],
        most_segment_bytes: usize,
    ) -> usize {
        let (count, bytes) = copy_run(copier, segments, most_segment_bytes, self.free());
        self.filled += bytes;
        count
    }
}

impl Deref for StagingBuffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        let memory = self.pages.as_ptr().cast();
        // SAFETY: by the invariant so many bytes are there and initialised. They are borrowed as long as
        // `self` is.
        unsafe { slice::from_raw_parts(memory, self.filled) }
    }
}

/// Staging memory: what is pushed lies in one piece until it is [taken](StagingTail::take).
///
/// Invariant: the first `filled` bytes of `memory` are initialised.
pub(crate) struct StagingTail<'a> {
    memory: &'a mut [MaybeUninit<u8>],
    filled: usize,
}

impl<'a> StagingTail<'a> {
    pub(crate) fn new(memory: &'a mut [MaybeUninit<u8>]) -> StagingTail<'a> {
        StagingTail { memory, filled: 0 }
    }

    /// That of `staged`, with its content as what was pushed. `staged` is empty then.
    pub(crate) fn with_content(staged: &'a mut StagingBuffer) -> StagingTail<'a> {
        let filled = staged.take_filled();
        StagingTail {
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

    /// As [`push_run_by`](StagingTail::push_run_by), but it also ends before a segment of more than 128 bytes, and
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

/// `bytes` zeros; `None` if there is no memory for them. The system provides large ones page by page, as
/// they are touched.
pub(crate) fn try_zeroed(bytes: usize) -> Option<Vec<u8>> {
    if bytes == 0 {
        return Some(Vec::new());
    }
    let layout = Layout::array::<u8>(bytes).ok()?;
    // SAFETY: the layout is not of size 0.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return None;
    }
    // SAFETY: the memory is of the global allocator, with the alignment of `u8` and room for `bytes` bytes,
    // no more than `isize::MAX` as `Layout` has checked; all of them are initialised, as zeros. Nothing else
    // refers to it.
    Some(unsafe { Vec::from_raw_parts(memory, bytes, bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{list, payload};
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(usize),
        PushRun(Vec<usize>, usize),
        FillShort(Vec<usize>, usize),
        RemoveFirst(usize),
        Clear,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let sizes = || prop::collection::vec(0..300_usize, 0..10);
        prop_oneof![
            (0..300_usize).prop_map(Step::Push),
            (sizes(), 0..300_usize).prop_map(|(sizes, most)| Step::PushRun(sizes, most)),
            (sizes(), 0..300_usize).prop_map(|(sizes, most)| Step::FillShort(sizes, most)),
            (0..1000_usize).prop_map(Step::RemoveFirst),
            Just(Step::Clear),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_vector_that_does_not_grow(
            capacity in 0..2000_usize, steps in prop::collection::vec(any_step(), 1..20)
        ) {
            let (mut staged, mut model) = (StagingBuffer::with_capacity(capacity), Vec::new());
            for step in steps {
                match step {
                    Step::Push(size) => {
                        let data = payload(&[size.min(staged.free_bytes())]);
                        staged.push(&data[0]);
                        model.extend_from_slice(&data[0]);
                    }
                    Step::PushRun(sizes, most) => {
                        let data = payload(&sizes);
                        let count = staged.push_run_by(Copier::widest(), &list(&data), most);
                        let fitting = data.iter().scan(model.len(), |end, piece| {
                            *end += piece.len();
                            (piece.len() <= most && *end <= capacity).then_some(piece)
                        });
                        let fitting: Vec<_> = fitting.collect();
                        prop_assert_eq!(count, fitting.len());
                        fitting.into_iter().for_each(|piece| model.extend_from_slice(piece));
                    }
                    Step::FillShort(sizes, most) => {
                        let data = payload(&sizes);
                        let count = staged.fill_short(&list(&data), most);
                        let mut free = capacity;
                        let expected = data.iter().take_while(|piece| {
                            let is_short = free >= 128 && piece.len() <= most.min(128);
                            free -= if is_short { piece.len() } else { 0 };
                            is_short
                        });
                        prop_assert_eq!(count, expected.count());
                        model = data[..count].concat();
                    }
                    Step::RemoveFirst(bytes) => {
                        let bytes = bytes.min(model.len());
                        staged.remove_first(bytes);
                        model.drain(..bytes);
                    }
                    Step::Clear => {
                        staged.clear();
                        model.clear();
                    }
                }
                prop_assert_eq!(&*staged, &*model);
                prop_assert_eq!(staged.free_bytes(), capacity - model.len());
                prop_assert!(capacity == 0 || staged.as_ptr().addr().is_multiple_of(4096));
            }
        }
    }

    #[test]
    fn what_no_memory_holds_is_none_and_no_abort() {
        for bytes in [1 << 60, isize::MAX as usize, usize::MAX] {
            assert!(StagingBuffer::try_with_capacity(bytes).is_none(), "{bytes}");
            assert!(try_zeroed(bytes).is_none(), "{bytes}");
        }
        for bytes in [0, 1, 5000] {
            let staged = StagingBuffer::try_with_capacity(bytes).unwrap();
            assert_eq!((staged.capacity(), staged.free_bytes()), (bytes, bytes));
            assert_eq!(try_zeroed(bytes).unwrap(), vec![0; bytes]);
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn what_does_not_fit_is_refused() {
        StagingBuffer::with_capacity(10).push(&[0; 11]);
    }
}
