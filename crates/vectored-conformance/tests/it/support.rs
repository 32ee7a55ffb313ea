//! Deliveries that must be complete.

use std::path::Path;

use vectored_conformance::model::{bytes_lost, list, payload};
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
