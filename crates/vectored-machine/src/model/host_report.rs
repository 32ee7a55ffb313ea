//! Features and limits that a machine offers to programs that move several buffers: the contract of `vectored host`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::host::{Host, Timer};

/// The value of [`HostReport::schema`].
pub const HOST_SCHEMA: &str = "vectored-host/1";

/// A machine and what was probed on it.
///
/// Sizes are in bytes. Fields may be added; existing ones keep their meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostReport {
    /// Always [`HOST_SCHEMA`].
    pub schema: String,
    /// The version of `vectored` that probed.
    pub vectored_version: String,
    /// The machine, as in the results of a run. Fields that only a run can fill are null.
    pub host: Host,
    /// The reason for each field of `host` that could not be determined, by its dotted name; also the
    /// reason for empty flag lists.
    pub unknown: BTreeMap<String, String>,
    /// The cost of the clock.
    pub timer: Timer,
    /// Support for io_uring.
    pub io_uring: IoUringOffer,
    /// The flags of `pwritev2`, each tried on an unnamed file in the directory.
    pub write_flags: Vec<FlagAnswer>,
    /// The flags of `preadv2`, tried in the same way.
    pub read_flags: Vec<FlagAnswer>,
    /// Requirements of direct I/O in the directory.
    pub direct_io: DirectOffer,
}

/// A value, or the reason why it is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known<T> {
    /// The value.
    Value(T),
    /// The reason, as `permission denied reading /proc/…`.
    Unknown(String),
}

impl<T> Known<T> {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Known::Value(value) => Some(value),
            Known::Unknown(_) => None,
        }
    }
}

/// io_uring, as reported by its probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoUringOffer {
    /// Whether a ring can be created. If not: the name of the error and its likely cause.
    pub ring: Known<bool>,
    /// The sysctl `kernel.io_uring_disabled` (since Linux 6.6): 0 enabled for all, 1 for one group only,
    /// 2 disabled.
    pub disabled_sysctl: Known<u64>,
    /// Operations as `[name, supported]`; empty without a ring.
    pub operations: Vec<(String, bool)>,
    /// Why the operations are unknown although a ring can be created.
    pub operations_unknown: Option<String>,
    /// The limit on locked memory, which bounds registered buffers; null if there is none.
    pub memlock_bytes: Option<u64>,
}

/// The answer to one flag: `ok`, or the name of the error. An accepted flag need not have an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagAnswer {
    /// The name of the flag, without `RWF_`.
    pub flag: String,
    /// The answer for a file opened through the page cache.
    pub buffered: String,
    /// The answer with `O_DIRECT`; null if no file could be opened that way.
    pub direct: Option<String>,
}

/// `O_DIRECT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectOffer {
    /// Whether a file in the directory can be switched to `O_DIRECT`: `ok`, the name of the error, or
    /// `unknown: ` and the reason if no file could be created.
    pub open: String,
    /// Alignment of memory, from `STATX_DIOALIGN`.
    pub memory_bytes: Known<u64>,
    /// Alignment of offsets and lengths, from `STATX_DIOALIGN`.
    pub offset_bytes: Known<u64>,
}
