//! Tests of `copy`. A bench compiles the folder of `copy` without the rest of the crate, so the tests are not in that
//! folder.
#![allow(unsafe_code)]

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
#[cfg(all(unix, not(miri)))]
use std::ptr;

use proptest::prelude::*;

use super::copy::{Copier, copy_into, copy_run, copy_short_run};
use crate::testing::any_sizes;

const GUARD: u8 = 0xee;

/// Copies into a part of memory full of guard bytes, and compares the result with a model. The model appends segments
/// until a segment is too long or does not fit.
fn check(copier: Copier, segments: &[&[u8]], most_bytes: usize, at: usize, room: usize) {
    let mut model = Vec::new();
    let mut count = 0;
    for segment in segments {
        if segment.len() > most_bytes || segment.len() > room - model.len() {
            break;
        }
        model.extend_from_slice(segment);
        count += 1;
    }
    let list: Vec<_> = segments
        .iter()
        .map(|segment| IoSlice::new(segment))
        .collect();
    let mut memory = vec![MaybeUninit::new(GUARD); at + room + 70];
    let copied = copy_run(copier, &list, most_bytes, &mut memory[at..at + room]);
    let place = || {
        let lengths: Vec<usize> = segments.iter().map(|segment| segment.len()).collect();
        format!(
            "{} {lengths:?} at {at} of {room}, most {most_bytes}",
            copier.name()
        )
    };
    assert_eq!(copied, (count, model.len()), "{}", place());
    // SAFETY: every byte was initialized before `copy_run`, and `copy_run` makes no byte uninitialized.
    let memory: Vec<u8> = memory
        .iter()
        .map(|byte| unsafe { byte.assume_init() })
        .collect();
    assert!(memory[at..][..model.len()] == model, "{}", place());
    let is_guard = |byte: &u8| *byte == GUARD;
    assert!(memory[..at].iter().all(is_guard), "before: {}", place());
    assert!(
        memory[at + room..].iter().all(is_guard),
        "behind: {}",
        place()
    );
}

/// Returns all lengths up to 600. Miri is slow, so Miri gets only lengths near the limits of the copying loops.
fn lengths() -> Vec<usize> {
    if !cfg!(miri) {
        return (0..=600).collect();
    }
    let limits = [4, 8, 16, 32, 64, 128, 256];
    let around = limits
        .iter()
        .flat_map(|limit| [limit - 1, *limit, limit + 1]);
    [0, 1, 2].into_iter().chain(around).collect()
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 229 + 1) as u8).collect()
}

#[test]
fn every_length_at_every_alignment_is_copied_whole_and_nothing_beside_it() {
    let source = bytes(700);
    for copier in Copier::all() {
        for len in lengths() {
            for align in (0..64).step_by(if cfg!(miri) { 21 } else { 1 }) {
                let segment = &source[align..align + len];
                // First the segment is alone and fills the memory. Then the segment is between two segments in longer
                // memory.
                check(copier, &[segment], usize::MAX, 63 - align, len);
                let three = [&source[5..8], segment, &source[9..29]];
                check(copier, &three, usize::MAX, align, len + 150);
            }
        }
    }
}

/// Returns a page between two pages that cannot be read. A read of the outer pages is a fault, which ends the test.
#[cfg(all(unix, not(miri)))]
fn page_between_closed_ones() -> &'static mut [u8] {
    let page = 4096;
    // SAFETY: no other code knows the new mapping of three pages. The outer pages permit no access. The middle page is
    // readable and writable until the end of the process.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(ptr::null_mut(), 3 * page, libc::PROT_NONE, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        let middle = start.byte_add(page);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        assert_eq!(libc::mprotect(middle, page, access), 0);
        std::slice::from_raw_parts_mut(middle.cast::<u8>(), page)
    }
}

#[cfg(all(unix, not(miri)))]
#[test]
fn no_byte_before_or_behind_a_segment_is_read() {
    let page = page_between_closed_ones();
    page.copy_from_slice(&bytes(page.len()));
    for copier in Copier::all() {
        for len in lengths() {
            let (first, last) = (&page[..len], &page[page.len() - len..]);
            check(copier, &[first], usize::MAX, 0, len + 300);
            check(copier, &[last], usize::MAX, 0, len + 300);
        }
    }
}

proptest! {
    #[test]
    fn any_list_is_copied_up_to_the_first_segment_that_is_too_long(
        sizes in any_sizes(), most_bytes in 0..300_usize, at in 0..64_usize, room in 0..2000_usize
    ) {
        let source = bytes(400);
        let segment = |(i, size): (usize, &usize)| &source[i..i + size];
        let segments: Vec<_> = sizes.iter().enumerate().map(segment).collect();
        for copier in Copier::all() {
            check(copier, &segments, most_bytes, at, room);
        }
    }
}

#[test]
fn wide_registers_copy_lists_of_more_than_a_few_segments() {
    let widest = *Copier::all().last().unwrap();
    for (count, copier) in [(0, Copier::BASELINE), (16, Copier::BASELINE), (17, widest)] {
        assert_eq!(
            Copier::for_list(&vec![IoSlice::new(b"1"); count]),
            copier,
            "{count}"
        );
    }
}

#[test]
fn every_length_is_copied_whole_to_initialised_memory_and_nothing_beside_it() {
    for len in 0..=200 {
        let from = bytes(len);
        let mut to = vec![GUARD; len + 2];
        copy_into(&from, &mut IoSliceMut::new(&mut to[1..=len]));
        assert_eq!(to[1..=len], from, "length {len}");
        assert_eq!((to[0], to[len + 1]), (GUARD, GUARD), "length {len}");
    }
}

proptest! {
    #[test]
    fn a_list_is_copied_up_to_the_first_segment_that_is_not_short(
        sizes in prop::collection::vec(0..150_usize, 0..20), most_bytes in 0..300_usize, room in 0..900_usize
    ) {
        let source = bytes(400);
        let segments: Vec<_> = sizes.iter().enumerate().map(|(i, size)| &source[i..i + size]).collect();
        let slices: Vec<_> = segments.iter().map(|segment| IoSlice::new(segment)).collect();
        let mut memory = vec![MaybeUninit::new(GUARD); room + 8];
        let (count, copied) = copy_short_run(&slices, most_bytes, &mut memory[4..4 + room]);
        let all = segments[..count].concat();
        prop_assert_eq!(copied, all.len());
        prop_assert!(sizes[..count].iter().all(|&size| size <= most_bytes.min(128)));
        if let Some(&next) = sizes.get(count) {
            prop_assert!(next > most_bytes.min(128) || all.len() + 128 > room);
        }
        // SAFETY: every byte was initialized before `copy_short_run`, and `copy_short_run` makes no byte uninitialized.
        let memory: Vec<u8> = memory.iter().map(|byte| unsafe { byte.assume_init() }).collect();
        prop_assert_eq!(&memory[4..4 + all.len()], &all[..]);
        prop_assert!(memory[..4].iter().chain(&memory[4 + all.len()..]).all(|&byte| byte == GUARD));
    }
}
