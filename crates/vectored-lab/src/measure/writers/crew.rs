//! The interface to the writers of a cell.

use std::io;

use crate::measure::writers::writer::{Order, Span};

/// All writers of a cell, which carry out one order at a time.
pub(crate) trait Crew {
    /// Has each writer take the sample; they start together. The spans are in the order of the writers.
    ///
    /// # Errors
    ///
    /// The first error of a writer.
    fn sample(&mut self, order: Order) -> io::Result<Vec<Span>>;
}

/// Takes the reports of the writers as they come in.
pub(crate) struct Reports {
    spans: Vec<Option<Span>>,
    error: Option<io::Error>,
    missing: usize,
}

impl Reports {
    pub fn of(writers: usize) -> Self {
        Reports {
            spans: vec![None; writers],
            error: None,
            missing: writers,
        }
    }

    /// Whether every writer has reported.
    pub fn are_complete(&self) -> bool {
        self.missing == 0
    }

    /// Whether this writer has not reported yet.
    pub fn lack(&self, writer: usize) -> bool {
        self.spans[writer].is_none()
    }

    pub fn add(&mut self, writer: usize, report: io::Result<Span>) {
        self.missing -= 1;
        match report {
            Ok(span) => self.spans[writer] = Some(span),
            // Those that were waiting for a failed writer report that they were interrupted.
            Err(error) if error.kind() == io::ErrorKind::Interrupted && self.error.is_some() => {}
            Err(error) => self.error = Some(error),
        }
    }

    /// The spans of all writers.
    pub fn end(self) -> io::Result<Vec<Span>> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.spans.into_iter().flatten().collect()),
        }
    }
}
