//! The number of bytes of a queue that the next call gets.

use std::cell::Cell;
use std::io::IoSlice;

use crate::gather::recycle;
use crate::queue::SegmentQueue;
use crate::sys::limits::Limits;

thread_local! {
    /// Memory for the lists of calls. Each thread has one, and not each queue, since a server has many queues and few
    /// threads. The memory is taken out while a call is made, since the writer may write another queue.
    static SLICES: Cell<Vec<IoSlice<'static>>> = const { Cell::new(Vec::new()) };
}

/// Calls `call` with a list in memory that this thread keeps.
///
/// Inline, so that the system call is made in the function that the program called
/// ([why](crate::gather::fast_path)).
#[inline(always)]
pub(super) fn with_slices<'a, R>(call: impl FnOnce(&mut Vec<IoSlice<'a>>) -> R) -> R {
    // Empty in a destructor of the thread, after the thread-local memory is gone.
    let mut slices = recycle(SLICES.try_with(Cell::take).unwrap_or_default());
    let result = call(&mut slices);
    let _gone = SLICES.try_with(|kept| kept.set(recycle(slices)));
    result
}

pub(crate) struct Filled {
    pub(crate) bytes: usize,
    /// False if no two kept segments follow each other, so that no slices of one allocation are neighbours.
    pub(crate) may_adjoin: bool,
}

impl SegmentQueue {
    /// Fills `slices` with the bytes of the next call. Nothing is added if the queue is empty.
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

    /// The list that [`fill`](SegmentQueue::fill) would add, if it is the whole queue and lies in memory as a list
    /// already.
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

    /// The bytes that the next call would get if the kernel took any number.
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
        // A call of several records is no longer than a chunk: a shared pipe keeps `PIPE_BUF` bytes together.
        let wanted = match ends.first(self.written) {
            Some(first) => ends.last_within(self.written, chunk).unwrap_or(first),
            None if remaining <= chunk.saturating_add(chunk / 2) => remaining,
            None => chunk,
        };
        wanted.max(self.offered_bytes)
    }

    /// The number of bytes up to the end of the last record in the next `bytes`; `bytes` if no record ends there, if the
    /// queue is written to its end, or if more bytes were offered before.
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
