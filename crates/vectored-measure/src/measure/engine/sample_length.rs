//! The number of calls in a sample.

use crate::measure::sampler::interface::CellSetup;

/// Target duration of a sample. Samples of 50–600 µs are equally precise per
/// round, so short ones give more precision per second. The lower end leaves
/// the cost of reading the clock negligible.
pub(super) const SAMPLE_NS: u64 = 75_000;

/// A sample of the slowest technique lasts at most this many times as long, unless it is one call.
const LONGEST: u64 = 2;

/// Calls of `call_ns` ns that fill a sample: a multiple of [`CellSetup::calls_multiple`].
pub(super) fn calls_per_sample(call_ns: u64, setup: &CellSetup) -> u32 {
    fitting(SAMPLE_NS.div_ceil(call_ns), setup)
}

/// The calls of a sample of several techniques: as many as the fastest needs to fill it, or fewer for the slowest.
pub(super) fn shared_calls(fastest_ns: u64, slowest_ns: u64, setup: &CellSetup) -> u32 {
    let most = fitting(LONGEST * SAMPLE_NS / slowest_ns, setup);
    calls_per_sample(fastest_ns, setup).min(most)
}

/// The number of calls nearest to `wanted` that the cell can have.
fn fitting(wanted: u64, setup: &CellSetup) -> u32 {
    let multiple = u64::from(setup.calls_multiple.max(1));
    let most = (u64::from(setup.max_calls) / multiple).max(1);
    (multiple * wanted.div_ceil(multiple).clamp(1, most)) as u32
}
