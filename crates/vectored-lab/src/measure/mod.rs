//! Measuring: the engine that spends a budget on the cells of an experiment,
//! and the sampler that times real system calls.
//!
//! The engine ([`run`]) knows rounds, looks and budgets, but no descriptor and
//! no clock of its own: it talks to a [`Sampler`] and a [`Clock`], and both
//! have fakes ([`SyntheticMachine`], [`FakeClock`]), with which the whole tool
//! runs in tests without timing noise.

mod calibration;
mod clock;
mod engine;
mod environment;
mod feeder;
mod lists;
mod mover;
mod movers;
mod order;
mod pattern;
mod payload;
mod pool;
mod prices;
mod probe;
mod read_cell;
mod read_mover;
mod reader;
mod real;
mod ruler;
mod sampler;
mod source;
mod supply;
mod synced;
mod synthetic;
mod targets;
mod write_cell;

pub use crate::sys::usage::{Usage, wait_for};
pub use calibration::calibrate;
pub use clock::{Clock, FakeClock, MonotonicClock};
pub use engine::{Outcome, Progress, RunError, SCREENING_ROUNDS, SWEEPS, Watch, run, run_rounds};
pub use environment::{Environment, Pinning, allowed_cpus, pin_measuring_thread};
pub use lists::{Lists, Turns};
pub use mover::{Mover, Timed, movers, time_calls};
pub(crate) use movers::write_all;
pub(crate) use order::BalancedOrder;
pub(crate) use pattern::Pattern;
pub use pool::{ColdPool, MOST_COLD_CALL_BYTES};
pub use prices::{measure_entry_ns, measure_prices};
pub use probe::probe_host;
pub use read_mover::{ReadMover, read_movers};
pub use real::DescriptorSampler;
pub use ruler::measure_ruler;
pub use sampler::{CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing};
pub(crate) use source::PatternFile;
pub use source::check_eviction;
pub use synthetic::{Noise, SyntheticMachine};
pub use targets::{
    Batch, FILE_SPAN_BYTES, Mismatch, Sink, check_directory, check_fifo, check_room,
};
pub(crate) use targets::{Comparison, sync_flags, unnamed_file};
