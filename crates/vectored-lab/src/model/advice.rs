//! Advice that follows from a run.

use serde::{Deserialize, Serialize};

use crate::model::conditions::Conditions;
use crate::model::swept_mix::SweptMix;
use crate::model::technique::TechniqueName;

/// One or two sentences of advice on lists of this many segments. Every figure in it is in the cells,
/// crossovers and cost models of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The conditions that it holds for.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Segments in the lists.
    pub segment_count: usize,
    /// The mix, if one of its sizes was varied.
    pub swept_mix: Option<SweptMix>,
    /// The advice.
    pub text: String,
}

/// Where one asynchronous technique takes less time than the synchronous call with the same lists, and where
/// it does not. Every figure in it is in the cells of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AsynchronousAdvice {
    /// The conditions that it holds for, with the lowest queue depth.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The measured queue depths, ascending.
    pub queue_depths: Vec<u32>,
    /// The asynchronous technique.
    pub technique: TechniqueName,
    /// The synchronous technique that it is compared with.
    pub synchronous: TechniqueName,
    /// The advice.
    pub text: String,
}

/// How the fastest technique changes with the number of ranks. Every figure in it is in the cells of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankAdvice {
    /// The conditions that it holds for, with the lowest number of ranks.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The measured numbers of ranks, ascending.
    pub rank_counts: Vec<u32>,
    /// The sentences.
    pub text: String,
}

/// How the fastest technique changes with the number of writers. Every figure in it is in the cells of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriterAdvice {
    /// The conditions that it holds for, with the lowest number of writers.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The measured numbers of writers, ascending.
    pub writer_counts: Vec<u32>,
    /// The sentences.
    pub text: String,
}
