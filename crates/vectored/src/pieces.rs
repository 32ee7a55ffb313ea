//! Lists that go in several calls although one would take them.

/// When a list goes in several calls although one would take it, and how long these are.
///
/// A pipe wakes its reader when a call ends, or when it is full and the writer has to wait. So the
/// writer of a list that is longer than the pipe fills it alone, sleeps while the reader empties it,
/// and so on in turns; in shorter calls the reader begins with the first of them, and both work at
/// the same time. With the reader on another CPU and free to run, lists of 64 KiB to 2 MiB took
/// 0.5 to 0.8 times as long in calls of 8 KiB as in one, those of 16 KiB and of 4 KiB 0.65 to 0.85
/// times (2-core x86-64 VM, Linux 6.18, readers that ask for 4 KiB to 1 MiB). Where both must share
/// one CPU, or the others are busy, it is the other way round: 1.4 to 2.2 times, since each call wakes
/// the reader. A program that knows so sets `pieces` to `None`.
///
/// On another machine (Zen 4, also 2 CPUs) a program that writes list behind list without a moment between
/// them, in segments of 2000 to 8192 bytes, is faster by one `write(2)` a segment, 1.1 to 2 times: there the
/// reader never falls asleep. With a microsecond or more between the lists no difference is sure.
///
/// Between the calls other writers may come in, as they may within one of more than `PIPE_BUF` bytes
/// (pipe(7)). Lists that a pipe holds go in one call as ever.
///
/// # Examples
///
/// ```
/// use vectored::{CostModel, Gather, Pieces, TargetKind};
///
/// let of_pipes = CostModel::default_for(TargetKind::Pipe);
/// assert_eq!(of_pipes.pieces, Some(Pieces { beyond_bytes: 65_536, piece_bytes: 8_192 }));
///
/// // The writer shares its CPU with the reader.
/// let gather = Gather::new(CostModel { pieces: None, ..of_pipes });
/// # let _ = gather;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pieces {
    /// A list of more bytes, and of more than a piece, goes in pieces: what the target holds without a
    /// reader. No more than this is staged.
    pub beyond_bytes: usize,
    /// The most bytes of a call then; 0 is taken for 1. A piece ends with a segment where that leaves it
    /// half full or more, and within one otherwise. (So a pipe of packets, of `O_DIRECT`, gets other
    /// packets of a list in pieces than of a whole one.)
    pub piece_bytes: usize,
}

impl Pieces {
    /// Those of a pipe: it holds 64 KiB unless told otherwise (pipe(7), "Pipe capacity").
    pub const OF_PIPES: Pieces = Pieces {
        beyond_bytes: 64 << 10,
        piece_bytes: 8 << 10,
    };
}
