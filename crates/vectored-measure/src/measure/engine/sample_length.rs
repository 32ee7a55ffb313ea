//! The number of calls in a sample.

use crate::measure::sampling::sampler::CellSetup;

/// Target duration of a sample. Samples of 50–600 µs are equally precise per
/// round, so short ones give more precision per second. The lower end leaves
/// the cost of reading the clock negligible.
pub(super) const SAMPLE_NS: u64 = 75_000;

/// Calls of `call_ns` ns that fill a sample: a multiple of [`CellSetup::calls_multiple`].
pub(super) fn calls_per_sample(call_ns: u64, setup: &CellSetup) -> u32 {
    let multiple = u64::from(setup.calls_multiple.max(1));
    let most = (u64::from(setup.max_calls) / multiple).max(1);
    let wanted = (setup.sample_ns.unwrap_or(SAMPLE_NS) / call_ns).div_ceil(multiple);
    (multiple * wanted.clamp(1, most)) as u32
}
