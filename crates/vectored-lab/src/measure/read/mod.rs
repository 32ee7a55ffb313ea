//! Read techniques, the sources of their bytes, and the cell that samples them.

#[cfg(target_os = "linux")]
pub(crate) mod asynchronous;
pub(crate) mod cell;
pub(crate) mod feed_thread;
pub(crate) mod mover;
pub(crate) mod movers;
pub(crate) mod read_source;
