//! Computes a price from the rounds of its probes; pure functions.

use vectored::CostModel;
use vectored_machine::model::{DescriptorKind, Operation, Price};
use vectored_report::sort::sort_by;
use vectored_results::stats::median;

use crate::measure::prices::probes::Quantity;

/// Share of a state's rounds that may lie below the interval, and above it: nine of ten lie within.
const TAIL: f64 = 0.05;

/// Minimum relative half width of the interval: how much a call in a program may differ from one in
/// a loop, in either direction. The program's own work evicts the kernel's code and data from the
/// caches, and entries from branch predictors.
const COLDER: f64 = 0.1;

/// A round longer than this many medians is a stall, not a state of the machine. With few rounds, a
/// single stall would otherwise become the end of the interval.
const MAX_TIMES: f64 = 4.0;

/// Minimum of every price, in ns: if the differences are lost in noise, calls are still not free.
pub(super) const MIN_NS: f64 = 1.0;

/// The rounds of a probe.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    pub quantity: Quantity,
    /// Bytes of the list per further call.
    pub bytes_a_call: f64,
    /// Cost of one more call in each round, in ns. Not empty.
    pub extra_ns: Vec<f64>,
}

/// Computes a price. `entry_ns`, the cost of entering the kernel, is its minimum.
///
/// `call_ns` is the mean of the medians of the usual states. Its interval contains nine of ten
/// rounds of every usual and medium state, except stalls ([`MAX_TIMES`]).
pub(super) fn price(
    target: DescriptorKind,
    operation: Operation,
    model: &CostModel,
    entry_ns: f64,
    rounds: &[Rounds],
) -> Price {
    let least_ns = entry_ns.max(MIN_NS);
    let of = |quantity: Quantity| {
        rounds
            .iter()
            .filter(move |rounds| rounds.quantity == quantity)
    };
    let usual_ns: Vec<f64> = of(Quantity::Usual).map(Rounds::median_ns).collect();
    let call_ns = mean(&usual_ns).max(least_ns);
    let (mut low_ns, mut high_ns) = (call_ns * (1.0 - COLDER), call_ns * (1.0 + COLDER));
    for rounds in of(Quantity::Usual).chain(of(Quantity::Medium)) {
        low_ns = low_ns.min(rounds.quantile_ns(TAIL));
        let high = rounds.quantile_ns(1.0 - TAIL);
        high_ns = high_ns.max(high.min(rounds.median_ns() * MAX_TIMES));
    }
    let batch_byte_ns: Vec<f64> = of(Quantity::Pages)
        .map(|rounds| (rounds.median_ns() - call_ns) / rounds.bytes_a_call)
        .collect();
    let medium_ns: Vec<f64> = of(Quantity::Medium).map(Rounds::median_ns).collect();
    let answer_ns: Vec<f64> = of(Quantity::Answer).map(Rounds::median_ns).collect();
    let seek_ns: Vec<f64> = of(Quantity::Seek).map(Rounds::median_ns).collect();
    Price {
        target,
        operation,
        call_ns,
        call_low_ns: low_ns.max(least_ns),
        call_high_ns: high_ns,
        medium_call_ns: if medium_ns.is_empty() {
            call_ns
        } else {
            // A larger call cannot cost less than a small one; a smaller figure is noise.
            mean(&medium_ns).max(call_ns)
        },
        answer_call_ns: if answer_ns.is_empty() {
            call_ns
        } else {
            mean(&answer_ns).clamp(least_ns, call_ns)
        },
        batch_byte_ns: mean(&batch_byte_ns),
        entry_ns,
        seek_ns: if seek_ns.is_empty() { 0.0 } else { mean(&seek_ns).clamp(least_ns, call_ns) },
        gather_call_ns: model.gather_call_ns,
        segment_ns: model.segment_ns,
        large_segment_ns: model.large_segment_ns,
        iovec_step_ns: model.iovec_step_ns,
        copy_segment_ns: model.copy_segment_ns,
        copy_byte_ns: model.copy_byte_ns,
    }
}

impl Rounds {
    fn median_ns(&self) -> f64 {
        median(&self.extra_ns).unwrap_or(0.0)
    }

    /// The quantile of the rounds, by nearest rank.
    fn quantile_ns(&self, share: f64) -> f64 {
        let mut sorted = self.extra_ns.clone();
        sort_by(&mut sorted, f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let rank = (share * last as f64).round() as usize;
        sorted.get(rank).copied().unwrap_or(0.0)
    }
}

/// The arithmetic mean; 0 for no values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
