//! The ring, which takes transfers and returns completions: [`Ring`].

use std::collections::VecDeque;
use std::fmt;
use std::io;

use crate::queue::SegmentQueue;
use crate::uring::buffer::Buffer;
use crate::uring::completion::{Completion, Data};
use crate::uring::descriptor::Descriptor;
use crate::uring::setup_error::SetupError;
use crate::uring::sys::{Calls, Ended, prefetch};
use crate::uring::transfer::Transfer;

/// Transfers that the kernel makes by io_uring while the program does other work.
///
/// A transfer gets a descriptor, and a [`SegmentQueue`] to write or a list of buffers to fill. The transfer owns the
/// descriptor and the data until [`wait`](Ring::wait) returns the [`Completion`]. The buffers of all reads have one
/// type, `B`: see [`Buffer`]. Up to `depth` calls are in the kernel at a time. Further transfers wait in the ring, in
/// order, without a limit.
///
/// [`start`](Ring::start), [`try_wait`](Ring::try_wait) and `wait` pass all new transfers to the kernel in one system
/// call. No new transfer begins before one of these calls. If a completion is available, `try_wait` and `wait` make no
/// system call and pass no transfer. Call `start` before other work, so that the kernel makes the transfers during the
/// work.
///
/// Each transfer is complete, like a transfer by [`write_all`](crate::write_all): after a call that moves only a part,
/// the ring makes another call. A call takes at most [`iov_max`](crate::limits::iov_max) segments and
/// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES). A call with a queue also takes at most
/// [`chunk_bytes`](crate::queue::QueuePolicy::chunk_bytes).
///
/// # Order
///
/// Transfers begin and end in any order. The bytes of two writes to one pipe or socket can swap or mix. Two writes to
/// the position of one file can also swap or mix. Put the bytes into one queue, or submit the next write after the last
/// write has ended. Writes at different offsets of a file do not affect each other. With `O_APPEND`, Linux ignores
/// offsets.
///
/// # Dropping and forgetting
///
/// Dropping a ring cancels the transfers and waits until each transfer has ended. A call on a pipe or socket is
/// cancelled at once. A call on a file runs to its end. A dropped ring does not report how many bytes were moved, so
/// first call `wait` until `wait` returns `None`.
///
/// A forgotten ring ([`std::mem::forget`]) leaks the descriptors and the data of the transfers.
///
/// # Processes and threads
///
/// A forked child cannot use the ring of the parent. In the child, `wait` and all other functions that call the kernel
/// return an error. If the child drops the ring, the child leaks the descriptors and the data of the transfers.
///
/// A ring may move to another thread at any time. If a thread ends, the kernel cancels the calls that the thread passed
/// to the kernel. The ring makes these calls again.
pub struct Ring<B: Buffer = Vec<u8>> {
    calls: Calls<Transfer<B>>,
    /// Transfers without a call in flight, in the order in which they get a call.
    waiting: VecDeque<Box<Transfer<B>>>,
    /// Transfers that ended without a call, and their results.
    ended: VecDeque<(Box<Transfer<B>>, io::Result<()>)>,
    /// The memory of up to `depth` finished transfers.
    #[expect(clippy::vec_box, reason = "the boxes are what is used again")]
    spare: Vec<Box<Transfer<B>>>,
}

impl Ring {
    /// Makes a ring that has up to `depth` calls in the kernel at a time: 1 to 32,768.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a ring. [`is_disabled`](SetupError::is_disabled) tells whether the program must use plain
    /// calls. The message of the error names the remedy. See [the module](crate::uring#if-there-is-no-io_uring) for an
    /// example.
    pub fn new(depth: u32) -> Result<Ring, SetupError> {
        Ring::with_buffers(depth)
    }
}

impl<B: Buffer> Ring<B> {
    /// Makes a ring like [`new`](Ring::new), for reads into buffers of type `B`.
    pub fn with_buffers(depth: u32) -> Result<Ring<B>, SetupError> {
        let calls = Calls::new(depth).map_err(|error| SetupError::new(depth, error))?;
        Ok(Ring {
            calls,
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
            spare: Vec::new(),
        })
    }

