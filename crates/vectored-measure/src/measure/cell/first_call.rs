//! The untimed call before a sample.

use vectored_results::model::{CellSpec, Drain, Operation, PageCache, SyncMode};

use crate::measure::sampler::{Contender, Timing};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FirstCall {
    InBatch,
    /// The untimed call is in the batch, although the call may take as long as the sample: it fills the stream, so that the
    /// thread at the other end works.
    Filling,
    /// The untimed call is a batch of its own: the stream holds one call but not two, so the stream is filled or emptied in
    /// between.
    Separate,
    /// No untimed call: the sample shall find everything cold, or each call
    /// waits for a device.
    None,
}

/// A call that takes at least this time, in ns, is a sample by itself. Such a call needs no untimed call: an earlier call
/// has warmed everything up.
const LONG_CALL_NS: u64 = 75_000;

/// The longest call that may fill a written stream before the clock starts: eight times the capacity of a pipe. A longer
/// call fills the stream many times over by itself.
const FILLING_BYTES: u64 = 512 << 10;

impl FirstCall {
    /// The untimed call of a cell. `drain` is the way in which the ends are filled and emptied; the ends have room for
    /// `room` calls.
    pub fn of(spec: &CellSpec, drain: Option<Drain>, room: u32) -> FirstCall {
        let asked = &spec.conditions;
        let waits_for_device = asked.direct || asked.sync != SyncMode::None;
        let is_cold = asked.page_cache == Some(PageCache::Cold);
        match drain {
            _ if waits_for_device || is_cold => FirstCall::None,
            Some(Drain::BetweenSamples) if room == 1 => FirstCall::Separate,
            Some(Drain::BetweenSamples) | None => FirstCall::InBatch,
            Some(_) if asked.operation == Operation::Read => FirstCall::Filling,
            Some(_) if spec.workload.total_bytes() as u64 <= FILLING_BYTES => FirstCall::Filling,
            Some(_) => FirstCall::InBatch,
        }
    }

    pub fn is_in_batch(self) -> bool {
        matches!(self, FirstCall::InBatch | FirstCall::Filling)
    }

    /// The untimed call of the next samples of a cell, after a sample of `calls` calls. If the calls of a floor are long,
    /// no contender has untimed calls any more: the untimed calls would take as long as the samples.
    pub fn after(self, contender: Contender, timing: Timing, calls: u32) -> FirstCall {
        let is_long = timing.elapsed_ns >= LONG_CALL_NS * u64::from(calls);
        match self {
            FirstCall::InBatch if is_long && contender == Contender::Floor => FirstCall::None,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_calls_of_the_floor_end_the_untimed_ones() {
        let after = |contender, calls: u32, call_ns: u64| {
            let elapsed_ns = u64::from(calls) * call_ns;
            let timing = Timing {
                elapsed_ns,
                cpu_ns: 0,
            };
            FirstCall::InBatch.after(contender, timing, calls)
        };
        assert_eq!(after(Contender::Floor, 1, 75_000), FirstCall::None);
        assert_eq!(after(Contender::Floor, 1, 74_999), FirstCall::InBatch);
        assert_eq!(after(Contender::Floor, 10, 20_000), FirstCall::InBatch);
        // A technique may be slower than the others.
        assert_eq!(after(Contender::FloorAgain, 1, 75_000), FirstCall::InBatch);
        let long = Timing {
            elapsed_ns: 75_000,
            cpu_ns: 0,
        };
        let filling = FirstCall::Filling.after(Contender::Floor, long, 1);
        assert_eq!(filling, FirstCall::Filling);
        let separate = FirstCall::Separate.after(Contender::Floor, Timing::default(), 1);
        assert_eq!(separate, FirstCall::Separate);
    }
}
