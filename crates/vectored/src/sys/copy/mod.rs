//! Copying runs of short segments together, by registers.
//!
//! Which instructions copy is chosen once a run and not once a segment: the loop over the segments
//! is there for each choice. Up to 128 or 256 bytes a
//! segment is covered by moves of fixed size that overlap in its middle, which takes no loop and no
//! call; `memcpy` does the rest. No move reaches beyond a segment's ends.
//!
//! # Safety
//!
//! `unsafe` for moves between raw pointers, which [`copy_run`] keeps within a segment and within the
//! memory that it was handed, and for instructions that not every processor of its kind has: a
//! [`Copier`] with such can be had only where they were found.
#![allow(unsafe_code)]

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::ptr;

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod x86_64;

pub(crate) mod sizes;

use self::sizes::{MAX_BY_16, MAX_BY_WIDEST};

/// Which instructions copy: proof that this processor has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copier(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    /// `memcpy` for each.
    Memcpy,
    /// What every processor of the architecture has: SSE2 on x86-64, NEON on 64-bit ARM.
    Baseline,
    /// Registers of 32 bytes for what is longer than 32.
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    Avx512,
}

impl Copier {
    /// The one that every processor has.
    pub(crate) const BASELINE: Copier = Copier(Instructions::Baseline);

    /// For lists of longer segments: there no other gains anything, and each of its calls costs more.
    pub(crate) const MEMCPY: Copier = Copier(Instructions::Memcpy);

    /// The fastest one for a list, by its first segment: lists tend to be of segments that are alike.
    #[inline]
    pub(crate) fn for_list(segments: &[IoSlice<'_>]) -> Copier {
        match segments.first() {
            Some(first) if first.len() > MAX_BY_WIDEST => Copier::MEMCPY,
            _ => Copier::widest(),
        }
    }

    /// The one with the widest registers. To ask again costs a load and a branch.
    #[inline]
    pub(crate) fn widest() -> Copier {
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        if is_x86_feature_detected!("avx512vl") {
            return Copier(Instructions::Avx512);
        }
        Copier::BASELINE
    }

    /// Every one that this processor has, for tests and measurements.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) fn all() -> Vec<Copier> {
        let mut all = vec![Copier::MEMCPY, Copier::BASELINE];
        if Copier::widest() != Copier::BASELINE {
            all.push(Copier::widest());
        }
        all
    }

    /// What it is called in measurements.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            Instructions::Memcpy => "by-memcpy",
            Instructions::Baseline if cfg!(target_arch = "x86_64") => "sse2",
            Instructions::Baseline => "baseline",
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
            Instructions::Avx512 => "avx512vl",
        }
    }
}

/// Copies `segments`, one behind the other, to the start of `to`: up to the first that is longer
/// than `most_bytes` or than what is left of `to`.
///
/// Returns how many were copied, and their bytes: so many at the start of `to` are initialised.
#[inline(always)]
pub(crate) fn copy_run(
    copier: Copier,
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    match copier.0 {
        Instructions::Memcpy => copy_run_memcpy(segments, most_bytes, to),
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        Instructions::Baseline => {
            copy_stretches(segments, most_bytes, to, MAX_BY_16, |rest, free| {
                // SAFETY: the processor is an x86-64.
                unsafe { x86_64::copy_short_run_sse2(rest, most_bytes, free) }
            })
        }
        #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
        Instructions::Baseline => copy_run_baseline(segments, most_bytes, to),
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        Instructions::Avx512 => copy_stretches(
            segments,
            most_bytes,
            to,
            MAX_BY_WIDEST,
            // SAFETY: `Copier::widest`, which alone makes such a `Copier`, has found the instructions
            // on this processor.
            |rest, free| unsafe { x86_64::copy_short_run_avx512(rest, most_bytes, free) },
        ),
    }
}

#[inline(always)]
fn copy_run_memcpy(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    // SAFETY: `memcpy` copies as `run` demands.
    unsafe {
        run(
            segments,
            to,
            |rest, _| rest[0].len() <= most_bytes,
            |from, to, len| ptr::copy_nonoverlapping(from, to, len),
        )
    }
}

/// As [`copy_run`], but it also ends before a segment of more than 128 bytes, and where less than 128
/// bytes are free.
///
/// By the moves that every processor has, and without a call: registers that hold a variable across one
/// would be saved for every list.
#[inline(always)]
pub(crate) fn copy_short(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    // SAFETY: the processor is an x86-64.
    return unsafe { x86_64::copy_short_run_sse2(segments, most_bytes, to) };
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
    return copy_run_baseline(segments, most_bytes.min(MAX_BY_16), to);
}

/// All by the moves that every processor has.
#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
#[inline]
fn copy_run_baseline(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    // SAFETY: `copy_one` copies as `run` demands.
    unsafe {
        run(
            segments,
            to,
            |rest, _| rest[0].len() <= most_bytes,
            |from, to, len| copy_one(from, to, len),
        )
    }
}

