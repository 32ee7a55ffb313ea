//! The environment of a run of experiments: clock, files, program and progress.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use vectored_machine::Clock;

use crate::reproduce::eta::EtaTracker;

/// The environment in which experiments are run.
pub struct Bench<'a> {
    /// The clock that times samples.
    pub clock: &'a dyn Clock,
    /// The directory of temporary files, which have no names.
    pub directory: &'a Path,
    /// The program `vectored`, whose `copy` runs as a child process.
    pub program: &'a Path,
    /// The CPU of a thread that reads a pipe.
    pub reader_cpu: Option<usize>,
    /// The seed of the order of rows and of the bytes.
    pub seed: u64,
    /// The rows that remain, and the progress callback.
    pub eta: EtaTracker<'a>,
    /// When this becomes true, the run ends and keeps the samples so far.
    pub stop: &'a AtomicBool,
}

impl Bench<'_> {
    /// Whether the run was stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
