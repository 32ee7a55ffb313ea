//! The saved form of results, there and back.

use std::fmt;

use serde::Deserialize;

use crate::model::{Results, SCHEMA};

/// Results as one line of JSON, with everything that is known.
pub fn json(results: &Results) -> String {
    // Serializing fails only for maps with odd keys and failing writers.
    let mut text = serde_json::to_string(results).expect("results are plain data");
    text.push('\n');
    text
}

/// Reads what [`json`] wrote.
///
/// Fields that are not known are passed over: later versions may add some.
///
/// # Errors
///
/// When the text is not JSON, not results, or results of another schema.
pub fn parse(text: &str) -> Result<Results, ParseError> {
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
    match header.schema.as_deref() {
        None => Err(ParseError(Problem::NoSchema)),
        Some(SCHEMA) => {
            serde_json::from_str(text).map_err(|error| ParseError(Problem::BadField(error)))
        }
        Some(other) => Err(ParseError(Problem::UnknownSchema(other.to_owned()))),
    }
}

/// Why a text is not results that this version can read.
#[derive(Debug)]
pub struct ParseError(Problem);

#[derive(Debug)]
enum Problem {
    NotJson(serde_json::Error),
    NoSchema,
    UnknownSchema(String),
    BadField(serde_json::Error),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Problem::NotJson(error) => write!(f, "not JSON: {error}"),
            Problem::NoSchema => write!(
                f,
                "no field \"schema\": expected a file that `vectored measure` saved"
            ),
            Problem::UnknownSchema(schema) => {
                // However long the text is, its beginning tells what it is.
                let shown: String = schema.chars().take(60).collect();
                write!(
                    f,
                    "unknown schema {shown:?}: this version reads {SCHEMA:?}, \
                     a newer one may read more"
                )
            }
            Problem::BadField(error) => write!(f, "damaged results: {error}"),
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
