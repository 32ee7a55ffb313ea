//! Lists of every shape, written to and read from every descriptor of this system, by every way that suits it.

use vectored::limits::iov_max;
use vectored_conformance::model::mixed_sizes;
use vectored_conformance::source::{self, Feed};
use vectored_conformance::target;

use crate::support::{
    build_directory, content, expect_filled, expect_whole, read_ways, write_ways,
};

/// Sizes of the pieces of a feed. Calls end within segments, at their ends, and far after them.
pub const PIECES: [usize; 7] = [1, 4095, 7, 60_000, 700, 20_001, 0x10000];

fn into_every_target(sizes: &[usize]) {
    for (way, mut write_fn) in write_ways() {
        for target in target::suiting(way.only_files, build_directory()) {
            expect_whole(way, &mut write_fn, target, sizes);
        }
    }
}

/// Reads a list from every source. Each source has `bytes` bytes.
fn from_every_source(sizes: &[usize], bytes: usize) {
    let feed = Feed::new(content(&[bytes]), &PIECES);
    for (way, mut read_fn) in read_ways() {
        for source in source::suiting(way.only_files, build_directory(), &feed) {
            expect_filled(way, &mut read_fn, source, sizes);
        }
    }
}

/// Mixed lists, lists of empty segments, and segments around the greatest length that is joined on Windows.
fn short_lists() -> [Vec<usize>; 7] {
    let [one, two, some, many] = [1, 2, 17, 300].map(mixed_sizes);
    let joined = vec![65_535, 1, 65_536, 2, 100_000, 65_537, 3];
    [one, two, some, many, vec![], vec![0], joined]
}

/// Lists with counts around `IOV_MAX`. Some have tiny segments, others have segments that are too large to be copied
/// or staged and take an entry of their own. Empty segments stand in front, at the end, in between, and alone.
fn long_lists() -> impl Iterator<Item = Vec<usize>> {
    let max = iov_max();
    let counts = [max - 1, max, max + 1, 2 * max].into_iter();
    let around_max = counts.flat_map(|count| [vec![700; count], vec![3; count]]);
    let surrounded = [&vec![0; max][..], &[5, 0, 0, 9000, 0], &vec![0; max]].concat();
    let alternating = (0..2 * max).map(|i| i % 2 * 800).collect();
    around_max.chain([vec![0; max + 1], surrounded, alternating])
}

#[test]
fn mixed_lists_arrive_in_order_everywhere() {
    for sizes in short_lists() {
        into_every_target(&sizes);
    }
}

#[test]
fn lists_around_iov_max_arrive_everywhere() {
    long_lists().for_each(|sizes| into_every_target(&sizes));
}

/// The number of bytes of a source after the list. These bytes must stay in the source.
const BEYOND: usize = 9000;

#[test]
fn mixed_lists_are_filled_in_order_from_everywhere() {
    for sizes in short_lists() {
        from_every_source(&sizes, sizes.iter().sum::<usize>() + BEYOND);
    }
}

#[test]
fn lists_around_iov_max_are_filled_from_everywhere() {
    for sizes in long_lists() {
        from_every_source(&sizes, sizes.iter().sum::<usize>() + BEYOND);
    }
}

#[test]
fn the_end_of_the_file_within_long_lists_is_told_with_the_exact_count() {
    let sizes = mixed_sizes(1500);
    let bytes: usize = sizes.iter().sum();
    for held in [0, 1, 100_000, bytes - 1, bytes] {
        from_every_source(&sizes, held);
    }
}
