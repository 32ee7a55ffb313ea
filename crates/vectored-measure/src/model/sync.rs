//! Durability of writes to a file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How durable each write to a file must be before the next call.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SyncMode {
    /// Not at all: the kernel writes it back later.
    #[default]
    None,
    /// The data, before each system call returns: `O_DSYNC`.
    Dsync,
    /// The data and all metadata of the file, before each system call returns: `O_SYNC`.
    Sync,
    /// Both, by one `fsync(2)` after each call of the technique, which is part of the timed call.
    Fsync,
}

impl SyncMode {
    /// All modes, the default first.
    pub const ALL: [SyncMode; 4] = [
        SyncMode::None,
        SyncMode::Dsync,
        SyncMode::Sync,
        SyncMode::Fsync,
    ];

    /// The name, the same on the command line, in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            SyncMode::None => "none",
            SyncMode::Dsync => "dsync",
            SyncMode::Sync => "sync",
            SyncMode::Fsync => "fsync",
        }
    }
}

impl fmt::Display for SyncMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
