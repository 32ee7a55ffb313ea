//! The first list that a file refuses, in a process of its own, since refusals are remembered for the life of the
//! process and another test might come first.

#![cfg(target_os = "linux")]

use std::io::IoSlice;

use rustix::event::{EventfdFlags, eventfd};
use vectored::cost::CopyThresholds;
use vectored::{CostModel, Gather};

/// An event counter takes exactly 8 bytes a call or answers `EINVAL`, and gets each segment by itself.
#[test]
fn a_gather_whose_first_list_is_refused_writes_it_by_a_plain_call() {
    let mut copy_thresholds = CopyThresholds::default();
    copy_thresholds.set(2, Some(1)).unwrap();
    let mut gather = Gather::with_model(
        CostModel::default().with(|costs| costs.copy_thresholds = copy_thresholds),
    );
    // Twice: nothing is remembered of an anonymous inode.
    for _ in 0..2 {
        let counter = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        // The two parts are two allocations, since segments that touch are coalesced.
        let (start, end) = (vec![1; 3], vec![1; 5]);
        let segments = [IoSlice::new(&start), IoSlice::new(&end)];
        assert_eq!(gather.write_all(&counter, &segments).unwrap(), 8);
        let mut value = [0; 8];
        assert_eq!(rustix::io::read(&counter, &mut value), Ok(8));
        assert_eq!(value, [1; 8]);
    }
}
