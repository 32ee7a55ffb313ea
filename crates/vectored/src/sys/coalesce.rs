//! Coalesces segments that are adjacent in memory into one entry of a call.
//!
//! A program often makes a list of lines, records or chunks of one buffer. The kernel takes about 20 ns for each entry,
//! although adjacent segments are one range of memory for the kernel.
//!
//! In Rust, adjacent segments may belong to different allocations, and no slice may reach from one allocation into the
//! next. So the entries are addresses and lengths that exist only during a call. Only the kernel reads the memory.

#![allow(unsafe_code)]

use std::io::IoSlice;
use std::mem::MaybeUninit;

use super::entry::{Entry, entry};

use super::span::Span;

/// The most entries of a coalesced list, whose memory is on the stack.
const MAX_ENTRIES: usize = 128;

pub(super) struct EntryBuffer([MaybeUninit<Entry>; MAX_ENTRIES]);

impl EntryBuffer {
    #[inline(always)]
    pub(super) const fn new() -> EntryBuffer {
        EntryBuffer([const { MaybeUninit::uninit() }; MAX_ENTRIES])
    }
}

/// Invariant: the memory of each entry is the memory of segments that are adjacent and borrowed for `'s`. So a system
/// call that only reads may use the entries while this value exists.
pub(super) struct CoalescedList<'s>(&'s [Entry]);

impl CoalescedList<'_> {
    pub(super) fn as_ptr(&self) -> *const Entry {
        self.0.as_ptr()
    }

    /// Returns the number of entries, which is at most `MAX_ENTRIES`.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Returns whether `other` begins at the end of `one`. An empty segment may also adjoin.
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

/// Coalesces adjacent segments of a list into entries in `buffer`. Returns `None` if the entries do not fit `buffer`.
///
/// In an aliasing model such as Stacked Borrows, a pointer to one segment cannot read the next segment. So the
/// provenance of each segment is exposed. The address of an entry is made with exposed provenance
/// ([`std::ptr::with_exposed_provenance`]), which permits access to all exposed segments.
pub(super) fn coalesce<'s>(
    slices: &'s [IoSlice<'_>],
    buffer: &'s mut EntryBuffer,
) -> Option<CoalescedList<'s>> {
    let entries = &mut buffer.0;
    let mut count = 0;
    // The start and the length of the last entry.
    let mut last: Option<(usize, usize)> = None;
    for slice in slices {
        let (base, len) = (slice.start().expose_provenance(), slice.byte_len());
        match &mut last {
            // The sum wraps because a list of another language may exceed the address space. The kernel then returns
            // `EFAULT`.
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
    // SAFETY: the first `count` entries were written. `MaybeUninit<Entry>` has the layout of `Entry`. The result
    // borrows `buffer` exclusively.
    let entries = unsafe { std::slice::from_raw_parts(entries.as_ptr().cast::<Entry>(), count) };
    Some(CoalescedList(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::entry::parts;
    use proptest::prelude::*;

    /// Returns the offset in `data` and the length of each entry.
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