/// What is short by `copy_short_run`, stretch by stretch, and the rest by `memcpy`, out of its loop:
/// where wide registers are in use, each call of another function costs as much as to copy a segment.
///
/// Short are segments of up to `short_bytes`, before which as many are free.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
#[inline(always)]
fn copy_stretches(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
    short_bytes: usize,
    copy_short_run: impl Fn(&[IoSlice<'_>], &mut [MaybeUninit<u8>]) -> (usize, usize),
) -> (usize, usize) {
    let (mut count, mut bytes) = (0, 0);
    while let Some(next) = segments.get(count) {
        let (rest, free) = (&segments[count..], &mut to[bytes..]);
        let len = next.len();
        if len > most_bytes || len > free.len() {
            break;
        }
        let (more, their_bytes) = if is_short(len, free.len(), short_bytes) {
            copy_short_run(rest, free)
        } else {
            copy_long_run(rest, most_bytes, free, short_bytes)
        };
        count += more;
        bytes += their_bytes;
    }
    (count, bytes)
}

/// Whether a segment of `len` bytes is for the loop of short ones, with so many bytes free.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
#[inline(always)]
fn is_short(len: usize, free: usize, short_bytes: usize) -> bool {
    len <= short_bytes && free >= short_bytes
}

/// The segments up to the next short one.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
#[inline(never)]
fn copy_long_run(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
    short_bytes: usize,
) -> (usize, usize) {
    let is_long = |rest: &[IoSlice<'_>], free| {
        let len = rest[0].len();
        len <= most_bytes && !is_short(len, free, short_bytes)
    };
    // SAFETY: `copy_one` and `memcpy` copy as `run` demands.
    unsafe {
        run(segments, to, is_long, |from, to, len| {
            if len > MAX_BY_WIDEST {
                ptr::copy_nonoverlapping(from, to, len);
            } else {
                copy_one(from, to, len);
            }
        })
    }
}

/// The loop over a list, up to where it does not fit or `accepts` says no, by what is left of the list
/// and the free bytes.
///
/// # Safety
///
/// `copy(from, to, len)` copies `len` bytes, if it is handed so many that can be read at `from` and
/// written at `to`.
#[inline(always)]
unsafe fn run(
    segments: &[IoSlice<'_>],
    to: &mut [MaybeUninit<u8>],
    accepts: impl Fn(&[IoSlice<'_>], usize) -> bool,
    copy: impl Fn(*const u8, *mut u8, usize),
) -> (usize, usize) {
    let whole = to.len();
    let end = to.as_mut_ptr_range().end.cast::<u8>();
    let mut free = whole;
    // Few variables, so that registers hold them across a call of `copy`.
    let mut rest = segments.iter();
    while let Some(segment) = rest.as_slice().first() {
        let len = segment.len();
        if len > free || !accepts(rest.as_slice(), free) {
            break;
        }
        // `free` bytes of `to`, which is borrowed exclusively, lie before its end, and the segment can
        // be no part of them.
        copy(segment.as_ptr(), end.wrapping_sub(free), len);
        free -= len;
        rest.next();
    }
    (segments.len() - rest.len(), whole - free)
}

/// Copies `len` bytes by moves of fixed size, or by `memcpy` if they are more than 128.
///
/// # Safety
///
/// `len` bytes can be read at `from` and written at `to`, and they do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_one(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: what the caller promises. Each arm holds lengths that its moves cover exactly: both
    // ends of `N` bytes lie within `len >= N`, and nothing lies between them as `len <= 2 * N`.
    unsafe {
        if len >= 16 {
            if len <= 32 {
                copy_ends::<16>(from, to, len);
            } else if len <= 64 {
                copy_ends::<32>(from, to, len);
            } else if len <= MAX_BY_16 {
                copy_ends::<64>(from, to, len);
            } else {
                ptr::copy_nonoverlapping(from, to, len);
            }
        } else if len >= 8 {
            copy_ends::<8>(from, to, len);
        } else if len >= 4 {
            copy_ends::<4>(from, to, len);
        } else if len > 0 {
            // First, middle, last: all of one, two or three bytes.
            let (middle, last) = (len / 2, len - 1);
            let bytes = [*from, *from.add(middle), *from.add(last)];
            *to = bytes[0];
            *to.add(middle) = bytes[1];
            *to.add(last) = bytes[2];
        }
    }
}

/// Copies the first and the last `N` bytes.
///
/// # Safety
///
/// As [`copy_one`], and `len >= N`.
#[inline(always)]
unsafe fn copy_ends<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: what the caller promises. Of a size that the compiler knows, these are moves.
    unsafe {
        ptr::copy_nonoverlapping(from, to, N);
        ptr::copy_nonoverlapping(from.add(len - N), to.add(len - N), N);
    }
}
