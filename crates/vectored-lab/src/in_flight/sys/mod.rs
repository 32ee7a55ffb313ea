//! Transfers on borrowed buffers that the kernel makes while the program goes on.
//!
//! # Safety
//!
//! [`Flights::scope`] works as [`std::thread::scope`]: it returns, or unwinds, only when every call has ended. So a call
//! may use whatever is borrowed for longer than that function runs, which is everything that its arguments and the lists
//! borrow, since their lifetimes are parameters of that function.
//!
//! - A list belongs to the [`Scope`] from [`load`](Scope::load) to [`unload`](Scope::unload), and nothing touches it while
//!   a call of its slot is in flight: `advance` and `unload` assert that none is. So a list to read into is borrowed
//!   mutably by one call at a time.
//! - The array of `iovec` is that of the caller, which the list borrows, or that of the slot, which is not changed while
//!   the call is in flight.
//! - If it cannot be learnt whether a call has ended, the process is aborted (`cannot_wait`). A [`Flights`] has a call
//!   in flight during `scope` alone, so it may be dropped or forgotten.
//! - A forked child does not have the mapping of its parent's queue. `check_process` refuses it.
#![allow(unsafe_code)]

#[cfg(vectored_asan)]
mod asan;
mod context;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
mod lent_ring;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process::{self, abort};
use std::slice;
use std::time::Duration;

use libc::iovec;
use vectored::iov_max;

use crate::in_flight::list::{ReadList, WriteList};
use context::{Call, Context};

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub(in crate::in_flight) use lent_ring::{Ended, LentRing, Scope as RingScope};

/// The pause before a system call is made again for which the kernel had no memory.
const PAUSE: Duration = Duration::from_millis(1);

/// After so many refusals in a row, a call is not made again.
const MAX_REFUSALS: u32 = 1000;

/// The error of a call in a forked child.
const FORKED: &str = "this process is a fork of the one that made the queue, which the child cannot use: make a queue in \
    the child";

/// The direction of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::in_flight) enum Operation {
    Write,
    Read,
}

/// Aborts the process: the kernel may still use borrowed memory. `call` is the system call that failed.
fn cannot_wait(call: &str, error: &io::Error) -> ! {
    eprintln!(
        "vectored: {call} failed while transfers were in flight: {error}; the process is aborted because the kernel may \
         still use their buffers"
    );
    abort()
}

/// The depths that a queue takes.
const DEPTHS: RangeInclusive<u32> = 1..=32_768;

/// A queue of Linux native AIO, and a slot for each list in flight.
pub(in crate::in_flight) struct Flights {
    context: Context,
    /// The number of the process that made it. A child whose number were the same would have to outlive it.
    process: u32,
    slots: Vec<Slot>,
    /// Calls that have ended and were not handled, in the order in which the kernel reported them.
    ended: VecDeque<context::Ended>,
    in_flight: usize,
}

/// The position in the list of a slot.
struct Slot {
    /// What is left of the list, from `first` on, unless `given` has it. No entry is empty.
    own: Vec<iovec>,
    first: usize,
    /// The array of the caller, and the number of its entries.
    given: Option<(*const iovec, usize)>,
    /// Bytes of the list that were not moved.
    left_bytes: u64,
    is_in_flight: bool,
    /// Bytes of the call in flight.
    call_bytes: usize,
}

/// A list that can be moved.
pub(in crate::in_flight) trait List {
    const OPERATION: Operation;

    /// Passes the segments to `fill`, in order.
    fn each(&mut self, fill: impl FnMut(iovec));

    /// The array of the caller, if there is one.
    fn array(&mut self) -> Option<(*const iovec, usize)>;
}

impl List for WriteList<'_> {
    const OPERATION: Operation = Operation::Write;

    fn each(&mut self, mut fill: impl FnMut(iovec)) {
        let mut put = |segment: &[u8]| {
            fill(iovec {
                iov_base: segment.as_ptr().cast_mut().cast(),
                iov_len: segment.len(),
            });
        };
        match self {
            WriteList::Slices(list) => list.iter().for_each(|segment| put(segment)),
            WriteList::Array(list) => list.iter().for_each(|segment| put(segment)),
        }
    }

    fn array(&mut self) -> Option<(*const iovec, usize)> {
        match self {
            WriteList::Slices(_) => None,
            // "guaranteed to be ABI compatible with the `iovec` type"
            WriteList::Array(list) => Some((list.as_ptr().cast(), list.len())),
        }
    }
}

