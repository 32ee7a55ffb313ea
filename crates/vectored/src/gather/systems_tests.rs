//! Lists into and out of kernels that follow the rules of other systems: every byte is moved, and no call is refused for
//! its size.

use std::io::{IoSlice, IoSliceMut};
use std::sync::LazyLock;

use proptest::prelude::*;

use crate::cost::thresholds::CopyThresholds;
use crate::read::all::receive_directly;
use crate::sys::limits::{Limits, MAX_CALL_BYTES};
use crate::testing::systems::{RuledKernel, SYSTEMS, SystemRules};
use crate::transfer::read_loop::AtEof;
use crate::transfer::unvectored::ListCalls;
use crate::write::all::send_all_referenced;
use crate::{CostModel, Gather, SegmentCursor};

/// The memory of all segments. The system allocates it page by page, when it is touched.
static CHUNK: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; 256 << 20]);

/// `Limits::default()` on that system.
fn limits_on(rules: SystemRules) -> Limits {
    Limits {
        segments: rules.segments,
        bytes: MAX_CALL_BYTES,
    }
}

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
        for rules in SYSTEMS {
            for gathers in [false, true] {
                let mut kernel = RuledKernel::new(rules);
                let mut calls = ListCalls::default();
                let limits = limits_on(rules);
                let cursor = &mut SegmentCursor::new();
                let sink = |slices: &[IoSlice<'_>]| {
                    calls.write(slices, true, |slices| kernel.write(slices))
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
                prop_assert_eq!(written.unwrap(), total, "{}", rules.name);
                prop_assert_eq!(kernel.moved, total, "{}", rules.name);
                prop_assert_eq!(kernel.invalid, 0, "{}", rules.name);
                prop_assert!(kernel.unknown == 0 || !rules.has_lists, "{}", rules.name);
            }
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
        for rules in SYSTEMS.into_iter().filter(|rules| rules.has_lists) {
            let mut kernel = RuledKernel::new(rules);
            let (first, rest) = memory.split_at_mut(5000);
            let (second, third) = rest.split_at_mut(total / 2);
            let mut segments = [first, second, third].map(IoSliceMut::new);
            let cursor = &mut SegmentCursor::new();
            let limits = limits_on(rules);
            let read = receive_directly(&mut segments, cursor, limits, AtEof::Fail, |slices| {
                kernel.read(slices)
            });
            assert_eq!(read.unwrap(), total as u64, "{}", rules.name);
            assert_eq!(kernel.moved, total as u64, "{}", rules.name);
            assert_eq!(kernel.invalid, 0, "{}", rules.name);
        }
    }
}
