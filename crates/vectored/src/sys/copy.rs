//! Copying runs of short segments together, by registers.
//!
//! Which instructions copy is chosen once a list and not once a segment: the loop over the segments
//! is compiled for each choice. Up to 128 or 256 bytes a segment is covered by moves of fixed size
//! that overlap in its middle, which takes no loop and no call; `memcpy` does the rest. No move
//! reaches beyond a segment's ends.
//!
//! The moves that every processor has are the fastest up to 32 bytes, those of AVX-512 from there to
//! 256. (Those of AVX2, for lists alone, gained nothing over both.)
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

/// Segments up to this are copied without a call to `memcpy`: eight registers of 16 bytes, or of 32.
const MOST_BY_16: usize = 128;
const SHORT_BYTES: usize = 256;

/// In lists that begin with a longer segment, wider registers gain more than to enter their loop takes.
pub(crate) const BASELINE_BYTES: usize = 32;

/// Which instructions copy: proof that this processor has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copier(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    /// `memcpy` for each.
    Memcpy,
    /// What every processor of the architecture has: SSE2 on x86-64, NEON on 64-bit ARM.
    Baseline,
    /// Registers of 32 bytes, and masks: any length up to 32 bytes is one move, and up to 64 two.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
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
        let first_bytes = segments.first().map_or(0, |first| first.len());
        if first_bytes <= BASELINE_BYTES {
            Copier::BASELINE
        } else if first_bytes <= SHORT_BYTES {
            Copier::widest()
        } else {
            Copier::MEMCPY
        }
    }

    /// The one with the widest registers. To ask again costs a load and a branch.
    #[inline]
    fn widest() -> Copier {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx512() {
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
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Instructions::Avx512 => "avx512vl",
        }
    }
}

/// Byte masks on registers of 32 bytes (`VL`, `BW`), and `bzhi` (`BMI2`) to make one.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("bmi2")
}

/// Copies `segments`, one behind the other, to the start of `to`: up to the first that is longer
/// than `most_bytes` or than what is left of `to`.
///
/// Returns how many were copied, and their bytes: so many at the start of `to` are initialised. What
/// lies behind them in `to` may have been overwritten as well.
#[inline(always)]
pub(crate) fn copy_run(
    copier: Copier,
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    match copier.0 {
        Instructions::Memcpy => copy_run_memcpy(segments, most_bytes, to),
        Instructions::Baseline => copy_run_baseline(segments, most_bytes, to),
        // SAFETY: `Copier::widest`, which alone makes such a `Copier`, has found the instructions on this
        // processor.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        Instructions::Avx512 => unsafe { copy_run_avx512(segments, most_bytes, to) },
    }
}

#[inline]
fn copy_run_memcpy(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    // SAFETY: `memcpy` copies as `run` demands.
    unsafe {
        run(
            segments,
            most_bytes,
            to,
            |_, _| false,
            |from, to, len| ptr::copy_nonoverlapping(from, to, len),
        )
    }
}

/// Copies all of `segments`, if none is longer than `most_bytes` and they fit `to`: then so many bytes
/// at the start of `to` are initialised. If not, some of it may have been overwritten.
///
/// By the moves that every processor has, and in a loop that knows only what a few segments need.
#[inline(always)]
pub(crate) fn copy_few(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> Option<usize> {
    let end = to.as_mut_ptr_range().end.cast::<u8>();
    let mut free = to.len();
    for segment in segments {
        let len = segment.len();
        if len > most_bytes || len > free {
            return None;
        }
        // SAFETY: `free` bytes of `to`, which is borrowed exclusively, lie before its end, and the
        // segment, which can be no part of them, has `len` bytes, which are no more.
        unsafe { copy_one(segment.as_ptr(), end.wrapping_sub(free), len) };
        free -= len;
    }
    Some(to.len() - free)
}

/// All by the moves that every processor has.
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
            most_bytes,
            to,
            |_, _| false,
            |from, to, len| copy_one(from, to, len),
        )
    }
}