    /// Writes all bytes of a queue. An empty queue makes no system call.
    ///
    /// `fd` is any owner of a descriptor that can be sent to another thread, for example a `File` or an `OwnedFd`. If
    /// the program also uses the owner, pass an `Arc` of the owner. The owner is dropped when the transfer ends. For
    /// many transfers on one descriptor, a [`SharedDescriptor`](crate::uring::SharedDescriptor) saves one system call
    /// in each transfer. The [`Completion`] returns `token`, which need not be unique.
    ///
    /// The ring puts a queue into a box, and the [`Completion`] returns this box. If the program submits the box again,
    /// nothing is allocated or copied.
    ///
    /// If a non-blocking descriptor is full, the ring waits until the descriptor is ready.
    ///
    /// # Errors
    ///
    /// In the [`Completion`]:
    ///
    /// - the errors of [`SegmentQueue::write_to`];
    /// - the error of a file that refuses lists, because the ring makes no plain call for a list;
    /// - `ECANCELED` after [`cancel`](Ring::cancel);
    /// - [`WouldBlock`](io::ErrorKind::WouldBlock) if a regular file or a device is ready but refuses a call again. A
    ///   file that is open with `O_NONBLOCK` may refuse calls.
    pub fn submit_write(
        &mut self,
        fd: impl Into<Descriptor>,
        queue: impl Into<Box<SegmentQueue>>,
        token: u64,
    ) {
        let new = self.new_transfer(fd.into(), None, token);
        self.submit(new, Data::Queue(queue.into()));
    }

    /// Writes like [`submit_write`](Ring::submit_write), from byte `offset` of a file on. The position of the
    /// descriptor is neither used nor changed.
    ///
    /// # Errors
    ///
    /// In the [`Completion`]: the errors of `submit_write`, [`InvalidInput`](io::ErrorKind::InvalidInput) for an offset
    /// above `i64::MAX`, and `ESPIPE` if the descriptor cannot seek.
    pub fn submit_write_at(
        &mut self,
        fd: impl Into<Descriptor>,
        queue: impl Into<Box<SegmentQueue>>,
        offset: u64,
        token: u64,
    ) {
        let new = self.new_transfer(fd.into(), Some(offset), token);
        self.submit(new, Data::Queue(queue.into()));
    }

    /// Reads until all buffers are full up to their lengths, or until the file or stream ends.
    ///
    /// A `Vec` is filled up to its length, not its capacity: `vec![0; 4096]` is a buffer of 4096 bytes. Empty buffers
    /// are allowed. [`submit_write`](Ring::submit_write) describes `fd` and `token`.
    ///
    /// # Errors
    ///
    /// In the [`Completion`]: the errors of [`read_up_to_eof`](crate::read_up_to_eof), and the errors of
    /// `submit_write`.
    pub fn submit_read(&mut self, fd: impl Into<Descriptor>, buffers: Vec<B>, token: u64) {
        let new = self.new_transfer(fd.into(), None, token);
        self.submit(new, Data::Buffers(buffers));
    }

    /// Reads by one call that returns when any bytes have arrived. Use this method for streams whose next part has an
    /// unknown length. A result of 0 bytes is the end of the file.
    pub fn submit_read_some(&mut self, fd: impl Into<Descriptor>, buffers: Vec<B>, token: u64) {
        let mut new = self.new_transfer(fd.into(), None, token);
        new.end_early();
        self.submit(new, Data::Buffers(buffers));
    }

    /// Reads like [`submit_read`](Ring::submit_read), from byte `offset` of a file on. The position of the descriptor
    /// is neither used nor changed.
    pub fn submit_read_at(
        &mut self,
        fd: impl Into<Descriptor>,
        buffers: Vec<B>,
        offset: u64,
        token: u64,
    ) {
        let new = self.new_transfer(fd.into(), Some(offset), token);
        self.submit(new, Data::Buffers(buffers));
    }

    /// Waits for a transfer to end, and returns the completion. Returns `None` if the ring has no transfer.
    ///
    /// Makes no system call if a completion is available. `EINTR` is retried.
    ///
    /// # Errors
    ///
    /// The errors of io_uring_enter(2), for example [`WouldBlock`](io::ErrorKind::WouldBlock) if the kernel has no
    /// memory at the moment. In a forked child, `wait` always fails. No transfer is lost by an error, so call `wait`
    /// again. The errors of a transfer are in the [`Completion`].
    pub fn wait(&mut self) -> io::Result<Option<Completion<B>>> {
        self.calls.check_process()?;
        loop {
            if let Some((transfer, result)) = self.next_ended() {
                return Ok(Some(self.end(transfer, result)));
            }
            if self.is_empty() {
                return Ok(None);
            }
            self.begin_waiting();
            if self.ended.is_empty() {
                self.calls.enter(true)?;
            }
        }
    }

    /// Returns a completion that the kernel has already reported. Makes no system call.
    pub fn take_ended(&mut self) -> io::Result<Option<Completion<B>>> {
        self.calls.check_process()?;
        let next = self.next_ended();
        Ok(next.map(|(transfer, result)| self.end(transfer, result)))
    }

