//! A crossover of a run beside those of other machines.

use serde::{Deserialize, Serialize};

use crate::model::conditions::Conditions;
use crate::model::swept_mix::SweptMix;

/// A crossover of a run beside those of known results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineComparison {
    /// The conditions.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Segments in the lists.
    pub segment_count: usize,
    /// The mix, if the size is that of one run of it.
    pub swept_mix: Option<SweptMix>,
    /// The size of the crossover of this run.
    pub at_bytes: f64,
    /// Known results of this type of processor.
    pub same_processor: KnownCrossovers,
    /// Known results of other types.
    pub other_processors: KnownCrossovers,
    /// The comparison in words.
    pub text: String,
}

/// The crossovers of several known results, for the same lists under the same conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownCrossovers {
    /// Results in which such lists were measured, and which have a crossover or sizes on both sides of that of this run.
    pub results: usize,
    /// Those of them that have a crossover.
    pub crossovers: usize,
    /// The smallest size of a crossover.
    pub low_bytes: Option<f64>,
    /// The largest.
    pub high_bytes: Option<f64>,
}
