//! The measuring engine of [`vectored`]: which technique moves a list of segments fastest through a
//! descriptor on this machine, and how certain that is.
//!
//! Experiments and results are the plain structs of [`vectored_results::model`]. [`measure`] fills them, and [`reproduce`]
//! repeats published experiments.
//!
//! # Examples
//!
//! Two buffers into a pipe, with a budget of 0.2 s:
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use vectored_machine::MonotonicClock;
//! use vectored_measure::measure::{DescriptorSampler, Watch, run};
//! use vectored_results::model::{CellSpec, Experiment, Target, TechniqueName, Workload};
//!
//! let header_and_data = Workload::from_sizes(vec![100, 200]);
//! let experiment = Experiment {
//!     cells: vec![CellSpec::write(Target::Pipe, header_and_data)],
//!     rivals: vec![TechniqueName::WRITE_EACH, TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV],
//!     unranked: vec![TechniqueName::ADAPTIVE],
//!     refine: false,
//!     budget_ns: 200_000_000,
//!     seed: 1,
//! };
//! let clock = MonotonicClock;
//! let mut sampler = DescriptorSampler::new(&clock, ".".as_ref(), experiment.seed);
//! let watch = Watch { progress: &mut |_| (), stop: &AtomicBool::new(false), save: None };
//! let outcome = run(&experiment, &mut sampler, &clock, watch)?;
//! for technique in &outcome.cells[0].techniques {
//!     println!("{}: {:.0} ns a call", technique.name, technique.median_ns);
//! }
//! # Ok::<(), vectored_measure::measure::RunError>(())
//! ```

#[cfg(target_os = "linux")]
pub mod in_flight;
pub mod measure;
pub mod reproduce;
#[cfg(unix)]
mod sys;
