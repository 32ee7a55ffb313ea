//! Calls that the kernel makes through io_uring, with memory and a descriptor that they own until they end.
//!
//! # Safety
//!
//! A call lies on the heap, and a raw pointer names it. [`Calls::start`] borrows it for as long as the kernel may use it:
//! nothing touches it before [`Calls::next_ended`] has seen its completion. Then the borrow is over, and the call is a
//! `Box` again. So the lists of buffers that the call gave stay valid by the rules of any borrow, whatever owns the
//! buffers, and no argument about each kind of owner is needed.
//!
//! - A call is `'static`. If a [`Calls`] is forgotten, the calls, the lists and the ring are forgotten with it, and stay.
//! - A dropped [`Calls`] cancels its calls and waits until each has ended. If the kernel refuses to wait, or if the
//!   process is a fork of the one that started the calls, all is leaked.
//! - Each call has one entry of the submission queue, which makes one completion: no entry is a multishot one.
#![allow(unsafe_code)]

mod lists;
mod process_mark;
#[cfg(test)]
mod tests;
mod thread_number;

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::thread;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use lists::Lists;
use process_mark::ProcessMark;
use thread_number::thread_number;

/// The position of a file, or none: "-1" of io_uring_enter(2).
const AT_POSITION: u64 = u64::MAX;

/// In the mark of a completion: that of the cancellation of the call. No index of a slot has this bit.
const CANCELLATION: u64 = 1 << 31;

/// After this time, a call that a cancellation did not find, or could not end, is cancelled again, whatever has ended
/// meanwhile: the kernel may have been about to try it again.
const CANCEL_AGAIN: Duration = Duration::from_millis(20);

/// The most bytes of lists that are kept for later calls: those of 64 calls of 1024 segments.
const MAX_RETAINED_BYTES: usize = 1 << 20;

const FORKED: &str = "this process is a fork of the one that made the ring, which the child cannot use: make a ring in the \
    child";

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
    /// Whether another thread than this one may have passed it to the kernel. When that thread ends, the kernel cancels
    /// its calls.
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
    /// The bytes of the lists of these slots, which are empty.
    retained_bytes: usize,
    /// The calls that a cancellation has not ended, as marks.
    missed: Vec<u64>,
    /// When the first of them was missed.
    missed_since: Option<Instant>,
    /// The thread that started a call or entered the kernel last, by its number, and how many times another one had done so
    /// before.
    used_by: u64,
    changes_of_thread: u32,
    process: ProcessMark,
}

struct Slot<C> {
    call: Option<InFlight<C>>,
    /// How many calls this slot has had: it tells a late cancellation from the next call.
    generation: u32,
    token: u64,
    is_cancelled: bool,
    /// Of [`Calls`], when the call was started.
    changes_of_thread: u32,
    /// Those of the call, borrowed from it, and empty without one. Their memory does not move.
    lists: Lists,
}

/// From `Box::leak`: a `Box` asserts, whenever it moves, that nothing else uses its content.
struct InFlight<C>(NonNull<C>);

// SAFETY: it owns a `C`, which is `Send`, as a `Box` does.
unsafe impl<C: Send> Send for InFlight<C> {}

