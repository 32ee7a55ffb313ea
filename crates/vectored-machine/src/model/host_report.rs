//! Features and limits that a machine offers to programs that move several buffers: the contract of `vectored host`.

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
    /// The cost of the clock.
    pub timer: Timer,
    /// Whether an io_uring can be made. If not: why, and the remedy.
    pub io_uring: Known<bool>,
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

/// `O_DIRECT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectOffer {
    /// Whether a file in the directory can be switched to `O_DIRECT`: `ok`, the error, or
    /// `unknown: ` and the reason if no file could be created.
    pub open: String,
    /// Alignment of memory, from `STATX_DIOALIGN`.
    pub memory_bytes: Known<u64>,
    /// Alignment of offsets and lengths, from `STATX_DIOALIGN`.
    pub offset_bytes: Known<u64>,
}
