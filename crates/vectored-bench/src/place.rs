//! Where cells write to.

use std::fmt;
use std::path::{Path, PathBuf};

use vectored_lab::model::{Cell, Target};

/// A target, and for files which file system it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A file that is appended to, on the file system of the working directory.
    File,
    /// A file that is overwritten in place there.
    FileOverwrite,
    /// The same on tmpfs, in `/dev/shm`.
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

/// Where Linux mounts a tmpfs for everyone (`shm_open(3)`).
const SHARED_MEMORY: &str = "/dev/shm";

impl Place {
    /// Every place, in the order of the tables.
    pub const ALL: [Place; 7] = [
        Place::File,
        Place::FileOverwrite,
        Place::Tmpfs,
        Place::Pipe,
        Place::Unix,
        Place::Tcp,
        Place::Null,
    ];

    /// What the lab calls it.
    pub fn target(self) -> Target {
        match self {
            Place::File => Target::File,
            Place::FileOverwrite | Place::Tmpfs => Target::FileOverwrite,
            Place::Pipe => Target::Pipe,
            Place::Unix => Target::Unix,
            Place::Tcp => Target::Tcp,
            Place::Null => Target::Null,
        }
    }

    /// The folder of its file, where that is not the one of the run.
    pub fn path(self) -> Option<PathBuf> {
        (self == Place::Tmpfs).then(|| Path::new(SHARED_MEMORY).to_owned())
    }

    /// Where a cell was.
    pub fn of(cell: &Cell) -> Option<Place> {
        let is_here = |place: &Place| {
            let path = place.path();
            cell.target == place.target() && cell.path.as_deref().map(Path::new) == path.as_deref()
        };
        Place::ALL.into_iter().find(is_here)
    }

    /// Whether bytes go through a socket or a pipe.
    pub fn is_stream(self) -> bool {
        matches!(self, Place::Pipe | Place::Unix | Place::Tcp)
    }

    /// The name, the same on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Place::Tmpfs => "tmpfs",
            place => place.target().name(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
