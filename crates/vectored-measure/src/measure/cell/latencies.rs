//! The times of single transfers in the open cell.

use vectored_results::model::TechniqueName;
use vectored_results::stats::Latencies;

use crate::measure::sampler::cell_extras::entry;
use crate::measure::sampler::interface::Contender;
use crate::measure::techniques::is_in_flight;

/// One round in this many has a batch for latencies after each sample. A second batch in every round would
/// halve the rounds that a budget allows.
const EVERY: u32 = 2;

/// The times of single transfers by technique.
#[derive(Debug, Default)]
pub(crate) struct TechniqueLatencies {
    all: Vec<(TechniqueName, Latencies)>,
}

impl TechniqueLatencies {
    /// Empty lists for the open cell, if one of its techniques is asynchronous.
    pub fn of(techniques: &[TechniqueName]) -> Option<Self> {
        let has_in_flight = techniques.iter().any(|name| is_in_flight(*name));
        has_in_flight.then(TechniqueLatencies::default)
    }

    /// The latencies to add to, if a batch for latencies is due in this round. Round 0 is for trials, and the floors
    /// have none.
    pub fn due(&mut self, contender: Contender, round: u32) -> Option<&mut Latencies> {
        let Contender::Technique(technique) = contender else {
            return None;
        };
        if round % EVERY != 1 % EVERY {
            return None;
        }
        Some(entry(&mut self.all, technique))
    }

    /// The latencies by technique.
    pub fn into_inner(self) -> Vec<(TechniqueName, Latencies)> {
        self.all
    }
}

/// Transfers in flight: only asynchronous techniques have more than one.
pub(crate) fn depth_of(contender: Contender, queue_depth: u32) -> u32 {
    match contender {
        Contender::Technique(name) if is_in_flight(name) => queue_depth,
        _ => 1,
    }
}
