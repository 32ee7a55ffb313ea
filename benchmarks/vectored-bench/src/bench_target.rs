//! The targets that cells write to.

use std::fmt;

use vectored_results::model::{Cell, Target};

/// A target of `vectored measure`; for files also their file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BenchTarget {
    /// A file that is appended to, in the working directory.
    File,
    /// A file that is overwritten in place, in the working directory.
    FileOverwrite,
    /// A file that is overwritten in place on tmpfs, in `/dev/shm`.
    Tmpfs,
    /// See [`Target::Pipe`].
    Pipe,
    /// See [`Target::Unix`].
    Unix,
    /// See [`Target::Tcp`].
    Tcp,
    /// See [`Target::Null`].
    Null,
}

/// The tmpfs that every Linux process may use (`shm_open(3)`).
const SHARED_MEMORY: &str = "/dev/shm";

impl BenchTarget {
    /// Every target, in the order of the tables.
    pub const ALL: [BenchTarget; 7] = [
        BenchTarget::File,
        BenchTarget::FileOverwrite,
        BenchTarget::Tmpfs,
        BenchTarget::Pipe,
        BenchTarget::Unix,
        BenchTarget::Tcp,
        BenchTarget::Null,
    ];

    /// The target of `vectored measure`.
    pub fn measured_target(self) -> Target {
        match self {
            BenchTarget::File => Target::File,
            BenchTarget::FileOverwrite | BenchTarget::Tmpfs => Target::FileOverwrite,
            BenchTarget::Pipe => Target::Pipe,
            BenchTarget::Unix => Target::Unix,
            BenchTarget::Tcp => Target::Tcp,
            BenchTarget::Null => Target::Null,
        }
    }

    /// The folder of the file; `None` for the working directory and for what is not a file.
    pub fn path(self) -> Option<&'static str> {
        (self == BenchTarget::Tmpfs).then_some(SHARED_MEMORY)
    }

    /// The target of a cell; `None` if this crate does not measure it.
    pub fn of(cell: &Cell) -> Option<BenchTarget> {
        let is_here = |target: &BenchTarget| {
            cell.conditions.target == target.measured_target()
                && cell.conditions.path.as_deref() == target.path()
        };
        BenchTarget::ALL.into_iter().find(is_here)
    }

    /// Whether it is a socket or a pipe.
    pub fn is_stream(self) -> bool {
        matches!(
            self,
            BenchTarget::Pipe | BenchTarget::Unix | BenchTarget::Tcp
        )
    }

    /// The name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            BenchTarget::Tmpfs => "tmpfs",
            target => target.measured_target().name(),
        }
    }
}

impl fmt::Display for BenchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
