//! The first list that a file refuses, in a process of its own: what was refused is remembered, and any
//! other test may have been the first.

use std::io::IoSlice;

use rustix::event::{EventfdFlags, eventfd};
use vectored::{CopyThresholds, CostModel, Gather};

/// An event counter takes 8 bytes at once or answers `EINVAL`, and is handed each segment by itself.
#[test]
fn a_gather_whose_first_call_is_a_list_that_is_refused_writes_it_plainly() {
    let mut borders = CopyThresholds::default();
    borders.set(2, Some(1)).unwrap();
    let mut gather = Gather::new(CostModel {
        copy_thresholds: borders,
        ..CostModel::default()
    });
    // Twice: of an anonymous inode no refusal is remembered.
    for _ in 0..2 {
        let counter = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        // Of two memories: what touches is one entry to the kernel.
        let (start, end) = (vec![1; 3], vec![1; 5]);
        let segments = [IoSlice::new(&start), IoSlice::new(&end)];
        assert_eq!(gather.write_all(&counter, &segments).unwrap(), 8);
        let mut value = [0; 8];
        assert_eq!(rustix::io::read(&counter, &mut value), Ok(8));
        assert_eq!(value, [1; 8]);
    }
}
