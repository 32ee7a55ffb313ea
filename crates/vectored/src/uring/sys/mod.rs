//! Calls that the kernel makes through io_uring, with memory and a descriptor that they own until they end.
//!
//! # Safety
//!
//! A call lies on the heap behind a raw pointer. [`Calls::start`] borrows it for as long as the kernel may use it:
//! nothing touches it before [`Calls::next_ended`] has seen its completion. Then the borrow is over, and the call is a
//! `Box` again. So the lists of buffers that the call gave stay valid by the rules of any borrow, whatever owns the
//! buffers, and no argument about each kind of owner is needed.
//!
//! - A call is `'static`. If a [`Calls`] is forgotten, the calls, the lists and the ring are forgotten with it, and stay.
//! - A dropped [`Calls`] cancels its calls and waits until each has ended. If the kernel refuses to wait, or if the
//!   process is a fork of the one that started the calls, all is leaked.
//! - Each call has one entry of the submission queue, which makes one completion: no entry is a multishot one.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::thread::{self, ThreadId};
use std::time::Duration;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

/// The position of a file, or none: "-1" of io_uring_enter(2).
const AT_POSITION: u64 = u64::MAX;

/// The completions with this mark are those of cancellations.
const CANCELLATION: u64 = u64::MAX;

/// After this time, a call that is still not cancelled is cancelled again: a cancellation does not find a call that the
/// kernel is about to try again.
const CANCEL_AGAIN: Duration = Duration::from_millis(20);

/// Something that the kernel does, with all that it uses.
pub(super) trait Call: Send + 'static {
    /// Adds the buffers to one of the lists, which are empty, and returns what to do with them.
    ///
    /// At most `IOV_MAX` slices and `MAX_CALL_BYTES`, and at least one slice for a read or a write.
    ///
    /// # Errors
    ///
    /// If nothing is to be done. Nothing is started then.
    fn begin<'a>(
        &'a mut self,
        sources: &mut Vec<IoSlice<'a>>,
        targets: &mut Vec<IoSliceMut<'a>>,
    ) -> io::Result<Begun<'a>>;
}

/// What the kernel does, and to which descriptor.
pub(super) struct Begun<'a> {
    pub(super) descriptor: BorrowedFd<'a>,
    pub(super) operation: Operation,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// Writes the sources; without an offset at the position of the descriptor.
    Write { offset: Option<u64> },
    /// Reads into the targets.
    Read { offset: Option<u64> },
    /// Waits until the descriptor takes bytes.
    AwaitWritable,
    /// Waits until the descriptor has bytes.
    AwaitReadable,
}

/// A call that is over.
pub(super) struct Ended<C> {
    pub(super) call: Box<C>,
    /// Bytes, or the events of a wait.
    pub(super) result: io::Result<usize>,
    /// Whether [`Calls::cancel`] was called for it.
    pub(super) was_cancelled: bool,
    /// Whether another thread than this one started it. When that thread ends, the kernel cancels its calls.
    pub(super) is_of_other_thread: bool,
}

/// A ring, and the calls that the kernel is making.
pub(super) struct Calls<C: Call> {
    /// Dropped when no call is left.
    ring: ManuallyDrop<IoUring>,
    /// As many as may be in flight. Dropped when no call is left: the kernel may read the lists.
    slots: ManuallyDrop<Vec<Slot<C>>>,
    /// The slots without a call.
    free: Vec<u32>,
    process: u32,
}

struct Slot<C> {
    call: Option<InFlight<C>>,
    /// How many calls this slot has had: it tells a late cancellation from the next call.
    generation: u32,
    token: u64,
    is_cancelled: bool,
    /// The thread that started the call.
    thread: Option<ThreadId>,
    /// The lists of the call, borrowed from it, and empty without one. They do not move while it is in flight.
    sources: Vec<IoSlice<'static>>,
    targets: Vec<IoSliceMut<'static>>,
}

/// From `Box::leak`: a `Box` asserts, whenever it moves, that nothing else uses its content.
struct InFlight<C>(NonNull<C>);

// SAFETY: it owns a `C`, which is `Send`, as a `Box` does.
unsafe impl<C: Send> Send for InFlight<C> {}