/// What is short by masked moves, stretch by stretch, and the rest by `memcpy`, out of their loop: where
/// wide registers are in use, each call of another function costs as much as to copy a segment.
///
/// # Safety
///
/// The processor has `AVX512VL`, `AVX512BW` and `BMI2`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn copy_run_avx512(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    let (mut count, mut bytes) = (0, 0);
    while let Some(next) = segments.get(count) {
        let (rest, free) = (&segments[count..], &mut to[bytes..]);
        let len = next.len();
        if len > most_bytes || len > free.len() {
            break;
        }
        let (more, their_bytes) = if is_short(len, free.len()) {
            // SAFETY: the processor has the instructions, as the caller promises.
            unsafe { copy_short_run_avx512(rest, most_bytes, free) }
        } else {
            copy_long_run(rest, most_bytes, free)
        };
        count += more;
        bytes += their_bytes;
    }
    (count, bytes)
}

/// Whether a segment of `len` bytes is for the loop of short ones, with so many bytes free.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn is_short(len: usize, free: usize) -> bool {
    len <= SHORT_BYTES && free >= ROOM_FOR_SHORT
}

/// The segments up to the next short one.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(never)]
fn copy_long_run(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    // SAFETY: `copy_one` and `memcpy` copy as `run` demands.
    unsafe {
        run(segments, most_bytes, to, is_short, |from, to, len| {
            if len > SHORT_BYTES {
                ptr::copy_nonoverlapping(from, to, len);
            } else {
                copy_one(from, to, len);
            }
        })
    }
}

