//! The measuring engine of [`vectored`]: which technique moves a list of segments fastest through a
//! descriptor on this machine, and how certain that is.
//!
//! Read [`model`] first: experiments and results are plain structs. [`measure`] fills them, [`stats`]
//! derives verdicts from them, and [`report`] renders them. Each stage runs alone, from a file.
//!
//! # Examples
//!
//! Two buffers into a pipe, with a budget of 0.2 s:
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use vectored_machine::MonotonicClock;
//! use vectored_measure::measure::{DescriptorSampler, Watch, run};
//! use vectored_measure::model::{CellSpec, Experiment, Target, TechniqueName, Workload};
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

mod conclusions;
#[cfg(any(target_os = "linux", windows))]
pub mod in_flight;
pub mod measure;
pub mod model;
pub mod report;
pub mod reproduce;
pub mod stats;
#[cfg(unix)]
mod sys;
