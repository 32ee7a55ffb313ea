//! Tests of the command line program, in one test binary.
//!
//! No test depends on the speed of the machine. The golden files come from a simulated machine. Tests of real runs
//! check no times.

#[cfg(target_os = "linux")]
mod action;
mod advise;
mod cluster;
mod completions;
mod copy;
#[cfg(target_os = "linux")]
mod copy_faults;
#[cfg(target_os = "linux")]
mod documented;
#[cfg(target_os = "linux")]
mod edits;
mod golden;
mod host;
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
))]
mod live;
mod outputs;
#[cfg(target_os = "linux")]
mod refusals;
mod reproduce;
mod runs;
mod saved_results;
mod screen;
mod support;
mod targets;
#[cfg(target_os = "linux")]
mod versus;
mod wrong_inputs;
