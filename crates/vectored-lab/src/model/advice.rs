//! Advice that follows from a run.

use serde::{Deserialize, Serialize};

use crate::model::conditions::Conditions;
use crate::model::swept_mix::SweptMix;

/// One or two sentences of advice on lists of this many segments. Every figure in it is in the cells,
/// crossovers and cost models of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The conditions that it holds for.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Segments in the lists.
    pub segment_count: usize,
    /// The mix, if one of its sizes was varied. `None` in files of earlier versions.
    #[serde(default)]
    pub swept_mix: Option<SweptMix>,
    /// The advice.
    pub text: String,
}
