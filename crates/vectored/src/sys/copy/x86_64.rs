//! The loop over short segments, for x86-64.
//!
//! By hand, since a compiler's loop is worth what its place in the program is worth: Intel's processors
//! up to Cascade Lake decode a block of 32 bytes anew each time in which a jump ends or across whose
//! end one lies (erratum SKX102, "jump conditional code"), no compiler keeps jumps off these places
//! unless asked, and the same loop of Rust took 20 % more or less from one build to the next. Here
//! every jump lies within a block (in the builds that were looked at: lengths depend on registers).
//!
//! # Safety
//!
//! `unsafe` for assembly that reads segments and writes to the memory that it was handed.
#![allow(unsafe_code)]

use std::arch::asm;
use std::io::IoSlice;
use std::mem::MaybeUninit;

use super::{MAX_BY_16, MAX_BY_32};

/// On with the next segment, if there is one and its room is left: 29 bytes at most. `aligned` where
/// what lies before leaves no room for them in its block.
macro_rules! next {
    (aligned) => {
        concat!(".p2align 5\n", next!())
    };
    () => {
        "add {place}, {len}
        cmp {place}, {last}
        ja 99f
        cmp {next}, {end}
        jb 20b
        jmp 99f
        .p2align 5"
    };
}

macro_rules! copy_short_run {
    (
        $(#[$about:meta])* unsafe fn $name:ident;
        most: $most:expr;
        long: $($long:expr),*;
        registers: $($register:tt),*
    ) => {
        $(#[$about])*
        ///
        /// Copies segments from the first on, up to one that is longer than `most_bytes` or than this
        /// loop's moves reach, or before which less is free than the longest of these would take.
        /// Returns how many, and their bytes.
        #[inline(always)]
        pub(super) unsafe fn $name(
            segments: &[IoSlice<'_>],
            most_bytes: usize,
            to: &mut [MaybeUninit<u8>],
        ) -> (usize, usize) {
            if segments.is_empty() || to.len() < $most {
                return (0, 0);
            }
            let first = segments.as_ptr();
            let start = to.as_mut_ptr().cast::<u8>();
            let (mut next, mut place) = (first, start);
            // SAFETY: the processor has the instructions, as the caller promises. An `IoSlice` has the
            // layout of an `iovec`, as its documentation says: an address, and the length behind it.
            // `next` is read from only below `end`, the end of the list. All moves of a segment are of
            // its own `len` bytes and to the `len` bytes from `place` on: of its first 2, 4, 8, … and
            // of as many last ones, where it has as many, and of a single one. `place` is
            // no higher than `last` when a segment is begun, behind which `most` bytes of `to` lie, and
            // `len` is no more than that. `to` is borrowed exclusively, so it overlaps no segment. The
            // stack is not used.
            unsafe {
                asm!(
                    ".p2align 5",
                    "20:",
                    "mov {len}, qword ptr [{next} + 8]",
                    "cmp {len}, {limit}",
                    "ja 99f",
                    "mov {from}, qword ptr [{next}]",
                    "add {next}, 16",
                    "cmp {len:e}, 16",
                    "jb 50f",
                    ".p2align 5",
                    "cmp {len:e}, 32",
                    "ja 60f",
                    "movups xmm0, xmmword ptr [{from}]",
                    "movups xmm1, xmmword ptr [{from} + {len} - 16]",
                    "movups xmmword ptr [{place}], xmm0",
                    "movups xmmword ptr [{place} + {len} - 16], xmm1",
                    next!(),
                    "50:",
                    "cmp {len:e}, 8",
                    "jb 54f",
                    "mov {a}, qword ptr [{from}]",
                    "mov {b}, qword ptr [{from} + {len} - 8]",
                    "mov qword ptr [{place}], {a}",
                    "mov qword ptr [{place} + {len} - 8], {b}",
                    next!(aligned),
                    "54:",
                    "cmp {len:e}, 4",
                    "jb 51f",
                    "mov {a:e}, dword ptr [{from}]",
                    "mov {b:e}, dword ptr [{from} + {len} - 4]",
                    "mov dword ptr [{place}], {a:e}",
                    "mov dword ptr [{place} + {len} - 4], {b:e}",
                    next!(aligned),
                    "51:",
                    "cmp {len:e}, 2",
                    "jb 52f",
                    "movzx {a:e}, word ptr [{from}]",
                    "movzx {b:e}, word ptr [{from} + {len} - 2]",
                    "mov word ptr [{place}], {a:x}",
                    "mov word ptr [{place} + {len} - 2], {b:x}",
                    next!(aligned),
                    "52:",
                    "test {len:e}, {len:e}",
                    "jz 53f",
                    "movzx {a:e}, byte ptr [{from}]",
                    "mov byte ptr [{place}], {a:l}",
                    "53:",
                    next!(aligned),
                    $($long,)*
                    "99:",
                    next = inout(reg) next,
                    place = inout(reg) place,
                    end = in(reg) segments.as_ptr_range().end,
                    last = in(reg) start.wrapping_add(to.len() - $most),
                    limit = in(reg) most_bytes.min($most),
                    len = out(reg) _,
                    from = out(reg) _,
                    a = out(reg) _,
                    b = out(reg) _,
                    $(out($register) _,)*
                    options(nostack),
                );
            }
            let entry = size_of::<IoSlice<'_>>();
            (
                (next.addr() - first.addr()) / entry,
                place.addr() - start.addr(),
            )
        }
    };
}

copy_short_run! {
    /// By registers of 16 bytes, which every processor has.
    ///
    /// # Safety
    ///
    /// None but that of its name: SSE2 is a part of x86-64.
    unsafe fn copy_short_run_sse2;
    most: MAX_BY_16;
    long:
        "60:",
        "cmp {len:e}, 64",
        "ja 61f",
        "movups xmm0, xmmword ptr [{from}]",
        "movups xmm1, xmmword ptr [{from} + 16]",
        "movups xmm2, xmmword ptr [{from} + {len} - 32]",
        "movups xmm3, xmmword ptr [{from} + {len} - 16]",
        "movups xmmword ptr [{place}], xmm0",
        "movups xmmword ptr [{place} + 16], xmm1",
        "movups xmmword ptr [{place} + {len} - 32], xmm2",
        "movups xmmword ptr [{place} + {len} - 16], xmm3",
        next!(aligned),
        "61:",
        "movups xmm0, xmmword ptr [{from}]",
        "movups xmm1, xmmword ptr [{from} + 16]",
        "movups xmm2, xmmword ptr [{from} + 32]",
        "movups xmm3, xmmword ptr [{from} + 48]",
        "movups xmm4, xmmword ptr [{from} + {len} - 64]",
        "movups xmm5, xmmword ptr [{from} + {len} - 48]",
        "movups xmm6, xmmword ptr [{from} + {len} - 32]",
        "movups xmm7, xmmword ptr [{from} + {len} - 16]",
        "movups xmmword ptr [{place}], xmm0",
        "movups xmmword ptr [{place} + 16], xmm1",
        "movups xmmword ptr [{place} + 32], xmm2",
        "movups xmmword ptr [{place} + 48], xmm3",
        "movups xmmword ptr [{place} + {len} - 64], xmm4",
        "movups xmmword ptr [{place} + {len} - 48], xmm5",
        "movups xmmword ptr [{place} + {len} - 32], xmm6",
        "movups xmmword ptr [{place} + {len} - 16], xmm7",
        next!(aligned);
    registers: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"
}

copy_short_run! {
    /// By registers of 16 bytes up to 32, and above by those of 32 bytes: of AVX-512, since `ymm16` and
    /// above need no `vzeroupper`.
    ///
    /// # Safety
    ///
    /// The processor has `AVX512VL`.
    unsafe fn copy_short_run_avx512;
    most: MAX_BY_32;
    long:
        "60:",
        "vmovdqu64 ymm16, ymmword ptr [{from}]",
        "vmovdqu64 ymm17, ymmword ptr [{from} + {len} - 32]",
        "cmp {len:e}, 64",
        "ja 61f",
        "vmovdqu64 ymmword ptr [{place}], ymm16",
        "vmovdqu64 ymmword ptr [{place} + {len} - 32], ymm17",
        next!(aligned),
        "61:",
        "vmovdqu64 ymm18, ymmword ptr [{from} + 32]",
        "vmovdqu64 ymm19, ymmword ptr [{from} + {len} - 64]",
        ".p2align 4",
        "cmp {len:e}, 128",
        "jbe 62f",
        "vmovdqu64 ymm20, ymmword ptr [{from} + 64]",
        "vmovdqu64 ymm21, ymmword ptr [{from} + 96]",
        "vmovdqu64 ymm22, ymmword ptr [{from} + {len} - 128]",
        "vmovdqu64 ymm23, ymmword ptr [{from} + {len} - 96]",
        "vmovdqu64 ymmword ptr [{place} + 64], ymm20",
        "vmovdqu64 ymmword ptr [{place} + 96], ymm21",
        "vmovdqu64 ymmword ptr [{place} + {len} - 128], ymm22",
        "vmovdqu64 ymmword ptr [{place} + {len} - 96], ymm23",
        "62:",
        "vmovdqu64 ymmword ptr [{place}], ymm16",
        "vmovdqu64 ymmword ptr [{place} + 32], ymm18",
        "vmovdqu64 ymmword ptr [{place} + {len} - 64], ymm19",
        "vmovdqu64 ymmword ptr [{place} + {len} - 32], ymm17",
        next!(aligned);
    registers: "xmm0", "xmm1", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23"
}
