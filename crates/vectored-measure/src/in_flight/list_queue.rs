//! What io_uring and Linux native AIO have in common: lists, where they go, what a queue of them does, and how one fails.

use std::error::Error;
use std::os::fd::BorrowedFd;
use std::{fmt, io};

pub type WriteList<'b> = &'b [&'b [u8]];

pub type ReadList<'l, 'b> = &'l mut [&'b mut [u8]];

/// A queue of transfers that the kernel makes while the program goes on.
///
/// A transfer moves all its bytes, as [`vectored::write_all`] does: calls that move a part only are followed by
/// further calls, and a call takes at most [`vectored::limits::iov_max`] segments and about 2 GiB. `EINTR` is retried, and so is a
/// refusal of the queue itself for lack of memory.
/// In a forked child all fail, since a queue shares memory of its parent with the kernel.
pub trait ListQueue: Sized {
    /// A queue that has up to `depth` lists in flight. If the kernel gives no queue, the error names the remedy.
    fn with_depth(depth: u32) -> io::Result<Self>;

    fn depth(&self) -> u32;

    /// Writes `count` lists. `list` returns the list of a number. `list` is called for each number from 0 on, in order.
    ///
    /// When a list has ended, the next list begins. When one has ended, the next one begins. `on_event` is called when a
    /// list begins and when it has ended.
    ///
    /// The error is the error of the first list that failed, in the order of the lists. All lists before that list have been
    /// written whole. After that list, fewer lists than the depth had begun: these may have been written whole, in part, or
    /// not at all. An error is [`WouldBlock`](io::ErrorKind::WouldBlock) if the descriptor is non-blocking and full,
    /// [`WriteZero`](io::ErrorKind::WriteZero) if a call moved nothing, and otherwise the error of the kernel.
    fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError>;

    /// Reads `count` lists. The first of them goes into `lists[0]`, the second into `lists[1]`, and so on; after the last
    /// one, each goes into the list that has been without a transfer for the longest time.
    ///
    /// So at most `lists.len()` are in flight, or [`depth`](ListQueue::depth), if that is less.
    ///
    /// Fails as [`write`](ListQueue::write) does, and with
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A byte of a regular file or block device, where the first list begins. Each other list begins where the one before
    /// it ends, and up to the depth are in flight. The position of the descriptor is neither used nor changed: set it
    /// afterwards if needed.
    ///
    /// Not used for writes to a file with `O_APPEND`: Linux ignores the offset there, so the lists would be in any order.
    Offset(u64),
    /// A pipe, a socket, a character device, or for writes the end of a file with `O_APPEND`. One list at a time is in
    /// flight, whatever the depth, since the kernel makes transfers in any order.
    Stream,
}

/// An event of a list, which a queue reports. The number of the first list of a call is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The list of this number is about to be prepared, and submitted after that.
    Began(u64),
    Ended(u64),
}

/// The error that ended a list early.
///
/// It converts into an [`io::Error`] of the same kind and with the same message.
#[derive(Debug)]
pub struct ListError {
    list: u64,
    transferred: u64,
    bytes: u64,
    error: io::Error,
}

impl ListError {
    pub(super) fn new(list: u64, transferred: u64, bytes: u64, error: io::Error) -> ListError {
        ListError {
            list,
            transferred,
            bytes,
            error,
        }
    }

    /// The number of the list, from 0 on. All lists before it were moved whole.
    #[must_use]
    pub fn list(&self) -> u64 {
        self.list
    }

    #[must_use]
    pub fn transferred(&self) -> u64 {
        self.transferred
    }

    #[must_use]
    pub fn into_io_error(self) -> io::Error {
        self.error
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListError {
            list,
            transferred,
            bytes,
            error,
        } = self;
        write!(
            f,
            "list {list}: after {transferred} of its {bytes} bytes: {error}"
        )
    }
}

impl Error for ListError {}

impl From<ListError> for io::Error {
    fn from(error: ListError) -> io::Error {
        io::Error::new(error.error.kind(), error)
    }
}
