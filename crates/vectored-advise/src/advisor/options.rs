//! Settings of an analysis.

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Longest time that a byte may wait for later bytes, in ns.
    pub max_delay_ns: u64,
    /// Size at which a merged call is complete, in bytes.
    pub buffer_bytes: u64,
    /// Whether the log is known to hold every call that matters, since it was recorded with all of them.
    pub shows_all: bool,
    /// Whether strace made the calls slower. The least time that strace added to the calls of the thread is then
    /// subtracted from each gap.
    pub deflates: bool,
    /// Looks at a path on this machine, where the files of the log may be. If `look` is `None`, each opened path counts
    /// as a file without another name.
    pub look: Option<Look>,
}

/// Looks at a path; `None` if the path leads to nothing.
pub type Look = fn(&[u8]) -> Option<Seen>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub inode: (u64, u64),
    pub is_fifo: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_delay_ns: 10_000_000,
            buffer_bytes: 64 * 1024,
            shows_all: false,
            deflates: false,
            look: None,
        }
    }
}
