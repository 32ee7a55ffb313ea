//! The saved form of experiments.

use crate::model::Experiments;

/// Experiments as one line of JSON, complete.
pub fn json(experiments: &Experiments) -> String {
    // Serializing fails only for maps with non-string keys and for failing writers.
    let mut text = serde_json::to_string(experiments).expect("experiments are plain data");
    text.push('\n');
    text
}
