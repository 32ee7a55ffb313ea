//! Checks that a list was written or read completely.

use std::path::Path;

use vectored::limits::iov_max;
use vectored_conformance::in_flight::{read_ways_by, techniques, write_ways_by};
use vectored_conformance::model::{bytes_lost, list, payload};
use vectored_conformance::read_ways::{READ_WAYS, ReadFn, ReadWay};
use vectored_conformance::rings::{ring_read_ways, ring_write_ways};
use vectored_conformance::source::{Arrival, Source};
use vectored_conformance::target::{Delivery, Target};
use vectored_conformance::write_ways::{COPY_WAYS, WRITE_WAYS, WriteFn, WriteWay};

/// The directory of the build, on whatever file system it is.
pub fn build_directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Every way to write a list, with a fresh state.
pub fn write_ways() -> impl Iterator<Item = (&'static WriteWay, WriteFn)> {
    let in_flight = techniques().flat_map(write_ways_by);
    let all = WRITE_WAYS.iter().chain(COPY_WAYS).chain(ring_write_ways());
    all.chain(in_flight).map(|way| (way, (way.make)()))
}

/// Writes a list of these sizes and expects all of it to arrive.
pub fn expect_whole(
    way: &WriteWay,
    write_fn: &mut WriteFn,
    target: Target,
    sizes: &[usize],
) -> Delivery {
    let what = format!("{way:?} to {}, {} segments", target.name, sizes.len());
    let data = payload(sizes);
    let delivery = target.deliver(write_fn, &list(&data)).expect(&what);
    expect_all_of(&what, &data.concat(), delivery)
}

/// Expects exactly these bytes to have arrived and to be reported.
pub fn expect_all_of(what: &str, model: &[u8], delivery: Delivery) -> Delivery {
    assert!(delivery.error.is_none(), "{what}: {:?}", delivery.error);
    assert_eq!(delivery.reported, model.len() as u64, "{what}");
    assert_eq!(delivery.miscounts, 0, "{what}");
    assert_eq!(bytes_lost(model, &delivery.received), 0, "{what}");
    delivery
}

/// Every way to read a list, with a fresh state.
pub fn read_ways() -> impl Iterator<Item = (&'static ReadWay, ReadFn)> {
    let in_flight = techniques().flat_map(read_ways_by);
    let all = READ_WAYS.iter().chain(ring_read_ways()).chain(in_flight);
    all.map(|way| (way, (way.make)()))
}

/// Lists with counts around `IOV_MAX`, of tiny segments and of some that take an entry of their own, since they
/// are too large to be copied or staged.
pub fn sizes_around_iov_max() -> impl Iterator<Item = Vec<usize>> {
    let max = iov_max();
    let counts = [max - 1, max, max + 1, 2 * max].into_iter();
    counts.flat_map(|count| [vec![700; count], vec![3; count]])
}

/// Lists with empty segments: in front, at the end, in between, and alone.
pub fn sizes_with_empties() -> [Vec<usize>; 5] {
    let max = iov_max();
    let mut surrounded = vec![0; max];
    surrounded.extend([5, 0, 0, 9000, 0]);
    surrounded.extend(vec![0; max]);
    let alternating = (0..2 * max).map(|i| i % 2 * 800).collect();
    [vec![], vec![0], vec![0; max + 1], surrounded, alternating]
}

/// The bytes of buffers of these sizes in a row.
pub fn content(sizes: &[usize]) -> Vec<u8> {
    payload(sizes).concat()
}

/// Fills a list of these sizes and expects the result of the model, up to the end of the source.
#[track_caller]
pub fn expect_filled(
    way: &ReadWay,
    read_fn: &mut ReadFn,
    source: Source,
    sizes: &[usize],
) -> Arrival {
    let what = format!("{way:?} from {}, {} segments", source.name, sizes.len());
    let arrival = source.fill(way, read_fn, sizes).expect(&what);
    expect_model(&what, way, arrival)
}

#[track_caller]
pub fn expect_model(what: &str, way: &ReadWay, arrival: Arrival) -> Arrival {
    assert!(arrival.ended_well(way), "{what}: {:?}", arrival.error);
    let expected = arrival.received.len().min(arrival.content.len());
    assert_eq!(arrival.reported, expected as u64, "{what}");
    assert_eq!(arrival.stray_writes, 0, "{what}: bytes outside the list");
    assert_eq!(arrival.miscounts, 0, "{what}");
    assert_eq!(arrival.lost(way), 0, "{what}");
    arrival
}
