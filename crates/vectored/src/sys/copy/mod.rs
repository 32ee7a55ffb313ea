//! Copies runs of short segments into one buffer, by registers.
//!
//! The instructions are chosen once for a list and not once for a segment: each choice has its own loop over the
//! segments. A segment of up to 128 or 256 bytes is covered by moves of fixed size that overlap in its middle, without a
//! loop and without a call. `memcpy` copies longer segments. No move reaches beyond either end of a segment.
//!
//! The table of overlapping moves stands here twice: in [`copy_bytes`], and as assembly in `x86_64.rs`. The assembly is
//! for Unix, where an `IoSlice` is an `iovec`: Windows' `WSABUF` has its fields in another order.
//!
//! # Safety
//!
//! `unsafe` for moves between raw pointers, within two slices of the same length, and for instructions that only some
//! processors have: a [`Copier`] with such instructions is made only where they were detected.

#![allow(unsafe_code)]

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::ptr;

#[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod x86_64;

pub(crate) mod sizes;

use super::span::Span;

use self::sizes::MAX_BY_16;
#[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
use self::sizes::MAX_BY_32;

/// Lists of up to this many segments are copied without wide registers.
///
/// For so few segments, wide registers cost more than they gain: the processor must be asked whether it has them, and
/// `memcpy` is outside the loop over short segments.
pub(crate) const MAX_FEW_SEGMENTS: usize = 16;

/// The instructions that copy short segments, and proof that this processor has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copier {
    /// Registers of 32 bytes (AVX-512) for segments of more than 32 bytes.
    ///
    /// In lists of 24 to 256 segments of 40 to 250 bytes, these registers save 2.3 % of the time of a write to a pipe,
    /// 1.5 % to a Unix socket, 0.6 % over TCP, 1.3 % to ext4 and 2.1 % to tmpfs (geometric means, Zen 4).
    is_wide: bool,
}

impl Copier {
    /// The instructions of every processor of the architecture: SSE2 on x86-64, NEON on 64-bit ARM.
    pub(crate) const BASELINE: Copier = Copier { is_wide: false };

    /// The fastest copier for `segments`.
    #[inline]
    pub(crate) fn for_list(segments: &[IoSlice<'_>]) -> Copier {
        match segments.len() {
            ..=MAX_FEW_SEGMENTS => Copier::BASELINE,
            _ => Copier::widest(),
        }
    }

    /// The copier with the widest registers. After the first call, this costs a load and a branch.
    #[inline]
    pub(crate) fn widest() -> Copier {
        #[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        if is_x86_feature_detected!("avx512vl") {
            return Copier { is_wide: true };
        }
        Copier::BASELINE
    }

    /// Every copier that this processor has, for tests and measurements.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) fn all() -> Vec<Copier> {
        let mut all = vec![Copier::BASELINE];
        if Copier::widest() != Copier::BASELINE {
            all.push(Copier::widest());
        }
        all
    }

    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) fn name(self) -> &'static str {
        match self.is_wide {
            true => "avx512vl",
            false if cfg!(target_arch = "x86_64") => "sse2",
            false => "baseline",
        }
    }
}

/// Copies `segments` one after the other to the start of `to`. Stops before a segment that has more than `most_bytes` or
/// does not fit.
///
/// Returns the number of copied segments and the number of their bytes, which are the initialised bytes at the start of `to`.
#[inline(always)]
pub(crate) fn copy_run(
    copier: Copier,
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    #[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    return if copier.is_wide {
        // SAFETY: `Copier::widest`, which alone makes such a `Copier`, has detected the instructions on this processor.
        copy_stretches(segments, most_bytes, to, MAX_BY_32, |rest, free| unsafe {
            x86_64::copy_short_run_avx512(rest, most_bytes, free)
        })
    } else {
        // SAFETY: the processor is an x86-64.
        copy_stretches(segments, most_bytes, to, MAX_BY_16, |rest, free| unsafe {
            x86_64::copy_short_run_sse2(rest, most_bytes, free)
        })
    };
    #[cfg(not(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
    {
        let Copier { is_wide: _ } = copier;
        copy_run_baseline(segments, most_bytes, to)
    }
}

/// A [`copy_run`] that also ends before a segment of more than 128 bytes, and where fewer than 128 bytes are free.
///
/// It copies by the moves of every processor, and without a call: the registers that hold a variable across a call
/// would be saved and restored for each list.
#[inline(always)]
pub(crate) fn copy_short_run(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    #[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    // SAFETY: the processor is an x86-64.
    return unsafe { x86_64::copy_short_run_sse2(segments, most_bytes, to) };
    #[cfg(not(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
    {
        let most_bytes = most_bytes.min(MAX_BY_16);
        let accepts = |len, free| len <= most_bytes && free >= MAX_BY_16;
        // SAFETY: `copy_bytes` copies as `copy_while` demands.
        unsafe { copy_while(segments, to, accepts, copy_bytes) }
    }
}

#[cfg(not(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
#[inline]
fn copy_run_baseline(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    let accepts = |len, _| len <= most_bytes;
    // SAFETY: `copy_bytes` copies as `copy_while` demands.
    unsafe { copy_while(segments, to, accepts, copy_bytes) }
}

