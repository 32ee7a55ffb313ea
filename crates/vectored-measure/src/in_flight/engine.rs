//! Lists in flight: their place in a file or stream, the trait of queues, and the loop that keeps lists in flight.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::process::abort;
use std::time::Duration;

pub type WriteList<'b> = &'b [&'b [u8]];

pub type ReadList<'l, 'b> = &'l mut [&'b mut [u8]];

/// A queue of transfers that the kernel makes while the program goes on.
///
/// A transfer moves all its bytes, as [`vectored::write_all`] does: after a call that moves only a part, further calls move
/// the rest. A call takes at most [`vectored::limits::iov_max`] segments and about 2 GiB. A call is made again after
/// `EINTR`, and if the queue refuses it for lack of memory. Calls wait, so the descriptor must not be non-blocking.
pub trait ListQueue: Sized {
    /// A queue that has up to `depth` lists in flight. If the kernel gives no queue, the error names the remedy.
    fn with_depth(depth: u32) -> io::Result<Self>;

    /// Writes `count` lists. `list` returns the list of a number, and is called for each number from 0 on, in order.
    ///
    /// When a list has ended, the next list begins. `on_event` is called at each begin and each end of a list.
    ///
    /// If lists fail, the error is the error of the list whose failure was noticed first. No list begins after that; the
    /// lists in flight may have been written whole, in part, or not at all. The error is
    /// [`WriteZero`](io::ErrorKind::WriteZero) if a call moved nothing, and otherwise the error of the kernel.
    fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> io::Result<()>;

    /// Reads `count` lists. The first list read goes into `lists[0]`, the second into `lists[1]`, and so on. When each of
    /// `lists` has been used, the next list read goes into the entry that has been without a transfer for the longest time.
    ///
    /// At most `lists.len()` lists are in flight, and at most the depth.
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
    ) -> io::Result<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The offset in a regular file or block device at which the first list begins. Each further list begins where the list
    /// before it ends, and lists up to the depth are in flight. The position of the descriptor is neither used nor changed.
    ///
    /// Not used for writes to a file with `O_APPEND`: Linux ignores the offset there, so the lists would be in any order.
    Offset(u64),
    /// A pipe, a socket, a character device, or for writes the end of a file with `O_APPEND`. One list at a time is in
    /// flight, whatever the depth, since the kernel makes transfers in any order.
    Stream,
}

/// An event of the list with this number. The first list of a call has the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The list of this number is about to be prepared and submitted.
    Began(u64),
    Ended(u64),
}

/// The lists that a queue has in flight on a descriptor. Each is moved whole, or ends with an error.
pub(super) trait Scope {
    type List;

    fn in_flight(&self) -> usize;

    /// Begins to move a list at an offset, or to or from a stream. Returns the number of bytes of the list.
    fn begin(&mut self, number: u64, offset: Option<u64>, list: Self::List) -> u64;

    fn wait(&mut self) -> Option<Ended<Self::List>>;

    /// A list that is known to have ended. Makes no system call.
    fn take_ended(&mut self) -> Option<Ended<Self::List>>;
}

pub(super) struct Ended<L> {
    pub(super) number: u64,
    pub(super) moved: u64,
    pub(super) error: Option<io::Error>,
    pub(super) list: L,
}

pub(super) fn run<S: Scope>(
    scope: &mut S,
    (place, count, most): (Place, u64, usize),
    over: &mut VecDeque<S::List>,
    mut next: impl FnMut(&mut VecDeque<S::List>, u64) -> S::List,
    on_event: &mut dyn FnMut(Event),
) -> io::Result<()> {
    let (most, mut offset) = match place {
        Place::Offset(offset) => (most, Some(offset)),
        Place::Stream => (1, None),
    };
    let mut bytes_of = vec![0; count as usize];
    let (mut begun, mut failed) = (0, None);
    loop {
        while begun < count && failed.is_none() && scope.in_flight() < most {
            on_event(Event::Began(begun));
            let list = next(over, begun);
            let bytes = scope.begin(begun, offset, list);
            bytes_of[begun as usize] = bytes;
            // The kernel refuses an offset past the largest offset.
            offset = offset.map(|offset| offset.saturating_add(bytes));
            begun += 1;
        }
        let mut ended = scope.wait();
        if ended.is_none() {
            return failed.map_or(Ok(()), Err);
        }
        // All transfers that have ended are noticed before the next transfer begins.
        while let Some(Ended {
            number,
            moved,
            error,
            list,
        }) = ended
        {
            over.push_back(list);
            let bytes = bytes_of[number as usize];
            if error.is_none() && moved == bytes {
                on_event(Event::Ended(number));
            } else if failed.is_none() {
                let error = error.unwrap_or_else(ended_early);
                let text = format!("list {number}: after {moved} of {bytes} bytes: {error}");
                failed = Some(io::Error::new(error.kind(), text));
            }
            ended = scope.take_ended();
        }
    }
}

pub(super) fn ended_early() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the file or stream ended within the list",
    )
}

/// The pause before a system call is repeated because the kernel had no memory.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// After this number of refusals in a row, a call is not made again.
pub(super) const MAX_REFUSALS: u32 = 1000;

/// Aborts the process: the kernel may still use borrowed memory. `call` is the system call that failed.
pub(super) fn cannot_wait(call: &str, error: &io::Error) -> ! {
    eprintln!(
        "vectored: {call} failed while transfers were in flight: {error}; the process is aborted because the kernel may \
         still use their buffers"
    );
    abort()
}
