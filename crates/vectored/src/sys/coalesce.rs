//! Coalesces segments that adjoin in memory into one entry of a call.
//!
//! A list is often made of one buffer: its lines, records or chunks, in order. The kernel takes some 20 ns for each
//! entry, although such neighbours are one stretch of memory to the kernel. For our own code the neighbours stay
//! several slices: they may belong to different allocations, and no slice may reach from one allocation into the next.
//! So the entries are made of addresses and lengths, for the time of one call, and only the kernel reads the memory.
//!
//! # Safety
//!
//! `unsafe` for a view of entries that were written to uninitialised memory.

#![allow(unsafe_code)]

use std::io::IoSlice;
use std::mem::MaybeUninit;

use super::entry::{Entry, entry};

use super::span::Span;

/// The most entries that a coalesced list may have: their memory is on the stack.
const MAX_ENTRIES: usize = 128;

pub(super) struct EntryBuffer([MaybeUninit<Entry>; MAX_ENTRIES]);

impl EntryBuffer {
    #[inline(always)]
    pub(super) const fn new() -> EntryBuffer {
        EntryBuffer([const { MaybeUninit::uninit() }; MAX_ENTRIES])
    }
}

/// The entries of a coalesced list.
///
/// Invariant: each entry is the address and the length of segments that follow one another in memory without a gap, and
/// that are borrowed for `'s`. So a system call that only reads may be given the entries while this value lives.
pub(super) struct CoalescedList<'s>(&'s [Entry]);

impl CoalescedList<'_> {
    pub(super) fn as_ptr(&self) -> *const Entry {
        self.0.as_ptr()
    }

    /// The number of entries, at most 128.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Whether `other` begins where `one` ends. An empty segment may also adjoin.
#[inline(always)]
pub(crate) fn adjoins(one: &(impl Span + ?Sized), other: &impl Span) -> bool {
    std::ptr::eq(one.end(), other.start())
}

#[inline(always)]
pub(super) fn any_adjoin(slices: &[IoSlice<'_>]) -> bool {
    let mut last_end = std::ptr::null();
    for slice in slices {
        if std::ptr::eq(last_end, slice.start()) {
            return true;
        }
        last_end = slice.end();
    }
    false
}

/// Coalesces a list into `buffer`: neighbours that adjoin become one entry. `None` if there are more entries than `buffer`
/// holds.
///
/// The memory of an entry for several segments may be read, but not by the provenance of a single segment: in an aliasing
/// model such as Stacked Borrows a pointer to the first segment cannot read the second. So the provenance of each segment
/// is exposed, and the address of an entry is made with exposed provenance ([`std::ptr::with_exposed_provenance`]), which
/// allows whatever any exposed provenance allows.
pub(super) fn coalesce<'s>(
    slices: &'s [IoSlice<'_>],
    buffer: &'s mut EntryBuffer,
) -> Option<CoalescedList<'s>> {
    let entries = &mut buffer.0;
    let mut count = 0;
    // The start of the last entry, and its length.
    let mut last: Option<(usize, usize)> = None;
    for slice in slices {
        let (base, len) = (slice.start().expose_provenance(), slice.byte_len());
        match &mut last {
            // A list of another language may end beyond the last address: the kernel answers `EFAULT`.
            Some((last_base, last_len)) if last_base.wrapping_add(*last_len) == base => {
                *last_len += len;
            }
            _ => {
                if let Some(done) = last.replace((base, len)) {
                    entries.get_mut(count)?.write(entry(done.0, done.1));
                    count += 1;
                }
            }
        }
    }
    if let Some(done) = last {
        entries.get_mut(count)?.write(entry(done.0, done.1));
        count += 1;
    }
    // SAFETY: the first `count` entries were written, and `MaybeUninit<Entry>` has the layout of `iovec`. `buffer` is
    // borrowed exclusively for as long as the result.
    let entries = unsafe { std::slice::from_raw_parts(entries.as_ptr().cast::<Entry>(), count) };
    Some(CoalescedList(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::entry::parts;
    use proptest::prelude::*;

    /// The places of the entries in `data`, and their lengths.
    fn shape(data: &[u8], slices: &[IoSlice<'_>]) -> Vec<(usize, usize)> {
        let mut buffer = EntryBuffer::new();
        let place = |base: usize, len| (base - data.as_ptr().addr(), len);
        match coalesce(slices, &mut buffer) {
            Some(entries) if any_adjoin(slices) => entries
                .0
                .iter()
                .map(|entry| {
                    let (base, len) = parts(entry);
                    place(base, len)
                })
                .collect(),
            _ => slices
                .iter()
                .map(|slice| place(slice.as_ptr().addr(), slice.len()))
                .collect(),
        }
    }

    fn cut<'d>(data: &'d [u8], places: &[(usize, usize)]) -> Vec<IoSlice<'d>> {
        let slice = |&(at, len): &(usize, usize)| IoSlice::new(&data[at..at + len]);
        places.iter().map(slice).collect()
    }

    #[test]
    fn a_list_that_needs_more_room_goes_as_it_is() {
        let data = vec![0; 2000];
        let pairs = |count: usize| -> Vec<(usize, usize)> {
            let pair = |pair| [(5 * pair, 1), (5 * pair + 1, 2)];
            (0..count).flat_map(pair).collect()
        };
        let most = shape(&data, &cut(&data, &pairs(MAX_ENTRIES)));
        assert_eq!(most.len(), MAX_ENTRIES);
        assert!(most.iter().all(|&(_, len)| len == 3), "{most:?}");
        let more = pairs(MAX_ENTRIES + 1);
        assert_eq!(shape(&data, &cut(&data, &more)), more);
    }

    proptest! {
        #[test]
        fn the_bytes_are_the_same_in_as_few_entries_as_can_be(
            places in prop::collection::vec((0..6_usize, 1..4_usize, any::<bool>()), 1..200)
        ) {
            let data = vec![0; 1000];
            let mut at = 0;
            let mut list = Vec::new();
            for (gap, len, touches) in places {
                at += if touches { 0 } else { gap };
                list.push((at, len));
                at += len;
            }
            let mut model: Vec<(usize, usize)> = Vec::new();
            for &(at, len) in &list {
                match model.last_mut() {
                    Some(last) if last.0 + last.1 == at => last.1 += len,
                    _ => model.push((at, len)),
                }
            }
            let expected = if model.len() > MAX_ENTRIES { list.clone() } else { model };
            prop_assert_eq!(shape(&data, &cut(&data, &list)), expected);
        }
    }
}
