//! The kinds of saved results.

use vectored_advise::model::Advisory;
use vectored_report::SavedResult;
use vectored_results::model::{Experiments, Results};
use vectored_versus::model::Versus;

/// A kind of result: the command that saves it.
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

    /// The name of the subcommand. It names its newest result, and begins the names of its files.
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
