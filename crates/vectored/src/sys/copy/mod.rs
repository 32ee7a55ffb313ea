//! Copies runs of short segments into one buffer by registers.
//!
//! The instructions are chosen once for a list: each choice has its own loop over the segments. Moves of fixed size
//! copy a segment of up to 128 or 256 bytes without a loop and without a call. The moves overlap in the middle of the
//! segment. `memcpy` copies longer segments. No move accesses a byte before or after a segment.
//!
//! [`copy_bytes`] and the assembly in `x86_64.rs` have the same table of moves. The assembly is only for Unix, because
//! `WSABUF` of Windows has a different order of fields than `iovec`.
//!
//! # Safety
//!
//! The module uses `unsafe` for moves between raw pointers, within two slices of the same length. The module also uses
//! `unsafe` for instructions that only some processors have. A [`Copier`] with these instructions is made only if the
//! processor has the instructions.

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

/// Lists of up to this number of segments are copied without wide registers.
///
/// For a shorter list, wide registers cost more time than they save: the code must check the processor, and calls
/// `memcpy` outside the loop over short segments.
pub(crate) const MAX_FEW_SEGMENTS: usize = 16;

/// The instructions that copy short segments. A `Copier` proves that this processor has the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copier {
    /// Whether registers of 32 bytes (AVX-512) copy segments of more than 32 bytes.
    ///
    /// In lists of 24 to 256 segments of 40 to 250 bytes, these registers save time in a write: 2.3 % to a pipe, 1.5 %
    /// to a Unix socket, 0.6 % over TCP, 1.3 % to ext4, 2.1 % to tmpfs (geometric means, Zen 4).
    is_wide: bool,
}

impl Copier {
    /// The instructions that every processor of the architecture has: SSE2 on x86-64, NEON on 64-bit ARM.
    pub(crate) const BASELINE: Copier = Copier { is_wide: false };

    #[inline]
    pub(crate) fn for_list(segments: &[IoSlice<'_>]) -> Copier {
        match segments.len() {
            ..=MAX_FEW_SEGMENTS => Copier::BASELINE,
            _ => Copier::widest(),
        }
    }

    /// Returns the copier with the widest registers. After the first call, this function costs a load and a branch.
    #[inline]
    pub(crate) fn widest() -> Copier {
        #[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        if is_x86_feature_detected!("avx512vl") {
            return Copier { is_wide: true };
        }
        Copier::BASELINE
    }

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

/// Copies `segments` to the start of `to` without gaps. Stops before a segment that has more than `most_bytes` or does
/// not fit.
///
/// Returns the number of copied segments and the number of their bytes. This number of bytes at the start of `to` is
/// initialized.
#[inline(always)]
pub(crate) fn copy_run(
    copier: Copier,
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    #[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    return if copier.is_wide {
        // SAFETY: only `Copier::widest` makes a wide `Copier`, and `Copier::widest` has detected the instructions on
        // this processor.
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

/// Like [`copy_run`], but stops before a segment of more than 128 bytes, or if fewer than 128 bytes are free.
///
/// The function uses the moves of every processor and makes no call. A call would force the function to save and
/// restore registers for each list.
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
        // SAFETY: `copy_bytes` meets the contract of `copy_while`.
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
    // SAFETY: `copy_bytes` meets the contract of `copy_while`.
    unsafe { copy_while(segments, to, accepts, copy_bytes) }
}

/// Copies short segments by `copy_short_run`, and the longer segments between them by [`copy_while`].
///
/// A segment is short if it has up to `short_bytes` bytes and at least `short_bytes` bytes are free. Longer segments
/// are copied out of line. If wide registers are in use, each call of a function costs the time of copying a segment.
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
    // SAFETY: `copy_bytes` meets the contract of `copy_while`.
    unsafe { copy_while(segments, to, accepts, copy_bytes) }
}

/// Like [`copy_run`], but calls `memcpy` for each segment. This is faster for a few segments that are not short.
///
/// [`copy_run`] calls two functions. With [`copy_run`], a write of 2 to 16 segments of 200 to 1000 bytes to a pipe or
/// to tmpfs took 2 to 3 % longer (Zen 4).
#[inline(always)]
pub(crate) fn copy_by_memcpy(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    let accepts = |len, _| len <= most_bytes;
    // SAFETY: `copy_nonoverlapping` meets the contract of `copy_while`.
    unsafe { copy_while(segments, to, accepts, ptr::copy_nonoverlapping) }
}

/// Copies segments by `copy` to the start of `to`. The result is the result of [`copy_run`].
///
/// The copy stops before a segment that does not fit, or if `accepts` returns false. The arguments of `accepts` are the
/// length of the segment and the number of free bytes.
///
/// # Safety
///
/// `copy(from, to, len)` must copy `len` bytes if `len` bytes at `from` are readable, `len` bytes at `to` are writable,
/// and the two ranges do not overlap.
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
    // A few variables fit the registers that a call of `memcpy` preserves.
    let mut rest = segments.iter();
    while let Some(segment) = rest.as_slice().first() {
        let len = segment.byte_len();
        if len > free || !accepts(len, free) {
            break;
        }
        // SAFETY: the last `free` bytes of `to` are writable, and `len` is at most `free`. `to` is borrowed
        // exclusively, so the segment does not overlap `to`.
        unsafe { copy(segment.start(), end.wrapping_sub(free), len) };
        free -= len;
        rest.next();
    }
    (segments.len() - rest.len(), whole - free)
}

/// Copies `from` to `to`, which initializes `to`.
#[inline(always)]
pub(crate) fn copy_one(from: &(impl Span + ?Sized), to: &mut [MaybeUninit<u8>]) {
    let len = from.byte_len();
    assert_eq!(len, to.len());
    // SAFETY: `from` and `to` have the length `len`. `to` is borrowed exclusively, so `from` does not overlap `to`.
    unsafe { copy_bytes(from.start(), to.as_mut_ptr().cast(), len) };
}

/// Copies `from` to a segment of a read, like [`copy_one`].
#[inline(always)]
pub(crate) fn copy_into(from: &[u8], to: &mut IoSliceMut<'_>) {
    assert_eq!(from.len(), to.byte_len());
    // SAFETY: `from` and `to` have the same length. `to` borrows its memory exclusively, so `from` does not overlap
    // `to`.
    unsafe { copy_bytes(from.as_ptr(), to.start().cast_mut(), from.len()) };
}

/// Copies `len` bytes: up to 128 by overlapping moves of fixed size, more by `memcpy`.
///
/// Two moves of `N` bytes, one at each end, copy a length from `N` to `2 N`. The moves overlap in the middle. A call of
/// `memcpy` costs more than two moves. A jump table also costs more: the processor does not predict an indirect jump
/// after a system call. So the function compares lengths one after another and does not use `match`.
///
/// # Safety
///
/// `len` bytes at `from` must be readable, `len` bytes at `to` must be writable, and the two ranges must not overlap.
#[inline(always)]
unsafe fn copy_bytes(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller keeps the contract. In each arm, `len` is at least `N`, so both ends of `N` bytes are within
    // the range.
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
            // The first, the middle and the last byte are all bytes of a segment of one, two or three bytes.
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
/// The contract of [`copy_bytes`], and `len >= N`.
#[inline(always)]
unsafe fn copy_ends<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller keeps the contract. The compiler knows the size `N`, so the compiler emits moves.
    unsafe {
        ptr::copy_nonoverlapping(from, to, N);
        ptr::copy_nonoverlapping(from.add(len - N), to.add(len - N), N);
    }
}
