//! The conditions that a user asks for.

use std::path::Path;

use serde::{Deserialize, Serialize};
use vectored_machine::model::Operation;

use crate::model::sync::SyncMode;
use crate::model::target::Target;
use crate::model::workload::{Cache, IovecSetup, Layout, PageCache};

/// The conditions that a cell is measured under, beside its list of segments. Cells are comparable only if they are
/// equal. Properties that are found out later, such as the alignment for `O_DIRECT`, stand beside them.
///
/// The order is that of the sections of a report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Conditions {
    /// The target or source of the bytes.
    pub target: Target,
    /// The path, if a user named the target by one: the directory of a file, a FIFO, a socket or a device; of a
    /// [`Target::Remote`], its address.
    pub path: Option<String>,
    /// Whether the bytes are written or read.
    pub operation: Operation,
    /// Whether a file is written or read past the page cache, with `O_DIRECT`.
    pub direct: bool,
    /// The state of the page cache, for a file that is read through it.
    pub page_cache: Option<PageCache>,
    /// How durable each write to a file must be before the next call.
    pub sync: SyncMode,
    /// The state of the CPU's caches.
    pub cache: Cache,
    /// How the segments lie in memory.
    pub layout: Layout,
    /// When the iovec array is filled.
    pub iovec_setup: IovecSetup,
    /// Transfers that asynchronous techniques keep in flight: 1 to [`MAX_QUEUE_DEPTH`](crate::model::MAX_QUEUE_DEPTH).
    /// Synchronous ones have one at a time.
    pub queue_depth: u32,
    /// Writers that start each sample together. Each list of segments is a record then, and times are those in which
    /// each of the writers writes one record. `None`: the measuring thread writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writers: Option<u32>,
    /// Ranks of a cluster that start each sample together, each on a target of its own. Times are those of the slowest
    /// rank, from its own start to its own end. `None`: this process alone, or with a
    /// [`RankedSampler`](crate::measure::RankedSampler) all ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

impl Conditions {
    /// Writes with every other property at its default.
    pub fn write(target: Target) -> Self {
        Conditions {
            target,
            path: None,
            operation: Operation::Write,
            direct: false,
            page_cache: None,
            sync: SyncMode::None,
            cache: Cache::default(),
            layout: Layout::default(),
            iovec_setup: IovecSetup::default(),
            queue_depth: 1,
            writers: None,
            ranks: None,
        }
    }

    /// Reads with every other property at its default. `page_cache` matters for files only.
    pub fn read(target: Target, page_cache: PageCache) -> Self {
        Conditions {
            operation: Operation::Read,
            page_cache: (target == Target::File).then_some(page_cache),
            ..Conditions::write(target)
        }
    }

    /// The directory of the files: `usual`, unless the target was named by another one.
    pub fn directory_or<'a>(&'a self, usual: &'a Path) -> &'a Path {
        self.path.as_ref().map_or(usual, Path::new)
    }

    /// The target in words, with its path if it has one.
    pub fn place(&self) -> String {
        match &self.path {
            None => self.target.to_string(),
            Some(path) if self.target.is_file() => format!("{} in '{path}'", self.target),
            Some(path) => format!("{} '{path}'", self.target),
        }
    }
}
