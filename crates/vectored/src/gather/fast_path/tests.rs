//! Tests of the single call that a list takes, and of the segments that are staged without a call.

use super::*;
use crate::cost::thresholds::CopyThresholds;
use crate::testing::{list, payload};

#[test]
fn the_threshold_is_that_of_the_list_at_hand() {
    let mut fast_path = FastPath::default();
    let segments = [IoSlice::new(b"1"); 3000];
    for count in [0, 1, 2, 2, 1000, 3, 0, 3000, 3000, 2] {
        let threshold = fast_path.model.copy_below_bytes(count);
        let policy = fast_path.policy(&segments[..count]);
        assert_eq!(policy.copy_below_bytes, threshold, "{count}");
    }
}

#[test]
fn a_list_of_one_asks_no_model() {
    let mut fast_path = FastPath::default();
    let line = IoSlice::new(b"line");
    assert_eq!(fast_path.prepare(&[line]), Ok(listed(4)));
    assert_eq!(fast_path.thresholds.get(2), None);
    assert_eq!(fast_path.prepare(&[line; 2]), Ok(SingleCall::Staged));
    assert!(fast_path.thresholds.get(2).is_some());
}

#[test]
fn lists_that_fit_pages_have_a_threshold_of_their_own() {
    let mut fast_path = FastPath::new(CostModel {
        page_end_ns: 80.0,
        ..CostModel::default()
    });
    let usual = fast_path.model.copy_below_bytes(4);
    assert_eq!(usual, 1950);
    for (sizes, threshold) in [
        ([1024, 1024, 1024, 1024], 1023),
        ([1024, 1024, 10, 5000], 1023),
        ([1048, 1048, 1048, 1048], usual),
        ([1024, 1000, 1024, 1024], usual),
        ([512, 512, 512, 512], usual),
        ([4096, 4096, 4096, 4096], usual),
    ] {
        let data = payload(&sizes);
        let segments = list(&data);
        assert_eq!(
            fast_path.policy(&segments).copy_below_bytes,
            threshold,
            "{sizes:?}"
        );
        let is_copied = sizes.iter().all(|&bytes| bytes <= threshold);
        let call = fast_path.prepare(&segments);
        assert_eq!(call == Ok(SingleCall::Staged), is_copied, "{sizes:?}");
    }
}

fn listed(bytes: usize) -> SingleCall {
    SingleCall::List(ListScan {
        bytes,
        may_adjoin: false,
    })
}

/// Each piece is a range of a memory of 60 bytes.
fn prepared(copy_below_bytes: u32, pieces: &[(usize, usize)]) -> Result<SingleCall, usize> {
    prepared_by(CopyThresholds::everywhere(copy_below_bytes), pieces)
}

fn prepared_by(
    copy_thresholds: CopyThresholds,
    pieces: &[(usize, usize)],
) -> Result<SingleCall, usize> {
    let most = Limits {
        segments: 4,
        bytes: 50,
    };
    let model = CostModel {
        copy_thresholds,
        ..CostModel::default()
    };
    let mut fast_path = FastPath::within(most, model);
    let data = payload(&[60]).concat();
    let segments: Vec<_> = pieces
        .iter()
        .map(|&(from, to)| IoSlice::new(&data[from..to]))
        .collect();
    let prepared = fast_path.prepare(&segments);
    if let Ok(call) = prepared {
        // In every form of the call, its entries are the bytes of the list.
        let entries = fast_path.with_entries(call, &segments, joined);
        assert!(entries == joined(&segments));
        assert_eq!(entries.len(), fast_path.bytes_of(call));
    }
    prepared
}

