//! The saved form.

use crate::model::Experiments;

/// Experiments as one line of JSON, with everything that is known.
pub fn json(experiments: &Experiments) -> String {
    // Serializing fails only for maps with odd keys and failing writers.
    let mut text = serde_json::to_string(experiments).expect("experiments are plain data");
    text.push('\n');
    text
}
