//! Sampling: the clock, the sampler, and the segments that a technique moves.

pub(crate) mod cell_extras;
pub(crate) mod cold_pool;
pub(crate) mod descriptor_sampler;
#[cfg(any(target_os = "linux", windows))]
pub(crate) mod full_queue;
pub(crate) mod lists;
pub(crate) mod pattern;
pub(crate) mod payload;
pub(crate) mod payload_supply;
pub(crate) mod sampler;
pub(crate) mod staging;
pub(crate) mod synthetic;
pub(crate) mod technique_latencies;
pub(crate) mod timer;
