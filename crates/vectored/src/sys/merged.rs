//! Segments that touch in memory, given to the kernel as one.
//!
//! A list is often made of one buffer: lines, records or chunks of it, one behind the other. The
//! kernel takes as long for such neighbours as for any others, some 20 ns each, though they are one
//! stretch of memory to it. To our code they stay several: no slice of ours reaches from one into
//! the next, since they may be of allocations that only happen to touch.
//!
//! # Safety
//!
//! `unsafe` for entries that say so to the kernel, and to nobody else: they are made here, for the
//! time of one call.
#![allow(unsafe_code)]

use std::io::IoSlice;
use std::mem::MaybeUninit;

/// Merged entries have room for so many on the stack; a list that would need more goes as it is.
const MOST_ENTRIES: usize = 128;

/// Whether the second begins where the first ends, and neither is empty.
#[inline]
pub(crate) fn touch(one: &[u8], other: &[u8]) -> bool {
    std::ptr::eq(one.as_ptr_range().end, other.as_ptr()) && !one.is_empty() && !other.is_empty()
}

/// The entries of one `writev(2)` or its like, for `call` to hand to the kernel: those of `slices`, but
/// for neighbours that touch, which are one.
///
/// # Safety
///
/// `call` may pass on where the entries lie and how many they are. It must not look at the memory that
/// one of them names: that of several segments together is no slice.
#[inline(always)]
pub(super) unsafe fn merged<R>(
    slices: &[IoSlice<'_>],
    call: impl FnOnce(&[IoSlice<'_>]) -> R,
) -> R {
    // Each call pays for this, so it is not `touch`: of two slices that are not empty no more is to be
    // asked, and a list with empty ones may as well be looked at closely.
    let mut end = std::ptr::null();
    for slice in slices {
        if std::ptr::eq(slice.as_ptr(), end) {
            return call_merged(slices, call);
        }
        end = slice.as_ptr_range().end;
    }
    call(slices)
}

/// Out of line, for the room on the stack.
#[cold]
#[inline(never)]
fn call_merged<R>(slices: &[IoSlice<'_>], call: impl FnOnce(&[IoSlice<'_>]) -> R) -> R {
    let mut room = [const { MaybeUninit::uninit() }; MOST_ENTRIES];
    call(merge(slices, &mut room).unwrap_or(slices))
}

/// `struct iovec`, with which `IoSlice` "is guaranteed to be ABI compatible" on Unix.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    base: *const u8,
    len: usize,
}

/// The merged entries at the start of `room`; `None` if they are more than it holds.
///
/// They are no slices to look at: see [`merged`].
#[cold]
fn merge<'b, 'a>(
    slices: &[IoSlice<'a>],
    room: &'b mut [MaybeUninit<Entry>; MOST_ENTRIES],
) -> Option<&'b [IoSlice<'a>]> {
    let mut count = 0;
    let mut last: Option<Entry> = None;
    for slice in slices {
        let (base, len) = (slice.as_ptr(), slice.len());
        match &mut last {
            Some(entry) if entry.base.wrapping_add(entry.len) == base => entry.len += len,
            _ => {
                if let Some(entry) = last.replace(Entry { base, len }) {
                    room.get_mut(count)?.write(entry);
                    count += 1;
                }
            }
        }
    }
    if let Some(entry) = last {
        room.get_mut(count)?.write(entry);
        count += 1;
    }
    let entries = room[..count].as_ptr().cast::<IoSlice<'a>>();
    // SAFETY: the first `count` entries were written. An `IoSlice` is a `struct iovec` for any
    // address and length: it is looked at through the pointer only where it is used as a slice, which
    // the caller of `merged` has promised not to. `room` is borrowed for as long as the result, and
    // the memory behind the entries is borrowed for `'a`, all of it by the slices.
    Some(unsafe { std::slice::from_raw_parts(entries, count) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Where the entries lie in `data`, and how long they are.
    fn shape(data: &[u8], slices: &[IoSlice<'_>]) -> Vec<(usize, usize)> {
        let mut shape = Vec::new();
        // SAFETY: the entries are looked at as what they are made of, and not as what they name.
        unsafe {
            merged(slices, |entries| {
                let entries = std::slice::from_raw_parts(entries.as_ptr().cast(), entries.len());
                let place = |entry: &Entry| (entry.base.addr() - data.as_ptr().addr(), entry.len);
                shape.extend(entries.iter().map(place));
            });
        }
        shape
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
        let most = shape(&data, &cut(&data, &pairs(MOST_ENTRIES)));
        assert_eq!(most.len(), MOST_ENTRIES);
        assert!(most.iter().all(|&(_, len)| len == 3), "{most:?}");
        let more = pairs(MOST_ENTRIES + 1);
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
            let expected = if model.len() > MOST_ENTRIES { list.clone() } else { model };
            prop_assert_eq!(shape(&data, &cut(&data, &list)), expected);
        }
    }
}
