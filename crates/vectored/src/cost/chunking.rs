//! Lists that are sent in several calls although one call could take them.

/// When a list is sent in several calls (*chunks*) although one call could take it, and how long the chunks are.
///
/// It is final: no field will be added.
///
/// A pipe wakes its reader when a call ends, or when the pipe is full and the writer has to wait. One long call fills
/// the pipe, and the writer sleeps while the reader empties it. With shorter calls the reader starts after the first
/// one, and both work at the same time. So a list of more than `threshold_bytes`, and of more than one chunk, is sent in
/// chunks; any other list is sent in one call.
///
/// Figures with a reader of 64 KiB buffers on another CPU (2-core Zen 4 VM, Linux 6.18, plain C, 41 rounds in turns),
/// for lists of 42 to 70 KB and a pause of the writer of 0, 1, 3 or 10 µs before each list: calls of 8 KiB took at
/// most 1.26 times as long as the best, one call 1.0 to 5.4 times. A pipe that nobody reads meanwhile takes one call:
/// calls of 8 KiB took 1.3 to 1.4 times as long. Rules by the pause before a list, or by `FIONREAD`, took 0.5 to 3.7
/// times as long as the best: they learn too late whether a reader is at work.
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
/// use vectored::{CostModel, Gather};
/// use vectored::cost::TargetKind;
/// use vectored::cost::ChunkPolicy;
///
/// let for_pipes = CostModel::for_target(TargetKind::Pipe);
/// assert_eq!(for_pipes.chunk_policy, Some(ChunkPolicy { threshold_bytes: 28_672, chunk_bytes: 8_192 }));
///
/// // The writer shares its CPU with the reader.
/// let gather = Gather::with_model(for_pipes.with(|costs| costs.chunk_policy = None));
/// # let _ = gather;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChunkPolicy {
    /// A list of more bytes than this, and of more than `chunk_bytes` and `PIPE_BUF`, is sent in chunks. No call stages more
    /// bytes than the largest of the three.
    pub threshold_bytes: usize,
    /// The bytes of a chunk; the last one may have up to half as many more. 0 counts as 1.
    ///
    /// The segment that does not fit a chunk is cut, and its first part is referenced even if the segment is small. Calls of whole pages took 0.75 times as long as calls that end
    /// with a segment (9 kinds of lists without a pause, 3 runs in turns with a reader of 64 KiB buffers). On a pipe in packet
    /// mode, `O_DIRECT`, a list in chunks becomes other packets than a list in one call.
    pub chunk_bytes: usize,
}

impl ChunkPolicy {
    /// The policy for pipes: chunks of 8 KiB, of lists of more than 28 KiB.
    ///
    /// With a reader of 64 KiB buffers on another CPU (Zen 4, 41 rounds in turns, pauses of 0 to 20 µs before each list),
    /// chunks of lists of 13 to 24 KB took 1.1 to 1.5 times as long as one call, and of 27 KB 0.96 to 1.3 times. From 31 KB on
    /// one call may fill the pipe: chunks took 0.5 to 0.6 times as long in half of the cases, and 1.1 to 1.9 times in the others.
    pub const OF_PIPES: ChunkPolicy = ChunkPolicy {
        threshold_bytes: 28 << 10,
        chunk_bytes: 8 << 10,
    };
}
