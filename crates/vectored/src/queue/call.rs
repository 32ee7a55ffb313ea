//! Decides how many bytes of a queue the next call gets.

use std::cell::Cell;
use std::io::IoSlice;

use crate::gather::recycle;
use crate::queue::SegmentQueue;
use crate::sys::limits::Limits;

thread_local! {
    /// The memory for the list of a call. The memory belongs to a thread, because a server has many queues and few
    /// threads. A call takes the memory out, because the writer may write another queue during the call.
    static SLICES: Cell<Vec<IoSlice<'static>>> = const { Cell::new(Vec::new()) };
}

/// Passes an empty list to `call`. The memory of the list is reused by later calls of this thread.
///
/// The function is inline so that the function called by the program makes the system call
/// ([why](crate::gather::fast_path)).
#[inline(always)]
pub(super) fn with_slices<'a, R>(call: impl FnOnce(&mut Vec<IoSlice<'a>>) -> R) -> R {
    // In a destructor of another thread-local variable, `SLICES` may already be destroyed. The list is then new.
    let mut slices = recycle(SLICES.try_with(Cell::take).unwrap_or_default());
    let result = call(&mut slices);
    let _gone = SLICES.try_with(|kept| kept.set(recycle(slices)));
    result
}

pub(crate) struct Filled {
    pub(crate) bytes: usize,
    /// False if no two kept segments are neighbours in the queue. Only neighbours can be slices of one allocation.
    pub(crate) may_adjoin: bool,
}

impl SegmentQueue {
    /// Fills `slices` with the bytes of the next call. An empty queue adds no slice.
    pub(crate) fn fill<'a>(&'a self, limits: Limits, slices: &mut Vec<IoSlice<'a>>) -> Filled {
        let mut most = self.wanted_bytes().min(limits.bytes);
        let open_bytes = self.copied.len() - self.copied_start - self.kept.enclosed_bytes();
        let count = self.kept.parts() + usize::from(open_bytes > 0);
        if count > limits.segments {
            let fitting = self.segments().take(limits.segments);
            most = most.min(fitting.map(<[u8]>::len).sum());
        }
        let bytes = self.end_at_record(most);
        slices.reserve(count.min(limits.segments));
        if bytes == self.len() {
            let copied = &self.copied[self.copied_start..];
            self.kept.add_to(copied, slices);
            return Filled {
                bytes,
                may_adjoin: self.kept.may_adjoin(),
            };
        }
        let mut left = bytes;
        for segment in self.segments() {
            if left == 0 {
                break;
            }
            let here = segment.len().min(left);
            slices.push(IoSlice::new(&segment[..here]));
            left -= here;
        }
        Filled {
            bytes,
            may_adjoin: true,
        }
    }

    /// Returns the list that [`fill`](SegmentQueue::fill) would add, if the list is the whole queue and already exists
    /// in memory.
    #[cfg(all(
        feature = "uring",
        target_os = "linux",
        target_pointer_width = "64",
        target_endian = "little"
    ))]
    #[inline]
    pub(crate) fn whole_list(&self, limits: Limits) -> Option<&[IoSlice<'_>]> {
        let list = self.kept.as_list(&self.copied[self.copied_start..])?;
        let bytes = self.wanted_bytes().min(limits.bytes);
        (bytes == self.len() && list.len() <= limits.segments).then_some(list)
    }

    /// Returns the number of bytes of the next call, without the limits of the system.
    #[inline]
    pub(super) fn wanted_bytes(&self) -> usize {
        let remaining = self.len();
        if remaining <= self.policy.chunk_bytes {
            remaining
        } else {
            self.wanted_of_several_calls()
        }
    }

    fn wanted_of_several_calls(&self) -> usize {
        let remaining = self.len();
        let chunk = self.policy.chunk_bytes.max(1);
        let ends = &self.record_ends;
        // A call of several records has at most `chunk` bytes, because a shared pipe keeps only `PIPE_BUF` bytes
        // together.
        let wanted = match ends.first(self.written) {
            Some(first) => ends.last_within(self.written, chunk).unwrap_or(first),
            None if remaining <= chunk.saturating_add(chunk / 2) => remaining,
            None => chunk,
        };
        wanted.max(self.offered_bytes)
    }

    /// Returns the number of bytes up to the end of the last record within `bytes`.
    ///
    /// Returns `bytes` if no record ends within `bytes`, or if `bytes` is the whole queue. After `Pending`, the result
    /// is at least the smaller of `bytes` and the number of bytes that the queue has offered.
    #[inline]
    pub(super) fn end_at_record(&self, bytes: usize) -> usize {
        if bytes == self.len() { bytes } else { self.end_within(bytes) }
    }

    fn end_within(&self, bytes: usize) -> usize {
        let ends = &self.record_ends;
        ends.last_within(self.written, bytes)
            .map_or(bytes, |end| end.max(self.offered_bytes.min(bytes)))
    }
}
