//! The queue of Linux native AIO.
//!
//! # Safety
//!
//! [`AioQueue::scope`] works as [`std::thread::scope`]: it returns, or unwinds, only when every call has ended. So a call may use
//! whatever is borrowed for `'b`, which is longer than that function runs, since it is a parameter of it.
//!
//! - A list belongs to its slot until `AioScope::end`, and nothing touches it or the slot while a call is in flight. So a
//!   list to read into is borrowed mutably by one call at a time.
//! - The array of `iovec` is that of the caller, which the list borrows, or that of the slot.
//! - If it cannot be learnt whether a call has ended, the process is aborted (`cannot_wait`). A queue has a call in flight
//!   during `scope` alone, so it may be dropped or forgotten.
//! - A forked child does not have the mapping of its parent's queue. `check_process` refuses it.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process;
use std::slice;

use libc::iovec;
use vectored::iov_max;

use crate::in_flight::ListQueue;
use crate::in_flight::engine::{self, Ended, Scope, Source};
use crate::in_flight::error::ListError;
use crate::in_flight::list::{ReadList, WriteList};
use crate::in_flight::place::{Event, Place};
#[cfg(vectored_asan)]
use crate::in_flight::sys::asan;
use crate::in_flight::sys::check_process;
use crate::in_flight::sys::context::{self, Call, Context};
use crate::in_flight::unavailable::Unavailable;

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
    /// Where it begins, if it is at an offset.
    offset: Option<u64>,
    moved: u64,
    /// What is left of the list, from `first` on, unless `given` has it. No entry is empty.
    own: Vec<iovec>,
    first: usize,
    /// The array of the caller, and the number of its entries.
    given: Option<(*const iovec, usize)>,
    /// Bytes of the list that were not moved.
    left_bytes: u64,
    /// Bytes of the call in flight.
    call_bytes: usize,
}

/// The segments of a list.
trait Segments {
    /// Adds those that are not empty, and returns their bytes.
    fn fill(&mut self, entries: &mut Vec<iovec>) -> u64;

    /// The array of the caller with its entries and bytes, if there is one without empty segments: with those alone a call
    /// would move nothing.
    fn array(&mut self) -> Option<(*const iovec, usize, u64)>;
}

