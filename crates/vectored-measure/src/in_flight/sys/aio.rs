//! The queue of Linux native AIO.
//!
//! # Safety
//!
//! [`AioQueue::write`] and [`AioQueue::read`] return, or unwind, only when every call has ended: dropping an [`AioScope`] sees
//! to that. So a call may use whatever is borrowed for a lifetime that is a parameter of the function, since that is longer
//! than the function runs.
//!
//! - A list belongs to its slot until `AioScope::end`, and nothing touches it or the slot while a call is in flight. So a
//!   list to read into is borrowed mutably by one call at a time.
//! - The array of `iovec` belongs to the slot.
//! - If it cannot be learnt whether a call has ended, the process is aborted (`cannot_wait`). A queue has a call in flight
//!   during these functions alone, so it may be dropped or forgotten.
//! - A forked child does not have the mapping of its parent's queue. `check_process` refuses it.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process;

use libc::iovec;
use vectored::limits::iov_max;

use crate::in_flight::ListQueue;
use crate::in_flight::engine::{self, Ended, Scope};
use crate::in_flight::error::ListError;
use crate::in_flight::list_queue::{ReadList, WriteList};
use crate::in_flight::place::{Event, Place};
#[cfg(vectored_asan)]
use crate::in_flight::sys::asan;
use crate::in_flight::sys::check_process;
use crate::in_flight::sys::context::{self, Call, Context};
use crate::in_flight::unavailable::unavailable;

/// The depths that a queue takes.
const DEPTHS: RangeInclusive<u32> = 1..=32_768;

/// Lists moved by Linux native AIO: io_submit(2).
///
/// The working memory is kept from call to call: lists allocate nothing, if they have no more segments than earlier ones.
pub struct AioQueue {
    context: Context,
    /// The number of the process that made it.
    process: u32,
    slots: Vec<Slot>,
    /// The slots without a list.
    free: Vec<usize>,
    /// Calls that the kernel has not reported.
    calls: usize,
    /// Calls that have ended and were not handled, in the order in which the kernel reported them.
    ended: VecDeque<context::Ended>,
}

/// A list, and the position in it.
#[derive(Default)]
struct Slot {
    number: u64,
    is_write: bool,
    /// The offset of its first byte; `None` for a stream.
    offset: Option<u64>,
    moved: u64,
    /// The entries of the list from `first` on are not yet moved. No entry is empty.
    array: Vec<iovec>,
    first: usize,
    /// Bytes of the list that were not moved.
    left_bytes: u64,
    call_bytes: usize,
}

/// A list, borrowed until its transfer has ended.
enum List<'l, 'b> {
    Write(WriteList<'l>),
    Read(ReadList<'l, 'b>),
}

impl AioQueue {
    /// Moves lists of `fd`. Waits for all calls before it returns or unwinds.
    fn run<'l, 'b>(
        &mut self,
        fd: BorrowedFd<'_>,
        how: (Place, u64, usize),
        over: &mut VecDeque<List<'l, 'b>>,
        next: impl FnMut(&mut VecDeque<List<'l, 'b>>, u64) -> List<'l, 'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        check_process(self.process).map_err(|error| ListError::new(0, 0, 0, error))?;
        // A run that has unwound may have left slots.
        self.free.clear();
        self.free.extend((0..self.slots.len()).rev());
        let mut scope = AioScope {
            lists: self.slots.iter().map(|_| None).collect(),
            queue: self,
            fd,
            over: VecDeque::new(),
        };
        engine::run(&mut scope, how, over, next, on_event)
    }
}

impl ListQueue for AioQueue {
    fn with_depth(depth: u32) -> io::Result<AioQueue> {
        let context = if DEPTHS.contains(&depth) {
            Context::new(depth)
        } else {
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        };
        Ok(AioQueue {
            context: context.map_err(|error| unavailable(depth, error))?,
            process: process::id(),
            slots: (0..depth).map(|_| Slot::default()).collect(),
            free: (0..depth as usize).rev().collect(),
            calls: 0,
            ended: VecDeque::new(),
        })
    }

