//! The loop that copies a run of short segments, in assembly for x86-64.
//!
//! # What the loop does
//!
//! Each segment is an address and a length (`struct iovec`, 16 bytes). The loop reads an address and a length, copies
//! the bytes of the segment to `place`, and adds the length to `place`. In the pseudo-code, `limit` is the length of
//! the longest segment to copy. `last` is the highest place at which the longest segment fits:
//!
//! ```text
//! loop:                                      label 20
//!     (from, len) = list[next]
//!     if len > limit:  stop
//!     next += 1
//!     copy len bytes from `from` to `place`  by the table below
//!     place += len
//!     if place > last: stop                  too little is free for the longest
//!     if next == end:  stop                  the list is done
//! stop:                                      label 99
//! ```
//!
//! The loop stops if the longest segment would not fit, even if the next segment is shorter. So a single comparison
//! keeps all moves of a segment within the memory. The caller copies the segments above `limit`, and the last segments
//! before the end of the memory.
//!
//! # How the bytes are copied
//!
//! Two moves of `N` bytes copy a length from `N` to `2 N`: the first `N` bytes and the last `N` bytes. The moves
//! overlap in the middle, where both moves write the same bytes. So a segment needs no loop, and no byte before or
//! after the segment is accessed. The length decides only which moves are made. All loads of a segment come before its
//! stores.
//!
//! The name of a label is a length. Lengths *below* 16 jump to `16:`. Lengths *from* 33 on jump to `33:`.
//!
//! | length | label | moves, SSE2 | moves, AVX-512 |
//! |---|---|---|---|
//! | 16 to 32 | – (falls through from `20:`) | 2 of 16 bytes | the same |
//! | 8 to 15 | `16:` | 2 of 8 | the same |
//! | 4 to 7 | `8:` | 2 of 4 | the same |
//! | 2, 3 | `4:` | 2 of 2 | the same |
//! | 1 | `2:` | 1 of 1 | the same |
//! | 0 | `29:` | none | none |
//! | 33 to 64 | `33:` | 4 of 16: two at each end | 2 of 32 |
//! | 65 to 128 | `65:` | 8 of 16: four at each end | 4 of 32: two at each end |
//! | 129 to 256 | `65:` | not copied here | 8 of 32: four at each end |
//!
//! The comparisons begin with the middle lengths: 16 to 32 bytes take two comparisons, 1 byte takes five. Up to 32
//! bytes, the two variants are equal.
//!
//! # Why the loop is assembly
//!
//! The loop is assembly because the positions of its jumps affect the speed. Intel's processors up to Cascade Lake
//! decode a block of 32 bytes again each time if a jump crosses or touches the end of the block (erratum SKX102, "jump
//! conditional code"). A compiler avoids these positions only with an option. The time of the same loop in Rust varied
//! by 20 % between builds.
//!
//! `.p2align 5` begins a block. Every jump of this loop is within a block in the inspected builds. Another build may
//! choose other registers, and so longer instructions.
//!
//! # Safety
//!
//! The module uses `unsafe` for assembly, which reads the segments and writes to the memory of the caller.

#![allow(unsafe_code)]

use std::arch::asm;
use std::io::IoSlice;
use std::mem::MaybeUninit;

use super::sizes::{MAX_BY_16, MAX_BY_32};

