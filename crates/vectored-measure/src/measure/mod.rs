//! Measuring: the engine that spends a time budget on the cells of an
//! experiment, and the sampler that times real system calls.

mod cell;
mod descriptor_sampler;
mod engine;
mod model_calibration;
#[cfg(unix)]
mod prices;
mod ranks;
mod sampler;
mod sources;
mod synthetic;
mod targets;
mod techniques;
mod unsuited;

pub use descriptor_sampler::DescriptorSampler;
pub(crate) use engine::BalancedOrder;
pub use engine::{Outcome, Progress, RunError, Watch, run, run_rounds};
pub use model_calibration::calibrate;
#[cfg(unix)]
pub use prices::measure_prices;
pub use ranks::{Group, RankedSampler, agree, follow, gathered, give, receive};
#[cfg(target_os = "linux")]
pub(crate) use sampler::Pattern;
pub use sampler::{
    CellExtras, CellSetup, ColdPool, Contender, DrainChoice, Lists, MAX_COLD_CALL_BYTES,
    MeasureError, RankFailure, Sampler, Timed, Timing, Turns, measure_timer,
};
#[cfg(target_os = "linux")]
pub(crate) use sources::PatternFile;
pub use sources::check_eviction;
pub use synthetic::{Noise, SyntheticMachine, log_normal};
#[cfg(target_os = "linux")]
pub(crate) use targets::sync_flags;
#[cfg(unix)]
pub(crate) use targets::{Batch, Mismatch, compare_file};
pub use targets::{check_direct, check_directory};
#[cfg(unix)]
pub use techniques::STDIO_LARGE;
pub use techniques::{
    CopyMover, Costs, Make, Mover, ReadMover, TECHNIQUES, Technique, copy_movers, is_in_flight,
    movers, read_movers, refusal, technique, techniques, techniques_of,
};
pub use unsuited::unsuited;
