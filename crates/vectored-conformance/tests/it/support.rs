//! Checks that a list was written or read completely.

use std::path::Path;

use vectored_conformance::model::{bytes_lost, list, payload};
use vectored_conformance::read_ways::READ_WAYS;
#[cfg(unix)]
use vectored_conformance::rings::{ring_read_ways, ring_write_ways};
use vectored_conformance::source::{Arrival, Source};
use vectored_conformance::target::{Delivery, Target};
use vectored_conformance::way::{ReadFn, ReadWay, WriteFn, WriteWay};
#[cfg(unix)]
use vectored_conformance::write_ways::COPY_WAYS;
use vectored_conformance::write_ways::WRITE_WAYS;

/// The directory of the build. Its file system may be of any kind.
pub fn build_directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Every way to write a list, with a fresh state.
pub fn write_ways() -> impl Iterator<Item = (&'static WriteWay, WriteFn)> {
    let all = WRITE_WAYS.iter();
    #[cfg(unix)]
    let all = all.chain(COPY_WAYS).chain(ring_write_ways());
    all.map(|way| (way, (way.make)()))
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
    let all = READ_WAYS.iter();
    #[cfg(unix)]
    let all = all.chain(ring_read_ways());
    all.map(|way| (way, (way.make)()))
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
