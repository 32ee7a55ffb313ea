//! When what is written to a file has to be on its device.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What of a write to a file has to be on the device before the next call.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SyncMode {
    /// Nothing: the kernel writes it back when it likes.
    #[default]
    None,
    /// The data, before each system call returns: `O_DSYNC`.
    Dsync,
    /// The data and all of the file's metadata, likewise: `O_SYNC`.
    Sync,
    /// Both, by one `fsync(2)` after each call of the technique, which is part
    /// of the call's time.
    Fsync,
}

impl SyncMode {
    /// All, the usual one first.
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