impl<C: Call> Calls<C> {
    /// A ring for up to `depth` calls at a time, at least 1.
    pub(super) fn new(depth: u32) -> io::Result<Calls<C>> {
        // A forked child does not have the mapped queues: it cannot take the completions of its parent's calls.
        let ring = IoUring::builder().dontfork().build(depth)?;
        let params = ring.params();
        // The last of these came with Linux 5.11.
        let has_features = params.is_feature_nodrop()
            && params.is_feature_rw_cur_pos()
            && params.is_feature_ext_arg();
        if !has_features {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let slot = |_| Slot {
            call: None,
            generation: 0,
            token: 0,
            is_cancelled: false,
            thread: None,
            sources: Vec::new(),
            targets: Vec::new(),
        };
        Ok(Calls {
            ring: ManuallyDrop::new(ring),
            slots: ManuallyDrop::new((0..depth).map(slot).collect()),
            free: (0..depth).rev().collect(),
            process: std::process::id(),
        })
    }

    /// The most calls in flight.
    pub(super) fn depth(&self) -> u32 {
        // It came from a `u32`.
        self.slots.len() as u32
    }

    /// How many calls were started and have not ended.
    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether one more call can be started.
    pub(super) fn has_room(&mut self) -> bool {
        !self.free.is_empty() && !self.ring.submission().is_full()
    }

    /// Puts a call into the submission queue. [`enter`](Calls::enter) passes it to the kernel.
    ///
    /// # Errors
    ///
    /// That of [`Call::begin`], with the call.
    ///
    /// # Panics
    ///
    /// If there is no room. The call is leaked then, as it is if `begin` panics.
    pub(super) fn start(&mut self, call: Box<C>, token: u64) -> Result<(), (Box<C>, io::Error)> {
        // First of all, since what can panic must not come between the entry and the slot that keeps its memory.
        let thread = thread::current().id();
        let index = *self.free.last().expect("there is a free slot");
        let slot = &mut self.slots[index as usize];
        // They have entries only if `begin` panicked, of a call that was leaked.
        slot.sources.clear();
        slot.targets.clear();
        let call = NonNull::from(Box::leak(call));
        // SAFETY: the pointer is that of a `Box` that was leaked, and the only one to its content. This reference and
        // all that is borrowed from it (the lists) are used until the call has ended, or `begin` has failed: the lists
        // are emptied before the pointer is used again, below and in `next_ended`. `begin` cannot keep anything
        // borrowed elsewhere, since its lifetime may be any.
        let borrowed: &'static mut C = unsafe { &mut *call.as_ptr() };
        let begun = match borrowed.begin(&mut slot.sources, &mut slot.targets) {
            Ok(begun) => begun,
            Err(error) => {
                slot.sources.clear();
                slot.targets.clear();
                // SAFETY: the pointer is that of a leaked `Box`, and nothing is borrowed from it any more.
                return Err((unsafe { Box::from_raw(call.as_ptr()) }, error));
            }
        };
        slot.generation = slot.generation.wrapping_add(1);
        let entry = entry(&begun, &slot.sources, &mut slot.targets);
        let entry = entry.user_data(mark(index, slot.generation));
        // SAFETY: the entry names the list in the slot, and the buffers that it names. Both stay as they are until the
        // completion: the slot's `call` is set, so the slot is not used again, and `drop` waits. The descriptor is
        // open while the call lives.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        // The kernel has not got it: nothing but the leaked call is lost.
        pushed.expect("there is room in the submission queue");
        slot.call = Some(InFlight(call));
        slot.token = token;
        slot.is_cancelled = false;
        slot.thread = Some(thread);
        self.free.pop();
        Ok(())
    }

    /// Passes what was started to the kernel, and waits for a completion if `wait` is set and a call is in flight.
    /// `EINTR` is retried.
    pub(super) fn enter(&mut self, wait: bool) -> io::Result<()> {
        let want = usize::from(wait && self.in_flight() > 0);
        loop {
            match self.ring.submit_and_wait(want) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map(drop),
            }
        }
    }

    /// Takes a call that has ended. Makes no system call.
    pub(super) fn next_ended(&mut self) -> Option<Ended<C>> {
        loop {
            let completion = self.ring.completion().next()?;
            let (index, generation) = unmark(completion.user_data());
            let Some(slot) = self.slots.get_mut(index as usize) else {
                continue; // a cancellation
            };
            assert_eq!(
                slot.generation, generation,
                "a completion of a call that has ended"
            );
            let call = slot.call.take().expect("a call that is in flight");
            slot.sources.clear();
            slot.targets.clear();
            self.free.push(index);
            let result = match completion.result() {
                error @ ..0 => Err(io::Error::from_raw_os_error(-error)),
                // It is not negative.
                taken => Ok(taken as usize),
            };
            return Some(Ended {
                // SAFETY: the pointer is that of a leaked `Box`. The kernel has ended the call, which this completion
                // says, and the lists that borrowed from it are empty.
                call: unsafe { Box::from_raw(call.0.as_ptr()) },
                result,
                was_cancelled: slot.is_cancelled,
                is_of_other_thread: slot.thread != Some(thread::current().id()),
            });
        }
    }

