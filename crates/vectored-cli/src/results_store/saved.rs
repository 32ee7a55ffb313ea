//! A saved result of any command.

use vectored_advise::model::Advisory;
use vectored_advise::report::TOP;
use vectored_measure::model::{Experiments, Results};
use vectored_measure::report::{experiments, measured};
use vectored_report::{Document, ParseError, SavedResult, parse, schema_of};

/// A saved result; the schema tells which kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// A run of `vectored measure`.
    Results(Box<Results>),
    /// A run of `vectored reproduce`.
    Experiments(Box<Experiments>),
    /// The advice of `vectored advise`.
    Advisory(Box<Advisory>),
}

impl Saved {
    /// Reads a file saved by any command.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        const KNOWN: [&str; 3] = [Results::SCHEMA, Experiments::SCHEMA, Advisory::SCHEMA];
        let schema = schema_of(text)?;
        Ok(match &*schema {
            Results::SCHEMA => Saved::Results(Box::new(parse(text)?)),
            Experiments::SCHEMA => Saved::Experiments(Box::new(parse(text)?)),
            Advisory::SCHEMA => Saved::Advisory(Box::new(parse(text)?)),
            other => return Err(ParseError::unknown_schema(other, &KNOWN)),
        })
    }

    /// The result as a document.
    pub fn document(&self) -> Document {
        match self {
            Saved::Results(results) => measured(results),
            Saved::Experiments(found) => experiments::document(found),
            Saved::Advisory(found) => vectored_advise::report::document(found, TOP),
        }
    }
}
