//! Write techniques, and the cell that samples them.

pub(crate) mod cell;
pub(crate) mod fsync;
pub(crate) mod mover;
