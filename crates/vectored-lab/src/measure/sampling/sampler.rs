//! The narrow waist between the engine, which decides what to sample, and
//! whatever takes the samples.

use std::fmt;
use std::io;

use crate::model::{CellSpec, Drain, Technique};

/// The most calls of a sample, and so of the probe of a target's capacity.
pub(crate) const MAX_CALLS: u32 = 1024;

/// What is sampled in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contender {
    /// One `write` of the same bytes, already contiguous, or one `read` into
    /// one piece: the reference.
    Floor,
    /// The floor under another name: the A/A control.
    FloorAgain,
    /// One of the techniques.
    Technique(Technique),
}

/// One timed batch of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Wall time of the batch.
    pub elapsed_ns: u64,
    /// CPU time of the calling thread for the batch, at the average of these
    /// calls and the untimed one before them.
    pub cpu_ns: u64,
}

/// How a target that fills up shall be emptied, or one that runs dry filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainChoice {
    /// Between the samples where a sample of every technique fits, as a probe
    /// finds; by another thread otherwise.
    Probe,
    /// By another thread in any case.
    Thread,
}

/// What a sampler tells of a cell that it made ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellSetup {
    /// The most calls that a sample may have (at least 1).
    pub max_calls: u32,
    /// How the target is emptied or filled, where that is needed.
    pub drain: Option<Drain>,
    /// File system of the target, where it is a file.
    pub file_system: Option<String>,
    /// The span of a file that is written before it is truncated or written
    /// again from its begin, or the length of one that is read.
    pub span_bytes: Option<u64>,
}

/// Takes samples. One cell is open at a time.
pub trait Sampler {
    /// Opens the target of a cell, lays out its buffers and proves that each
    /// technique moves exactly the right bytes.
    fn begin_cell(
        &mut self,
        cell: &CellSpec,
        techniques: &[Technique],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError>;

    /// Lays the buffers out anew. `round` is part of the mark of its bytes.
    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError>;

    /// Times `calls` calls, after one that is not timed.
    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError>;

    /// Closes the cell; returns how many proof calls were compared in it.
    fn end_cell(&mut self) -> Result<u64, MeasureError>;
}

/// Why a run ended without results.
#[derive(Debug)]
#[non_exhaustive]
pub enum MeasureError {
    /// The kernel refused something.
    Io {
        /// What was tried, and on what.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// No temporary file can be made in a directory.
    Directory {
        /// The directory.
        directory: String,
        /// What is wrong with it.
        why: &'static str,
        /// What the kernel said.
        source: io::Error,
        /// What would help.
        remedy: String,
    },
    /// A technique did not move exactly the bytes that it was given.
    WrongBytes {
        /// The technique.
        contender: String,
        /// Where: target and sizes.
        cell: String,
        /// How the bytes differ.
        difference: String,
    },
    /// A sample that the probe expected to fit did not. The engine then starts
    /// the cell again with another thread; a user never sees this.
    DidNotFit,
    /// A file was in the page cache although it had been evicted.
    NotCold {
        /// The directory that the file is in.
        directory: String,
        /// The file system.
        file_system: String,
    },
    /// Not enough free space for what the cell would write.
    NoSpace {
        /// The directory.
        directory: String,
        /// Bytes free there.
        free_bytes: u64,
        /// Bytes that the run needs.
        needed_bytes: u64,
    },
}

impl MeasureError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| MeasureError::Io { what, source }
    }
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeasureError::Io { what, source } => write!(f, "{what}: {source}"),
            MeasureError::Directory {
                directory,
                why,
                source,
                remedy,
            } => write!(
                f,
                "cannot use the directory '{directory}': {why}: {source}; {remedy}"
            ),
            MeasureError::WrongBytes {
                contender,
                cell,
                difference,
            } => write!(
                f,
                "{contender} moved wrong bytes on {cell}: {difference}; \
                 this is a bug in the technique, so nothing it measured can be trusted"
            ),
            MeasureError::DidNotFit => f.write_str("a sample did not fit its target"),
            MeasureError::NotCold {
                directory,
                file_system,
            } => write!(
                f,
                "cannot read from a cold page cache in '{directory}': reading evicted pages of a \
                 file there did not fetch them from a device ({file_system}); name a directory on \
                 a disk with --dir, or measure with --page-cache hot"
            ),
            MeasureError::NoSpace {
                directory,
                free_bytes,
                needed_bytes,
            } => write!(
                f,
                "not enough free space in '{directory}': {free_bytes} bytes are free and \
                 {needed_bytes} are needed; free some, or name another directory with --dir"
            ),
        }
    }
}

impl std::error::Error for MeasureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MeasureError::Io { source, .. } | MeasureError::Directory { source, .. } => {
                Some(source)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contender::Floor => f.write_str("floor"),
            Contender::FloorAgain => f.write_str("floor (A/A)"),
            Contender::Technique(technique) => technique.fmt(f),
        }
    }
}
