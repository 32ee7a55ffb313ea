//! Copies from one descriptor to another, and the cell that samples them.

pub(crate) mod cell;
pub(crate) mod mover;
