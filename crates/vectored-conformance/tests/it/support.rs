//! Deliveries and arrivals that must be complete.

use std::path::Path;

use vectored_conformance::model::{bytes_lost, list, payload};
use vectored_conformance::read_ways::{READ_WAYS, ReadMover, ReadWay};
use vectored_conformance::source::{Arrival, Source};
use vectored_conformance::target::{Delivery, Target};
use vectored_conformance::ways::{Mover, WAYS, Way};

/// The build's own directory, on whatever file system it lies.
pub fn build_directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Every way with a fresh state.
pub fn ways() -> impl Iterator<Item = (&'static Way, Mover)> {
    WAYS.iter().map(|way| (way, (way.make)()))
}

/// Moves a list of these sizes and expects all of it to arrive.
pub fn expect_whole(way: &Way, mover: &mut Mover, target: Target, sizes: &[usize]) -> Delivery {
    let what = format!("{way:?} to {}, {} segments", target.name, sizes.len());
    let data = payload(sizes);
    let delivery = target.deliver(mover, &list(&data)).expect(&what);
    expect_all_of(&what, &data.concat(), delivery)
}

/// Expects exactly these bytes to have arrived, and to have been counted.
pub fn expect_all_of(what: &str, model: &[u8], delivery: Delivery) -> Delivery {
    assert!(delivery.error.is_none(), "{what}: {:?}", delivery.error);
    assert_eq!(delivery.reported, model.len() as u64, "{what}");
    assert_eq!(delivery.miscounts, 0, "{what}");
    assert_eq!(bytes_lost(model, &delivery.received), 0, "{what}");
    delivery
}

/// Every way to read with a fresh state.
pub fn read_ways() -> impl Iterator<Item = (&'static ReadWay, ReadMover)> {
    READ_WAYS.iter().map(|way| (way, (way.make)()))
}

/// The bytes of a payload of these sizes in a row.
pub fn content(sizes: &[usize]) -> Vec<u8> {
    payload(sizes).concat()
}

/// Fills a list of these sizes and expects what the naive model says, as much as the source holds.
#[track_caller]
pub fn expect_filled(
    way: &ReadWay,
    mover: &mut ReadMover,
    source: Source,
    sizes: &[usize],
) -> Arrival {
    let what = format!("{way:?} from {}, {} segments", source.name, sizes.len());
    let arrival = source.fill(way, mover, sizes).expect(&what);
    expect_model(&what, way, arrival)
}

/// Expects an arrival to be what the naive model says.
#[track_caller]
pub fn expect_model(what: &str, way: &ReadWay, arrival: Arrival) -> Arrival {
    assert!(arrival.ended_well(way), "{what}: {:?}", arrival.error);
    let expected = arrival.received.len().min(arrival.content.len());
    assert_eq!(arrival.reported, expected as u64, "{what}");
    assert_eq!(arrival.trespasses, 0, "{what}: bytes outside of the list");
    assert_eq!(arrival.miscounts, 0, "{what}");
    assert_eq!(arrival.lost(way), 0, "{what}");
    arrival
}
