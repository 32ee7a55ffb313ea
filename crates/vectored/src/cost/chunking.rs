//! Lists that are sent in several calls although one call could take them.

/// When a list is sent in several calls (*chunks*) although one call could take it, and how long the chunks are.
///
/// This type is final: no field will be added.
///
/// A pipe wakes its reader when a call ends, or when the pipe is full and the writer has to wait. One long call fills the
/// pipe, and the writer sleeps while the reader empties it. With shorter calls the reader starts after the first call,
/// and both work at the same time. So a list of more than `threshold_bytes`, and of more than one chunk, is sent in
/// chunks; any other list is sent in one call.
///
/// With a reader on another CPU, lists of 42 to 70 KB in calls of 8 KiB took at most 1.26 times as long as the best way.
/// Lists in one call took 1.0 to 5.4 times as long (2-core Zen 4 VM, Linux 6.18, pauses of 0 to 10 µs between the lists).
/// Where nobody reads meanwhile, or writer and reader share one CPU, calls of 8 KiB took 1.3 to 2.2 times as long as one
/// call: a program that knows this sets `chunk_policy` to `None`.
///
/// Use a chunk policy for pipes only: on a Unix socket lists of 32 to 256 KiB took 2 to 4 times as long in calls of 8 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChunkPolicy {
    /// A list of more bytes than this, and of more than `chunk_bytes` and `PIPE_BUF`, is sent in chunks. No call stages more
    /// bytes than the largest of the three.
    pub threshold_bytes: usize,
    /// The bytes of a chunk. The last chunk may be up to half as long again. 0 counts as 1.
    ///
    /// A segment that does not fit a chunk is cut, since calls of whole pages took 0.75 times as long as calls that end
    /// with a segment. On a pipe in packet mode, `O_DIRECT`, a list in chunks becomes other packets than a list in one
    /// call.
    pub chunk_bytes: usize,
}

impl ChunkPolicy {
    /// The policy for pipes: chunks of 8 KiB, of lists of more than 28 KiB.
    ///
    /// Chunks of shorter lists took 1.1 to 1.5 times as long as one call. From 31 KB on, one call may fill the pipe.
    pub const OF_PIPES: ChunkPolicy = ChunkPolicy {
        threshold_bytes: 28 << 10,
        chunk_bytes: 8 << 10,
    };
}
