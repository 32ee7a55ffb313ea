//! The interface between the engine, which decides what to sample, and the
//! implementations that take the samples.

use std::{fmt, io};

use serde::{Deserialize, Serialize};
use vectored_results::model::{CellSpec, Drain, TechniqueName};
use vectored_results::stats::RankSamples;

pub(crate) const MAX_CALLS: u32 = 1024;

/// The maximum number of failed ranks, and of their errors, that a message names.
const MAX_NAMED_RANKS: usize = 3;

/// `rank 2 on n1`; `rank 2 on n1, rank 3 on n1 and 62 more`.
pub(crate) fn ranks_in_words<'a>(ranks: impl Iterator<Item = &'a RankFailure>) -> String {
    let mut names: Vec<String> = ranks
        .map(|failure| format!("rank {} on {}", failure.rank, failure.host))
        .collect();
    let more = names.len().saturating_sub(MAX_NAMED_RANKS);
    names.truncate(MAX_NAMED_RANKS);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Contender {
    /// The reference: one `write` of the same bytes, already contiguous, or one
    /// `read` into one contiguous buffer.
    Floor,
    /// The floor a second time: the A/A control.
    FloorAgain,
    Technique(TechniqueName),
}

/// One timed batch of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    pub elapsed_ns: u64,
    /// CPU time of the calling thread for the timed calls, without the untimed call. The CPU time is measured over
    /// all calls. This is the part in proportion to the number of timed calls.
    pub cpu_ns: u64,
}

/// How to empty a target that is written, or fill a source that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DrainChoice {
    /// Between the samples, if a probe finds that a sample of every technique
    /// fits; otherwise by another thread.
    Probe,
    /// Another thread in any case.
    Thread,
}

/// The properties of an open cell, or of one of its ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellSetup {
    /// At least 1. The descriptor has room for this many calls, untimed calls included.
    pub max_calls: u32,
    /// The number of calls in a sample is a multiple of this; 0 means 1. With several transfers in flight,
    /// completions are often noticed in groups as large as the queue depth.
    pub calls_multiple: u32,
    pub drain: Option<Drain>,
    pub file_system: Option<String>,
    /// For a file that is written: the span up to which the file is written, before it is truncated or written again from
    /// offset 0. For a file that is read: its length.
    pub span_bytes: Option<u64>,
}

impl CellSetup {
    pub(crate) fn with_room(bytes: u64, spec: &CellSpec) -> Self {
        let calls = bytes / spec.workload.total_bytes() as u64;
        CellSetup {
            max_calls: u32::try_from(calls.max(1)).unwrap_or(u32::MAX),
            ..CellSetup::default()
        }
    }

    pub(crate) fn drained(self, drain: Drain) -> Self {
        CellSetup {
            drain: Some(drain),
            ..self
        }
    }

    pub(crate) fn of_no_end() -> Self {
        CellSetup {
            max_calls: u32::MAX,
            ..CellSetup::default()
        }
    }
}

/// Takes samples. One cell is open at a time.
pub trait Sampler {
    fn begin_cell(
        &mut self,
        cell: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError>;

    /// Lays the buffers out anew. The bytes of the round are marked with `round`.
    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError>;

    /// Times `calls` calls, usually after one untimed call.
    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError>;

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError>;
}

#[derive(Debug)]
#[non_exhaustive]
pub enum MeasureError {
    Io {
        what: String,
        source: io::Error,
    },
    /// The kernel refuses a call of a technique, for example because of a seccomp filter. The engine goes on without the
    /// technique.
    Refused {
        technique: TechniqueName,
        source: io::Error,
    },
    /// A directory cannot hold the files of a run.
    Directory(io::Error),
    /// A technique did not move exactly the right bytes.
    WrongBytes {
        contender: String,
        cell: String,
        difference: String,
    },
    /// A program of the user, whose copies were to be timed, failed or copied wrong bytes.
    Program {
        command: String,
        why: String,
    },
    /// A sample did not fit its target, although the probe found that samples fit. The engine restarts the cell with
    /// another thread.
    DidNotFit,
    /// The user has stopped the run.
    Stopped,
    /// The directory does not suit the request. Another directory may.
    OtherDirectory(String),
    Ranks(Vec<RankFailure>),
    /// Another rank of a cluster failed; rank 0 knows which.
    OtherRank,
}

impl MeasureError {
    /// Whether a technique moved wrong bytes, on this rank or another, so that no figure can be trusted.
    pub fn is_wrong_bytes(&self) -> bool {
        match self {
            MeasureError::WrongBytes { .. } => true,
            MeasureError::Ranks(failures) => failures.iter().any(|failure| failure.is_wrong_bytes),
            _ => false,
        }
    }

