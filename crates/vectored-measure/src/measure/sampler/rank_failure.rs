//! Ranks that failed.

use serde::{Deserialize, Serialize};
use vectored_results::model::TechniqueName;

/// A rank that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFailure {
    /// The number of the rank.
    pub rank: u32,
    /// The name of its node.
    pub host: String,
    /// The error in words, with the remedy.
    pub message: String,
    /// Whether a technique moved wrong bytes there.
    pub is_wrong_bytes: bool,
    /// The technique whose calls the kernel of its node refuses, and the kernel's error.
    pub refused: Option<(TechniqueName, String)>,
}
