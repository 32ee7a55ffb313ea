//! The figures of a cell beside the times of its samples.

use vectored_results::model::TechniqueName;
use vectored_results::stats::RankSamples;

/// What happened in a cell since it was opened, beside the times of its samples. A technique that is not in a list has
/// nothing of the kind.
#[derive(Clone, Debug, Default)]
pub struct CellExtras {
    /// The calls whose every byte was compared as a proof.
    pub proof_calls: u64,
    /// The samples of each rank of a cluster since the first round of the first visit.
    pub ranks: Vec<(TechniqueName, Vec<RankSamples>)>,
}

impl CellExtras {
    /// Adds the figures of a later visit.
    pub(crate) fn merge(&mut self, later: CellExtras) {
        self.proof_calls += later.proof_calls;
        if !later.ranks.is_empty() {
            self.ranks = later.ranks;
        }
    }
}

/// The entry of a technique, if there is one.
pub(crate) fn find<T>(list: &[(TechniqueName, T)], technique: TechniqueName) -> Option<&T> {
    let mut entries = list.iter();
    entries.find_map(|(name, value)| (*name == technique).then_some(value))
}
