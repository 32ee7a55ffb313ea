//! Processes, their descriptors, and the open file descriptions behind them.

pub(crate) mod fd_kind;
pub(crate) mod name_set;
pub(crate) mod open_file;
pub(crate) mod same_file;
pub(crate) mod tables;
