//! From rounds to a price: pure.

use vectored::CostModel;

use crate::measure::prices::probes::Tells;
use crate::model::{Leads, Operation, Price};
use crate::stats::median;

/// How much of the rounds of a state lies within the interval: nine of ten.
const TAIL: f64 = 0.05;

/// How much a call in a program may differ from one of a loop, either way: what the program does
/// in between drives the kernel's code and data out of the caches, and predictors with them.
const COLDER: f64 = 0.1;

/// What took so many times the median was no state of the machine but a stall: where rounds are few,
/// one would be an end of the interval.
const MAX_TIMES: f64 = 4.0;

/// No price is less, in ns: where the differences drown in noise, calls are still not free.
pub(super) const MIN_NS: f64 = 1.0;

/// What the rounds of a probe said.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    pub tells: Tells,
    /// The bytes of the list for each further call.
    pub bytes_a_call: f64,
    /// What one more call cost in each round, in ns. Not empty.
    pub extra_ns: Vec<f64>,
}

/// The price that follows, where an entry to the kernel takes `entry_ns`: no call costs less. `call_ns` is the median of the usual states, each as weighty as the
/// other; its interval holds nine of ten rounds of every state, but for stalls ([`MAX_TIMES`]).
pub(super) fn price(
    target: Leads,
    operation: Operation,
    model: &CostModel,
    entry_ns: f64,
    rounds: &[Rounds],
) -> Price {
    let least_ns = entry_ns.max(MIN_NS);
    let of = |tells: Tells| rounds.iter().filter(move |rounds| rounds.tells == tells);
    let usual_ns: Vec<f64> = of(Tells::Usual).map(Rounds::median_ns).collect();
    let call_ns = mean(&usual_ns).max(least_ns);
    let (mut low_ns, mut high_ns) = (call_ns * (1.0 - COLDER), call_ns * (1.0 + COLDER));
    for rounds in of(Tells::Usual).chain(of(Tells::Medium)) {
        low_ns = low_ns.min(rounds.quantile_ns(TAIL));
        let high = rounds.quantile_ns(1.0 - TAIL);
        high_ns = high_ns.max(high.min(rounds.median_ns() * MAX_TIMES));
    }
    let batch_byte_ns: Vec<f64> = of(Tells::Pages)
        .map(|rounds| (rounds.median_ns() - call_ns) / rounds.bytes_a_call)
        .collect();
    let medium_ns: Vec<f64> = of(Tells::Medium).map(Rounds::median_ns).collect();
    let answer_ns: Vec<f64> = of(Tells::Answer).map(Rounds::median_ns).collect();
    let seek_ns: Vec<f64> = of(Tells::Seek).map(Rounds::median_ns).collect();
    Price {
        target,
        operation,
        call_ns,
        call_low_ns: low_ns.max(least_ns),
        call_high_ns: high_ns,
        medium_call_ns: match medium_ns.is_empty() {
            true => call_ns,
            // Less than a small one it cannot cost: that is noise.
            false => mean(&medium_ns).max(call_ns),
        },
        answer_call_ns: match answer_ns.is_empty() {
            true => call_ns,
            false => mean(&answer_ns).clamp(least_ns, call_ns),
        },
        batch_byte_ns: mean(&batch_byte_ns),
        entry_ns,
        seek_ns: match seek_ns.is_empty() {
            true => 0.0,
            false => mean(&seek_ns).clamp(least_ns, call_ns),
        },
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

    /// The nearest rank.
    fn quantile_ns(&self, share: f64) -> f64 {
        let mut sorted = self.extra_ns.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let rank = (share * last as f64).round() as usize;
        sorted.get(rank).copied().unwrap_or(0.0)
    }
}

/// 0 of nothing.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
