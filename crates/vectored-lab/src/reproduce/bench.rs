//! The place and the means of a run of experiments.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::measure::Clock;
use crate::reproduce::eta::Ledger;

/// Where experiments are run, and who is told of them.
pub struct Bench<'a> {
    /// What tells the time.
    pub clock: &'a dyn Clock,
    /// Where files are made; they have no names.
    pub directory: &'a Path,
    /// The program `vectored`, whose `copy` is run as a child.
    pub program: &'a Path,
    /// The CPU for a thread at the other end of a pipe.
    pub reader_cpu: Option<usize>,
    /// Of the order of rows, and of the bytes.
    pub seed: u64,
    /// What is still to be done.
    pub ledger: Ledger<'a>,
    /// Becomes true when the run shall end; what was measured is kept.
    pub stop: &'a AtomicBool,
}

impl Bench<'_> {
    /// Whether the run shall end now.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
