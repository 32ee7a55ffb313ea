//! The conditions that a user asks for.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::target::Target;
use crate::model::words::words;
use crate::model::workload::{Cache, IovecSetup, Layout, PageCache};

words! {
    /// How durable each write to a file must be before the next call.
    #[derive(Default)]
    pub enum SyncMode {
        /// A write need not be durable: the kernel writes it back later.
        #[default]
        None = "none",
        /// The data, before each system call returns: `O_DSYNC`.
        Dsync = "dsync",
        /// The data and all metadata of the file, before each system call returns: `O_SYNC`.
        Sync = "sync",
        /// The data and all metadata, by one `fsync(2)` after each call of the technique. The timed call includes the
        /// `fsync(2)`.
        Fsync = "fsync",
    }
}

words! {
    /// What the calls of a cell do.
    #[derive(Default)]
    pub enum Operation {
        /// From the segments into the descriptor.
        #[default]
        Write = "write",
        /// From the descriptor into the segments.
        Read = "read",
        /// From one descriptor into another.
        Copy = "copy",
    }
}

/// The conditions that a cell is measured under, beside its list of segments. Cells are comparable only if their conditions are
/// equal. Properties that are found out later, such as the alignment for `O_DIRECT`, are no conditions.
///
/// The sections of a report have this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Conditions {
    /// The target of the written bytes, or the source of the read bytes.
    pub target: Target,
    /// The path, if a user named the target by a path: the directory of a file or a socket. For a [`Target::Remote`], the
    /// address.
    pub path: Option<String>,
    /// Whether the bytes are written, read or copied.
    pub operation: Operation,
    /// The source of a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Target>,
    /// The buffer of a copy by `read` and `write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u32>,
    /// The capacity of the pipes of a copy. `None`: the capacity of a new pipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipe_bytes: Option<u32>,
    /// Whether a file is written or read past the page cache, with `O_DIRECT`.
    pub direct: bool,
    /// The state of the page cache, for a file that is read or copied through the cache.
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
    /// Synchronous techniques keep one in flight.
    pub queue_depth: u32,
    /// Ranks of a cluster that start each sample together, each on its own target. Times are the times of the slowest rank,
    /// from its start to its end. `None`: only this process, or all ranks if the sampler has ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

impl Conditions {
    /// The usual buffer of a copy. GNU coreutils chose this size by measurements of 2014 (`src/ioblksize.h`).
    pub const COPY_BUFFER_BYTES: u32 = 128 << 10;

    pub fn write(target: Target) -> Self {
        Conditions {
            target,
            queue_depth: 1,
            ..Conditions::default()
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

    pub fn copy(from: Target, to: Target) -> Self {
        let mut conditions = Conditions {
            operation: Operation::Copy,
            ..Conditions::write(to)
        };
        conditions.copy_from(from);
        conditions
    }

    /// Makes `from` the source of copies. A file is in the page cache.
    pub fn copy_from(&mut self, from: Target) {
        self.from = Some(from);
        self.page_cache = (from == Target::File).then(PageCache::default);
        self.buffer_bytes.get_or_insert(Self::COPY_BUFFER_BYTES);
    }

    /// The source of a copy as conditions of reads. If source and target are files, they lie in one directory.
    pub fn source(&self) -> Option<Conditions> {
        let from = self.from?;
        let in_directory = from == Target::File && self.target.is_file();
        Some(Conditions {
            path: self.path.clone().filter(|_| in_directory),
            pipe_bytes: self.pipe_bytes,
            ..Conditions::read(from, self.page_cache.unwrap_or_default())
        })
    }

    /// Where the bytes go, and for a copy also their source: `pipe`, `socket /tmp/x`, `file to pipe`.
    pub fn ends(&self) -> String {
        self.after_source(match &self.path {
            Some(path) => format!("{} {path}", self.target),
            None => self.target.to_string(),
        })
    }

    /// The ends as messages name them: `file in '/tmp'`, `socket '/tmp/x'`.
    pub fn place(&self) -> String {
        self.after_source(match &self.path {
            None => self.target.to_string(),
            Some(path) if self.target.is_file() => format!("{} in '{path}'", self.target),
            Some(path) => format!("{} '{path}'", self.target),
        })
    }

    fn after_source(&self, place: String) -> String {
        match self.from {
            Some(from) => format!("{from} to {place}"),
            None => place,
        }
    }

    /// The directory of the files: `usual`, unless the user named another directory as the target.
    pub fn directory_or<'a>(&'a self, usual: &'a Path) -> &'a Path {
        self.path.as_ref().map_or(usual, Path::new)
    }
}