fn joined(slices: &[IoSlice<'_>]) -> Vec<u8> {
    slices.iter().flat_map(|slice| slice.to_vec()).collect()
}

#[test]
fn a_list_is_one_call_staged_or_as_it_is_or_behind_a_staged_run() {
    let staged = Ok(SingleCall::Staged);
    let prefix = |count, bytes| Ok(SingleCall::StagedPrefix { count, bytes });

    assert_eq!(prepared(9, &[(0, 9), (10, 15)]), staged);
    assert_eq!(prepared(9, &[(0, 9), (10, 20)]), Ok(listed(19)));
    assert_eq!(prepared(8, &[(0, 8), (10, 12), (13, 30)]), prefix(2, 27));
    let body_between = |bytes: usize| [(0, 3), (4, 7), (8, 8 + bytes), (40, 43)];
    assert_eq!(prepared(9, &body_between(24)), staged);
    assert_eq!(prepared(9, &body_between(25)), prefix(2, 34));
    // The kernel sees the first two segments as one segment, and a list of two segments has another threshold.
    let shorter_lists = |bytes, pieces: &[(usize, usize)]| {
        let mut thresholds = CopyThresholds::everywhere(9);
        thresholds.set(2, Some(bytes)).unwrap();
        prepared_by(thresholds, pieces)
    };
    let header_and_body = [(0, 9), (10, 12), (13, 30)];
    assert_eq!(shorter_lists(9, &header_and_body), staged);
    assert_eq!(shorter_lists(8, &header_and_body), prefix(2, 28));
    // The threshold of three segments is interpolated to 12, between 17 for two segments and 9 for four. So the
    // rest is copied up to 3 × 12 bytes.
    let two_bodies = |bytes: usize| [(0, 9), (10, 12), (13, 13 + bytes), (13, 32)];
    assert_eq!(shorter_lists(17, &two_bodies(17)), staged);
    assert_eq!(shorter_lists(17, &two_bodies(18)), prefix(2, 48));
    assert_eq!(shorter_lists(16, &two_bodies(17)), prefix(2, 47));
    assert_eq!(prepared(9, &[(0, 10); 4]), Ok(listed(40)));
    assert_eq!(prepared(9, &[(0, 8)]), Ok(listed(8)));
}

#[test]
fn other_lists_are_left_to_a_plan_with_a_run_at_their_start_staged() {
    // The first lists have a second run.
    let runs = [(0, 3), (4, 14), (20, 23), (24, 27)];
    assert_eq!(prepared(9, &runs), Err(0));
    assert_eq!(prepared(9, &[(0, 10), (11, 12), (13, 15)]), Err(0));
    let two_runs = [(0, 3), (4, 7), (10, 50), (52, 55), (57, 60)];
    assert_eq!(prepared(9, &two_runs), Err(2));
    // The first list has an empty segment, the next two lists have no byte.
    assert_eq!(prepared(9, &[(0, 10), (11, 11), (13, 25)]), Err(0));
    assert_eq!(prepared(9, &[(0, 0), (1, 1)]), Err(0));
    assert_eq!(prepared(9, &[]), Err(0));
    // The lists have more segments or bytes than a call takes.
    assert_eq!(prepared(9, &[(0, 10); 5]), Err(0));
    assert_eq!(prepared(9, &[(0, 40), (41, 52)]), Err(0));
    let mut thresholds = CopyThresholds::everywhere(9);
    thresholds.set(2, Some(45)).unwrap();
    let body = [(0, 9), (10, 12), (13, 53)];
    assert_eq!(prepared_by(thresholds, &body), Err(2));
    // The staging buffer is not larger than a call.
    assert_eq!(prepared(40, &[(0, 39), (40, 55)]), Err(1));
    assert_eq!(prepared(60, &[(0, 55), (56, 57)]), Err(0));
}

#[test]
fn a_list_that_is_one_piece_of_memory_goes_as_it_is() {
    let listed = |bytes| {
        Ok(SingleCall::List(ListScan {
            bytes,
            may_adjoin: true,
        }))
    };
    let prefix = |count, bytes| Ok(SingleCall::StagedPrefix { count, bytes });
    assert_eq!(prepared(9, &[(0, 5), (5, 9), (9, 50)]), listed(50));
    assert_eq!(
        prepared(9, &[(0, 5), (5, 9), (10, 12)]),
        Ok(SingleCall::Staged)
    );
    assert_eq!(prepared(9, &[(0, 5), (5, 9), (10, 50)]), prefix(2, 49));
    assert_eq!(prepared(9, &[(0, 5), (5, 9), (9, 51)]), Err(2));
    // The small segments are more than a call takes, so they are staged.
    let five = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)];
    assert_eq!(prepared(9, &five), Ok(SingleCall::Staged));
}
