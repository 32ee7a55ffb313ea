//! The measuring engine of [`vectored`]: which technique moves a list of segments fastest through a
//! descriptor on this machine, and how certain that is.
//!
//! Experiments and results are the plain structs of [`vectored_results::model`]. [`measure`] fills them, and [`reproduce`]
//! repeats published experiments.
//!
//! The public items of this crate are for the program alone; names say what most of them are.
#![allow(missing_docs)]

#[cfg(target_os = "linux")]
pub mod in_flight;
pub mod measure;
pub mod reproduce;
#[cfg(unix)]
mod sys;
