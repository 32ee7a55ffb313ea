//! Files that another program damaged.

use proptest::prelude::*;
use serde_json::Value;

/// Changes to values of a file.
pub fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, Value)>> {
    prop::collection::vec((any::<prop::sample::Index>(), hostile()), 1..6)
}

pub fn changed(text: &str, changes: &[(prop::sample::Index, Value)]) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    for (place, change) in changes {
        let mut leaves = 0;
        count(&value, &mut leaves);
        let mut target = place.index(leaves);
        replace(&mut value, &mut target, change);
    }
    value.to_string()
}

/// This share of a text, if that leaves something out.
pub fn cut(text: &str, share: f64) -> Option<&str> {
    let mut end = (share * text.len() as f64) as usize;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = text[..end].trim_end();
    (cut.len() < text.trim_end().len()).then_some(cut)
}

fn hostile() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(0.into()),
        Just((-1).into()),
        Just(u64::MAX.into()),
        Just(1e308.into()),
        Just(1e-308.into()),
        Just("</script>".into()),
        Just("\u{202e}\u{0}".into()),
        Just(Value::Array(Vec::new())),
        Just("writev".into()),
        Just("reader-thread".into()),
        Just("tie".into()),
        Just(true.into()),
    ]
}

fn count(value: &Value, leaves: &mut usize) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| count(item, leaves)),
        Value::Object(map) => map.values().for_each(|item| count(item, leaves)),
        _ => *leaves += 1,
    }
}

/// Replaces the leaf with this number.
fn replace(value: &mut Value, number: &mut usize, change: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter_mut().any(|item| replace(item, number, change)),
        Value::Object(map) => map.values_mut().any(|item| replace(item, number, change)),
        _ if *number == 0 => {
            *value = change.clone();
            true
        }
        _ => {
            *number -= 1;
            false
        }
    }
}
