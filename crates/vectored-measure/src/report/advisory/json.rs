//! The saved form.

use crate::model::Advisory;

/// An advisory as one line of JSON, complete.
pub fn json(advisory: &Advisory) -> String {
    // Serializing fails only for maps with odd keys and failing writers.
    let mut text = serde_json::to_string(advisory).expect("an advisory is plain data");
    text.push('\n');
    text
}
