//! The ring: transfers in, completions out.

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

/// Transfers that the kernel makes while the program goes on, by io_uring.
///
/// A transfer gets a descriptor and a [`SegmentQueue`] to be written, or a list of buffers to be filled. The transfer
/// owns all of these until [`wait`](Ring::wait) returns the [`Completion`]. The buffers of all reads are of one type,
/// `B`: see [`Buffer`]. Up to `depth` calls are in the kernel at a time; further transfers wait in the ring, in order,
/// without a limit.
///
/// Nothing happens to a transfer before the next [`start`](Ring::start), [`try_wait`](Ring::try_wait) or `wait`: each
/// of these passes all new transfers to the kernel in one system call. (`try_wait` and `wait` do so only if no
/// completion is there already.) Call `start` before other work, so that the kernel makes the transfers meanwhile.
///
/// Each transfer is complete, as by [`write_all`](crate::write_all): a call that moves a part only is followed by another
/// call. A call takes at most [`iov_max`](crate::limits::iov_max) segments and
/// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES), and of a queue at most
/// [`chunk_bytes`](crate::queue::QueuePolicy::chunk_bytes).
///
/// # Order
///
/// Transfers are made and end in any order. Two writes to one pipe or socket, or to the position of one file, can swap or
/// mix. Put the bytes into one queue, or submit the next write when the last write has ended. Writes at different offsets
/// of a file do not disturb each other. With `O_APPEND`, Linux ignores offsets.
///
/// # Dropping and forgetting
///
/// Dropping a ring cancels its transfers and waits until each has ended: a call on a pipe or socket is cancelled at
/// once, a call on a file runs to its end. Nothing tells how many bytes were moved, so first call `wait` until it
/// returns `None`. A forgotten ring ([`std::mem::forget`]) leaks what its transfers own.
///
/// # Processes and threads
///
/// A forked child cannot use the ring of its parent: `wait` and all other functions that would call the kernel return an
/// error there. If the child drops the ring, the child leaks what the transfers own.
///
/// A ring may move to another thread at any time. If the thread that passed a call to the kernel ends, the kernel cancels
/// that call, and the ring makes the call again.
pub struct Ring<B: Buffer = Vec<u8>> {
    calls: Calls<Transfer<B>>,
    /// Transfers without a call in flight, in the order in which they get a call.
    waiting: VecDeque<Box<Transfer<B>>>,
    /// Transfers that ended without a call, with their results.
    ended: VecDeque<(Box<Transfer<B>>, io::Result<()>)>,
    /// The memory of up to `depth` transfers that are over.
    #[expect(clippy::vec_box, reason = "the boxes are what is used again")]
    spare: Vec<Box<Transfer<B>>>,
}

impl Ring {
    /// A ring that has up to `depth` calls in the kernel at a time: 1 to 32,768.
    ///
    /// # Errors
    ///
    /// If the kernel gives no ring. [`is_disabled`](SetupError::is_disabled) tells whether the program must use plain calls.
    /// The message of the error names the remedy. See [the module](crate::uring#if-there-is-no-io_uring) for an example.
    pub fn new(depth: u32) -> Result<Ring, SetupError> {
        Ring::with_buffers(depth)
    }
}

impl<B: Buffer> Ring<B> {
    /// A ring like [`new`](Ring::new), for reads into buffers of type `B`.
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
    /// `fd` is any owner of a descriptor that can be sent to another thread: a `File`, an `OwnedFd`, or an `Arc` of one
    /// if the program also uses the owner. The owner is dropped when the transfer ends. For many transfers of one
    /// descriptor, a [`SharedDescriptor`](crate::uring::SharedDescriptor) saves a system call each. `token` is returned
    /// with the [`Completion`], and need not be unique.
    ///
    /// A queue is put into a box, which the [`Completion`] returns. If that box is passed again, nothing is allocated or
    /// copied.
    ///
    /// If a non-blocking descriptor is full, the ring waits until the descriptor is ready.
    ///
    /// # Errors
    ///
    /// In the [`Completion`]: the errors of [`SegmentQueue::write_to`], except that files that refuse lists are not
    /// written by plain calls; `ECANCELED` after [`cancel`](Ring::cancel); [`WouldBlock`](io::ErrorKind::WouldBlock) if
    /// a regular file or a device refuses a call again though it is ready, as a file that is open with `O_NONBLOCK`
    /// may.
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
    /// In the [`Completion`]: also [`InvalidInput`](io::ErrorKind::InvalidInput) for an offset past `i64::MAX`, and
    /// `ESPIPE` if the descriptor cannot seek.
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

