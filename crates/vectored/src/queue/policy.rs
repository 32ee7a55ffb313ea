//! The sizes that a queue copies, holds and passes to a call: [`QueuePolicy`].

use crate::cost::{CostModel, TargetKind};
use crate::sys::limits::MAX_CALL_BYTES;

/// The sizes that a [`SegmentQueue`](crate::SegmentQueue) copies, holds and passes to a call. All fields are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct QueuePolicy {
    /// The longest segment that [`push`](crate::SegmentQueue::push) copies. The queue keeps a longer segment, and a
    /// call references the kept segment. With 0, the queue copies no segment.
    ///
    /// At this length, copying and keeping take the same time in a call of a few segments with short copied heads. In a
    /// call of one segment, copying is faster up to 2 to 4 times this length.
    pub copy_below_bytes: usize,
    /// The number of bytes that are copied together for a writer that does not gather, for example the TLS stream of
    /// tokio-native-tls. One call then writes these bytes instead of several calls. A single segment of this size or
    /// more is not copied.
    ///
    /// At this total size, copying two messages for one call takes the same time as two calls.
    pub join_below_bytes: usize,
    /// The number of bytes at which the queue is full. [`try_push`](crate::SegmentQueue::try_push) refuses segments of
    /// a full queue. `push`, `put_slice` and the traits `Write` and `BufMut` cannot refuse segments, so the queue can
    /// exceed this limit.
    pub limit_bytes: usize,
    /// The most bytes of a call. 0 counts as 1. See [`ChunkPolicy`](crate::cost::ChunkPolicy).
    ///
    /// A record is not cut: a call with a longer record has more bytes. Without records, the last call may have up to
    /// 1.5 times this number.
    pub chunk_bytes: usize,
    /// The most memory that an empty queue keeps. The limit applies separately to the copied bytes, to the list of kept
    /// segments, and to the list of ends of records. When the queue becomes empty, each of these that exceeds the limit
    /// is freed.
    pub retained_bytes: usize,
    /// The number of bytes after which `poll_write_to` lets other tasks run.
    pub poll_budget_bytes: usize,
}

impl QueuePolicy {
    /// Returns the default policy for a kind of target.
    ///
    /// `copy_below_bytes` and `join_below_bytes` were measured by the bench `queue` on one machine (2-core Zen 4 VM,
    /// Linux 6.18). The bench reads 1 MiB of other memory before each write. `Other` was not measured:
    /// `join_below_bytes` of `Other` is the size of the longest TLS record.
    ///
    /// One value of `copy_below_bytes` is used for calls with one segment and for calls with many segments. No constant
    /// suits all machines. On another machine, [`from_model`](Self::from_model) with a calibrated model was within 4 %
    /// of the faster choice.
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

    /// Returns the policy that follows from a cost model, for example from a calibrated model.
    ///
    /// The [measured thresholds](CostModel::queue_thresholds) of the model become `copy_below_bytes` and
    /// `join_below_bytes`. A threshold that was not measured follows from the costs, in bytes:
    ///
    /// ```text
    /// copy_below_bytes = (2 · large_segment_ns + gather_call_ns / 4) / copy_byte_ns,
    ///                    at least 1024 and at most 6144
    /// join_below_bytes = (call_ns + 1000 ns) / copy_byte_uncached_ns,
    ///                    at least 4096 and at most 65,536
    /// ```
    ///
    /// One of the two `large_segment_ns` estimates the work for a kept segment besides its `iovec`. The 1000 ns
    /// estimate the extra time of a call after other work.
    ///
    /// [`chunk_bytes`](QueuePolicy::chunk_bytes) comes from the model. All other fields come from
    /// [`TargetKind::Other`], because a model has no kind of target. For a file, set the higher limit of a file:
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
    /// Returns the policy for [`TargetKind::Other`].
    fn default() -> QueuePolicy {
        QueuePolicy::for_target(TargetKind::Other)
    }
}
