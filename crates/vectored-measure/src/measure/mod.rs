//! Measuring: the engine that spends a time budget on the cells of an
//! experiment, and the sampler that times real system calls.
//!
//! The engine ([`run`]) decides on rounds, interim looks and the budget. It
//! opens no descriptor and reads no clock itself: it uses a [`Sampler`] and a
//! [`Clock`](vectored_machine::Clock). Both have fakes ([`SyntheticMachine`], [`FakeClock`](vectored_machine::FakeClock)), so the
//! whole tool runs in tests without timing noise.

pub(crate) mod cell;
mod descriptor_sampler;
pub(crate) mod engine;
pub(crate) mod model_calibration;
#[cfg(unix)]
pub(crate) mod prices;
pub(crate) mod ranks;
pub(crate) mod sampler;
pub(crate) mod sources;
mod synthetic;
pub(crate) mod targets;
mod techniques;
pub(crate) mod unsuited;

pub use crate::measure::descriptor_sampler::DescriptorSampler;
pub(crate) use crate::measure::engine::balanced_order::BalancedOrder;
pub use crate::measure::engine::{
    Outcome, Progress, RunError, SCREENING_ROUNDS, SWEEPS, Watch, run, run_rounds,
};
pub use crate::measure::model_calibration::calibrate;
#[cfg(unix)]
pub use crate::measure::prices::measure_prices;
pub use crate::measure::ranks::agreement::agree;
pub use crate::measure::ranks::group::{Group, gathered, give, receive};
pub use crate::measure::ranks::member::follow;
pub use crate::measure::ranks::ranked_sampler::RankedSampler;
pub use crate::measure::sampler::cell_extras::CellExtras;
pub use crate::measure::sampler::cold_pool::{ColdPool, MAX_COLD_CALL_BYTES};
pub use crate::measure::sampler::interface::{
    CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing,
};
pub use crate::measure::sampler::lists::{Lists, Turns};
pub use crate::measure::sampler::meter::{Meter, Timed};
#[cfg(target_os = "linux")]
pub(crate) use crate::measure::sampler::pattern::Pattern;
pub use crate::measure::sampler::rank_failure::RankFailure;
pub use crate::measure::sampler::timer::measure_timer;
#[cfg(target_os = "linux")]
pub(crate) use crate::measure::sources::read_source::PatternFile;
pub use crate::measure::sources::read_source::check_eviction;
pub use crate::measure::synthetic::{Noise, SyntheticMachine};
#[cfg(unix)]
pub(crate) use crate::measure::targets::comparison::compare_file;
#[cfg(target_os = "linux")]
pub(crate) use crate::measure::targets::sync_flags;
#[cfg(unix)]
pub(crate) use crate::measure::targets::{Batch, Mismatch};
pub use crate::measure::targets::{FILE_SPAN_BYTES, check_direct, check_directory};
#[cfg(unix)]
pub use crate::measure::techniques::STDIO_LARGE;
pub use crate::measure::techniques::copy_mover::CopyMover;
pub use crate::measure::techniques::read_mover::ReadMover;
pub use crate::measure::techniques::write_mover::Mover;
pub use crate::measure::techniques::{
    Costs, MakeCopyMover, MakeMover, MakeReadMover, TECHNIQUES, Technique, check_available,
    copy_movers, is_in_flight, lacks_for, movers, read_movers, refusal, technique, techniques,
    techniques_of,
};
pub use crate::measure::unsuited::unsuited;