    /// Cancels the calls that were started with a token that `chosen` accepts, and returns their number. Each of them ends
    /// soon, in whatever way.
    ///
    /// # Errors
    ///
    /// Those of [`enter`](Calls::enter), which passes entries on if the submission queue is full. Calls may be left then
    /// that are not cancelled.
    pub(super) fn cancel(&mut self, chosen: impl Fn(u64) -> bool) -> io::Result<usize> {
        let mut count = 0;
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            if slot.call.is_none() || !chosen(slot.token) {
                continue;
            }
            let entry = opcode::AsyncCancel::new(mark(index as u32, slot.generation)).build();
            let entry = entry.user_data(CANCELLATION);
            if self.ring.submission().is_full() {
                self.enter(false)?;
            }
            // SAFETY: a cancellation names no memory.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.slots[index].is_cancelled = true;
            count += 1;
        }
        Ok(count)
    }

    /// Cancels all calls, waits until they have ended, and drops them.
    ///
    /// # Errors
    ///
    /// If the kernel refuses to wait.
    fn end_all(&mut self) -> io::Result<()> {
        while self.in_flight() > 0 {
            match self
                .cancel(|_| true)
                .and_then(|_| self.enter_for(CANCEL_AGAIN))
            {
                Err(error) if is_transient(&error) => thread::sleep(Duration::from_millis(1)),
                result => result?,
            }
            while self.next_ended().is_some() {}
            // The cancellations themselves have ended that wait: now for a call, or the time to cancel again.
            if self.in_flight() > 0 {
                match self.enter_for(CANCEL_AGAIN) {
                    Err(error) if is_transient(&error) => {}
                    result => result?,
                }
                while self.next_ended().is_some() {}
            }
        }
        Ok(())
    }

    /// As [`enter`](Calls::enter), and waits no longer than that.
    fn enter_for(&mut self, most: Duration) -> io::Result<()> {
        let most = Timespec::from(most);
        let args = SubmitArgs::new().timespec(&most);
        match self.ring.submitter().submit_with_args(1, &args) {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(()),
            result => result.map(drop),
        }
    }
}

/// Cancels all calls and waits until they have ended.
impl<C: Call> Drop for Calls<C> {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // A forked child: the calls are its parent's. What it owns of them is leaked.
            return;
        }
        if self.end_all().is_err() {
            // The kernel may use the calls and their lists for ever: all is leaked.
            return;
        }
        // SAFETY: neither is used again. No call is in flight, so the kernel uses no list.
        unsafe {
            ManuallyDrop::drop(&mut self.slots);
            ManuallyDrop::drop(&mut self.ring);
        }
    }
}

/// Whether io_uring_enter(2) may succeed if it is called again: no memory now, completions that were not taken, a signal.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EBUSY | libc::EINTR)
    ) || error.kind() == io::ErrorKind::WouldBlock
}

fn mark(index: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(index)
}

/// The index of [`CANCELLATION`] is that of no slot.
fn unmark(mark: u64) -> (u32, u32) {
    (mark as u32, (mark >> 32) as u32)
}

/// The entry of the submission queue: a plain read or write where there is one slice, as in
/// [`write_slices`](crate::sys::syscalls::write_slices).
fn entry(
    begun: &Begun<'_>,
    sources: &[IoSlice<'static>],
    targets: &mut [IoSliceMut<'static>],
) -> squeue::Entry {
    let fd = Fd(begun.descriptor.as_raw_fd());
    match begun.operation {
        Operation::Write { offset } => {
            let offset = offset.unwrap_or(AT_POSITION);
            match sources {
                [one] => opcode::Write::new(fd, one.as_ptr(), one.len() as u32)
                    .offset(offset)
                    .build(),
                // "guaranteed to be ABI compatible with the `iovec` type"
                many => opcode::Writev::new(fd, many.as_ptr().cast(), many.len() as u32)
                    .offset(offset)
                    .build(),
            }
        }
        Operation::Read { offset } => {
            let offset = offset.unwrap_or(AT_POSITION);
            match targets {
                [one] => opcode::Read::new(fd, one.as_mut_ptr(), one.len() as u32)
                    .offset(offset)
                    .build(),
                many => opcode::Readv::new(fd, many.as_ptr().cast(), many.len() as u32)
                    .offset(offset)
                    .build(),
            }
        }
        Operation::AwaitWritable => opcode::PollAdd::new(fd, libc::POLLOUT as u32).build(),
        Operation::AwaitReadable => opcode::PollAdd::new(fd, libc::POLLIN as u32).build(),
    }
}