/// The loop over a list, up to a segment that `is_for_another` loop, by its length and the free bytes.
///
/// # Safety
///
/// `copy(from, to, len)` copies `len` bytes, if it is handed so many that can be read at `from` and
/// written at `to`.
#[inline(always)]
unsafe fn run(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
    is_for_another: impl Fn(usize, usize) -> bool,
    copy: impl Fn(*const u8, *mut u8, usize),
) -> (usize, usize) {
    let whole = to.len();
    let end = to.as_mut_ptr_range().end.cast::<u8>();
    let mut free = whole;
    // Few variables, so that registers hold them across a call of `copy`.
    let mut rest = segments.iter();
    while let Some(segment) = rest.as_slice().first() {
        let len = segment.len();
        if len > most_bytes || len > free || is_for_another(len, free) {
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
            } else if len <= MOST_BY_16 {
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

/// What must be free for a short segment: the stores of one below this are of whole registers.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const ROOM_FOR_SHORT: usize = 64;

/// Copies the short segments at the start of the list, as long as 64 bytes are free.
///
/// Returns how many, and their bytes. Up to 32 bytes a segment is one masked move: a masked
/// load touches no byte that its mask leaves out and raises no fault for one (Intel's manual, volume 1,
/// 15.6.4), so a length needs no branch. Longer ones are moves that overlap in their middle.
///
/// By hand: the intrinsics came with Rust 1.89, and no compiler keeps the jumps off the ends of
/// blocks of 32 bytes unless asked, where Intel's processors up to Cascade Lake decode them anew each
/// time (erratum SKX102, "jump conditional code"). `ymm16` and above need no `vzeroupper`.
///
/// # Safety
///
/// The processor has `AVX512VL`, `AVX512BW` and `BMI2`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn copy_short_run_avx512(
    segments: &[IoSlice<'_>],
    most_bytes: usize,
    to: &mut [MaybeUninit<u8>],
) -> (usize, usize) {
    if segments.is_empty() || to.len() < ROOM_FOR_SHORT {
        return (0, 0);
    }
    let first = segments.as_ptr();
    let start = to.as_mut_ptr().cast::<u8>();
    let (mut next, mut place) = (first, start);
    // SAFETY: the processor has the instructions, as the caller promises. An `IoSlice` has the layout
    // of an `iovec`, as its documentation says: an address, and the length behind it. `next` is read
    // from only below `end`, the end of the list. No load reaches beyond the `len` bytes of a segment:
    // up to 32 bytes, the one is masked to them; above, all loads are of the first 32, 64 or 128 bytes
    // and of as many last ones, where there are as many. `place` is no higher than `last`, behind which
    // 64 bytes of `to` lie, when a segment is begun: up to 64 bytes the stores reach no further. Longer
    // ones are stored only if the last 64 of their bytes begin no higher than `last`, and exactly. `to`
    // is borrowed exclusively, so it overlaps no segment. The stack is not used.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2:",
            "mov {len}, qword ptr [{next} + 8]",
            "cmp {len}, {limit}",
            "ja 9f",
            "mov {from}, qword ptr [{next}]",
            "add {next}, 16",
            "cmp {len:e}, 32",
            "ja 3f",
            "bzhi {mask:e}, {ones:e}, {len:e}",
            "kmovd k1, {mask:e}",
            "vmovdqu8 ymm16{{k1}}{{z}}, ymmword ptr [{from}]",
            "vmovdqu64 ymmword ptr [{place}], ymm16",
            "add {place}, {len}",
            "cmp {place}, {last}",
            "ja 9f",
            "cmp {next}, {end}",
            "jb 2b",
            "jmp 9f",
            ".p2align 5",
            "3:",
            "cmp {len:e}, 64",
            "ja 4f",
            "vmovdqu64 ymm16, ymmword ptr [{from}]",
            "vmovdqu64 ymm17, ymmword ptr [{from} + {len} - 32]",
            "vmovdqu64 ymmword ptr [{place}], ymm16",
            "vmovdqu64 ymmword ptr [{place} + {len} - 32], ymm17",
            "add {place}, {len}",
            "cmp {place}, {last}",
            "ja 9f",
            "cmp {next}, {end}",
            "jb 2b",
            "jmp 9f",
            ".p2align 5",
            "4:",
            // Where its last 64 bytes go.
            "lea {mask}, [{place} + {len} - 64]",
            "cmp {mask}, {last}",
            "ja 8f",
            "vmovdqu64 ymm16, ymmword ptr [{from}]",
            "vmovdqu64 ymm17, ymmword ptr [{from} + 32]",
            "vmovdqu64 ymm18, ymmword ptr [{from} + {len} - 64]",
            "vmovdqu64 ymm19, ymmword ptr [{from} + {len} - 32]",
            "cmp {len:e}, 128",
            "jbe 5f",
            "vmovdqu64 ymm20, ymmword ptr [{from} + 64]",
            "vmovdqu64 ymm21, ymmword ptr [{from} + 96]",
            "vmovdqu64 ymm22, ymmword ptr [{from} + {len} - 128]",
            "vmovdqu64 ymm23, ymmword ptr [{from} + {len} - 96]",
            "vmovdqu64 ymmword ptr [{place} + 64], ymm20",
            "vmovdqu64 ymmword ptr [{place} + 96], ymm21",
            "vmovdqu64 ymmword ptr [{mask} - 64], ymm22",
            "vmovdqu64 ymmword ptr [{mask} - 32], ymm23",
            "5:",
            "vmovdqu64 ymmword ptr [{place}], ymm16",
            "vmovdqu64 ymmword ptr [{place} + 32], ymm17",
            "vmovdqu64 ymmword ptr [{mask}], ymm18",
            "vmovdqu64 ymmword ptr [{mask} + 32], ymm19",
            "add {place}, {len}",
            "cmp {place}, {last}",
            "ja 9f",
            "cmp {next}, {end}",
            "jb 2b",
            "jmp 9f",
            // It does not fit: back to it.
            "8:",
            "sub {next}, 16",
            "9:",
            next = inout(reg) next,
            place = inout(reg) place,
            end = in(reg) segments.as_ptr_range().end,
            last = in(reg) start.wrapping_add(to.len() - ROOM_FOR_SHORT),
            limit = in(reg) most_bytes.min(SHORT_BYTES),
            ones = in(reg) u32::MAX,
            len = out(reg) _,
            from = out(reg) _,
            mask = out(reg) _,
            out("k1") _,
            out("xmm16") _,
            out("xmm17") _,
            out("xmm18") _,
            out("xmm19") _,
            out("xmm20") _,
            out("xmm21") _,
            out("xmm22") _,
            out("xmm23") _,
            options(nostack),
        );
    }
    let entry = size_of::<IoSlice<'_>>();
    (
        (next.addr() - first.addr()) / entry,
        place.addr() - start.addr(),
    )
}