/// Copies stretches of short segments by `copy_short_run`, and the longer segments between them by [`copy_while`].
///
/// A segment is short if it has up to `short_bytes` bytes and at least `short_bytes` bytes are free. Longer segments
/// are copied out of line: where wide registers are in use, each call of another function costs as much as to copy a
/// segment.
#[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
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
        let len = next.byte_len();
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

#[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
#[inline(always)]
fn is_short(len: usize, free: usize, short_bytes: usize) -> bool {
    len <= short_bytes && free >= short_bytes
}

#[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
#[inline(never)]
fn copy_long_run(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
    short_bytes: usize,
) -> (usize, usize) {
    let accepts = |len, free| len <= most_bytes && !is_short(len, free, short_bytes);
    // SAFETY: `copy_bytes` copies as `copy_while` demands.
    unsafe { copy_while(segments, to, accepts, copy_bytes) }
}

/// A [`copy_run`] by `memcpy` for each segment: for a few segments that are not short.
///
/// With [`copy_run`], through two functions, a write of 2 to 16 segments of 200 to 1000 bytes to a pipe and to tmpfs took
/// 2 to 3 % longer (Zen 4).
#[inline(always)]
pub(crate) fn copy_by_memcpy(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    let accepts = |len, _| len <= most_bytes;
    // SAFETY: `copy_nonoverlapping` copies as `copy_while` demands.
    unsafe { copy_while(segments, to, accepts, ptr::copy_nonoverlapping) }
}

/// Copies segments by `copy` to the start of `to`. Stops at a segment that does not fit, or for whose length and the
/// number of free bytes `accepts` returns false. Returns what [`copy_run`] returns.
///
/// # Safety
///
/// `copy(from, to, len)` copies `len` bytes, if `len` bytes can be read at `from` and written at `to` and the two
/// ranges do not overlap.
#[inline(always)]
unsafe fn copy_while(
    segments: &[IoSlice<'_>],
    to: &mut [MaybeUninit<u8>],
    accepts: impl Fn(usize, usize) -> bool,
    copy: unsafe fn(*const u8, *mut u8, usize),
) -> (usize, usize) {
    let whole = to.len();
    let end = to.as_mut_ptr_range().end.cast::<u8>();
    let mut free = whole;
    // Few variables, so that registers hold them across a call of `memcpy`.
    let mut rest = segments.iter();
    while let Some(segment) = rest.as_slice().first() {
        let len = segment.byte_len();
        if len > free || !accepts(len, free) {
            break;
        }
        // SAFETY: the last `free` bytes of `to`, at least `len`, may be written. `to` is borrowed exclusively, so the
        // segment is no part of it.
        unsafe { copy(segment.start(), end.wrapping_sub(free), len) };
        free -= len;
        rest.next();
    }
    (segments.len() - rest.len(), whole - free)
}

/// Copies `from` to `to`, and so initialises `to`.
#[inline(always)]
pub(crate) fn copy_one(from: &(impl Span + ?Sized), to: &mut [MaybeUninit<u8>]) {
    let len = from.byte_len();
    assert_eq!(len, to.len());
    // SAFETY: both have this length, and `to` is borrowed exclusively, so they do not overlap.
    unsafe { copy_bytes(from.start(), to.as_mut_ptr().cast(), len) };
}

/// Copies `from` to a segment that bytes are read into, like [`copy_one`].
#[inline(always)]
pub(crate) fn copy_into(from: &[u8], to: &mut IoSliceMut<'_>) {
    assert_eq!(from.len(), to.byte_len());
    // SAFETY: as in `copy_one`: the segment borrows its memory exclusively.
    unsafe { copy_bytes(from.as_ptr(), to.start().cast_mut(), from.len()) };
}

/// Copies `len` bytes: up to 128 by overlapping moves of fixed size, more by `memcpy`.
///
/// Lengths from `N` to `2 N` are covered by two moves of `N` bytes, one at each end, which overlap in the middle. A
/// call of `memcpy` costs more than two moves. So does a jump table: after a system call the processor does not predict
/// an indirect jump. So the function is a chain of comparisons and not a `match`.
///
/// # Safety
///
/// `len` bytes can be read at `from` and written at `to`, and the two ranges do not overlap.
#[inline(always)]
unsafe fn copy_bytes(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise. In each arm both ends of `N` bytes lie within the `len >= N` bytes.
    unsafe {
        if len > MAX_BY_16 {
            ptr::copy_nonoverlapping(from, to, len);
        } else if len >= 16 {
            if len <= 32 {
                copy_ends::<16>(from, to, len);
            } else if len <= 64 {
                copy_ends::<32>(from, to, len);
            } else {
                copy_ends::<64>(from, to, len);
            }
        } else if len >= 8 {
            copy_ends::<8>(from, to, len);
        } else if len >= 4 {
            copy_ends::<4>(from, to, len);
        } else if len > 0 {
            // The first, the middle and the last byte: these are all of one, two or three bytes.
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
/// The conditions of [`copy_bytes`], and `len >= N`.
#[inline(always)]
unsafe fn copy_ends<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise. The compiler knows the size, so these are moves.
    unsafe {
        ptr::copy_nonoverlapping(from, to, N);
        ptr::copy_nonoverlapping(from.add(len - N), to.add(len - N), N);
    }
}
