//! Crossovers.

use serde::{Deserialize, Serialize};

use crate::model::conditions::Conditions;
use crate::model::swept_mix::SweptMix;
use crate::model::technique::TechniqueName;

/// The segment size at which the faster of two techniques changes, among
/// lists that differ in this size only: the size of all segments, or of one run
/// of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// The conditions that the lists were written or read under.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Segments in the lists.
    pub segment_count: usize,
    /// The mix, if the size is the size of one of its runs.
    pub swept_mix: Option<SweptMix>,
    /// The technique that is faster for smaller segments.
    pub below: TechniqueName,
    /// The technique that is faster for larger segments.
    pub above: TechniqueName,
    /// The size at which both take the same time.
    pub at_bytes: f64,
    /// Lower end of the interval of `at_bytes`.
    pub low_bytes: f64,
    /// Upper end.
    pub high_bytes: f64,
    /// From this size to `tie_high_bytes` the two differ by no more than the tie zone.
    pub tie_low_bytes: f64,
    /// See `tie_low_bytes`.
    pub tie_high_bytes: f64,
}
