//! What follows from a run, in words.

use serde::{Deserialize, Serialize};

use crate::model::conditions::Conditions;

/// One sentence or two on what to do with lists of so many segments. Every
/// figure in it is in the cells, crossovers and cost models of the run; where
/// those carry no advice there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// What it is about.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Segments in the lists.
    pub segment_count: usize,
    /// The advice.
    pub text: String,
}
