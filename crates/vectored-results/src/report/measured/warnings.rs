//! The disturbances of a run, and the remedies.

use vectored_report::{Block, Sentence, Tone};

use crate::model::Results;
use crate::stats::MIN_ROUNDS;

/// A sentence for each disturbance, the most important first.
pub(super) fn warnings(results: &Results) -> Vec<Block> {
    let mut texts: Vec<String> = Vec::new();
    if !results.complete {
        texts.push(format!(
            "Incomplete: the run ended before every cell had the minimum of {MIN_ROUNDS} rounds. Raise --budget, or measure fewer lists."
        ));
    }
    if !results.host.warnings.is_empty() {
        texts.push(format!("Warning: {}.", results.host.warnings.join("; ")));
    }
    let toned = |text| Block::Sentence(Sentence::toned(Tone::Warning, text));
    texts.into_iter().map(toned).collect()
}
