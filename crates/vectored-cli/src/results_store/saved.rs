//! The kinds of saved results, and a result of any kind.

use vectored_advise::model::Advisory;
use vectored_advise::report::TOP;
use vectored_report::{Document, ParseError, SavedResult, csv_of, parse, schema_of};
use vectored_results::model::{Experiments, Results};
use vectored_results::report::{experiments, measured};
use vectored_versus::model::Versus;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultKind {
    Measure,
    Reproduce,
    Advise,
    Versus,
}

impl ResultKind {
    pub const ALL: [ResultKind; 4] = [
        ResultKind::Measure,
        ResultKind::Reproduce,
        ResultKind::Advise,
        ResultKind::Versus,
    ];

    /// The name of the subcommand. The newest result has this name, and file names start with it.
    pub fn command(self) -> &'static str {
        match self {
            ResultKind::Measure => "measure",
            ResultKind::Reproduce => "reproduce",
            ResultKind::Advise => "advise",
            ResultKind::Versus => "versus",
        }
    }

    pub fn schema(self) -> &'static str {
        match self {
            ResultKind::Measure => Results::SCHEMA,
            ResultKind::Reproduce => Experiments::SCHEMA,
            ResultKind::Advise => Advisory::SCHEMA,
            ResultKind::Versus => Versus::SCHEMA,
        }
    }
}

/// A saved result of any kind. The schema in the file decides the kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    Results(Box<Results>),
    Experiments(Box<Experiments>),
    Advisory(Box<Advisory>),
    Versus(Box<Versus>),
}

impl Saved {
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let schema = schema_of(text)?;
        let mut kinds = ResultKind::ALL.into_iter();
        Ok(match kinds.find(|kind| kind.schema() == schema) {
            Some(ResultKind::Measure) => Saved::Results(Box::new(parse(text)?)),
            Some(ResultKind::Reproduce) => Saved::Experiments(Box::new(parse(text)?)),
            Some(ResultKind::Advise) => Saved::Advisory(Box::new(parse(text)?)),
            Some(ResultKind::Versus) => Saved::Versus(Box::new(parse(text)?)),
            None => {
                let known = ResultKind::ALL.map(ResultKind::schema);
                return Err(ParseError::unknown_schema(&schema, &known));
            }
        })
    }

    pub fn kind(&self) -> ResultKind {
        match self {
            Saved::Results(_) => ResultKind::Measure,
            Saved::Experiments(_) => ResultKind::Reproduce,
            Saved::Advisory(_) => ResultKind::Advise,
            Saved::Versus(_) => ResultKind::Versus,
        }
    }

    pub fn document(&self) -> Document {
        match self {
            Saved::Results(results) => measured(results),
            Saved::Experiments(found) => experiments::document(found),
            Saved::Advisory(found) => vectored_advise::report::document(found, TOP),
            Saved::Versus(found) => vectored_versus::report::document(found),
        }
    }

    /// Returns `None` for results of several subcommands, because their columns differ.
    pub fn csv(all: &[&Saved]) -> Option<String> {
        macro_rules! of_kind {
            ($kind:ident) => {{
                let each = all.iter().map(|one| match one {
                    Saved::$kind(result) => Some(&**result),
                    _ => None,
                });
                let all: Option<Vec<_>> = each.collect();
                all.map(|all| csv_of(&all))
            }};
        }
        of_kind!(Results)
            .or_else(|| of_kind!(Experiments))
            .or_else(|| of_kind!(Advisory))
            .or_else(|| of_kind!(Versus))
    }
}
