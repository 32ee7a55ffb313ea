//! What cells have in common that can be compared.

use serde::{Deserialize, Serialize};

use crate::model::drain::Drain;
use crate::model::sync::SyncMode;
use crate::model::target::Target;
use crate::model::workload::{Cache, IovecSetup, Layout, Operation, PageCache};

/// Everything of a cell but its list of segments. Only cells that share it say
/// something of each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Where the bytes went, or came from.
    pub target: Target,
    /// Which one, where it was named by its path.
    #[serde(default)]
    pub path: Option<String>,
    /// Which way they went.
    pub operation: Operation,
    /// How the segments lay in memory.
    pub layout: Layout,
    /// State of the CPU's caches.
    pub cache: Cache,
    /// State of the page cache of a file that was read.
    pub page_cache: Option<PageCache>,
    /// When the iovec array was filled.
    pub iovec_setup: IovecSetup,
    /// What was synced, and when.
    pub sync: SyncMode,
    /// How the target was emptied, or filled: with a thread at the other end
    /// times are of two threads, not one.
    pub drain: Option<Drain>,
}
