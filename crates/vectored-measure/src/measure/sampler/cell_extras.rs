//! The figures of a cell beside the times of its samples.

use vectored_results::model::TechniqueName;
use vectored_results::stats::{RankSamples, WriterSamples};

/// What happened in a cell since it was opened, beside the times of its samples. A technique that is not in a list has
/// nothing of the kind.
#[derive(Clone, Debug, Default)]
pub struct CellExtras {
    /// The calls whose every byte was compared as a proof.
    pub proof_calls: u64,
    /// The samples of several writers.
    pub writers: Vec<(TechniqueName, WriterSamples)>,
    /// The samples of each rank of a cluster since the first round of the first visit.
    pub ranks: Vec<(TechniqueName, Vec<RankSamples>)>,
}

impl CellExtras {
    /// Adds the figures of a later visit.
    pub(crate) fn merge(&mut self, later: CellExtras) {
        self.proof_calls += later.proof_calls;
        for (technique, samples) in later.writers {
            entry(&mut self.writers, technique).merge(samples);
        }
        if !later.ranks.is_empty() {
            self.ranks = later.ranks;
        }
    }
}

/// The entry of a technique, which is added if it is missing.
pub(crate) fn entry<T: Default>(
    list: &mut Vec<(TechniqueName, T)>,
    technique: TechniqueName,
) -> &mut T {
    let known = list.iter().position(|(name, _)| *name == technique);
    let index = known.unwrap_or_else(|| {
        list.push((technique, T::default()));
        list.len() - 1
    });
    &mut list[index].1
}

/// The entry of a technique, if there is one.
pub(crate) fn find<T>(list: &[(TechniqueName, T)], technique: TechniqueName) -> Option<&T> {
    let mut entries = list.iter();
    entries.find_map(|(name, value)| (*name == technique).then_some(value))
}
