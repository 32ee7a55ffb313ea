//! Runs of calls that one call could replace: how they grow, and what ends them.

pub(crate) mod barriers;
pub(crate) mod call_effects;
pub(crate) mod pattern;
pub(crate) mod run;
pub(crate) mod run_builder;