    /// Reads until all buffers are full up to their lengths, or the file or stream ends.
    ///
    /// The length of a buffer counts, and not the capacity of a `Vec`: `vec![0; 4096]` is a buffer of 4096 bytes. Buffers
    /// without bytes are allowed. About `fd` and `token`, see [`submit_write`](Ring::submit_write).
    ///
    /// # Errors
    ///
    /// In the [`Completion`]: the errors of [`read_up_to_eof`](crate::read_up_to_eof), and the errors that
    /// `submit_write` names.
    pub fn submit_read(&mut self, fd: impl Into<Descriptor>, buffers: Vec<B>, token: u64) {
        let new = self.new_transfer(fd.into(), None, token);
        self.submit(new, Data::Buffers(buffers));
    }

    /// Reads the bytes of one call, as soon as there are bytes: for streams whose next part has an unknown length. 0
    /// bytes are the end of the file.
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

    /// Returns a transfer that has ended, and waits for one if none has; `None` if there is no transfer. `EINTR` is
    /// retried.
    ///
    /// Makes no system call if a completion is there already.
    ///
    /// # Errors
    ///
    /// The errors of io_uring_enter(2): [`WouldBlock`](io::ErrorKind::WouldBlock) if the kernel lacks memory at the
    /// moment. In a forked child, `wait` always fails. No transfer is lost: call it again. The errors of a transfer are
    /// in its [`Completion`].
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

    /// Returns a transfer that has ended, if the kernel has reported the end already. Makes no system call.
    pub fn take_ended(&mut self) -> io::Result<Option<Completion<B>>> {
        self.calls.check_process()?;
        let next = self.next_ended();
        Ok(next.map(|(transfer, result)| self.end(transfer, result)))
    }

    /// Returns a transfer that has ended; `None` if none has, or there is none. Makes at most one system call.
    pub fn try_wait(&mut self) -> io::Result<Option<Completion<B>>> {
        self.calls.check_process()?;
        let mut next = self.next_ended();
        if next.is_none() {
            self.start()?;
            next = self.next_ended();
        }
        Ok(next.map(|(transfer, result)| self.end(transfer, result)))
    }

    /// Passes new transfers to the kernel, up to the depth of the ring, and does not wait.
    pub fn start(&mut self) -> io::Result<()> {
        self.calls.check_process()?;
        self.begin_waiting();
        self.calls.enter(false)
    }

    /// Cancels all transfers with this token, and returns their number. [`wait`](Ring::wait) still returns these
    /// transfers: with `ECANCELED` and the number of bytes moved before; a transfer that ended earlier has its usual
    /// result.
    ///
    /// A call that the kernel cannot cancel, as on a file, runs to its end. A call that the kernel does not find at the
    /// moment is cancelled again by [`wait`](Ring::wait), [`try_wait`](Ring::try_wait) or [`start`](Ring::start), at the
    /// earliest after 20 ms.
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

    /// The most calls in the kernel at a time, as [`new`](Ring::new) got it.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.calls.depth()
    }

    /// The number of transfers that were submitted and not returned by [`wait`](Ring::wait).
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.in_flight() + self.waiting.len() + self.ended.len()
    }

    /// Whether there is no transfer, so that [`wait`](Ring::wait) returns `None`.
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

    /// Returns a transfer that has ended. If a call moved only a part of a transfer, the transfer waits for another call.
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
                // The call comes before the transfers that have not begun.
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

/// A ring, and what it returns, may move to another thread.
const _: () = {
    const fn is_send<T: Send + 'static>() {}
    is_send::<Ring>();
    is_send::<Completion>();
    is_send::<SetupError>();
};
