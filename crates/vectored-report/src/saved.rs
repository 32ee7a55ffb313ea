//! Results that are saved as JSON, and checked when they are read back.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as literal};

use crate::csv::csv;
use crate::words::enumerated;

pub trait SavedResult: Serialize + DeserializeOwned {
    const SCHEMA: &'static str;

    /// The arrays that hold the rows of the CSV, the outermost first. Each element of the innermost array is a row.
    const ROWS: &'static [&'static str];

    /// Checks what renderings and statistics rely on, as files may come from anywhere.
    fn check(&self) -> Result<(), String>;

    /// An object with the outermost array of [`ROWS`](SavedResult::ROWS).
    fn rows(&self) -> Value;
}

pub fn json(data: &impl Serialize) -> String {
    // Serializing fails only for maps with non-string keys and for failing writers.
    let mut text = serde_json::to_string(data).expect("plain data");
    text.push('\n');
    text
}

/// Reads what [`json`] wrote of a result. Unknown fields are ignored: later versions may add some.
pub fn parse<T: SavedResult>(text: &str) -> Result<T, ParseError> {
    let schema = schema_of(text)?;
    if schema != T::SCHEMA {
        return Err(ParseError::unknown_schema(&schema, &[T::SCHEMA]));
    }
    let damaged = |why: String| ParseError(format!("damaged results: {why}"));
    let result: T = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    result.check().map_err(damaged)?;
    Ok(result)
}

pub fn schema_of(text: &str) -> Result<String, ParseError> {
    #[derive(Deserialize)]
    struct Header {
        schema: Option<String>,
    }
    const NO_SCHEMA: &str = "no field \"schema\": expected a result that vectored saved";
    let header: Header = serde_json::from_str(text).map_err(|error| {
        let is_other = error.is_data();
        ParseError(if is_other { NO_SCHEMA.to_owned() } else { format!("not JSON: {error}") })
    })?;
    header
        .schema
        .ok_or_else(|| ParseError(NO_SCHEMA.to_owned()))
}

/// The rows of results as CSV, without samples. The columns have the names of the JSON fields. For several results, the
/// first columns are `host`, `kernel` and `started_at`.
pub fn csv_of<T: SavedResult>(results: &[&T]) -> String {
    if let [only] = results {
        return csv(&only.rows(), T::ROWS);
    }
    let run = |result: &&T| {
        let all = value_of(*result).expect("plain data");
        let (host, started_at) = (&all["host"], &all["started_at"]);
        let mut run =
            literal!({ "host": host["name"], "kernel": host["kernel"], "started_at": started_at });
        run[T::ROWS[0]] = result.rows()[T::ROWS[0]].take();
        run
    };
    let runs: Vec<Value> = results.iter().map(run).collect();
    csv(&literal!({ "runs": runs }), &[&["runs"], T::ROWS].concat())
}

pub fn csv_of_values(rows: Vec<Value>) -> String {
    csv(&literal!({ "rows": rows }), &["rows"])
}

/// Data as JSON, parsed from its text, since `serde_json::to_value` would be compiled again for each type.
pub fn value_of(data: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::from_str(&serde_json::to_string(data)?)
}

/// Plain data as an object, with one more field in front.
pub fn with_field(name: &str, value: impl Into<Value>, of: &impl Serialize) -> Value {
    let mut all = literal!({ name: value.into() });
    let others = value_of(of).expect("plain data");
    if let (Value::Object(all), Value::Object(others)) = (&mut all, others) {
        all.extend(others);
    }
    all
}

#[derive(Debug)]
pub struct ParseError(String);

impl ParseError {
    pub fn unknown_schema(found: &str, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|schema| format!("{schema:?}")).collect();
        let found: String = found.chars().take(60).collect();
        ParseError(format!(
            "unknown schema {found:?}: this version reads {}, and a newer version may read this file",
            enumerated(&known)
        ))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_schema_is_told_from_one_that_is_no_json() {
        for (text, expected) in [
            (r#"{"schema":"x/1"}"#, "x/1"),
            ("{}", "no field \"schema\""),
            ("[3]", "no field \"schema\""),
            ("{", "not JSON: "),
        ] {
            let said = schema_of(text).unwrap_or_else(|error| error.to_string());
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }
}
