//! Tests of a `Gather` with cached thresholds and an allocated staging buffer. Most lists meet a `Gather` in this
//! state, and take other paths through the code than the first list.

use std::io::{self, IoSlice};

use proptest::prelude::*;

use super::tests::entries_of_calls;
use crate::cost::thresholds::CopyThresholds;
use crate::sys::limits::Limits;
use crate::testing::{any_even_sizes, any_sizes, any_wide_limits, list, payload};
use crate::transfer::write_loop::Sink;
use crate::{CostModel, Gather};

fn model(copy_below_bytes: u32) -> CostModel {
    CostModel {
        copy_thresholds: CopyThresholds::everywhere(copy_below_bytes),
        ..CostModel::default()
    }
}

/// A sink that accepts all bytes, and checks the arguments of `take_all`.
struct Doubting;

impl Sink for Doubting {
    fn take_all(
        &mut self,
        slices: &[IoSlice<'_>],
        bytes: usize,
        may_adjoin: bool,
    ) -> Result<(), io::Result<usize>> {
        let touches = |pair: &[IoSlice<'_>]| pair[0].as_ptr_range().end == pair[1].as_ptr();
        assert!(may_adjoin || !slices.windows(2).any(touches));
        assert_eq!(slices.iter().map(|slice| slice.len()).sum::<usize>(), bytes);
        Ok(())
    }

    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(slices.iter().map(|slice| slice.len()).sum())
    }
}

proptest! {
    #[test]
    fn neighbours_that_touch_are_never_taken_for_apart(
        copy_below_bytes in 2..40_u32,
        places in prop::collection::vec((0..3_usize, 0..60_usize), 0..60),
        longer in any::<bool>(),
    ) {
        let memory = vec![0; 10_000];
        let mut at = 0;
        let piece = |(gap, size): (usize, usize)| {
            let size = if longer { size + 40 } else { size };
            at += gap + size;
            IoSlice::new(&memory[at - size..at])
        };
        let segments: Vec<_> = places.into_iter().map(piece).collect();
        let mut gather = warmed(Limits::default(), model(copy_below_bytes));
        // Only the second list finds a cached threshold.
        for _ in 0..2 {
            let _ = gather.fast_path.send_in_one_call(&segments, &mut Doubting);
        }
    }
}

fn warmed(limits: Limits, model: CostModel) -> Gather {
    let mut gather = Gather::within(limits, model);
    // The two pieces are not adjacent in memory.
    let memory = [1, 2, 3];
    entries_of_calls(
        &mut gather,
        &[IoSlice::new(&memory[..1]), IoSlice::new(&memory[2..])],
    );
    assert!(gather.fast_path.staging.capacity() > 0);
    gather
}

proptest! {
    #[test]
    fn a_list_goes_by_the_same_calls_however_often(
        lists in prop::collection::vec(prop_oneof![any_sizes(), any_even_sizes()], 1..4),
        thresholds in prop::array::uniform7(prop_oneof![1..70_u32, 129..700_u32, Just(3000)]),
        staging_bytes in prop_oneof![1..300_usize, 1000..6000_usize],
        limits in any_wide_limits(),
    ) {
        let model = CostModel {
            copy_thresholds: CopyThresholds { bytes: thresholds.map(Some) },
            staging_bytes,
            ..CostModel::default()
        };
        let mut warm = warmed(limits, model);
        for sizes in lists {
            let data = payload(&sizes);
            let segments = list(&data);
            let cold = entries_of_calls(&mut Gather::within(limits, model), &segments);
            for _ in 0..3 {
                prop_assert_eq!(&entries_of_calls(&mut warm, &segments), &cold);
            }
        }
    }
}