    fn depth(&self) -> u32 {
        // The number came from a `u32`.
        self.slots.len() as u32
    }

    fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let how = (place, count, self.slots.len());
        let next = |written: &mut VecDeque<_>, number| {
            written.clear();
            List::Write(list(number))
        };
        self.run(fd, how, &mut VecDeque::new(), next, on_event)
    }

    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: Vec<ReadList<'_, '_>>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let how = (place, count, lists.len().min(self.slots.len()));
        let mut free = lists.into_iter().map(List::Read).collect();
        // The list that has been over for the longest time is the first one.
        let next = |free: &mut VecDeque<_>, _| free.pop_front().expect("a list for each transfer");
        self.run(fd, how, &mut free, next, on_event)
    }
}

impl fmt::Debug for AioQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AioQueue")
            .field("depth", &self.slots.len())
            .finish_non_exhaustive()
    }
}

/// The lists that are in flight on a descriptor.
struct AioScope<'r, 'l, 'b> {
    queue: &'r mut AioQueue,
    fd: BorrowedFd<'r>,
    lists: Vec<Option<List<'l, 'b>>>,
    /// Lists that are over and were not returned.
    over: VecDeque<Ended<List<'l, 'b>>>,
}

impl AioScope<'_, '_, '_> {
    /// Makes the next call of a list, with as much of its rest as one call takes, or ends it if nothing is left.
    fn start_or_end(&mut self, number: usize) {
        let slot = &mut self.queue.slots[number];
        if slot.left_bytes == 0 {
            self.end(number, None);
            return;
        }
        let rest = slot.rest();
        let is_whole = rest.len() <= iov_max();
        let entries = if is_whole { rest } else { &rest[..iov_max()] };
        let call = Call {
            is_write: slot.is_write,
            fd: self.fd.as_raw_fd(),
            array: entries.as_ptr(),
            count: entries.len(),
            offset: slot.offset.map(|offset| offset.saturating_add(slot.moved)),
        };
        slot.call_bytes = if is_whole {
            usize::try_from(slot.left_bytes).unwrap_or(usize::MAX)
        } else {
            let bytes = entries.iter().map(|entry| entry.iov_len);
            bytes.fold(0, usize::saturating_add)
        };
        // SAFETY: the array belongs to the slot, and it names memory that the list borrows, mutably for a read. Neither is
        // touched before the call has ended, and `drop` waits for that. If `start` panics, it has not taken the call over.
        unsafe { self.queue.context.start(number, call) };
        self.queue.calls += 1;
    }

    /// Waits for a call, and handles all that have ended.
    fn handle_calls(&mut self) {
        let AioQueue { context, ended, .. } = &mut *self.queue;
        context.wait(ended);
        while let Some((number, result)) = self.next_call() {
            let slot = &mut self.queue.slots[number];
            match result {
                Ok(0) => {
                    let error = moved_nothing(slot.is_write);
                    self.end(number, Some(error));
                }
                Ok(moved) if moved > slot.call_bytes => {
                    let message = format!("a call of {} bytes reported {moved}", slot.call_bytes);
                    self.end(number, Some(io::Error::other(message)));
                }
                Ok(moved) => {
                    slot.advance(moved);
                    self.start_or_end(number);
                }
                // Interrupted before it moved a byte.
                Err(libc::EINTR) => self.start_or_end(number),
                Err(code) => self.end(number, Some(io::Error::from_raw_os_error(code))),
            }
        }
    }

    /// The slot of a call that has ended, with the bytes or the code of the error.
    fn next_call(&mut self) -> Option<(usize, Result<usize, i32>)> {
        let context::Ended { slot, result } = self.queue.ended.pop_front()?;
        self.queue.calls -= 1;
        #[cfg(vectored_asan)]
        self.queue.slots[slot].check();
        Some((slot, result))
    }

    fn end(&mut self, number: usize, error: Option<io::Error>) {
        let slot = &self.queue.slots[number];
        self.over.push_back(Ended {
            number: slot.number,
            moved: slot.moved,
            error,
            list: self.lists[number].take().expect("a list in each slot"),
        });
        self.queue.free.push(number);
    }
}