impl Segments for WriteList<'_> {
    fn fill(&mut self, entries: &mut Vec<iovec>) -> u64 {
        let entry = |segment: &[u8]| (segment.as_ptr().cast_mut(), segment.len());
        match self {
            WriteList::Slices(list) => filled(entries, list.iter().map(|segment| entry(segment))),
            WriteList::Array(list) => filled(entries, list.iter().map(|segment| entry(segment))),
        }
    }

    fn array(&mut self) -> Option<(*const iovec, usize, u64)> {
        match self {
            WriteList::Slices(_) => None,
            // "guaranteed to be ABI compatible with the `iovec` type"
            WriteList::Array(list) => Some((
                list.as_ptr().cast(),
                list.len(),
                bytes_without_empty(list.iter().map(|segment: &IoSlice<'_>| segment.len()))?,
            )),
        }
    }
}

impl Segments for ReadList<'_, '_> {
    fn fill(&mut self, entries: &mut Vec<iovec>) -> u64 {
        let entry = |segment: &mut [u8]| (segment.as_mut_ptr(), segment.len());
        match self {
            ReadList::Slices(list) => {
                filled(entries, list.iter_mut().map(|segment| entry(segment)))
            }
            ReadList::Array(list) => filled(entries, list.iter_mut().map(|segment| entry(segment))),
        }
    }

    fn array(&mut self) -> Option<(*const iovec, usize, u64)> {
        match self {
            ReadList::Slices(_) => None,
            ReadList::Array(list) => Some((
                list.as_ptr().cast(),
                list.len(),
                bytes_without_empty(list.iter().map(|segment: &IoSliceMut<'_>| segment.len()))?,
            )),
        }
    }
}

fn filled(entries: &mut Vec<iovec>, segments: impl Iterator<Item = (*mut u8, usize)>) -> u64 {
    let mut bytes = 0_u64;
    for (start, iov_len) in segments.filter(|(_, bytes)| *bytes > 0) {
        bytes = bytes.saturating_add(iov_len as u64);
        let iov_base = start.cast();
        entries.push(iovec { iov_base, iov_len });
    }
    bytes
}

/// The sum of these lengths; `None` if one is 0.
fn bytes_without_empty(lengths: impl Iterator<Item = usize>) -> Option<u64> {
    let (mut bytes, mut has_empty) = (0_u64, false);
    for length in lengths {
        bytes = bytes.saturating_add(length as u64);
        has_empty |= length == 0;
    }
    (!has_empty).then_some(bytes)
}

impl AioQueue {
    /// A queue that has up to `depth` lists in flight.
    ///
    /// # Errors
    ///
    /// See [`queue_of`](crate::in_flight::queue_of).
    pub fn new(depth: u32) -> io::Result<AioQueue> {
        let context = match DEPTHS.contains(&depth) {
            true => Context::new(depth),
            false => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        };
        Ok(AioQueue {
            context: context.map_err(|error| Unavailable::new(depth, error))?,
            process: process::id(),
            slots: (0..depth).map(|_| Slot::default()).collect(),
            free: (0..depth as usize).rev().collect(),
            calls: 0,
            ended: VecDeque::new(),
        })
    }

    /// Calls `body` with a scope in which lists of `fd` are moved. Waits for all calls before it returns or unwinds.
    fn scope<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        body: impl FnOnce(&mut AioScope<'_, 'b>) -> Result<(), ListError>,
    ) -> Result<(), ListError> {
        check_process(self.process).map_err(|error| ListError::new(0, 0, 0, error))?;
        // After a body that has unwound.
        self.free.clear();
        self.free.extend((0..self.slots.len()).rev());
        let mut scope = AioScope {
            buffers: self.slots.iter().map(|_| None).collect(),
            queue: self,
            fd,
            over: VecDeque::new(),
            borrowed: PhantomData,
        };
        body(&mut scope)
    }
}

impl ListQueue for AioQueue {
    fn depth(&self) -> u32 {
        // It came from a `u32`.
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
        let moved = (place, count, self.depth());
        self.scope(fd, |scope| {
            engine::run(scope, moved, Source::Write(list), on_event)
        })
    }

    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: &mut [ReadList<'_, '_>],
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let moved = (place, count, self.depth());
        let lists = lists.iter_mut().map(|list| {
            let bytes = list.bytes();
            (list as &mut dyn Segments, bytes)
        });
        let source = Source::Read(lists.collect());
        self.scope(fd, |scope| engine::run(scope, moved, source, on_event))
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
struct AioScope<'r, 'b> {
    queue: &'r mut AioQueue,
    fd: BorrowedFd<'b>,
    /// Of each slot, the list that is read into.
    buffers: Vec<Option<&'b mut (dyn Segments + 'b)>>,
    /// Lists that are over and were not returned.
    over: VecDeque<Ended<&'b mut (dyn Segments + 'b)>>,
    /// Neither a longer nor a shorter `'b` will do.
    borrowed: PhantomData<fn(&'b ()) -> &'b ()>,
}

impl<'b> AioScope<'_, 'b> {
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
        // SAFETY: the array is that of the slot or of the list, and it names memory that the list borrows for `'b`, mutably for
        // a read. Neither is touched before the call has ended, and `drop` waits for that. If `start` panics, it has not
        // taken the call over.
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
            buffers: self.buffers[number].take(),
        });
        self.queue.free.push(number);
    }

    fn free_slot(&mut self) -> usize {
        self.queue.free.pop().expect("no more lists than the depth")
    }
}

