//! Settings of an analysis.

/// What is asked of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// No byte may wait longer for those after it, in ns.
    pub max_delay_ns: u64,
    /// A merged call is complete when it has so many bytes.
    pub buffer_bytes: u64,
    /// Whether the log is known to hold every call that matters, filtered or not: it was made so.
    pub shows_all: bool,
    /// Whether times are strace's: from the gap between two calls goes what strace adds at least to each
    /// call of the thread in between, as far as the log tells.
    pub deflates: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_delay_ns: 10_000_000,
            buffer_bytes: 64 * 1024,
            shows_all: false,
            deflates: false,
        }
    }
}
