//! The policy for lists that are sent in chunks.

/// The policy for lists that are sent in several calls (*chunks*), although one call could take each list.
///
/// This type is final: no field will be added.
///
/// A list is sent in chunks if it is longer than `threshold_bytes` and longer than one chunk. Any other list is
/// sent in one call.
///
/// A pipe wakes its reader at the end of a call, or when the pipe is full and the writer has to wait. One long
/// call fills the pipe, and the writer sleeps until the reader has emptied the pipe. With shorter calls, the
/// reader starts after the first call, and both processes work at the same time.
///
/// The times of lists of 42 to 70 KB were measured with a reader on another CPU (2-core Zen 4 VM, Linux 6.18,
/// pauses of 0 to 10 µs between the lists). Calls of 8 KiB took at most 1.26 times the time of the fastest way.
/// One call took 1.0 to 5.4 times the time of the fastest way.
///
/// Set `chunk_policy` to `None` if no process reads during the write, or if writer and reader share one CPU. In
/// these cases, calls of 8 KiB took 1.3 to 2.2 times as long as one call.
///
/// Use a chunk policy for pipes only. On a Unix socket, calls of 8 KiB took 2 to 4 times the time of one call for
/// lists of 32 to 256 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChunkPolicy {
    /// A list is sent in chunks if it is longer than `threshold_bytes`, `chunk_bytes` and `PIPE_BUF`. No call
    /// stages more bytes than the largest of these three numbers.
    pub threshold_bytes: usize,
    /// The bytes of a chunk. The last chunk may have up to 1.5 times as many bytes. 0 counts as 1.
    ///
    /// A segment that does not fit a chunk is split, because calls of whole pages took 0.75 of the time of calls
    /// that end with a segment. On a pipe in packet mode (`O_DIRECT`, pipe(2)), the chunks become separate
    /// packets.
    pub chunk_bytes: usize,
}

impl ChunkPolicy {
    /// The policy for pipes: lists of more than 28 KiB are sent in chunks of 8 KiB.
    ///
    /// For shorter lists, chunks took 1.1 to 1.5 times the time of one call. A call of 31 KB or more may fill the
    /// pipe.
    pub const OF_PIPES: ChunkPolicy = ChunkPolicy {
        threshold_bytes: 28 << 10,
        chunk_bytes: 8 << 10,
    };
}
