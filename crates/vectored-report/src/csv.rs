//! Any JSON as lines of values for a spreadsheet.

use csv::WriterBuilder;
use serde_json::{Map, Value};

use crate::text::visible;

/// A row for each element of the innermost named array: with `["cells", "techniques"]`, for each element of `techniques` of
/// each element of `cells`. An object without the inner array has no row.
///
/// The columns are the fields of the elements, outer fields first. The fields of `value` itself are left out. A field of an
/// inner object has the name of this object in front: `ranks_calls_per_s`. If an outer field has the same name, the name of the
/// array stands in front: `techniques_name`. Arrays of objects, and arrays named for their samples, are left out; other arrays
/// stay as JSON. A text that starts like a formula gets an apostrophe in front, so that no program evaluates the text.
pub fn csv(value: &Value, rows: &[&str]) -> String {
    // Writing to memory, with equally many fields in each line, cannot fail.
    const SOUND: &str = "a line as long as the head, into memory";
    let mut lines = Vec::new();
    collect(value, rows, &[], &mut lines);
    let mut columns: Vec<Vec<&str>> = vec![Vec::new(); rows.len()];
    for (level, fields) in lines.iter().flat_map(|line| line.iter().enumerate()) {
        let known = &mut columns[level];
        let mut place = 0;
        for (name, _) in fields {
            match known.iter().position(|other| other == name) {
                Some(index) => place = index + 1,
                // A field that earlier elements lack stands where this element has the field.
                None => {
                    known.insert(place, name);
                    place += 1;
                }
            }
        }
    }
    let mut heads: Vec<String> = Vec::new();
    for (array, columns) in std::iter::zip(rows, &columns) {
        for &column in columns {
            let is_known = heads.iter().any(|head| head == column);
            heads.push(word(&if is_known {
                format!("{array}_{column}")
            } else {
                column.to_owned()
            }));
        }
    }
    if heads.is_empty() {
        return String::new();
    }
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    writer.write_record(&heads).expect(SOUND);
    for line in &lines {
        let words = std::iter::zip(&columns, line).flat_map(|(columns, fields)| {
            columns.iter().map(|column| {
                let found = fields.iter().find(|(name, _)| name == column);
                found.map_or("", |(_, word)| word.as_str())
            })
        });
        writer.write_record(words).expect(SOUND);
    }
    let bytes = writer.into_inner().expect(SOUND);
    String::from_utf8(bytes).expect("text in, text out")
}

type Fields = Vec<(String, String)>;

/// The rows: the fields of each element, after the fields of the elements that hold this element.
fn collect(value: &Value, names: &[&str], outer: &[Fields], lines: &mut Vec<Vec<Fields>>) {
    let Some((first, inner)) = names.split_first() else {
        lines.push(outer.to_vec());
        return;
    };
    for element in value[*first].as_array().into_iter().flatten() {
        let mut fields = Vec::new();
        if let Value::Object(object) = element {
            flatten(object, "", inner.first().copied(), &mut fields);
        }
        collect(element, inner, &[outer, &[fields][..]].concat(), lines);
    }
}

/// The scalar fields of an object; `inner` is the array whose elements are rows of their own.
fn flatten(object: &Map<String, Value>, prefix: &str, inner: Option<&str>, fields: &mut Fields) {
    for (name, value) in object {
        let path = format!("{prefix}{name}");
        match value {
            _ if prefix.is_empty() && Some(&**name) == inner => {}
            Value::Object(within) => flatten(within, &format!("{path}_"), None, fields),
            Value::Array(_) if name.contains("samples") || holds_objects(value) => {}
            Value::Null => fields.push((path, String::new())),
            Value::String(text) => fields.push((path, word(text))),
            other => fields.push((path, word(&other.to_string()))),
        }
    }
}

fn holds_objects(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(elements) => elements.iter().any(holds_objects),
        _ => false,
    }
}

fn word(text: &str) -> String {
    let safe = visible(text);
    let is_number = safe.parse::<f64>().is_ok();
    if safe.starts_with(['=', '+', '-', '@']) && !is_number {
        format!("'{safe}")
    } else {
        safe
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_the_innermost_elements() {
        let value = json!({
            "schema": "left out",
            "cells": [
                {"target": "a,b", "name": "cell", "samples_ns": [1, 2], "techniques": [
                    {"name": "=1+1", "median_ns": 1.5, "ranks": {"calls_per_s": 2}},
                    {"name": "-x\n", "median_ns": -3, "note": null, "winners": [[1, 2]]},
                ]},
                {"target": "c", "file_system": "ext4", "name": "other", "techniques": [{"name": "t"}]},
                {"target": "without"},
            ],
        });
        assert_eq!(
            csv(&value, &["cells", "techniques"]),
            "target,file_system,name,techniques_name,median_ns,note,winners,ranks_calls_per_s\n\
             \"a,b\",,cell,'=1+1,1.5,,,2\n\
             \"a,b\",,cell,'-x\\n,-3,,\"[[1,2]]\",\n\
             c,ext4,other,t,,,,\n"
        );
    }
}
