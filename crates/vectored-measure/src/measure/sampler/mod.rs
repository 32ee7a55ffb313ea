//! The interface between the engine and the samplers, and what each sample needs: the segments and the clock.

mod cold_pool;
#[cfg(target_os = "linux")]
pub(crate) mod full_queue;
mod interface;
mod lists;
mod meter;
mod pattern;
mod payload;
mod staging;
mod timer;

pub use cold_pool::{ColdPool, MAX_COLD_CALL_BYTES};
pub(crate) use cold_pool::{Form, PoolMemory, PoolPayload};
#[cfg(unix)]
pub(crate) use interface::is_refusal;
pub use interface::{
    CellExtras, CellSetup, Contender, DrainChoice, MeasureError, RankFailure, Sampler, Timing,
};
pub(crate) use interface::{MAX_CALLS, ranks_in_words};
pub use lists::{Lists, Turns};
pub use meter::Timed;
pub(crate) use pattern::Pattern;
pub(crate) use payload::{ALIGNMENT, Payload, aligned_start};
pub(crate) use staging::{STAGING_ALIGNMENT, Staging};
pub use timer::measure_timer;
