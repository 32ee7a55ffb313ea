//! When a queue copies, and how many bytes it holds and passes to a call.

use crate::cost::{CostModel, TargetKind};
use crate::sys::limits::MAX_CALL_BYTES;

/// When a [`SegmentQueue`](crate::SegmentQueue) copies, how many bytes it holds, and how long the calls are. All fields
/// are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct QueuePolicy {
    /// The longest segment that [`push`](crate::SegmentQueue::push) copies, in bytes. A longer segment is kept, and
    /// referenced when it is written. 0 copies no segment.
    ///
    /// It is the length at which copying and keeping take the same time, if a call has some segments with short copied
    /// heads. With one segment a call, copying is faster up to 2 to 4 times that length.
    pub copy_below_bytes: usize,
    /// The bytes that are copied together for a writer that does not gather, such as the TLS stream of
    /// tokio-native-tls: one call then writes them instead of several calls. A single segment of this size or more is
    /// passed on as it is.
    ///
    /// It is the length at which copying two messages of that many bytes in all into one call takes as long as two calls.
    pub join_below_bytes: usize,
    /// The queue is full if it holds this many bytes. [`try_push`](crate::SegmentQueue::try_push) then refuses
    /// segments. `push`, `put_slice` and the traits `Write` and `BufMut` cannot refuse segments: the queue may exceed
    /// this limit.
    pub limit_bytes: usize,
    /// The most bytes of a call. A record is not cut. Without records, the last call may be up to half as long again. 0
    /// counts as 1. See [`ChunkPolicy`](crate::cost::ChunkPolicy).
    pub chunk_bytes: usize,
    /// The most memory that an empty queue keeps for copied bytes, for its list of kept segments, and for its list of
    /// ends of records: each of the three has this limit. Memory beyond that is freed when the queue becomes empty.
    pub retained_bytes: usize,
    /// The bytes after which `poll_write_to` lets other tasks run.
    pub poll_budget_bytes: usize,
}

impl QueuePolicy {
    /// The default policy for a kind of target.
    ///
    /// The two thresholds were measured on one machine (2-core Zen 4 VM, Linux 6.18) by the bench `queue`, with 1 MiB of other
    /// memory read before each write. `Other` was not measured: its `join_below_bytes` is the longest record of TLS.
    ///
    /// One `copy_below_bytes` serves calls of one value and of many. No constant suits all machines. On another machine,
    /// [`from_model`](Self::from_model) with a calibrated model was within 4 % of the better way.
    #[must_use]
    pub const fn for_target(kind: TargetKind) -> QueuePolicy {
        let other = QueuePolicy {
            copy_below_bytes: 3 << 10,
            join_below_bytes: 16 << 10,
            limit_bytes: 1 << 20,
            chunk_bytes: MAX_CALL_BYTES,
            retained_bytes: 256 << 10,
            poll_budget_bytes: 1 << 20,
        };
        match kind {
            TargetKind::Other => other,
            TargetKind::File | TargetKind::FileOverwrite => QueuePolicy {
                join_below_bytes: 48 << 10,
                limit_bytes: 2 << 20,
                ..other
            },
            TargetKind::Pipe => QueuePolicy {
                chunk_bytes: 8 << 10,
                ..other
            },
            TargetKind::Unix | TargetKind::Tcp => QueuePolicy {
                join_below_bytes: 64 << 10,
                ..other
            },
        }
    }

    /// The policy that follows from a cost model, for example a calibrated model.
    ///
    /// The two thresholds are the [measured thresholds](CostModel::queue_thresholds) of the model. A threshold that was
    /// not measured follows from the costs, in bytes:
    ///
    /// ```text
    /// copy_below_bytes = (2 · large_segment_ns + gather_call_ns / 4) / copy_byte_ns,
    ///                    at least 1024 and at most 6144
    /// join_below_bytes = (call_ns + 1000 ns) / copy_byte_uncached_ns,
    ///                    at least 4096 and at most 65,536
    /// ```
    ///
    /// The second `large_segment_ns` stands for the cost of keeping a segment, besides its `iovec`. The 1000 ns stand for
    /// the extra cost of a call after other work.
    ///
    /// [`chunk_bytes`](QueuePolicy::chunk_bytes) comes from the model. All other fields come from
    /// [`TargetKind::Other`], since a model has no kind of target. For a file, take the higher limit of its kind:
    /// `policy.limit_bytes = QueuePolicy::for_target(TargetKind::File).limit_bytes`.
    #[must_use]
    pub fn from_model(model: &CostModel) -> QueuePolicy {
        let other = QueuePolicy::for_target(TargetKind::Other);
        QueuePolicy {
            copy_below_bytes: model.queue_copy_below_bytes(),
            join_below_bytes: model.queue_join_below_bytes(),
            chunk_bytes: model
                .chunk_policy
                .map_or(other.chunk_bytes, |policy| policy.chunk_bytes),
            ..other
        }
    }
}

impl Default for QueuePolicy {
    /// The policy for [`TargetKind::Other`].
    fn default() -> QueuePolicy {
        QueuePolicy::for_target(TargetKind::Other)
    }
}
