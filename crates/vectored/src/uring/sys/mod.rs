//! Calls that the kernel makes through io_uring, with memory and a descriptor that they own until they end.
//!
//! # Safety
//!
//! A call lies on the heap, and a raw pointer names it. [`Calls::start`] borrows the call for as long as the kernel may
//! use it: nothing touches the call before [`Calls::next_ended`] has seen its completion. Then the borrow is over, and
//! the call is a `Box` again. So the lists of buffers that the call gave stay valid by the rules of any borrow,
//! whatever owns the buffers.
//!
//! - A call is `'static`. If a [`Calls`] is forgotten, the calls, the lists and the ring are forgotten with it, and stay.
//! - A dropped [`Calls`] cancels its calls and waits until each has ended. If the kernel refuses to wait, or if the process
//!   is a fork of the process that started the calls, all is leaked.
#![allow(unsafe_code)]

#[cfg(vectored_asan)]
mod asan;
mod lists;
mod prefetch;
mod process_mark;
#[cfg(test)]
mod tests;
mod thread_number;

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::thread;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use crate::queue::SegmentQueue;
use crate::sys::span::Span;
use lists::Lists;
pub(super) use prefetch::prefetch;
use process_mark::ProcessMark;
use thread_number::thread_number;

/// The position of a file, or none: "-1" of io_uring_enter(2).
const AT_POSITION: u64 = u64::MAX;

/// The bit that marks the completion of a cancellation. No index of a slot has this bit.
const CANCELLATION: u64 = 1 << 31;

/// If a cancellation did not find a call, or could not end it, the call is cancelled again after this time, whatever has
/// ended meanwhile: the kernel may have been about to try the call again.
const CANCEL_AGAIN: Duration = Duration::from_millis(20);

/// The most completions that are taken from the kernel at a time.
const MAX_TAKEN: usize = 32;

/// The call of a completion is loaded into the cache when this many completions are before it. When many calls have
/// ended, the bytes that they moved have taken the place of the calls in the cache.
const PREFETCH_AHEAD: usize = 4;

/// The most bytes of lists that are kept for later calls: 64 calls of 1024 segments.
const MAX_RETAINED_BYTES: usize = 1 << 20;

const FORKED: &str = "this process is a fork of the one that made the ring, which the child cannot use: make a ring in the \
    child";

/// An operation of the kernel, with all that the operation uses.
pub(super) trait Call: Send + 'static {
    /// Adds the buffers to one of the two empty lists, and returns the operation.
    ///
    /// Adds at most `IOV_MAX` slices and `MAX_CALL_BYTES`, and at least one slice for a read or a write. If the list of a
    /// write lies in memory already, that list is returned instead.
    fn begin<'a>(
        &'a mut self,
        sources: &mut Vec<IoSlice<'a>>,
        targets: &mut Vec<IoSliceMut<'a>>,
    ) -> io::Result<Begun<'a>>;
}

/// The operation of the kernel, and its descriptor.
pub(super) struct Begun<'a> {
    pub(super) descriptor: BorrowedFd<'a>,
    pub(super) operation: Operation,
    /// The list of a write, instead of `sources`.
    pub(super) list: Option<&'a [IoSlice<'a>]>,
    /// A queue that the call uses when it has ended, or null. Its memory is loaded into the cache before.
    pub(super) used_at_end: *const SegmentQueue,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// Writes the sources; without an offset at the position of the descriptor.
    Write {
        offset: Option<u64>,
    },
    Read {
        offset: Option<u64>,
    },
    AwaitWritable,
    AwaitReadable,
}

pub(super) struct Ended<C> {
    pub(super) call: Box<C>,
    /// Bytes, or the events of a wait.
    pub(super) result: io::Result<usize>,
    pub(super) was_cancelled: bool,
    /// For a call that was cancelled: whether a thread other than the present thread may have passed it to the kernel. When
    /// that thread ends, the kernel cancels its calls.
    pub(super) is_of_other_thread: bool,
}

