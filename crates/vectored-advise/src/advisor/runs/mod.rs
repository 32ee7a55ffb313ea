//! Runs of calls that one call could replace: how runs grow, what ends them, and the rows that they become.

pub(crate) mod barriers;
pub(crate) mod call_effects;
pub(crate) mod pattern;
pub(crate) mod pending;
pub(crate) mod remedy_kind;
pub(crate) mod row;
pub(crate) mod run;
pub(crate) mod run_builder;
pub(crate) mod tally;
