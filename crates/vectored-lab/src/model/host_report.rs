//! What a machine offers to programs that move several buffers: the contract
//! of `vectored host`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::results::{Host, Ruler};

/// The value of [`HostReport::schema`].
pub const HOST_SCHEMA: &str = "vectored-host/1";

/// A machine, and what it answered when it was asked.
///
/// Sizes are in bytes. Fields may be added; those that are here keep their
/// meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostReport {
    /// Always [`HOST_SCHEMA`].
    pub schema: String,
    /// The version of `vectored` that asked.
    pub vectored_version: String,
    /// The machine, as in the results of a run. What a run alone can tell is
    /// null here.
    pub host: Host,
    /// Why a field of `host` is null, by its name with dots, where something
    /// went wrong; why the flags are empty, if no file could be made.
    pub unknown: BTreeMap<String, String>,
    /// The clock, measured.
    pub ruler: Ruler,
    /// What io_uring is good for here.
    pub io_uring: IoUringOffer,
    /// The flags of `pwritev2`, each tried on an unnamed file in the directory.
    pub write_flags: Vec<FlagAnswer>,
    /// The same for `preadv2`.
    pub read_flags: Vec<FlagAnswer>,
    /// What direct I/O asks for in the directory.
    pub direct_io: DirectOffer,
    /// Limits and defaults of pipes and sockets.
    pub buffers: BufferLimits,
    /// Huge pages.
    pub huge_pages: HugePages,
}

/// Something that was found out, or why it was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known<T> {
    /// It is this.
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

    /// The same about another form of it.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Known<U> {
        match self {
            Known::Value(value) => Known::Value(change(value)),
            Known::Unknown(why) => Known::Unknown(why),
        }
    }
}

/// io_uring, as its own probe tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoUringOffer {
    /// A ring could be made. If not: the error's name and its likely cause.
    pub ring: Known<bool>,
    /// The sysctl `kernel.io_uring_disabled` (since Linux 6.6): 0 for all, 1
    /// for one group only, 2 for nobody.
    pub disabled_sysctl: Known<u64>,
    /// Operations as `[name, supported]`; empty without a ring.
    pub operations: Vec<(String, bool)>,
    /// Why operations are unknown although there is a ring.
    pub operations_unknown: Option<String>,
    /// What this process may lock in memory, which bounds registered buffers;
    /// null where there is no limit.
    pub memlock_bytes: Option<u64>,
}

/// One flag: `ok`, or the name of the error. That a flag is taken does not
/// prove that it does something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagAnswer {
    /// Its name without `RWF_`.
    pub flag: String,
    /// Through the page cache.
    pub buffered: String,
    /// Past it; null where no file could be opened so.
    pub direct: Option<String>,
}

/// `O_DIRECT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectOffer {
    /// A file of the directory could be switched to `O_DIRECT`: `ok`, or the
    /// name of the error; `unknown: ` and the reason if no file could be made.
    pub open: String,
    /// Alignment of memory by `STATX_DIOALIGN`.
    pub memory_bytes: Known<u64>,
    /// Alignment of offsets and lengths by `STATX_DIOALIGN`.
    pub offset_bytes: Known<u64>,
}

/// Limits and defaults of pipes and sockets, beside those in [`Host`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferLimits {
    /// Largest pipe without privilege: `fs.pipe-max-size`.
    pub pipe_max_bytes: Known<u64>,
    /// `net.core.wmem_default` and `wmem_max`.
    pub wmem_default_bytes: Known<u64>,
    /// See [`BufferLimits::wmem_default_bytes`].
    pub wmem_max_bytes: Known<u64>,
    /// `net.core.rmem_default` and `rmem_max`.
    pub rmem_default_bytes: Known<u64>,
    /// See [`BufferLimits::rmem_default_bytes`].
    pub rmem_max_bytes: Known<u64>,
    /// `net.ipv4.tcp_wmem`: least, default, most.
    pub tcp_wmem_bytes: Known<[u64; 3]>,
    /// `net.ipv4.tcp_rmem`: least, default, most.
    pub tcp_rmem_bytes: Known<[u64; 3]>,
}

/// Pages larger than the usual ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePages {
    /// `always`, `madvise` or `never`.
    pub transparent: Known<String>,
    /// Size of one that is reserved.
    pub page_bytes: Known<u64>,
    /// How many are reserved.
    pub reserved: Known<u64>,
}