/// A ring, and the calls that the kernel is making.
pub(super) struct Calls<C: Call> {
    /// Dropped when no call is left.
    ring: ManuallyDrop<IoUring>,
    slots: ManuallyDrop<Vec<Slot<C>>>,
    /// The lists of the call of each slot, borrowed from the call. Dropped when no call is left: the kernel may read
    /// them. A call whose list lies in its own memory uses no lists here. With many calls in flight, these lists are in
    /// no cache.
    lists: ManuallyDrop<Vec<Lists>>,
    free: Vec<u32>,
    /// The bytes of the lists that are empty.
    retained_bytes: usize,
    /// Completions: marks and results. The completions before `next_taken` were handled.
    taken: Vec<(u64, i32)>,
    next_taken: usize,
    /// Whether the submission queue may have a cancellation. Without a cancellation, the queue has room for as many calls as
    /// there are slots.
    has_cancellations: bool,
    /// The calls that a cancellation has not ended, as marks.
    missed: Vec<u64>,
    /// When the first of these calls was missed.
    missed_since: Option<Instant>,
    /// The number of the thread that started a call or entered the kernel last.
    used_by: u64,
    /// How many times `used_by` has changed.
    changes_of_thread: u32,
    process: ProcessMark,
    /// The memory that was given to the kernel, by slot.
    #[cfg(vectored_asan)]
    given: Vec<asan::Given>,
}

/// The state of a call. It takes less than a cache line.
struct Slot<C> {
    call: Option<InFlight<C>>,
    used_at_end: *const SegmentQueue,
    token: u64,
    /// How many calls this slot has had: a late cancellation has the number of an earlier call.
    generation: u32,
    /// `changes_of_thread` of [`Calls`] when the call was started.
    changes_of_thread: u32,
    /// The bytes of its lists, if they are empty.
    retained_bytes: u32,
    is_cancelled: bool,
    /// Whether its lists may have entries.
    uses_lists: bool,
}

// SAFETY: the call is `Send`, and the other pointer is only prefetched, never followed.
unsafe impl<C: Send> Send for Slot<C> {}

/// A pointer from `Box::leak`: a `Box` asserts, whenever it moves, that nothing else uses its content.
struct InFlight<C>(NonNull<C>);

// SAFETY: it owns a `C`, which is `Send`, as a `Box` does.
unsafe impl<C: Send> Send for InFlight<C> {}

