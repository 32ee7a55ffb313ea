//! Read techniques, the sources of their bytes, and the cell that samples them.

pub(crate) mod cell;
pub(crate) mod feed_thread;
pub(crate) mod mover;
pub(crate) mod read_source;
