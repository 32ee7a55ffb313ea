//! Processes, their descriptors, and the open file descriptions behind them.

pub(crate) mod kernel_tables;
pub(crate) mod latest;
pub(crate) mod lifecycle;
pub(crate) mod name_set;
pub(crate) mod open_file;
pub(crate) mod runtime;
pub(crate) mod same_file;
pub(crate) mod thread;