impl List for &mut ReadList<'_, '_> {
    const OPERATION: Operation = Operation::Read;

    fn each(&mut self, mut fill: impl FnMut(iovec)) {
        let mut put = |segment: &mut [u8]| {
            fill(iovec {
                iov_base: segment.as_mut_ptr().cast(),
                iov_len: segment.len(),
            });
        };
        match self {
            ReadList::Slices(list) => list.iter_mut().for_each(|segment| put(segment)),
            ReadList::Array(list) => list.iter_mut().for_each(|segment| put(segment)),
        }
    }

    fn array(&mut self) -> Option<(*const iovec, usize)> {
        match self {
            ReadList::Slices(_) => None,
            ReadList::Array(list) => Some((list.as_ptr().cast(), list.len())),
        }
    }
}

impl Flights {
    /// A queue for up to `depth` calls.
    pub(in crate::in_flight) fn new(depth: u32) -> io::Result<Flights> {
        if !DEPTHS.contains(&depth) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let slot = |_| Slot {
            own: Vec::new(),
            first: 0,
            given: None,
            left_bytes: 0,
            is_in_flight: false,
            call_bytes: 0,
        };
        Ok(Flights {
            context: Context::new(depth)?,
            process: process::id(),
            slots: (0..depth).map(slot).collect(),
            ended: VecDeque::new(),
            in_flight: 0,
        })
    }

    /// # Errors
    ///
    /// If this process is not the one that made the queue, but a fork of it.
    pub(in crate::in_flight) fn check_process(&self) -> io::Result<()> {
        match process::id() == self.process {
            true => Ok(()),
            false => Err(io::Error::other(FORKED)),
        }
    }

    /// The number of slots.
    pub(in crate::in_flight) fn depth(&self) -> u32 {
        // It came from a `u32`.
        self.slots.len() as u32
    }

    /// Calls `body` with a scope in which lists of `fd` are moved. Waits for all calls before it returns or unwinds.
    pub(in crate::in_flight) fn scope<L: List, R>(
        &mut self,
        fd: BorrowedFd<'_>,
        body: impl FnOnce(&mut Scope<'_, L>) -> R,
    ) -> R {
        let held = self.slots.iter().map(|_| None).collect();
        let mut scope = Scope {
            flights: self,
            fd,
            held,
        };
        body(&mut scope)
    }
}

impl fmt::Debug for Flights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flights")
            .field("depth", &self.slots.len())
            .finish_non_exhaustive()
    }
}

/// The lists that are in flight on a descriptor.
pub(in crate::in_flight) struct Scope<'s, L: List> {
    flights: &'s mut Flights,
    fd: BorrowedFd<'s>,
    /// The list of each slot. Dropped when no call is in flight.
    held: Vec<Option<L>>,
}

