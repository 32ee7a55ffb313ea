//! Lists that go in several calls although one would take them.

/// When a list goes in several calls although one would take it, and how long these are.
///
/// A pipe wakes its reader when a call ends, or when it is full and the writer has to wait. One long call fills the
/// pipe, and the writer sleeps while the reader empties it. In shorter calls the reader begins with the first of
/// them, and both work at the same time. This gains where lists are long, and where a program writes list behind
/// list. So a [`Gather`](crate::Gather) tells these lists apart:
///
/// - a list of up to one and a half pieces goes in one call;
/// - a longer one goes in pieces if it begins within 0.5 µs after the end of the last long list into the same
///   descriptor (the clock is read at both ends of these lists only), or if it has more than `threshold_bytes`;
///   the last piece may be half as long again as the others;
/// - any other list goes in one call.
///
/// Measured with the reader on another CPU and free to run (2-core Zen 4 VM, Linux 6.18, 6 to 90 segments of
/// 777 to 4000 bytes, `cargo bench -p vectored-bench --bench pipes`): without a pause between the lists, calls of
/// 8 KiB take 0.3 to 0.45 times as long as one call a list (geometric mean of 30 kinds of lists). With a pause of
/// 1 µs or 10 µs, calls of 8 KiB take 1 to 2 times as long as one call for lists of up to half a pipe, and 0.25 to 0.8
/// times for longer ones.
///
/// Where both must share one CPU, or the others are busy, it is the other way round: calls of 8 KiB take 1.4 to 2.2
/// times as long, since each call wakes the reader. A program that knows so sets `chunk_policy` to `None`.
///
/// Use a model of a pipe for pipes only. Lists of 32 to 256 KiB behind one another took 2 to 4 times as long in calls of
/// 8 KiB as in one call on a Unix socket, and 1 to 1.4 times on TCP (2-core VM, segments of 4000 bytes).
///
/// Between the calls other writers may come in, as they may within one of more than `PIPE_BUF` bytes (pipe(7)).
///
/// # Examples
///
/// ```
/// use vectored::{CostModel, Gather, ChunkPolicy, TargetKind};
///
/// let of_pipes = CostModel::default_for(TargetKind::Pipe);
/// assert_eq!(of_pipes.chunk_policy, Some(ChunkPolicy { threshold_bytes: 32_768, chunk_bytes: 8_192 }));
///
/// // The writer shares its CPU with the reader.
/// let gather = Gather::new(CostModel { chunk_policy: None, ..of_pipes });
/// # let _ = gather;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChunkPolicy {
    /// A list of more bytes, and of more than a piece, goes in pieces even after a pause. No more than this is
    /// staged.
    #[cfg_attr(feature = "serde", serde(rename = "beyond_bytes"))]
    pub threshold_bytes: usize,
    /// The most bytes of a call then; 0 is taken for 1. A piece ends with a segment where that leaves it
    /// half full or more, and within one otherwise. (So a pipe of packets, of `O_DIRECT`, gets other
    /// packets of a list in pieces than of a whole one.)
    #[cfg_attr(feature = "serde", serde(rename = "piece_bytes"))]
    pub chunk_bytes: usize,
}

impl ChunkPolicy {
    /// Those of a pipe: half of what it holds unless told otherwise (pipe(7), "Pipe capacity").
    pub const OF_PIPES: ChunkPolicy = ChunkPolicy {
        threshold_bytes: 32 << 10,
        chunk_bytes: 8 << 10,
    };
}