/// The end of each case, which jumps to the next segment. The loop ends after the last segment, or if the longest
/// segment would not fit.
///
/// The instructions take up to 29 bytes, and must be within one block of 32 bytes. `aligned` begins a new block if the
/// preceding moves leave too little room in the block.
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
        /// Copies segments from the first segment on. Returns the number of copied segments and the number of their
        /// bytes.
        ///
        /// The loop stops before a segment above `most_bytes` or above the longest length of this loop. The loop also
        /// stops if fewer free bytes are left than the longest length.
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
            // SAFETY: the caller promises that the processor has the instructions. An `IoSlice` is an address and then
            // a length (asserted in `sys/entry.rs`). `next` is read only below `end`, the end of the list. Each move
            // reads within the `len` bytes of the segment, and writes within the `len` bytes from `place` on, because
            // a move has at most `len` bytes and is at the start or at the end of these bytes. When a segment begins,
            // `place` is at most `last`, `most` bytes of `to` follow `last`, and `len` is at most `most`. `to` is
            // borrowed exclusively, so `to` overlaps no segment. The assembly does not use the stack.
            unsafe {
                asm!(
                    ".p2align 5",
                    // The next segment. `next` is below `end`, and `place` is at most `last`.
                    "20:",
                    "mov {len}, qword ptr [{next} + 8]",
                    "cmp {len}, {limit}",
                    "ja 99f",
                    "mov {from}, qword ptr [{next}]",
                    "add {next}, 16",
                    "cmp {len:e}, 16",
                    "jb 16f",
                    // 16 to 32 bytes.
                    ".p2align 5",
                    "cmp {len:e}, 32",
                    "ja 33f",
                    "movups xmm0, xmmword ptr [{from}]",
                    "movups xmm1, xmmword ptr [{from} + {len} - 16]",
                    "movups xmmword ptr [{place}], xmm0",
                    "movups xmmword ptr [{place} + {len} - 16], xmm1",
                    next!(),
                    // 8 to 15 bytes. Shorter segments jump to `8:`.
                    "16:",
                    "cmp {len:e}, 8",
                    "jb 8f",
                    "mov {a}, qword ptr [{from}]",
                    "mov {b}, qword ptr [{from} + {len} - 8]",
                    "mov qword ptr [{place}], {a}",
                    "mov qword ptr [{place} + {len} - 8], {b}",
                    next!(aligned),
                    // 4 to 7 bytes. Shorter segments jump to `4:`.
                    "8:",
                    "cmp {len:e}, 4",
                    "jb 4f",
                    "mov {a:e}, dword ptr [{from}]",
                    "mov {b:e}, dword ptr [{from} + {len} - 4]",
                    "mov dword ptr [{place}], {a:e}",
                    "mov dword ptr [{place} + {len} - 4], {b:e}",
                    next!(aligned),
                    // 2 or 3 bytes. Shorter segments jump to `2:`.
                    "4:",
                    "cmp {len:e}, 2",
                    "jb 2f",
                    "movzx {a:e}, word ptr [{from}]",
                    "movzx {b:e}, word ptr [{from} + {len} - 2]",
                    "mov word ptr [{place}], {a:x}",
                    "mov word ptr [{place} + {len} - 2], {b:x}",
                    next!(aligned),
                    // 0 or 1 byte.
                    "2:",
                    "test {len:e}, {len:e}",
                    "jz 29f",
                    "movzx {a:e}, byte ptr [{from}]",
                    "mov byte ptr [{place}], {a:l}",
                    // The byte is copied, or the segment is empty.
                    "29:",
                    next!(aligned),
                    // 33 bytes or more.
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
    /// Copies by registers of 16 bytes, for segments of up to 128 bytes.
    ///
    /// # Safety
    ///
    /// The processor must have SSE2, which every x86-64 processor has.
    unsafe fn copy_short_run_sse2;
    most: MAX_BY_16;
    long:
        "33:",
        "cmp {len:e}, 64",
        "ja 65f",
        "movups xmm0, xmmword ptr [{from}]",
        "movups xmm1, xmmword ptr [{from} + 16]",
        "movups xmm2, xmmword ptr [{from} + {len} - 32]",
        "movups xmm3, xmmword ptr [{from} + {len} - 16]",
        "movups xmmword ptr [{place}], xmm0",
        "movups xmmword ptr [{place} + 16], xmm1",
        "movups xmmword ptr [{place} + {len} - 32], xmm2",
        "movups xmmword ptr [{place} + {len} - 16], xmm3",
        next!(aligned),
        "65:",
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
    /// Copies by registers of 32 bytes, for segments of up to 256 bytes. Segments of up to 32 bytes use registers of 16
    /// bytes.
    ///
    /// The loop uses `ymm16` and above, which need AVX-512 but no `vzeroupper`. `Copier::is_wide` has the measured
    /// savings. From 65 bytes on, the outer 64 bytes at each end are loaded first. From 129 bytes on, the next 64 bytes
    /// at each end are copied afterwards. All lengths meet again at `66:`, where the outer bytes are stored.
    ///
    /// # Safety
    ///
    /// The processor must have `AVX512VL`.
    unsafe fn copy_short_run_avx512;
    most: MAX_BY_32;
    long:
        "33:",
        "vmovdqu64 ymm16, ymmword ptr [{from}]",
        "vmovdqu64 ymm17, ymmword ptr [{from} + {len} - 32]",
        "cmp {len:e}, 64",
        "ja 65f",
        "vmovdqu64 ymmword ptr [{place}], ymm16",
        "vmovdqu64 ymmword ptr [{place} + {len} - 32], ymm17",
        next!(aligned),
        "65:",
        "vmovdqu64 ymm18, ymmword ptr [{from} + 32]",
        "vmovdqu64 ymm19, ymmword ptr [{from} + {len} - 64]",
        ".p2align 4",
        "cmp {len:e}, 128",
        "jbe 66f",
        "vmovdqu64 ymm20, ymmword ptr [{from} + 64]",
        "vmovdqu64 ymm21, ymmword ptr [{from} + 96]",
        "vmovdqu64 ymm22, ymmword ptr [{from} + {len} - 128]",
        "vmovdqu64 ymm23, ymmword ptr [{from} + {len} - 96]",
        "vmovdqu64 ymmword ptr [{place} + 64], ymm20",
        "vmovdqu64 ymmword ptr [{place} + 96], ymm21",
        "vmovdqu64 ymmword ptr [{place} + {len} - 128], ymm22",
        "vmovdqu64 ymmword ptr [{place} + {len} - 96], ymm23",
        "66:",
        "vmovdqu64 ymmword ptr [{place}], ymm16",
        "vmovdqu64 ymmword ptr [{place} + 32], ymm18",
        "vmovdqu64 ymmword ptr [{place} + {len} - 64], ymm19",
        "vmovdqu64 ymmword ptr [{place} + {len} - 32], ymm17",
        next!(aligned);
    registers: "xmm0", "xmm1", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23"
}