impl<L: List> Scope<'_, L> {
    /// The number of calls in flight, and of those that [`next_ended`](Scope::next_ended) has not returned.
    pub(in crate::in_flight) fn in_flight(&self) -> usize {
        self.flights.in_flight
    }

    /// Gives a list to a slot that has none, and returns its bytes.
    ///
    /// # Panics
    ///
    /// If the slot has one.
    pub(in crate::in_flight) fn load(&mut self, slot: usize, list: L) -> u64 {
        assert!(self.held[slot].is_none(), "slot {slot} has a list");
        let list = self.held[slot].insert(list);
        let slot = &mut self.flights.slots[slot];
        slot.own.clear();
        (slot.first, slot.given) = (0, None);
        let mut bytes = 0_u64;
        if let Some(array) = list.array() {
            let mut has_empty = false;
            list.each(|segment| {
                bytes = bytes.saturating_add(segment.iov_len as u64);
                has_empty |= segment.iov_len == 0;
            });
            // Empty entries alone would make a call that moves nothing.
            if !has_empty {
                slot.given = Some(array);
                slot.left_bytes = bytes;
                return bytes;
            }
        }
        bytes = 0;
        list.each(|segment| {
            bytes = bytes.saturating_add(segment.iov_len as u64);
            if segment.iov_len > 0 {
                slot.own.push(segment);
            }
        });
        slot.left_bytes = bytes;
        bytes
    }

    /// Takes the list of a slot back.
    ///
    /// # Panics
    ///
    /// If a call is in flight, or there is no list.
    pub(in crate::in_flight) fn unload(&mut self, slot: usize) -> L {
        assert!(
            !self.flights.slots[slot].is_in_flight,
            "a call of slot {slot} is in flight"
        );
        self.held[slot].take().expect("the slot has a list")
    }

    /// Starts a call with as much of the rest of the list as one call takes.
    ///
    /// # Panics
    ///
    /// If a call is in flight, or no byte is left.
    pub(in crate::in_flight) fn start(&mut self, slot: usize, offset: Option<u64>) {
        assert!(self.held[slot].is_some(), "slot {slot} has no list");
        let number = slot;
        let slot = &mut self.flights.slots[number];
        assert!(!slot.is_in_flight, "a call of slot {number} is in flight");
        let rest = slot.rest();
        let is_whole = rest.len() <= iov_max();
        let entries = if is_whole { rest } else { &rest[..iov_max()] };
        assert!(!entries.is_empty(), "no byte of slot {number} is left");
        let call = Call {
            operation: L::OPERATION,
            fd: self.fd.as_raw_fd(),
            array: entries.as_ptr(),
            count: entries.len(),
            offset,
        };
        slot.call_bytes = if is_whole {
            usize::try_from(slot.left_bytes).unwrap_or(usize::MAX)
        } else {
            let bytes = entries.iter().map(|entry| entry.iov_len);
            bytes.fold(0, usize::saturating_add)
        };
        // SAFETY: the array is that of the slot or of the list that `held` has, and it names memory that this list
        // borrows, mutably for a read. `is_in_flight` is set next, so neither is touched before the call has ended, and
        // `drop` waits for that. If `start` panics, it has not taken the call over.
        unsafe { self.flights.context.start(number, call) };
        self.flights.slots[number].is_in_flight = true;
        self.flights.in_flight += 1;
    }

    /// The bytes that the last call of a slot was given.
    pub(in crate::in_flight) fn given_bytes(&self, slot: usize) -> usize {
        self.flights.slots[slot].call_bytes
    }

    /// Waits until a call has ended.
    pub(in crate::in_flight) fn wait(&mut self) {
        let Flights { context, ended, .. } = &mut *self.flights;
        context.wait(ended);
    }

    /// A slot whose call has ended, with the bytes or the code of the error.
    pub(in crate::in_flight) fn next_ended(&mut self) -> Option<(usize, Result<usize, i32>)> {
        let context::Ended { slot, result } = self.flights.ended.pop_front()?;
        self.flights.in_flight -= 1;
        #[cfg(vectored_asan)]
        self.flights.slots[slot].check();
        self.flights.slots[slot].is_in_flight = false;
        Some((slot, result))
    }

    /// Advances the position in the list of a slot.
    ///
    /// # Panics
    ///
    /// If a call is in flight, or fewer than `moved` bytes are left.
    pub(in crate::in_flight) fn advance(&mut self, slot: usize, moved: usize) {
        let slot = &mut self.flights.slots[slot];
        assert!(!slot.is_in_flight, "the call of a slot is in flight");
        slot.advance(moved);
    }
}

/// Waits until no call is in flight.
impl<L: List> Drop for Scope<'_, L> {
    fn drop(&mut self) {
        while self.in_flight() > 0 {
            while self.next_ended().is_some() {}
            if self.in_flight() > 0 {
                self.wait();
            }
        }
    }
}

impl Slot {
    /// The entries that are left.
    fn rest(&self) -> &[iovec] {
        match self.given {
            // SAFETY: the pointer and the number are those of a slice of `IoSlice` or `IoSliceMut`, which the list of
            // the slot borrows. `Scope` calls this only while it holds that list, and nothing writes to the array.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_another_process_is_refused() {
        let mut flights = Flights::new(1).unwrap();
        assert!(flights.check_process().is_ok());
        // As in a forked child. The queue is leaked.
        flights.process = 0;
        assert_eq!(flights.check_process().unwrap_err().to_string(), FORKED);
    }
}
