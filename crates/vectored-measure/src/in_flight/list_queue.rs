//! The interface that io_uring and Linux native AIO have in common.

use std::io;
use std::os::fd::BorrowedFd;

use crate::in_flight::error::ListError;
use crate::in_flight::place::{Event, Place};

/// The segments to write.
pub type WriteList<'b> = &'b [&'b [u8]];

/// A list of segments to fill.
pub type ReadList<'l, 'b> = &'l mut [&'b mut [u8]];

/// A queue of transfers that the kernel makes while the program goes on.
///
/// A transfer moves all its bytes, as [`vectored::write_all`] does: calls that move a part only are followed by
/// further calls, and a call takes at most [`vectored::limits::iov_max`] segments and about 2 GiB. `EINTR` is retried, and so is a
/// refusal of the queue itself for lack of memory.
///
/// A forked child cannot use a queue of its parent, whose memory it shares with the kernel: `write` and `read` return an
/// error there.
pub trait ListQueue: Sized {
    /// A queue that has up to `depth` lists in flight.
    ///
    /// # Errors
    ///
    /// If the kernel gives none: a sandbox or an administrator forbids it, the kernel lacks it or lacks memory, or the depth is
    /// 0 or too large. The message names the remedy.
    fn with_depth(depth: u32) -> io::Result<Self>;

    /// The most lists in flight.
    fn depth(&self) -> u32;

    /// Writes `count` lists. `list` returns the list of a number. It is called for each number from 0 on, in order.
    ///
    /// At most [`depth`](ListQueue::depth) lists are in flight. When one has ended, the next one begins. `on_event` is
    /// called when a list begins and when it has ended.
    ///
    /// # Errors
    ///
    /// The first error, in the order of the lists. All lists before it have been written whole. Fewer lists after it than the
    /// depth had begun: they may have been written whole, in part, or not at all. An error is
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the descriptor is non-blocking and full,
    /// [`WriteZero`](io::ErrorKind::WriteZero) if a call moved nothing, and otherwise the error of the kernel.
    ///
    /// # Aborts
    ///
    /// If a system call that waits for transfers fails, the process is aborted: the kernel may still use the buffers.
    fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError>;

    /// Reads `count` lists. The first of them goes into `lists[0]`, the second one into `lists[1]`, and so on; after the
    /// last one, each goes into the list that has been without a transfer for the longest time.
    ///
    /// So at most `lists.len()` are in flight, or [`depth`](ListQueue::depth), if that is less.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](ListQueue::write), with reads for writes.
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file or stream ends within a list.
    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: Vec<ReadList<'_, '_>>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError>;
}