    pub(crate) fn of_call(contender: Contender, cell: &str, source: io::Error) -> Self {
        match contender {
            Contender::Technique(technique) if is_refusal(&source) => {
                MeasureError::Refused { technique, source }
            }
            _ => MeasureError::io(format!("{contender} failed on {cell}"))(source),
        }
    }

    /// Pages of a file were in the page cache although they had been evicted.
    pub(crate) fn not_cold(directory: &str, file_system: &str) -> Self {
        MeasureError::OtherDirectory(format!(
            "cannot read from a cold page cache in '{directory}': reading evicted pages of a \
             file there did not fetch them from a device ({file_system}); name a directory on \
             a disk with --dir, or measure with --page-cache hot"
        ))
    }

    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| MeasureError::Io { what, source }
    }
}

/// Whether the error means that the kernel refuses this kind of call here: EPERM, EACCES, ENOSYS or EOPNOTSUPP.
/// EINVAL and EXDEV also count, because copy_file_range(2) returns them between two file systems.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, InvalidInput, PermissionDenied, Unsupported};
    [PermissionDenied, Unsupported, InvalidInput, CrossesDevices].contains(&error.kind())
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeasureError::Io { what, source } => write!(f, "{what}: {source}"),
            MeasureError::Refused { technique, source } => write!(
                f,
                "the kernel refuses the calls of {technique} here ({source}): change what refuses them (seccomp), or \
                 measure other techniques (vectored measure --technique)"
            ),
            MeasureError::Directory(error) => error.fmt(f),
            MeasureError::WrongBytes {
                contender,
                cell,
                difference,
            } => write!(
                f,
                "{contender} moved wrong bytes on {cell}: {difference}; \
                 this is a bug in the technique, so none of its figures can be trusted"
            ),
            MeasureError::Program { command, why } => write!(f, "'{command}' {why}"),
            MeasureError::Stopped => f.write_str("it was stopped"),
            MeasureError::DidNotFit => f.write_str("a sample did not fit its target"),
            MeasureError::OtherDirectory(text) => f.write_str(text),
            MeasureError::Ranks(failures) => {
                let mut messages: Vec<&str> = Vec::new();
                for failure in failures {
                    if !messages.contains(&&*failure.message) {
                        messages.push(&failure.message);
                    }
                }
                let named = messages.iter().take(MAX_NAMED_RANKS);
                for (index, message) in named.enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    let those = failures
                        .iter()
                        .filter(|failure| failure.message == *message);
                    write!(f, "{separator}{}: {message}", ranks_in_words(those))?;
                }
                match messages.len().saturating_sub(MAX_NAMED_RANKS) {
                    0 => Ok(()),
                    more => write!(f, "; and {more} more errors"),
                }
            }
            MeasureError::OtherRank => f.write_str("another rank failed"),
        }
    }
}

/// The text of the error includes the error of the kernel.
impl std::error::Error for MeasureError {}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contender::Floor => f.write_str("floor"),
            Contender::FloorAgain => f.write_str("floor (A/A)"),
            Contender::Technique(technique) => technique.fmt(f),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct CellExtras {
    /// The calls whose every byte was compared as a proof.
    pub proof_calls: u64,
    /// The samples of each rank of a cluster since the first round of the first visit.
    pub ranks: Vec<(TechniqueName, Vec<RankSamples>)>,
}

impl CellExtras {
    /// Adds the figures of a later visit.
    pub(crate) fn merge(&mut self, later: CellExtras) {
        self.proof_calls += later.proof_calls;
        if !later.ranks.is_empty() {
            self.ranks = later.ranks;
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFailure {
    pub rank: u32,
    pub host: String,
    /// The error in words, with the remedy.
    pub message: String,
    pub is_wrong_bytes: bool,
    /// The technique whose calls the kernel of the rank's node refuses, and the kernel's error.
    pub refused: Option<(TechniqueName, String)>,
}

#[cfg(test)]
mod tests {
    use vectored_results::model::{Target, Workload};

    use super::*;

    #[test]
    fn an_end_has_room_for_one_call_at_least() {
        let cell = CellSpec::write(Target::Null, Workload::uniform(3, 100));
        for (bytes, calls) in [(299, 1), (300, 1), (1000, 3), (u64::MAX, u32::MAX)] {
            assert_eq!(CellSetup::with_room(bytes, &cell).max_calls, calls);
        }
    }
}
