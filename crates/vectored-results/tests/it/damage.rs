//! Files that another program damaged.

use proptest::prelude::*;
use serde_json::Value;
use vectored_report::{Document, FORMATS, TerminalOptions, html, terminal};

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

/// Text that steers a terminal, and is markup in Markdown and HTML.
const HOSTILE: &str = "\x1b]0;x\x07|`rm`<script>x</script>[x](y)\n# \u{9b}2J\u{202e}";

/// Replaces each text of a result, one after the other, by a hostile and long one. If the result can still be loaded,
/// `show` returns its document and its CSV, in which that must have become text. Returns how many texts could be replaced.
pub fn texts_stay_text(good: &str, show: impl Fn(&str) -> Option<(Document, String)>) -> usize {
    let value: Value = serde_json::from_str(good).unwrap();
    let mut texts = Vec::new();
    pointers(&value, String::new(), &mut texts);
    let mut replaced = 0;
    let hostile = format!("{HOSTILE}{}", "x".repeat(12_000));
    for place in texts {
        let mut changed = value.clone();
        *changed.pointer_mut(&place).unwrap() = hostile.clone().into();
        let Some((document, csv)) = show(&changed.to_string()) else {
            continue;
        };
        replaced += 1;
        let options = TerminalOptions {
            details: true,
            ..TerminalOptions::default()
        };
        let page = html(std::slice::from_ref(&document));
        let mut texts = vec![csv, page, terminal(&document, &options)];
        texts.extend(FORMATS.iter().map(|format| (format.render)(&document)));
        for text in &texts {
            assert!(
                !text.contains(['\x1b', '\x07', '\u{9b}', '\u{202e}']),
                "{place}: {text}"
            );
            assert!(
                !text.contains(&"x".repeat(10_000)),
                "{place}: a long text is not cut"
            );
        }
        assert!(!texts[1].contains("<script>x"), "{place}: {}", texts[1]);
        let format = FORMATS
            .iter()
            .find(|format| format.name == "markdown")
            .unwrap();
        let markdown = (format.render)(&document);
        let unescaped = markdown.replace("\\<", "").replace("\\[", "");
        let is_markup = unescaped.contains("<script>x") || unescaped.contains("[x");
        assert!(!is_markup, "{place}: {markdown}");
    }
    replaced
}

/// The JSON pointers of all texts.
fn pointers(value: &Value, here: String, texts: &mut Vec<String>) {
    match value {
        Value::String(_) => texts.push(here),
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                pointers(item, format!("{here}/{index}"), texts);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                pointers(item, format!("{here}/{name}"), texts);
            }
        }
        _ => {}
    }
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
