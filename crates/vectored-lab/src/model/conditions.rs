//! The conditions that comparable cells share.

use serde::{Deserialize, Serialize};

use crate::model::drain::Drain;
use crate::model::sync::SyncMode;
use crate::model::target::Target;
use crate::model::workload::{Cache, IovecSetup, Layout, Operation, PageCache};

/// All properties of a cell except its list of segments. Cells are comparable only if these are equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Where the bytes went, or came from.
    pub target: Target,
    /// The path, if the target was named by one.
    pub path: Option<String>,
    /// Whether the bytes were written or read.
    pub operation: Operation,
    /// How the segments lay in memory.
    pub layout: Layout,
    /// State of the CPU's caches.
    pub cache: Cache,
    /// State of the page cache of a file that was read.
    pub page_cache: Option<PageCache>,
    /// When the iovec array was filled.
    pub iovec_setup: IovecSetup,
    /// How durable each call was before the next one.
    pub sync: SyncMode,
    /// Whether a file was written or read with `O_DIRECT`.
    pub direct: bool,
    /// How the target was emptied or filled. With a thread at the other end, times depend on two threads.
    pub drain: Option<Drain>,
    /// Transfers that asynchronous techniques kept in flight.
    pub queue_depth: u32,
    /// Writers that started each sample together. `None` if the measuring thread wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writers: Option<u32>,
    /// Ranks of a cluster that started each sample together. `None` if one process measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}
