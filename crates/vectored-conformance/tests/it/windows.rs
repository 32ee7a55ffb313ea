//! Lists of every shape, written to the descriptors of Windows in every way.

use std::path::Path;

use vectored::limits::iov_max;
use vectored_conformance::model::{adjacent_list, bytes_lost, list, mixed_sizes, payload};
use vectored_conformance::target::{self, Delivery};
use vectored_conformance::write_ways::{RANDOM_QUEUE, WRITE_WAYS};

fn into_every_target(sizes: &[usize]) {
    let data = payload(sizes);
    let whole = data.concat();
    for way in WRITE_WAYS.iter().chain([&RANDOM_QUEUE]) {
        let mut write_fn = (way.make)();
        for segments in [adjacent_list(&whole, sizes), list(&data)] {
            for target in target::suiting(way.takes, Path::new(env!("CARGO_TARGET_TMPDIR"))) {
                let what = format!("{way:?} to {}, {} segments", target.name, sizes.len());
                let Delivery {
                    received,
                    reported,
                    error,
                    ..
                } = target.deliver(&mut write_fn, &segments).expect(&what);
                assert!(error.is_none(), "{what}: {error:?}");
                assert_eq!(reported, whole.len() as u64, "{what}");
                assert_eq!(bytes_lost(&whole, &received), 0, "{what}");
            }
        }
    }
}

#[test]
fn mixed_lists_arrive_in_order_everywhere() {
    for count in [1, 2, 17, 300] {
        into_every_target(&mixed_sizes(count));
    }
}

#[test]
fn counts_around_iov_max_arrive_everywhere() {
    let max = iov_max();
    for count in [max, max + 1] {
        into_every_target(&vec![700; count]);
        into_every_target(&vec![3; count]);
    }
}

#[test]
fn empties_leading_trailing_between_and_alone_arrive_everywhere() {
    let max = iov_max();
    let mut surrounded = vec![0; max];
    surrounded.extend([5, 0, 0, 9000, 0]);
    surrounded.extend(vec![0; max]);
    for sizes in [vec![], vec![0], vec![0; max + 1], surrounded] {
        into_every_target(&sizes);
    }
}

#[test]
fn long_segments_around_those_that_are_joined_arrive_everywhere() {
    for sizes in [
        vec![65_535, 1, 65_536, 2],
        vec![100_000, 65_537, 3, 200_000],
    ] {
        into_every_target(&sizes);
    }
}
