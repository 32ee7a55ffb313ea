//! Lists into and out of kernels that follow the rules of other systems: every byte is moved, and no call is refused for
//! its size.

use std::io::{self, IoSlice, IoSliceMut};
use std::sync::LazyLock;

use proptest::prelude::*;

use crate::cost::thresholds::CopyThresholds;
use crate::read::all::receive_directly;
use crate::sys::codes;
use crate::sys::limits::{Limits, MAX_CALL_BYTES};
use crate::transfer::read_loop::AtEof;
use crate::transfer::unvectored::ListCalls;
use crate::write::all::send_all_referenced;
use crate::{CostModel, Gather, SegmentCursor};

/// A kernel with the rules of a system for `writev`, `readv` and their forms with an offset. It counts bytes and keeps
/// none, so lists may be longer than memory.
#[derive(Clone, Copy)]
struct Kernel {
    name: &'static str,
    /// `IOV_MAX`: a longer list, and one of no entries, is `EINVAL`.
    segments: usize,
    /// The most bytes of a call.
    bytes: u64,
    /// Whether more bytes are moved in part. Otherwise they are `EINVAL`.
    cuts: bool,
    /// Whether there are calls for lists at all: macOS has the ones with an offset since version 11.
    has_lists: bool,
    moved: u64,
    /// Calls that it refused as invalid: a fault of their caller.
    invalid: usize,
}

const fn kernel(
    name: &'static str,
    segments: usize,
    bytes: u64,
    cuts: bool,
    has_lists: bool,
) -> Kernel {
    Kernel {
        name,
        segments,
        bytes,
        cuts,
        has_lists,
        moved: 0,
        invalid: 0,
    }
}

const INT_MAX: u64 = 0x7fff_ffff;

/// The systems that the crate is built for.
const SYSTEMS: [Kernel; 6] = [
    // "Notes" of write(2); `MAX_RW_COUNT` in include/linux/fs.h, with pages of 4096 bytes.
    kernel("Linux", 1024, 0x7fff_f000, true, true),
    // aarch64 may have pages of 64 KiB.
    kernel("Linux with pages of 64 KiB", 1024, 0x7fff_0000, true, true),
    // A sum of lengths that overflows 32 bits with a sign is `EINVAL`: write(2).
    kernel("macOS", 1024, INT_MAX, false, true),
    kernel(
        "macOS before version 11, at an offset",
        1024,
        INT_MAX,
        false,
        false,
    ),
    // `EINVAL` above `SSIZE_MAX`, or above `INT_MAX` with the sysctl debug.iosize_max_clamp: write(2).
    kernel(
        "FreeBSD with debug.iosize_max_clamp",
        1024,
        INT_MAX,
        false,
        true,
    ),
    // `_XOPEN_IOV_MAX` of <limits.h>.
    kernel(
        "a system with the least that POSIX guarantees",
        16,
        INT_MAX,
        false,
        true,
    ),
];

impl Kernel {
    /// `Limits::default()` on that system.
    fn limits(&self) -> Limits {
        Limits {
            segments: self.segments,
            bytes: MAX_CALL_BYTES,
        }
    }

    fn call(&mut self, lengths: impl ExactSizeIterator<Item = usize>) -> io::Result<usize> {
        let count = lengths.len();
        if count > 1 && !self.has_lists {
            return Err(io::Error::from_raw_os_error(codes::ENOSYS));
        }
        let bytes: u64 = lengths.map(|length| length as u64).sum();
        if count == 0 || count > self.segments || (bytes > self.bytes && !self.cuts) {
            self.invalid += 1;
            return Err(io::Error::from_raw_os_error(codes::EINVAL));
        }
        let moved = bytes.min(self.bytes);
        self.moved += moved;
        Ok(moved as usize)
    }
}

/// The memory of all segments. The system allocates it page by page, when it is touched.
static CHUNK: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; 256 << 20]);

/// Lists of up to 10 GiB, with short segments between long ones.
fn any_long_list() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![
        1 => Just(0),
        2 => 1..300_usize,
        2 => 4000..70_000_usize,
        2 => (64_usize << 20)..(256 << 20),
        1 => Just(256_usize << 20),
    ];
    let few = prop::collection::vec(size, 0..60);
    let many = (1000..2100_usize, 1..9000_usize).prop_map(|(count, size)| vec![size; count]);
    // Some sums of such sizes are powers of two: 2 GiB is one byte more than `INT_MAX`.
    let large = (0..40_usize).prop_map(|count| vec![256 << 20; count]);
    prop_oneof![3 => few, 1 => many, 1 => large]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_list_is_written_whole_by_the_rules_of_every_system(
        sizes in any_long_list(), copied_bytes in prop_oneof![Just(0_u32), 1..5000_u32]
    ) {
        let segments: Vec<_> = sizes.iter().map(|&size| IoSlice::new(&CHUNK[..size])).collect();
        let total: u64 = sizes.iter().map(|&size| size as u64).sum();
        for (mut kernel, gathers) in SYSTEMS.into_iter().flat_map(|kernel| [(kernel, false), (kernel, true)]) {
            let limits = kernel.limits();
            let mut calls = ListCalls::default();
            let cursor = &mut SegmentCursor::new();
            let sink = |slices: &[IoSlice<'_>]| {
                calls.write(slices, true, |slices| kernel.call(slices.iter().map(|slice| slice.len())))
            };
            let written = if gathers {
                let model = CostModel {
                    copy_thresholds: CopyThresholds::everywhere(copied_bytes),
                    ..CostModel::default()
                };
                Gather::within(limits, model).send_all(&segments, cursor, || Ok(()), sink)
            } else {
                send_all_referenced(&segments, cursor, limits, || Ok(()), sink)
            };
            prop_assert_eq!((written.unwrap(), kernel.moved, kernel.invalid), (total, total, 0), "{}", kernel.name);
        }
    }
}

#[test]
#[cfg_attr(
    target_pointer_width = "32",
    ignore = "there is no such memory on 32 bits"
)]
fn more_than_a_call_moves_is_read_whole_by_the_rules_of_every_system() {
    const INT_MAX: usize = i32::MAX as usize;
    for total in [INT_MAX - 1, INT_MAX, INT_MAX + 1, 2 * INT_MAX] {
        let mut memory = vec![0; total];
        for mut kernel in SYSTEMS.into_iter().filter(|kernel| kernel.has_lists) {
            let (first, rest) = memory.split_at_mut(5000);
            let (second, third) = rest.split_at_mut(total / 2);
            let mut segments = [first, second, third].map(IoSliceMut::new);
            let (cursor, limits) = (&mut SegmentCursor::new(), kernel.limits());
            let read = receive_directly(&mut segments, cursor, limits, AtEof::Fail, |slices| {
                kernel.call(slices.iter().map(|slice| slice.len()))
            });
            let total = total as u64;
            assert_eq!(
                (read.unwrap(), kernel.moved, kernel.invalid),
                (total, total, 0),
                "{}",
                kernel.name
            );
        }
    }
}
