//! The saved form of results: writing and reading.

use std::fmt;

use serde::Deserialize;

use crate::model::{
    ADVISORY_SCHEMA, Advisory, EXPERIMENTS_SCHEMA, Experiments, Results, SCHEMA, Saved,
};
use crate::report::validate;

/// Results as one line of JSON, complete.
pub fn json(results: &Results) -> String {
    // Serializing fails only for maps with non-string keys and for failing writers.
    let mut text = serde_json::to_string(results).expect("results are plain data");
    text.push('\n');
    text
}

/// Reads what [`json`] wrote.
///
/// Unknown fields are ignored: later versions may add some.
///
/// # Errors
///
/// If the text is not JSON, not results, of another schema, or not consistent.
pub fn parse(text: &str) -> Result<Results, ParseError> {
    match schema_of(text)?.as_str() {
        SCHEMA => results(text),
        other => Err(ParseError(Problem::UnknownSchema(other.to_owned()))),
    }
}

/// Reads a file saved by any command of `vectored`.
///
/// # Errors
///
/// As [`parse`].
///
/// # Examples
///
/// ```
/// use vectored_measure::report::parse_saved;
///
/// let refused = parse_saved(r#"{"schema": "vectored-results/9"}"#).unwrap_err();
/// assert!(refused.to_string().contains("unknown schema"));
/// ```
pub fn parse_saved(text: &str) -> Result<Saved, ParseError> {
    match schema_of(text)?.as_str() {
        SCHEMA => Ok(Saved::Results(Box::new(results(text)?))),
        EXPERIMENTS_SCHEMA => {
            let experiments: Experiments = read(text)?;
            validate::experiments(&experiments).map_err(|why| ParseError(Problem::Unsound(why)))?;
            Ok(Saved::Experiments(Box::new(experiments)))
        }
        ADVISORY_SCHEMA => {
            let advisory: Advisory = read(text)?;
            validate::advisory(&advisory).map_err(|why| ParseError(Problem::Unsound(why)))?;
            Ok(Saved::Advisory(Box::new(advisory)))
        }
        other => Err(ParseError(Problem::UnknownSchema(other.to_owned()))),
    }
}

fn results(text: &str) -> Result<Results, ParseError> {
    let results: Results = read(text)?;
    validate::results(&results).map_err(|why| ParseError(Problem::Unsound(why)))?;
    Ok(results)
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ParseError> {
    serde_json::from_str(text).map_err(|error| ParseError(Problem::BadField(error)))
}

/// The field `schema`.
fn schema_of(text: &str) -> Result<String, ParseError> {
    #[derive(Deserialize)]
    struct Header {
        schema: Option<String>,
    }
    let header: Header = serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            ParseError(Problem::NoSchema)
        } else {
            ParseError(Problem::NotJson(error))
        }
    })?;
    header.schema.ok_or(ParseError(Problem::NoSchema))
}

/// The reason why a text cannot be read as results.
#[derive(Debug)]
pub struct ParseError(Problem);

#[derive(Debug)]
enum Problem {
    NotJson(serde_json::Error),
    NoSchema,
    UnknownSchema(String),
    BadField(serde_json::Error),
    Unsound(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Problem::NotJson(error) => write!(f, "not JSON: {error}"),
            Problem::NoSchema => write!(
                f,
                "no field \"schema\": expected a file that `vectored measure`, `vectored reproduce` or \
                 `vectored advise` saved"
            ),
            Problem::UnknownSchema(schema) => {
                // Only the beginning of the text is shown, since it may be long.
                let shown: String = schema.chars().take(60).collect();
                write!(
                    f,
                    "unknown schema {shown:?}: this version reads {SCHEMA:?}, \
                     {EXPERIMENTS_SCHEMA:?} and {ADVISORY_SCHEMA:?}, and a newer version may read this file"
                )
            }
            Problem::BadField(error) => write!(f, "damaged results: {error}"),
            Problem::Unsound(why) => write!(f, "damaged results: {why}"),
        }
    }
}

impl std::error::Error for ParseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Problem::NotJson(error) | Problem::BadField(error) => Some(error),
            _ => None,
        }
    }
}