impl<C: Call> Calls<C> {
    /// A ring for up to `depth` calls at a time, at least 1.
    pub(super) fn new(depth: u32) -> io::Result<Calls<C>> {
        let process = ProcessMark::new()?;
        // A forked child does not have the mapped queues: it cannot take the completions of its parent's calls.
        let mut ring = IoUring::builder().dontfork().build(depth)?;
        let params = ring.params();
        // The last of these came with Linux 5.11.
        let has_features = params.is_feature_nodrop()
            && params.is_feature_rw_cur_pos()
            && params.is_feature_ext_arg();
        if !has_features {
            let message = "io_uring of this kernel is older than that of Linux 5.11";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        probe(&mut ring)?;
        let slot = |_| Slot {
            call: None,
            generation: 0,
            token: 0,
            is_cancelled: false,
            changes_of_thread: 0,
            lists: Lists::default(),
        };
        Ok(Calls {
            ring: ManuallyDrop::new(ring),
            slots: ManuallyDrop::new((0..depth).map(slot).collect()),
            free: (0..depth).rev().collect(),
            retained_bytes: 0,
            missed: Vec::new(),
            missed_since: None,
            used_by: 0,
            changes_of_thread: 0,
            process,
        })
    }

    /// Refuses a forked child. Call it before all functions but `in_flight` and `depth`: the queues of the ring are not
    /// mapped there.
    ///
    /// # Errors
    ///
    /// If this process is a fork of the one that made the ring.
    #[inline]
    pub(super) fn check_process(&self) -> io::Result<()> {
        match self.process.is_here() {
            true => Ok(()),
            false => Err(io::Error::other(FORKED)),
        }
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
        self.note_thread();
        let index = *self.free.last().expect("there is a free slot");
        let slot = &mut self.slots[index as usize];
        let mut lists = std::mem::take(&mut slot.lists);
        self.retained_bytes -= lists.bytes();
        let call = NonNull::from(Box::leak(call));
        // SAFETY: the pointer is that of a `Box` that was leaked, and the only one to its content. This reference and
        // all that is borrowed from it (the lists) are used until the call has ended, or `begin` has failed: the lists
        // are emptied before the pointer is used again, below and in `next_ended`. `begin` cannot keep anything
        // borrowed elsewhere, since its lifetime may be any. If it panics, the lists are dropped, and the call is not.
        let borrowed: &'static mut C = unsafe { &mut *call.as_ptr() };
        let begun = match borrowed.begin(&mut lists.sources, &mut lists.targets) {
            Ok(begun) => begun,
            Err(error) => {
                slot.lists = lists;
                self.empty_lists(index);
                // SAFETY: the pointer is that of a leaked `Box`, and nothing is borrowed from it any more.
                return Err((unsafe { Box::from_raw(call.as_ptr()) }, error));
            }
        };
        slot.lists = lists;
        slot.generation = slot.generation.wrapping_add(1);
        let entry = entry(&begun, &slot.lists.sources, &mut slot.lists.targets);
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
        slot.changes_of_thread = self.changes_of_thread;
        self.free.pop();
        Ok(())
    }

    /// Passes what was started to the kernel, and waits for a completion if `wait` is set and a call is in flight. It may
    /// return without one. `EINTR` is retried.
    pub(super) fn enter(&mut self, wait: bool) -> io::Result<()> {
        let waits = wait && self.in_flight() > 0;
        let Some(since) = self.missed_since else {
            return self.enter_once(waits);
        };
        let left = CANCEL_AGAIN.saturating_sub(since.elapsed());
        if left.is_zero() {
            self.cancel_missed()?;
            return self.enter_once(false);
        }
        if waits {
            // A call that ends before does not restart the time.
            return self.enter_for(left).map(drop);
        }
        self.enter_once(false)
    }

    fn enter_once(&mut self, wait: bool) -> io::Result<()> {
        self.note_thread();
        loop {
            match self.ring.submit_and_wait(usize::from(wait)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map(drop),
            }
        }
    }

    /// Notes that this thread starts a call or enters the kernel.
    fn note_thread(&mut self) {
        let thread = thread_number();
        if self.used_by != thread {
            self.used_by = thread;
            self.changes_of_thread = self.changes_of_thread.wrapping_add(1);
        }
    }

    /// Takes a call that has ended. Makes no system call.
    #[inline]
    pub(super) fn next_ended(&mut self) -> Option<Ended<C>> {
        loop {
            let completion = self.ring.completion().next()?;
            let mark = completion.user_data();
            if mark & CANCELLATION != 0 {
                // Not found, or not to be stopped where it is.
                if completion.result() < 0 {
                    self.missed.push(mark & !CANCELLATION);
                    self.missed_since.get_or_insert_with(Instant::now);
                }
                continue;
            }
            let (index, generation) = unmark(mark);
            let slot = &mut self.slots[index as usize];
            assert_eq!(
                slot.generation, generation,
                "a completion of a call that has ended"
            );
            let call = slot.call.take().expect("a call that is in flight");
            let (was_cancelled, changes) = (slot.is_cancelled, slot.changes_of_thread);
            self.empty_lists(index);
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
                was_cancelled,
                is_of_other_thread: changes != self.changes_of_thread
                    || self.used_by != thread_number(),
            });
        }
    }

    /// Empties the lists of a slot whose call is over, and frees them if enough memory is kept for others.
    fn empty_lists(&mut self, index: u32) {
        let lists = &mut self.slots[index as usize].lists;
        lists.clear();
        let bytes = self.retained_bytes + lists.bytes();
        if bytes <= MAX_RETAINED_BYTES {
            self.retained_bytes = bytes;
        } else {
            *lists = Lists::default();
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
            let mark = mark(index as u32, slot.generation);
            self.push_cancellation(mark, mark)?;
            self.slots[index].is_cancelled = true;
            count += 1;
        }
        Ok(count)
    }

    /// Cancels again what earlier cancellations have not ended.
    fn cancel_missed(&mut self) -> io::Result<()> {
        while let Some(&mark) = self.missed.last() {
            let (index, generation) = unmark(mark);
            let slot = &self.slots[index as usize];
            if slot.call.is_some() && slot.generation == generation {
                self.push_cancellation(mark, mark)?;
            }
            self.missed.pop();
        }
        self.missed_since = None;
        Ok(())
    }

    /// Cancels the call of `target`. The completion of the cancellation carries `mark`.
    fn push_cancellation(&mut self, target: u64, mark: u64) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(target).build();
        let entry = entry.user_data(mark | CANCELLATION);
        if self.ring.submission().is_full() {
            self.enter_once(false)?;
        }
        // SAFETY: a cancellation names no memory.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_full| io::ErrorKind::WouldBlock.into())
    }

    /// Cancels all calls, waits until they have ended, and drops them.
    ///
    /// # Errors
    ///
    /// If the kernel refuses to wait.
    fn end_all(&mut self) -> io::Result<()> {
        while self.in_flight() > 0 {
            let entered = self.cancel(|_| true).and_then(|_| self.enter_once(false));
            self.pause_if_transient(entered)?;
            while self.next_ended().is_some() {}
            // All are cancelled again, whether one was missed or not.
            self.missed.clear();
            self.missed_since = None;
            // The cancellations themselves have ended: now for a call, or the time to cancel again.
            if self.in_flight() > 0 {
                let entered = self.enter_for(CANCEL_AGAIN);
                self.pause_if_transient(entered)?;
                while self.next_ended().is_some() {}
            }
        }
        Ok(())
    }

    fn pause_if_transient(&self, result: io::Result<()>) -> io::Result<()> {
        match result {
            Err(error) if is_transient(&error) => {
                thread::sleep(Duration::from_millis(1));
                Ok(())
            }
            result => result,
        }
    }

    /// As [`enter`](Calls::enter) that waits, but no longer than that. It may return earlier.
    fn enter_for(&mut self, most: Duration) -> io::Result<()> {
        self.note_thread();
        let most = Timespec::from(most);
        let args = SubmitArgs::new().timespec(&most);
        match self.ring.submitter().submit_with_args(1, &args) {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            result => result.map(drop),
        }
    }
}

/// Makes a call that does nothing: a sandbox may allow io_uring_setup(2) alone.
fn probe(ring: &mut IoUring) -> io::Result<()> {
    // SAFETY: the entry names no memory.
    let pushed = unsafe { ring.submission().push(&opcode::Nop::new().build()) };
    pushed.expect("an empty submission queue has room");
    while ring.completion().next().is_none() {
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => drop(result?),
        }
    }
    Ok(())
}

/// Cancels all calls and waits until they have ended.
impl<C: Call> Drop for Calls<C> {
    fn drop(&mut self) {
        if !self.process.is_here() {
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