impl<'b> Scope<'b> for AioScope<'_, 'b> {
    type Buffers = &'b mut (dyn Segments + 'b);

    fn in_flight(&self) -> usize {
        self.queue.slots.len() - self.queue.free.len() + self.over.len()
    }

    fn write(&mut self, number: u64, offset: Option<u64>, mut list: WriteList<'b>) -> u64 {
        let slot = self.free_slot();
        let bytes = self.queue.slots[slot].load(number, offset, true, &mut list);
        self.start_or_end(slot);
        bytes
    }

    fn read(&mut self, number: u64, offset: Option<u64>, list: Self::Buffers) {
        let slot = self.free_slot();
        let list = self.buffers[slot].insert(list);
        self.queue.slots[slot].load(number, offset, false, &mut **list);
        self.start_or_end(slot);
    }

    fn wait(&mut self) -> Option<Ended<Self::Buffers>> {
        while self.over.is_empty() && self.queue.calls > 0 {
            self.handle_calls();
        }
        self.over.pop_front()
    }

    fn take_ended(&mut self) -> Option<Ended<Self::Buffers>> {
        self.over.pop_front()
    }
}

/// Waits until no call is in flight.
impl Drop for AioScope<'_, '_> {
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
    fn load(
        &mut self,
        number: u64,
        offset: Option<u64>,
        is_write: bool,
        list: &mut dyn Segments,
    ) -> u64 {
        (self.number, self.offset, self.is_write) = (number, offset, is_write);
        (self.moved, self.first) = (0, 0);
        self.own.clear();
        (self.given, self.left_bytes) = match list.array() {
            Some((array, count, bytes)) => (Some((array, count)), bytes),
            None => (None, list.fill(&mut self.own)),
        };
        self.left_bytes
    }

    /// The entries that are left.
    fn rest(&self) -> &[iovec] {
        match self.given {
            // SAFETY: the pointer and the number are those of a slice of `IoSlice` or `IoSliceMut`, which the list of
            // the slot borrows for `'b`. Nothing writes to the array before the scope is over.
            Some((array, count)) => unsafe { slice::from_raw_parts(array, count) },
            None => &self.own[self.first..],
        }
    }

    /// Lets AddressSanitizer report memory of a list that was freed while a call was in flight.
    #[cfg(vectored_asan)]
    fn check(&self) {
        if let Some((array, count)) = self.given {
            asan::check(array.cast(), count * size_of::<iovec>());
        }
        for entry in self.rest() {
            asan::check(entry.iov_base.cast(), entry.iov_len);
        }
    }

    fn advance(&mut self, moved: usize) {
        let left_bytes = self.left_bytes.checked_sub(moved as u64);
        self.left_bytes = left_bytes.expect("no more bytes than are left");
        self.moved += moved as u64;
        if self.left_bytes == 0 {
            self.own.clear();
            (self.first, self.given) = (0, None);
            return;
        }
        let mut left = moved;
        let mut whole = 0;
        let rest = self.rest();
        while let Some(entry) = rest.get(whole)
            && entry.iov_len <= left
        {
            left -= entry.iov_len;
            whole += 1;
        }
        if let Some((array, count)) = self.given {
            // SAFETY: as in `rest`; `whole` is at most the number of entries.
            let entries = unsafe { slice::from_raw_parts(array, count) };
            self.own.extend_from_slice(&entries[whole..]);
            self.given = None;
        } else {
            self.first += whole;
        }
        if left > 0 {
            let entry = &mut self.own[self.first];
            // SAFETY: `left` is less than the length of the entry, or indexing would have panicked.
            entry.iov_base = unsafe { entry.iov_base.byte_add(left) };
            entry.iov_len -= left;
        }
    }
}

fn moved_nothing(is_write: bool) -> io::Error {
    match is_write {
        true => io::Error::new(ErrorKind::WriteZero, "the kernel took no byte of a write"),
        false => io::Error::new(
            ErrorKind::UnexpectedEof,
            "the file or stream ended within the list",
        ),
    }
}
