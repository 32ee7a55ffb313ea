//! When a queue copies, and how many bytes it holds and passes to a call.

use crate::cost::{CostModel, TargetKind};
use crate::sys::limits::MAX_CALL_BYTES;

/// When a [`SegmentQueue`](crate::SegmentQueue) copies, how much it holds, and how long its calls are. All fields are in
/// bytes.
///
/// # Examples
///
/// ```
/// use vectored::{QueuePolicy, SegmentQueue, TargetKind};
///
/// let mut policy = QueuePolicy::for_target(TargetKind::Socket);
/// policy.limit_bytes = 64 << 10;
/// let queue = SegmentQueue::with_policy(policy);
/// assert!(!queue.is_full());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct QueuePolicy {
    /// The longest segment that [`push`](crate::SegmentQueue::push) copies. A longer one is kept, and referenced when it
    /// is written. 0 copies none.
    pub copy_below_bytes: usize,
    /// The bytes that are copied together for a writer that does not gather (the TLS stream of tokio-native-tls, for example), so that they
    /// are written by one call instead of several. A single segment of this size or more is passed on as it is.
    pub join_below_bytes: usize,
    /// The queue is full if it holds this many bytes. [`try_push`](crate::SegmentQueue::try_push) then refuses segments.
    /// `push`, `put_slice` and the traits `Write` and `BufMut` cannot refuse, so this is a high-water mark.
    pub limit_bytes: usize,
    /// The most bytes of a call, except that a record is not cut, and that without records the last call may have up to
    /// half as many more. 0 counts as 1. See [`ChunkPolicy`](crate::ChunkPolicy).
    pub chunk_bytes: usize,
    /// The memory that a queue keeps when it becomes empty. More is freed then.
    pub retained_bytes: usize,
    /// The bytes after which `poll_write_to` lets other tasks run.
    pub poll_budget_bytes: usize,
}

impl QueuePolicy {
    /// The default policy for a kind of target.
    ///
    /// | | `File` | `Pipe` | `Socket` | `Other` |
    /// |---|---|---|---|---|
    /// | `copy_below_bytes` | 4096 | 4096 | 4096 | 4096 |
    /// | `join_below_bytes` | 16,384 | 16,384 | 32,768 | 16,384 |
    /// | `limit_bytes` | 1 MiB | 1 MiB | 1 MiB | 1 MiB |
    /// | `chunk_bytes` | 0x7fff_f000 | 8192 | 0x7fff_f000 | 0x7fff_f000 |
    /// | `retained_bytes` | 256 KiB | 256 KiB | 256 KiB | 256 KiB |
    /// | `poll_budget_bytes` | 1 MiB | 1 MiB | 1 MiB | 1 MiB |
    #[must_use]
    pub const fn for_target(kind: TargetKind) -> QueuePolicy {
        let other = QueuePolicy {
            copy_below_bytes: 4096,
            join_below_bytes: 16 << 10,
            limit_bytes: 1 << 20,
            chunk_bytes: MAX_CALL_BYTES,
            retained_bytes: 256 << 10,
            poll_budget_bytes: 1 << 20,
        };
        match kind {
            TargetKind::File | TargetKind::Other => other,
            TargetKind::Pipe => QueuePolicy {
                chunk_bytes: 8 << 10,
                ..other
            },
            TargetKind::Socket => QueuePolicy {
                join_below_bytes: 32 << 10,
                ..other
            },
        }
    }

    /// The policy that follows from a cost model, for example a calibrated one.
    #[must_use]
    pub fn from_model(model: &CostModel) -> QueuePolicy {
        let other = QueuePolicy::for_target(TargetKind::Other);
        QueuePolicy {
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
