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
        let mut leaves = leaves(&mut value);
        let index = place.index(leaves.len());
        *leaves[index] = change.clone();
    }
    value.to_string()
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

fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(list) => list.iter_mut().flat_map(leaves).collect(),
        Value::Object(map) => map.values_mut().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}