impl<'l, 'b> Scope for AioScope<'_, 'l, 'b> {
    type List = List<'l, 'b>;

    fn in_flight(&self) -> usize {
        self.queue.slots.len() - self.queue.free.len() + self.over.len()
    }

    fn begin(&mut self, number: u64, offset: Option<u64>, list: List<'l, 'b>) -> u64 {
        let slot = self.queue.free.pop().expect("no more lists than the depth");
        let list = self.lists[slot].insert(list);
        let bytes = self.queue.slots[slot].load(number, offset, list);
        self.start_or_end(slot);
        bytes
    }

    fn wait(&mut self) -> Option<Ended<List<'l, 'b>>> {
        while self.over.is_empty() && self.queue.calls > 0 {
            self.handle_calls();
        }
        self.over.pop_front()
    }

    fn take_ended(&mut self) -> Option<Ended<List<'l, 'b>>> {
        self.over.pop_front()
    }
}

/// Waits until no call is in flight.
impl Drop for AioScope<'_, '_, '_> {
    fn drop(&mut self) {
        loop {
            while self.next_call().is_some() {}
            if self.queue.calls == 0 {
                return;
            }
            let AioQueue { context, ended, .. } = &mut *self.queue;
            context.wait(ended);
        }
    }
}

impl Slot {
    /// Puts a list in the place of the last one. Returns its bytes.
    fn load(&mut self, number: u64, offset: Option<u64>, list: &mut List<'_, '_>) -> u64 {
        (self.number, self.offset) = (number, offset);
        (self.moved, self.first, self.left_bytes) = (0, 0, 0);
        self.array.clear();
        match list {
            List::Write(list) => {
                self.is_write = true;
                for segment in *list {
                    self.add(segment.as_ptr().cast_mut(), segment.len());
                }
            }
            List::Read(list) => {
                self.is_write = false;
                for segment in list.iter_mut() {
                    self.add(segment.as_mut_ptr(), segment.len());
                }
            }
        }
        self.left_bytes
    }

    fn add(&mut self, start: *mut u8, iov_len: usize) {
        if iov_len > 0 {
            let iov_base = start.cast();
            self.array.push(iovec { iov_base, iov_len });
            self.left_bytes = self.left_bytes.saturating_add(iov_len as u64);
        }
    }

    /// The entries that are left.
    fn rest(&self) -> &[iovec] {
        &self.array[self.first..]
    }

    /// Lets AddressSanitizer report memory of a list that was freed while a call was in flight.
    #[cfg(vectored_asan)]
    fn check(&self) {
        for entry in self.rest() {
            asan::check(entry.iov_base.cast(), entry.iov_len);
        }
    }

    fn advance(&mut self, moved: usize) {
        let left_bytes = self.left_bytes.checked_sub(moved as u64);
        self.left_bytes = left_bytes.expect("no more bytes than are left");
        self.moved += moved as u64;
        if self.left_bytes == 0 {
            return;
        }
        let mut left = moved;
        while let Some(entry) = self.array.get_mut(self.first) {
            if left < entry.iov_len {
                // SAFETY: `left` is less than the length of the entry.
                entry.iov_base = unsafe { entry.iov_base.byte_add(left) };
                entry.iov_len -= left;
                return;
            }
            left -= entry.iov_len;
            self.first += 1;
        }
    }
}

fn moved_nothing(is_write: bool) -> io::Error {
    if is_write {
        io::Error::new(ErrorKind::WriteZero, "the kernel took no byte of a write")
    } else {
        io::Error::new(
            ErrorKind::UnexpectedEof,
            "the file or stream ended within the list",
        )
    }
}
