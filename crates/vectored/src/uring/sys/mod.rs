//! Calls that the kernel makes through io_uring. A call owns its memory and its descriptor.
//!
//! # Safety
//!
//! A call is on the heap, and a raw pointer refers to the call. [`Calls::start`] borrows the call until
//! [`Calls::next_ended`] has seen its completion. During the borrow, the kernel may use the call, and the program does
//! not touch the call. After the borrow, the call is a `Box` again. The borrow keeps the buffers of the call valid.
//!
//! - A call is `'static`. If a [`Calls`] is forgotten, the calls, the lists and the ring are leaked.
//! - Dropping a [`Calls`] cancels the calls and waits until each call has ended. If the kernel refuses to wait, the
//!   calls, the lists and the ring are leaked. A forked child also leaks the calls, the lists and the ring.
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

/// The value -1 selects the position of the descriptor, or no position ("-1" in io_uring_enter(2)).
const AT_POSITION: u64 = u64::MAX;

/// This bit marks the completion of a cancellation. No index of a slot has this bit.
const CANCELLATION: u64 = 1 << 31;

/// A cancellation that did not end its call is repeated after this time, even if other calls have ended before. A
/// cancellation does not find a call that the kernel is about to try again.
const CANCEL_AGAIN: Duration = Duration::from_millis(20);

/// The most completions that are read from the ring at a time.
const MAX_TAKEN: usize = 32;

/// The call of a completion is prefetched when this many completions are before it. If many calls have ended, the moved
/// bytes have evicted the calls from the cache.
const PREFETCH_AHEAD: usize = 4;

/// The most bytes of lists that are kept for later calls: 64 calls of 1024 segments.
const MAX_RETAINED_BYTES: usize = 1 << 20;

const FORKED: &str = "this process is a fork of the one that made the ring, which the child cannot use: make a ring in the \
    child";

pub(super) trait Call: Send + 'static {
    /// Adds the buffers to one of the two empty lists, and returns the operation.
    ///
    /// Adds at most `IOV_MAX` slices and `MAX_CALL_BYTES`. A read or a write has at least one slice. If the list of a
    /// write already exists in memory, `begin` returns this list and adds nothing.
    fn begin<'a>(
        &'a mut self,
        sources: &mut Vec<IoSlice<'a>>,
        targets: &mut Vec<IoSliceMut<'a>>,
    ) -> io::Result<Begun<'a>>;
}

pub(super) struct Begun<'a> {
    pub(super) descriptor: BorrowedFd<'a>,
    pub(super) operation: Operation,
    /// The list of a write. `None` means that `sources` has the list.
    pub(super) list: Option<&'a [IoSlice<'a>]>,
    /// A queue that is used at the end of the call, or null. The queue is prefetched before that use.
    pub(super) used_at_end: *const SegmentQueue,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// Without an offset, the operation writes at the position of the descriptor.
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
    /// The number of bytes, or the events of a wait.
    pub(super) result: io::Result<usize>,
    pub(super) was_cancelled: bool,
    /// Whether another thread may have passed the call to the kernel. True only if the result is `ECANCELED`. The
    /// kernel cancels the calls of a thread that ends, also without a cancellation by the program.
    pub(super) is_of_other_thread: bool,
}

pub(super) struct Calls<C: Call> {
    /// The ring is dropped only if no call is left.
    ring: ManuallyDrop<IoUring>,
    slots: ManuallyDrop<Vec<Slot<C>>>,
    /// The lists of the calls, by slot. The lists are borrowed from the calls, and the kernel may read the lists. So
    /// the lists are dropped only if no call is left.
    ///
    /// A call that returns its own list does not use these lists. If many calls are in flight, these lists are in no
    /// cache.
    lists: ManuallyDrop<Vec<Lists>>,
    free: Vec<u32>,
    /// The capacity in bytes of all empty lists.
    retained_bytes: usize,
    /// The marks and results of completions. The completions before `next_taken` are handled.
    taken: Vec<(u64, i32)>,
    next_taken: usize,
    /// Whether the submission queue may have a cancellation. Without a cancellation, the queue has room for as many
    /// calls as there are slots.
    has_cancellations: bool,
    /// The marks of the calls that a cancellation did not end.
    missed: Vec<u64>,
    /// The time at which the first call was added to `missed`.
    missed_since: Option<Instant>,
    /// The number of the thread that last started a call or entered the kernel.
    used_by: u64,
    changes_of_thread: u32,
    process: ProcessMark,
    #[cfg(vectored_asan)]
    given: Vec<asan::Given>,
}

/// A slot is smaller than a cache line.
struct Slot<C> {
    call: Option<InFlight<C>>,
    used_at_end: *const SegmentQueue,
    token: u64,
    /// The number of calls that this slot has had. A late cancellation has the number of an earlier call.
    generation: u32,
    /// The value of `changes_of_thread` of [`Calls`] at the start of the call.
    changes_of_thread: u32,
    /// The capacity in bytes of the slot's lists, if the lists are empty.
    retained_bytes: u32,
    is_cancelled: bool,
    /// Whether the slot's lists may have entries.
    uses_lists: bool,
}

// SAFETY: the call is `Send`. The other pointer is only prefetched, never dereferenced.
unsafe impl<C: Send> Send for Slot<C> {}

/// A pointer from `Box::leak`. A moved `Box` would assert that no other pointer refers to its content.
struct InFlight<C>(NonNull<C>);

// SAFETY: an `InFlight` owns a `C`, like a `Box`, and `C` is `Send`.
unsafe impl<C: Send> Send for InFlight<C> {}

