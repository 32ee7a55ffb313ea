//! The interface between the engine and what takes its samples, and what each sample needs: the segments and the clock.

pub(crate) mod cell_extras;
pub(crate) mod cold_pool;
#[cfg(any(target_os = "linux", windows))]
pub(crate) mod full_queue;
pub(crate) mod interface;
pub(crate) mod lists;
pub(crate) mod meter;
pub(crate) mod pattern;
pub(crate) mod payload;
pub(crate) mod payload_supply;
pub(crate) mod rank_failure;
pub(crate) mod staging;
pub(crate) mod timer;
