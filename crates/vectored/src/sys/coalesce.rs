//! Segments that touch in memory, given to the kernel as one entry.
//!
//! A list is often made of one buffer: lines, records or chunks of it, one behind the other. The
//! kernel takes as long for such neighbours as for any others, some 20 ns each, though they are one
//! stretch of memory to it. To our code they stay several: no slice of ours reaches from one into
//! the next, since they may be of allocations that only happen to touch. So the entries are made of
//! addresses and lengths, for the time of one call, and only the kernel reads what they name.
//!
//! # Safety
//!
//! `unsafe` for looking at the entries that were written in room that was not initialised.
#![allow(unsafe_code)]

use std::io::IoSlice;
use std::mem::MaybeUninit;

use libc::iovec;

/// The most entries that a merged list may have: their memory is on the stack.
pub(super) const MAX_ENTRIES: usize = 128;

/// Memory for the entries of a merged list.
pub(super) type EntryBuffer = [MaybeUninit<iovec>; MAX_ENTRIES];

/// Whether the second begins where the first ends, and neither is empty.
#[inline]
pub(crate) fn adjoins(one: &[u8], other: &[u8]) -> bool {
    std::ptr::eq(one.as_ptr_range().end, other.as_ptr()) && !one.is_empty() && !other.is_empty()
}

/// Whether any segment begins where the one before it ends; empty ones may count.
///
/// Each call pays for this, so it is not [`adjoins`]: for lists without empty segments the answer is exact, and
/// a list with some may be looked at closely by [`coalesce`].
#[inline(always)]
pub(super) fn any_adjoin(slices: &[IoSlice<'_>]) -> bool {
    let mut end = std::ptr::null();
    for slice in slices {
        if std::ptr::eq(slice.as_ptr(), end) {
            return true;
        }
        end = slice.as_ptr_range().end;
    }
    false
}

/// The entries of a list, at the start of `room`: neighbours that touch are one. `None` if they are more than
/// it holds.
///
/// An entry for several segments is valid for reads of all of them, but not by the provenance of any one: an
/// aliasing model such as Stacked Borrows lets a pointer to the first segment read no other. So the address of
/// each segment is exposed, and that of an entry is made of an address that was exposed
/// ([`std::ptr::with_exposed_provenance`]), which allows what any of them does.
pub(super) fn coalesce<'r>(
    slices: &[IoSlice<'_>],
    room: &'r mut EntryBuffer,
) -> Option<&'r [iovec]> {
    let mut count = 0;
    // Where the last entry begins, and its length.
    let mut last: Option<(usize, usize)> = None;
    for slice in slices {
        let (base, len) = (slice.as_ptr().expose_provenance(), slice.len());
        match &mut last {
            Some((last_base, last_len)) if *last_base + *last_len == base => *last_len += len,
            _ => {
                if let Some(done) = last.replace((base, len)) {
                    room.get_mut(count)?.write(entry(done));
                    count += 1;
                }
            }
        }
    }
    if let Some(done) = last {
        room.get_mut(count)?.write(entry(done));
        count += 1;
    }
    // SAFETY: the first `count` entries were written, and `MaybeUninit<iovec>` has the layout of `iovec`.
    // `room` is borrowed exclusively for as long as the result.
    Some(unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<iovec>(), count) })
}

fn entry((base, len): (usize, usize)) -> iovec {
    iovec {
        // The kernel does not write through an entry of `writev(2)`, whose type is that of `readv(2)`.
        iov_base: std::ptr::with_exposed_provenance_mut(base),
        iov_len: len,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Where the entries lie in `data`, and how long they are.
    fn shape(data: &[u8], slices: &[IoSlice<'_>]) -> Vec<(usize, usize)> {
        let mut room = [const { MaybeUninit::uninit() }; MAX_ENTRIES];
        let place = |base: usize, len| (base - data.as_ptr().addr(), len);
        match coalesce(slices, &mut room) {
            Some(entries) if any_adjoin(slices) => entries
                .iter()
                .map(|entry| place(entry.iov_base.addr(), entry.iov_len))
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
    fn neighbours_that_touch_are_one() {
        let data = vec![0; 100];
        let list = [
            (0, 10),
            (10, 5),
            (15, 1),
            (20, 4),
            (24, 6),
            (50, 2),
            (40, 10),
            (50, 3),
        ];
        let expected = [(0, 16), (20, 10), (50, 2), (40, 13)];
        assert_eq!(shape(&data, &cut(&data, &list)), expected);
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