    /// Returns a completion, or `None` if no transfer has ended. Makes at most one system call.
    pub fn try_wait(&mut self) -> io::Result<Option<Completion<B>>> {
        self.calls.check_process()?;
        let mut next = self.next_ended();
        if next.is_none() {
            self.start()?;
            next = self.next_ended();
        }
        Ok(next.map(|(transfer, result)| self.end(transfer, result)))
    }

    /// Passes new transfers to the kernel, up to the depth of the ring, without waiting.
    pub fn start(&mut self) -> io::Result<()> {
        self.calls.check_process()?;
        self.begin_waiting();
        self.calls.enter(false)
    }

    /// Cancels all transfers with this token, and returns the number of these transfers. [`wait`](Ring::wait) still
    /// returns each transfer, with `ECANCELED` and the number of bytes moved before. A transfer that ended before the
    /// cancellation has its usual result.
    ///
    /// The kernel cannot cancel some calls, for example a call on a file. Such a call runs to its end. If the kernel
    /// does not find a call at the moment, [`wait`](Ring::wait), [`try_wait`](Ring::try_wait) or [`start`](Ring::start)
    /// cancels the call again after 20 ms or more.
    pub fn cancel(&mut self, token: u64) -> io::Result<usize> {
        self.calls.check_process()?;
        let mut count = 0;
        for _ in 0..self.waiting.len() {
            match self.waiting.pop_front() {
                Some(transfer) if transfer.token == token => {
                    let cancelled = Err(io::Error::from_raw_os_error(libc::ECANCELED));
                    self.ended.push_back((transfer, cancelled));
                    count += 1;
                }
                other => self.waiting.extend(other),
            }
        }
        count += self.calls.cancel(|other| other == token)?;
        self.calls.enter(false)?;
        Ok(count)
    }

    /// Returns the most calls that are in the kernel at a time, which is the argument of [`new`](Ring::new).
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.calls.depth()
    }

    /// Returns the number of transfers that were submitted and not yet returned by [`wait`](Ring::wait).
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.in_flight() + self.waiting.len() + self.ended.len()
    }

    /// Returns whether the ring has no transfer. [`wait`](Ring::wait) then returns `None`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn new_transfer(
        &mut self,
        descriptor: Descriptor,
        offset: Option<u64>,
        token: u64,
    ) -> Box<Transfer<B>> {
        let mut transfer = self.spare.pop().unwrap_or_else(Transfer::over);
        if let Some(next) = self.spare.last() {
            prefetch(&raw const **next);
        }
        transfer.reset(descriptor, offset, token);
        transfer
    }

    #[inline]
    fn submit(&mut self, mut transfer: Box<Transfer<B>>, data: Data<B>) {
        transfer.set_data(data);
        if transfer.is_done() {
            self.ended.push_back((transfer, Ok(())));
        } else {
            self.waiting.push_back(transfer);
        }
    }

    #[inline]
    fn end(&mut self, transfer: Box<Transfer<B>>, result: io::Result<()>) -> Completion<B> {
        if self.spare.len() >= self.calls.depth() as usize {
            self.spare.pop();
        }
        self.spare.push(transfer);
        let transfer = self.spare.last_mut().expect("it was pushed");
        transfer.end(result)
    }

    fn begin_waiting(&mut self) {
        while !self.waiting.is_empty() && self.calls.has_room() {
            let Some(transfer) = self.waiting.pop_front() else {
                return;
            };
            let token = transfer.token;
            if let Err((transfer, error)) = self.calls.start(transfer, token) {
                self.ended.push_back((transfer, Err(error)));
            }
        }
    }

    /// Returns a transfer that has ended. A transfer that moved only a part waits for another call.
    fn next_ended(&mut self) -> Option<(Box<Transfer<B>>, io::Result<()>)> {
        if let Some(ended) = self.ended.pop_front() {
            return Some(ended);
        }
        while let Some(Ended {
            mut call,
            result,
            was_cancelled,
            is_of_other_thread,
        }) = self.calls.next_ended()
        {
            if call.end_whole(&result) {
                return Some((call, Ok(())));
            }
            match call.call_ended(result, was_cancelled, is_of_other_thread) {
                Some(result) => return Some((call, result)),
                // This transfer has begun, so its next call comes before the transfers that have not begun.
                None => self.waiting.push_front(call),
            }
        }
        None
    }
}

impl<B: Buffer> fmt::Debug for Ring<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// A ring and its completions may move to another thread.
const _: () = {
    const fn is_send<T: Send + 'static>() {}
    is_send::<Ring>();
    is_send::<Completion>();
    is_send::<SetupError>();
};
