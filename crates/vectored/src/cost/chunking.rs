//! Lists that are sent in several calls although one call could take them.

/// When a list is sent in several calls (*chunks*) although one call could take it, and how long the chunks are.
///
/// A pipe wakes its reader when a call ends, or when the pipe is full and the writer has to wait. One long call fills
/// the pipe, and the writer sleeps while the reader empties it. With shorter calls the reader starts after the first
/// one, and both work at the same time. This is faster if lists are long, or if a program writes one list right after
/// another. So a [`Gather`](crate::Gather) decides:
///
/// - a list of more than `threshold_bytes`, and of more than one chunk, is sent in chunks;
/// - a shorter list of more than 1.5 · `chunk_bytes` (and more than `PIPE_BUF`) is sent in chunks if it begins within
///   0.5 µs of the end of the last such list to the same descriptor. The clock is read at both ends of these lists
///   only;
/// - any other list is sent in one call.
///
/// Measured with the reader on another CPU that was free (2-core Zen 4 VM, Linux 6.18, 6 to 90 segments of
/// 777 to 4000 bytes, by the bench `pipes`): without a pause between the lists, calls of 8 KiB
/// took 0.3 to 0.45 times as long as one call a list (geometric mean of 30 kinds of lists). With a pause of
/// 1 µs or 10 µs, calls of 8 KiB took 1 to 2 times as long as one call for lists of up to half a pipe, and 0.25 to 0.8
/// times for longer ones.
///
/// If the writer and the reader share one CPU, or the other CPUs are busy, chunks are slower: calls of 8 KiB took 1.4
/// to 2.2 times as long, since each call wakes the reader. A program that knows this sets `chunk_policy` to `None`.
///
/// Use a chunk policy for pipes only. Lists of 32 to 256 KiB without a pause between them took 2 to 4 times as long in
/// calls of 8 KiB as in one call on a Unix socket, and 1 to 1.4 times on TCP (2-core VM, segments of 4000 bytes).
///
/// Other writers may write between two chunks, as they may during one call of more than `PIPE_BUF` bytes (pipe(7)).
///
/// # Examples
///
/// ```
/// use vectored::{ChunkPolicy, CostModel, Gather, TargetKind};
///
/// let for_pipes = CostModel::default_for(TargetKind::Pipe);
/// assert_eq!(for_pipes.chunk_policy, Some(ChunkPolicy { threshold_bytes: 32_768, chunk_bytes: 8_192 }));
///
/// // The writer shares its CPU with the reader.
/// let gather = Gather::new(CostModel { chunk_policy: None, ..for_pipes });
/// # let _ = gather;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChunkPolicy {
    /// A list of more bytes than this, and of more than `chunk_bytes`, is sent in chunks even after a pause. No call
    /// stages more bytes than this.
    pub threshold_bytes: usize,
    /// The bytes of a chunk; the last one may have up to half as many more. 0 counts as 1.
    ///
    /// A chunk ends with a segment if it is at least half full there, and otherwise within a segment. (So on a pipe in
    /// packet mode, `O_DIRECT`, a list in chunks becomes other packets than a list in one call.)
    pub chunk_bytes: usize,
}

impl ChunkPolicy {
    /// The policy for pipes: a threshold of 32 KiB, half the default capacity of a pipe (pipe(7), "Pipe capacity"), and
    /// chunks of 8 KiB.
    pub const OF_PIPES: ChunkPolicy = ChunkPolicy {
        threshold_bytes: 32 << 10,
        chunk_bytes: 8 << 10,
    };
}