impl<C: Call> Calls<C> {
    pub(super) fn new(depth: u32) -> io::Result<Calls<C>> {
        let process = ProcessMark::new()?;
        // The queues of the ring are not mapped in a forked child, so the child cannot take the completions of the
        // parent.
        let mut ring = IoUring::builder().dontfork().build(depth)?;
        let params = ring.params();
        // The latest of these features exists since Linux 5.11.
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

    /// Returns an error in a forked child, where the queues of the ring are not mapped. Call this function before all
    /// functions except `in_flight` and `depth`.
    #[inline]
    pub(super) fn check_process(&self) -> io::Result<()> {
        if self.process.is_here() { Ok(()) } else { Err(io::Error::other(FORKED)) }
    }

    pub(super) fn depth(&self) -> u32 {
        // The number of slots is a `u32` argument of `new`.
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

    /// Puts a call into the submission queue. [`enter`](Calls::enter) passes the call to the kernel.
    pub(super) fn start(&mut self, call: Box<C>, token: u64) -> Result<(), (Box<C>, io::Error)> {
        self.note_thread();
        let index = *self.free.last().expect("there is a free slot");
        if self.slots[index as usize].uses_lists {
            // These lists have entries of a call whose `begin` panicked. That call is leaked.
            self.empty_lists(index);
        }
        let slot = &mut self.slots[index as usize];
        let lists = &mut self.lists[index as usize];
        let call = NonNull::from(Box::leak(call));
        // SAFETY: the pointer comes from a leaked `Box`, and no other pointer refers to the content. This reference and
        // the lists that borrow from the call are used until the call has ended, or until `begin` has failed. The lists
        // are emptied before the pointer is used again, below and in `next_ended`. `begin` cannot keep a borrow
        // elsewhere, because `begin` accepts any lifetime. If `begin` panics, the call is never dropped, and the lists
        // are emptied before their next use.
        let borrowed: &'static mut C = unsafe { &mut *call.as_ptr() };
        slot.uses_lists = true;
        let begun = match borrowed.begin(&mut lists.sources, &mut lists.targets) {
            Ok(begun) => begun,
            Err(error) => {
                self.empty_lists(index);
                // SAFETY: the pointer comes from a leaked `Box`, and no borrow of the content is left.
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
        // SAFETY: the entry names a list in the slot or in the call, and the buffers of that list. The list and the
        // buffers are unchanged until the completion, because the slot's `call` is set and `drop` waits. The call keeps
        // the descriptor open.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        // After a panic here, the kernel does not have the entry. Only the call is leaked.
        pushed.expect("there is room in the submission queue");
        slot.call = Some(InFlight(call));
        slot.used_at_end = begun.used_at_end;
        slot.token = token;
        slot.is_cancelled = false;
        slot.changes_of_thread = self.changes_of_thread;
        self.free.pop();
        Ok(())
    }

    /// Passes the started calls to the kernel. If `wait` is set and a call is in flight, waits for a completion.
    ///
    /// The function may return without a completion. `EINTR` is retried.
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
            // If another call ends during the wait, the time for the cancellation is not restarted.
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

    /// Returns a call that has ended. Makes no system call.
    #[inline]
    pub(super) fn next_ended(&mut self) -> Option<Ended<C>> {
        loop {
            let (mark, result) = self.next_completion()?;
            if mark & CANCELLATION != 0 {
                // The kernel did not find the call, or cannot stop the call in its present state.
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
                // SAFETY: the pointer comes from a leaked `Box`. This completion shows that the kernel has ended the
                // call. The lists that borrowed from the call are empty.
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

    /// Prefetches the call of the completion at index `at`, if that completion exists.
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

    /// Empties the lists of a slot whose call has ended. Frees the lists if the other empty lists have enough memory.
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

    /// Cancels the calls whose token `chosen` accepts, and returns the number of these calls. Each of these calls ends
    /// soon, with or without success.
    ///
    /// # Errors
    ///
    /// The errors of [`enter`](Calls::enter), which is called if the submission queue is full. After an error, some of
    /// the calls may not be cancelled.
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

    /// Cancels the call with the mark `target`. The completion of the cancellation has `mark`.
    fn push_cancellation(&mut self, target: u64, mark: u64) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(target).build();
        let entry = entry.user_data(mark | CANCELLATION);
        if self.ring.submission().is_full() {
            self.enter_once(false)?;
        }
        self.has_cancellations = true;
        // SAFETY: the entry of a cancellation names no memory.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_full| io::ErrorKind::WouldBlock.into())
    }

    fn end_all(&mut self) -> io::Result<()> {
        while self.in_flight() > 0 {
            let entered = self.cancel(|_| true).and_then(|_| self.enter_once(false));
            self.pause_if_transient(entered)?;
            while self.next_ended().is_some() {}
            self.missed.clear();
            self.missed_since = None;
            // The cancellations have ended. The wait ends with a call, or when the cancellations must be repeated.
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

    /// Waits like [`enter`](Calls::enter), but at most for the time `most`. The function may return earlier.
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

/// Makes a call without effect, because a sandbox may allow io_uring_setup(2) and forbid io_uring_enter(2).
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
            // The calls belong to the parent, so the forked child leaks its copies of the calls.
            return;
        }
        if self.end_all().is_err() {
            // The kernel may use the calls and the lists at any later time, so all are leaked.
            return;
        }
        // SAFETY: the slots, the lists and the ring are not used again. No call is in flight, so the kernel uses no
        // list.
        unsafe {
            ManuallyDrop::drop(&mut self.slots);
            ManuallyDrop::drop(&mut self.lists);
            ManuallyDrop::drop(&mut self.ring);
        }
    }
}

/// Returns whether the error is temporary: the kernel has no memory at the moment, completions were not taken, or a
/// signal arrived.
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

/// Makes the entry of the submission queue. One slice gets a plain read or write, as in
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
                // `IoSlice` is "guaranteed to be ABI compatible with the `iovec` type".
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
