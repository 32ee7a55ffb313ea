//! The queue of transfers.

use std::os::fd::BorrowedFd;

use crate::in_flight::engine::{self, FreeLists, Request};
use crate::in_flight::error::{ListError, Unavailable};
use crate::in_flight::interface::Interface;
use crate::in_flight::list::{ReadList, WriteList};
use crate::in_flight::place::{Event, Place};
use crate::in_flight::sys::Flights;

/// A queue of transfers that the kernel makes while the program goes on.
///
/// A transfer moves all its bytes, as [`vectored::write_all_vectored`] does: calls that move a part only are followed by
/// further calls, and a call takes at most [`vectored::iov_max`] segments and about 2 GiB. `EINTR` is retried, and so is
/// `EAGAIN` of the queue itself.
///
/// The working memory is kept from call to call. Each [`write`](InFlight::write) and [`read`](InFlight::read) allocates
/// once; its lists allocate nothing, if they have no more segments than earlier ones.
///
/// # Processes
///
/// A forked child cannot use a queue of its parent: io_uring and Linux AIO leave it without the memory that the queue shares
/// with the kernel, and POSIX AIO without the threads of the C library. `write` and `read` return an error there, and if the
/// child drops the queue, its memory is leaked in the child.
#[derive(Debug)]
pub struct InFlight {
    interface: Interface,
    flights: Flights,
}

impl InFlight {
    /// A queue that has up to `depth` lists in flight.
    ///
    /// # Errors
    ///
    /// If the kernel gives none: a sandbox or an administrator forbids it, the kernel lacks it or lacks memory, or the
    /// depth is 0 or too large. The message names the remedy.
    pub fn new(interface: Interface, depth: u32) -> Result<InFlight, Unavailable> {
        match Flights::new(interface, depth) {
            Ok(flights) => Ok(InFlight { interface, flights }),
            Err(error) => Err(Unavailable::new(interface, depth, error)),
        }
    }

    /// The interface that it uses.
    #[must_use]
    pub fn interface(&self) -> Interface {
        self.interface
    }

    /// The most lists in flight.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.flights.depth()
    }

    /// Writes `count` lists. `list` gives that of a number, which counts from 0; it is called in order.
    ///
    /// At most [`depth`](InFlight::depth) lists are in flight. When one has ended, the next one begins. `on_event` is
    /// called when a list begins and when it has ended.
    ///
    /// # Errors
    ///
    /// The first error, in the order of the lists. All lists before it have been written whole, and of it the first
    /// bytes that [`ListError::transferred`] counts. Lists after it, of which fewer than the depth had begun, may have
    /// been written whole, in part, or not at all. With [`Interface::PosixAio`], bytes of that list after the counted
    /// ones may have been written too, since each of its segments has a call of its own. An error is
    /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if the descriptor is non-blocking and full,
    /// [`WriteZero`](std::io::ErrorKind::WriteZero) if a call moved nothing, and otherwise that of the kernel. A FIFO
    /// of a file system that is open with `O_NONBLOCK` is `EOPNOTSUPP` with [`Interface::IoUring`], since Linux 6.18
    /// has no `RWF_NOWAIT` for it. `EINVAL` of [`Interface::LinuxAio`] usually means that the driver of the descriptor
    /// does not offer that interface.
    ///
    /// # Panics
    ///
    /// If `list` or `on_event` does; when all transfers have ended.
    ///
    /// # Aborts
    ///
    /// If a system call that waits for transfers fails, the process is aborted: the kernel may still use the buffers.
    pub fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let request = Request { fd, place, count };
        engine::run(&mut self.flights, request, list, on_event)
    }

    /// Reads `count` lists. The first of them goes into `lists[0]`, the second one into `lists[1]`, and so on; after the
    /// last one, each goes into the list that has been without a transfer for the longest time.
    ///
    /// So at most `lists.len()` are in flight, or [`depth`](InFlight::depth), if that is less.
    ///
    /// # Errors
    ///
    /// As [`write`](InFlight::write), with reads for writes: `PosixAio` may change bytes of the buffers after the counted
    /// ones. [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the file or stream ends
    /// within a list.
    ///
    /// # Panics
    ///
    /// If `on_event` does; if `lists` is empty and `count` is not 0.
    ///
    /// # Aborts
    ///
    /// As `write`.
    pub fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: &mut [ReadList<'_, '_>],
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        assert!(
            count == 0 || !lists.is_empty(),
            "there is no list to read into"
        );
        let mut free: FreeLists<'_, '_, '_> = lists.iter_mut().collect();
        let request = Request { fd, place, count };
        engine::run(&mut self.flights, request, &mut free, on_event)
    }
}
