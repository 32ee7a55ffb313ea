//! A saved result of any command.

use vectored_machine::model::Host;

use crate::model::advisory::Advisory;
use crate::model::experiments::Experiments;
use crate::model::results::Results;

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
    /// The machine that produced it.
    pub fn host(&self) -> &Host {
        match self {
            Saved::Results(results) => &results.host,
            Saved::Experiments(experiments) => &experiments.host,
            Saved::Advisory(advisory) => &advisory.host,
        }
    }

    /// When it began, RFC 3339, UTC.
    pub fn started_at(&self) -> &str {
        match self {
            Saved::Results(results) => &results.started_at,
            Saved::Experiments(experiments) => &experiments.started_at,
            Saved::Advisory(advisory) => &advisory.started_at,
        }
    }
}