impl<C: Call> Calls<C> {
    /// A ring for up to `depth` calls at a time, at least 1.
    pub(super) fn new(depth: u32) -> io::Result<Calls<C>> {
        let process = ProcessMark::new()?;
        // A forked child does not have the mapped queues: the child cannot take the completions of its parent's calls.
        let mut ring = IoUring::builder().dontfork().build(depth)?;
        let params = ring.params();
        // The last of these features came with Linux 5.11.
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
            used_at_end: ptr::null(),
            token: 0,
            generation: 0,
            changes_of_thread: 0,
            retained_bytes: 0,
            is_cancelled: false,
            uses_lists: false,
        };
        let lists = |_| Lists::default();
        Ok(Calls {
            ring: ManuallyDrop::new(ring),
            slots: ManuallyDrop::new((0..depth).map(slot).collect()),
            lists: ManuallyDrop::new((0..depth).map(lists).collect()),
            free: (0..depth).rev().collect(),
            retained_bytes: 0,
            taken: Vec::with_capacity(MAX_TAKEN),
            next_taken: 0,
            has_cancellations: false,
            missed: Vec::new(),
            missed_since: None,
            used_by: 0,
            changes_of_thread: 0,
            process,
            #[cfg(vectored_asan)]
            given: (0..depth).map(|_| asan::Given::default()).collect(),
        })
    }

    /// Refuses a forked child. Call it before all functions but `in_flight` and `depth`: the queues of the ring are not
    /// mapped in the child.
    #[inline]
    pub(super) fn check_process(&self) -> io::Result<()> {
        if self.process.is_here() { Ok(()) } else { Err(io::Error::other(FORKED)) }
    }

    pub(super) fn depth(&self) -> u32 {
        // The number came from a `u32`.
        self.slots.len() as u32
    }

    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(super) fn has_room(&mut self) -> bool {
        let is_full = self.has_cancellations && self.ring.submission().is_full();
        !is_full && !self.free.is_empty()
    }

    /// Puts a call into the submission queue. [`enter`](Calls::enter) passes it to the kernel.
    pub(super) fn start(&mut self, call: Box<C>, token: u64) -> Result<(), (Box<C>, io::Error)> {
        self.note_thread();
        let index = *self.free.last().expect("there is a free slot");
        if self.slots[index as usize].uses_lists {
            // A panic of `begin` left these lists, and leaked its call.
            self.empty_lists(index);
        }
        let slot = &mut self.slots[index as usize];
        let lists = &mut self.lists[index as usize];
        let call = NonNull::from(Box::leak(call));
        // SAFETY: the pointer comes from a `Box` that was leaked, and is the only one to its content. This reference and
        // all that is borrowed from it (the lists) are used until the call has ended, or `begin` has failed: the lists
        // are emptied before the pointer is used again, below and in `next_ended`. `begin` cannot keep anything
        // borrowed elsewhere, since its lifetime may be any. If it panics, the call is never dropped, and the lists are
        // emptied before they are used again.
        let borrowed: &'static mut C = unsafe { &mut *call.as_ptr() };
        slot.uses_lists = true;
        let begun = match borrowed.begin(&mut lists.sources, &mut lists.targets) {
            Ok(begun) => begun,
            Err(error) => {
                self.empty_lists(index);
                // SAFETY: the pointer is to a leaked `Box`, and nothing is borrowed from it any more.
                return Err((unsafe { Box::from_raw(call.as_ptr()) }, error));
            }
        };
        slot.uses_lists = begun.list.is_none();
        if slot.uses_lists {
            self.retained_bytes -= std::mem::take(&mut slot.retained_bytes) as usize;
        }
        slot.generation = slot.generation.wrapping_add(1);
        #[cfg(vectored_asan)]
        self.given[index as usize].note(begun.list.unwrap_or(&lists.sources), &lists.targets);
        let entry = entry(&begun, lists).user_data(mark(index, slot.generation));
        // SAFETY: the entry names the list in the slot, or a list that is borrowed from the call, and the buffers that the
        // list names. All stay as they are until the completion: the slot's `call` is set, so neither is used again, and
        // `drop` waits. The descriptor is open while the call lives.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        // If this panics, the kernel has not got the entry: nothing but the leaked call is lost.
        pushed.expect("there is room in the submission queue");
        slot.call = Some(InFlight(call));
        slot.used_at_end = begun.used_at_end;
        slot.token = token;
        slot.is_cancelled = false;
        slot.changes_of_thread = self.changes_of_thread;
        self.free.pop();
        Ok(())
    }

    /// Passes the started calls to the kernel, and waits for a completion if `wait` is set and a call is in flight. This
    /// may return without a completion. `EINTR` is retried.
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
                result => {
                    result?;
                    break;
                }
            }
        }
        if self.has_cancellations {
            self.has_cancellations = !self.ring.submission().is_empty();
        }
        Ok(())
    }

    #[inline]
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
            let (mark, result) = self.next_completion()?;
            if mark & CANCELLATION != 0 {
                // The call was not found, or cannot be stopped where it is.
                if result < 0 {
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
            #[cfg(vectored_asan)]
            self.given[index as usize].check();
            let (was_cancelled, changes) = (slot.is_cancelled, slot.changes_of_thread);
            if slot.uses_lists {
                self.empty_lists(index);
            }
            self.free.push(index);
            let is_of_other_thread = result == -libc::ECANCELED
                && (changes != self.changes_of_thread || self.used_by != thread_number());
            let result = match result {
                error @ ..0 => Err(io::Error::from_raw_os_error(-error)),
                // The result is not negative here.
                taken => Ok(taken as usize),
            };
            return Some(Ended {
                // SAFETY: the pointer comes from a leaked `Box`. The kernel has ended the call, which this completion
                // says, and the lists that borrowed from it are empty.
                call: unsafe { Box::from_raw(call.0.as_ptr()) },
                result,
                was_cancelled,
                is_of_other_thread,
            });
        }
    }

    #[inline]
    fn next_completion(&mut self) -> Option<(u64, i32)> {
        if let Some(next) = self.taken.get(self.next_taken) {
            self.next_taken += 1;
            self.prefetch_taken(self.next_taken - 1 + PREFETCH_AHEAD);
            return Some(*next);
        }
        let mut completions = self.ring.completion();
        let first = completions.next()?;
        if !completions.is_empty() {
            self.taken.clear();
            self.next_taken = 0;
            let others = completions.take(MAX_TAKEN);
            self.taken
                .extend(others.map(|entry| (entry.user_data(), entry.result())));
            for at in 0..PREFETCH_AHEAD {
                self.prefetch_taken(at);
            }
        }
        Some((first.user_data(), first.result()))
    }

    /// Loads the call of a completion into the cache, if there is that completion.
    #[inline]
    fn prefetch_taken(&self, at: usize) {
        let slot_of = |mark: u64| self.slots.get(unmark(mark).0 as usize);
        let Some(slot) = self.taken.get(at).and_then(|(mark, _)| slot_of(*mark)) else {
            return;
        };
        if let Some(call) = &slot.call {
            prefetch(call.0.as_ptr());
            prefetch(slot.used_at_end);
        }
    }

    /// Empties the lists of a slot whose call is over, and frees them if enough memory is kept for others.
    fn empty_lists(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let lists = &mut self.lists[index as usize];
        lists.clear();
        slot.uses_lists = false;
        self.retained_bytes -= slot.retained_bytes as usize;
        let bytes = lists.bytes();
        slot.retained_bytes = match u32::try_from(bytes) {
            Ok(fitting) if self.retained_bytes + bytes <= MAX_RETAINED_BYTES => fitting,
            _ => {
                *lists = Lists::default();
                0
            }
        };
        self.retained_bytes += slot.retained_bytes as usize;
    }

    /// Cancels the calls that were started with a token that `chosen` accepts, and returns their number. Each of these
    /// calls ends soon, in whatever way.
    ///
    /// # Errors
    ///
    /// The errors of [`enter`](Calls::enter), which passes entries on if the submission queue is full. Then some of the
    /// calls may not be cancelled.
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

    /// Cancels again the calls that earlier cancellations have not ended.
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
        self.has_cancellations = true;
        // SAFETY: a cancellation names no memory.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_full| io::ErrorKind::WouldBlock.into())
    }

    /// Cancels all calls, waits until they have ended, and drops them.
    fn end_all(&mut self) -> io::Result<()> {
        while self.in_flight() > 0 {
            let entered = self.cancel(|_| true).and_then(|_| self.enter_once(false));
            self.pause_if_transient(entered)?;
            while self.next_ended().is_some() {}
            self.missed.clear();
            self.missed_since = None;
            // The cancellations themselves have ended. Waits until a call ends, or until it is time to cancel again.
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

    /// Waits like [`enter`](Calls::enter), but no longer than `most`. This may return earlier.
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

impl<C: Call> Drop for Calls<C> {
    fn drop(&mut self) {
        if !self.process.is_here() {
            // A forked child: the calls are its parent's. The child leaks the copies of these calls.
            return;
        }
        if self.end_all().is_err() {
            // The kernel may use the calls and their lists for ever: all is leaked.
            return;
        }
        // SAFETY: none of them is used again. No call is in flight, so the kernel uses no list.
        unsafe {
            ManuallyDrop::drop(&mut self.slots);
            ManuallyDrop::drop(&mut self.lists);
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
fn entry(begun: &Begun<'static>, lists: &mut Lists) -> squeue::Entry {
    let fd = Fd(begun.descriptor.as_raw_fd());
    match begun.operation {
        Operation::Write { offset } => {
            let offset = offset.unwrap_or(AT_POSITION);
            match begun.list.unwrap_or(&lists.sources) {
                [one] => opcode::Write::new(fd, one.start(), one.byte_len() as u32)
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
            match &mut lists.targets[..] {
                [one] => opcode::Read::new(fd, one.start().cast_mut(), one.byte_len() as u32)
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
