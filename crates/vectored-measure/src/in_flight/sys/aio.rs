//! The queue of Linux native AIO: io_submit(2).
//!
//! # Safety
//!
//! [`AioQueue::write`] and [`AioQueue::read`] return, or unwind, only when every call has ended: dropping an [`AioScope`]
//! waits for all calls. So a call may use whatever is borrowed for a lifetime that is a parameter of the function, since
//! such a lifetime is longer than the function runs.
//!
//! - The arrays of `iovec` are made of these borrows. The array of a call belongs to its slot, which nothing touches while the call
//!   is in flight. An array to read into is in one slot at a time.
//! - If it cannot be learnt whether a call has ended, the process is aborted (`cannot_wait`). A queue has a call in flight
//!   during these functions alone, so it may be dropped or forgotten.

use std::collections::VecDeque;
use std::ffi::{c_long, c_ulong};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::thread;

use libc::{SYS_io_destroy, SYS_io_getevents, SYS_io_setup, SYS_io_submit, iovec, syscall};
use vectored::limits::iov_max;
use vectored_machine::platform::system_names::kernel_text;

use crate::in_flight::engine::{
    self, Ended, Event, ListQueue, MAX_REFUSALS, PAUSE, Place, ReadList, Scope, WriteList,
    cannot_wait,
};

/// `IOCB_CMD_PREADV` and `IOCB_CMD_PWRITEV` of `include/uapi/linux/aio_abi.h`, since Linux 2.6.19.
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;

/// `struct iocb` of the same header. (The crate libc has it for glibc alone.)
#[repr(C)]
#[derive(Default)]
struct Iocb {
    data: u64,
    /// `aio_key` and `aio_rw_flags`, in the order of the processor's bytes: both 0.
    key_and_flags: [u32; 2],
    lio_opcode: u16,
    reqprio: i16,
    fildes: u32,
    buf: u64,
    nbytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    resfd: u32,
}

/// `struct io_event` of the same header.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    /// `aio_data` of the control block.
    data: u64,
    obj: u64,
    res: i64,
    res2: i64,
}

type Array = Vec<iovec>;

/// Lists moved by Linux native AIO.
///
/// The working memory is kept from call to call: a list allocates nothing if it has no more segments than earlier lists.
pub struct AioQueue {
    id: c_ulong,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// The slots whose control blocks the kernel has not got.
    started: Vec<usize>,
    pointers: Vec<*mut Iocb>,
    events: Vec<IoEvent>,
    /// Calls that the kernel has and whose events were not taken.
    in_kernel: usize,
}

#[derive(Default)]
struct Slot {
    block: Iocb,
    number: u64,
    offset: Option<u64>,
    list: Array,
    moved: u64,
    rest: Array,
}

impl AioQueue {
    fn new(depth: u32) -> io::Result<AioQueue> {
        if !(1..=32_768).contains(&depth) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let mut id: c_ulong = 0;
        // SAFETY: io_setup(2) writes the identifier of the context to where the second argument points.
        answer(unsafe { syscall(SYS_io_setup, depth as c_long, &raw mut id) })?;
        let queue = AioQueue {
            id,
            slots: (0..depth).map(|_| Slot::default()).collect(),
            free: Vec::with_capacity(depth as usize),
            started: Vec::with_capacity(depth as usize),
            pointers: Vec::with_capacity(depth as usize),
            events: vec![IoEvent::default(); depth as usize],
            in_kernel: 0,
        };
        // A sandbox may allow io_setup(2) alone.
        // SAFETY: with a count of zero the kernel uses no pointer.
        answer(unsafe { syscall(SYS_io_submit, id, 0 as c_long, ptr::null::<*mut Iocb>()) })?;
        get_events(id, 0, &mut [])?;
        Ok(queue)
    }

    /// Moves lists of `fd`. Waits for all calls before it returns or unwinds.
    fn run(
        &mut self,
        (fd, opcode): (BorrowedFd<'_>, u16),
        how: (Place, u64, usize),
        over: &mut VecDeque<Array>,
        next: impl FnMut(&mut VecDeque<Array>, u64) -> Array,
        on_event: &mut dyn FnMut(Event),
    ) -> io::Result<()> {
        // A run that has unwound may have left slots in use.
        self.free.clear();
        self.free.extend((0..self.slots.len()).rev());
        let mut scope = AioScope {
            queue: self,
            fd,
            opcode,
            over: VecDeque::new(),
        };
        engine::run(&mut scope, how, over, next, on_event)
    }

    fn submit(&mut self) -> Option<(usize, i32)> {
        let mut refusals = 0;
        while !self.started.is_empty() {
            self.pointers.clear();
            for &slot in &self.started {
                self.pointers.push(&raw mut self.slots[slot].block);
            }
            let count = self.pointers.len() as c_long;
            // SAFETY: each pointer is to a control block, which the kernel reads, and whose key it sets, in this call
            // alone. Each control block names an array of buffers that stays as it is until the event: see the head of this
            // file.
            let taken =
                answer(unsafe { syscall(SYS_io_submit, self.id, count, self.pointers.as_ptr()) });
            match taken.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO)) {
                Ok(taken) => {
                    self.in_kernel += taken;
                    self.started.drain(..taken);
                    // Linux takes at least one call, or names the error of the first call.
                    assert!(taken > 0, "io_submit(2) took none and named no error");
                    refusals = 0;
                }
                // The remaining calls can be submitted when a call has ended.
                Err(libc::EAGAIN) if self.in_kernel > 0 => return None,
                Err(libc::EAGAIN) if refusals < MAX_REFUSALS => {
                    refusals += 1;
                    thread::sleep(PAUSE);
                }
                Err(code) => return Some((self.started.remove(0), code)),
            }
        }
        None
    }

    /// Waits for at least `least` events, and takes all that are there. Returns the number of taken events.
    fn take_events(&mut self, least: usize) -> usize {
        loop {
            match get_events(self.id, least, &mut self.events) {
                Ok(count) => {
                    self.in_kernel -= count;
                    return count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => cannot_wait("io_getevents", &error),
            }
        }
    }
}

impl ListQueue for AioQueue {
    fn with_depth(depth: u32) -> io::Result<AioQueue> {
        AioQueue::new(depth).map_err(|error| unavailable(depth, error))
    }

    fn write<'b>(
        &mut self,
        fd: BorrowedFd<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> io::Result<()> {
        let how = (place, count, self.slots.len());
        let next = |written: &mut VecDeque<Array>, number| {
            let mut array = written.pop_back().unwrap_or_default();
            array.clear();
            let segments = list(number).iter().filter(|segment| !segment.is_empty());
            array.extend(segments.map(|segment| iovec {
                iov_base: segment.as_ptr().cast_mut().cast(),
                iov_len: segment.len(),
            }));
            array
        };
        self.run((fd, PWRITEV), how, &mut VecDeque::new(), next, on_event)
    }

    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        place: Place,
        count: u64,
        lists: Vec<ReadList<'_, '_>>,
        on_event: &mut dyn FnMut(Event),
    ) -> io::Result<()> {
        let how = (place, count, lists.len().min(self.slots.len()));
        let array = |list: ReadList<'_, '_>| -> Array {
            let segments = list.iter_mut().filter(|segment| !segment.is_empty());
            let entries = segments.map(|segment| iovec {
                iov_base: segment.as_mut_ptr().cast(),
                iov_len: segment.len(),
            });
            entries.collect()
        };
        let mut free = lists.into_iter().map(array).collect();
        let next = |free: &mut VecDeque<_>, _| free.pop_front().expect("a list for each transfer");
        self.run((fd, PREADV), how, &mut free, next, on_event)
    }
}

impl Drop for AioQueue {
    fn drop(&mut self) {
        // SAFETY: the context belongs to this value, and has no call.
        let destroyed = answer(unsafe { syscall(SYS_io_destroy, self.id) });
        // The call fails in a forked child: the context belongs to the parent.
        let _ = destroyed;
    }
}

struct AioScope<'r> {
    queue: &'r mut AioQueue,
    fd: BorrowedFd<'r>,
    opcode: u16,
    over: VecDeque<Ended<Array>>,
}

impl AioScope<'_> {
    fn start_or_end(&mut self, index: usize) {
        let slot = &mut self.queue.slots[index];
        // Linux cuts a call at 2 GiB by itself: the result is a short call.
        let rest = slot.rest();
        let (entries, count) = (
            rest.as_ptr().addr() as u64,
            rest.len().min(iov_max()) as u64,
        );
        if count == 0 {
            self.end(index, None);
            return;
        }
        let offset = slot.offset.map_or(0, |at| at.saturating_add(slot.moved));
        slot.block = Iocb {
            data: index as u64,
            lio_opcode: self.opcode,
            fildes: self.fd.as_raw_fd() as u32,
            buf: entries,
            nbytes: count,
            // A stream has no offsets, and an appending write ignores the offset. The offset is in the range of `i64`.
            offset: offset as i64,
            ..Iocb::default()
        };
        self.queue.started.push(index);
    }

    /// Handles all calls that have ended. If no list is over, waits for a call first.
    fn handle_calls(&mut self) {
        while let Some((index, code)) = self.queue.submit() {
            self.end(index, Some(io::Error::from_raw_os_error(code)));
        }
        if self.queue.in_kernel == 0 {
            return; // the kernel has refused all
        }
        for event in 0..self.queue.take_events(usize::from(self.over.is_empty())) {
            let IoEvent { data, res, .. } = self.queue.events[event];
            let index = data as usize;
            match res {
                0 => self.end(index, Some(moved_nothing(self.opcode))),
                1.. => {
                    self.queue.slots[index].moved += res as u64;
                    self.start_or_end(index);
                }
                // The call was interrupted before it moved a byte.
                _ if -res == i64::from(libc::EINTR) => self.start_or_end(index),
                _ => self.end(index, Some(io::Error::from_raw_os_error(-res as i32))),
            }
        }
    }

    fn end(&mut self, index: usize, error: Option<io::Error>) {
        let slot = &mut self.queue.slots[index];
        self.over.push_back(Ended {
            number: slot.number,
            moved: slot.moved,
            error,
            list: std::mem::take(&mut slot.list),
        });
        self.queue.free.push(index);
    }
}

impl Scope for AioScope<'_> {
    type List = Array;

    fn in_flight(&self) -> usize {
        self.queue.slots.len() - self.queue.free.len() + self.over.len()
    }

    fn begin(&mut self, number: u64, offset: Option<u64>, list: Array) -> u64 {
        let index = self.queue.free.pop().expect("no more lists than the depth");
        let slot = &mut self.queue.slots[index];
        let lengths = list.iter().map(|entry| entry.iov_len as u64);
        let bytes = lengths.fold(0, u64::saturating_add);
        (slot.number, slot.offset, slot.moved, slot.list) = (number, offset, 0, list);
        self.start_or_end(index);
        bytes
    }

    fn wait(&mut self) -> Option<Ended<Array>> {
        while self.over.is_empty() && (self.queue.in_kernel > 0 || !self.queue.started.is_empty()) {
            self.handle_calls();
        }
        self.over.pop_front()
    }

    fn take_ended(&mut self) -> Option<Ended<Array>> {
        self.over.pop_front()
    }
}

impl Drop for AioScope<'_> {
    fn drop(&mut self) {
        self.queue.started.clear();
        while self.queue.in_kernel > 0 {
            self.queue.take_events(1);
        }
    }
}

impl Slot {
    fn rest(&mut self) -> &[iovec] {
        if self.moved == 0 {
            return &self.list;
        }
        let mut skipped = self.moved as usize;
        self.rest.clear();
        for entry in &self.list {
            let here = skipped.min(entry.iov_len);
            skipped -= here;
            if here < entry.iov_len {
                self.rest.push(iovec {
                    iov_base: entry.iov_base.wrapping_byte_add(here),
                    iov_len: entry.iov_len - here,
                });
            }
        }
        &self.rest
    }
}

fn get_events(id: c_ulong, least: usize, events: &mut [IoEvent]) -> io::Result<usize> {
    let (least, most) = (least as c_long, events.len() as c_long);
    let forever = ptr::null_mut::<libc::timespec>();
    // SAFETY: the kernel writes no more events than there is room for.
    answer(unsafe {
        syscall(
            SYS_io_getevents,
            id,
            least,
            most,
            events.as_mut_ptr(),
            forever,
        )
    })
}

fn answer(result: c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn moved_nothing(opcode: u16) -> io::Error {
    match opcode {
        PWRITEV => io::Error::new(ErrorKind::WriteZero, "the kernel took no byte of a write"),
        _ => engine::ended_early(),
    }
}

fn unavailable(depth: u32, error: io::Error) -> io::Error {
    let remedy = match error.raw_os_error().unwrap_or(0) {
        libc::EPERM | libc::EACCES | libc::ENOSYS => {
            "a sandbox forbids it, as seccomp profiles of containers do, or the kernel was built without it: allow \
             io_setup, io_submit, io_getevents and io_destroy there"
                .to_owned()
        }
        libc::EAGAIN => {
            let [has, may_have] = ["nr", "max-nr"].map(|name| {
                let text = kernel_text(&format!("/proc/sys/fs/aio-{name}"));
                text.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
            });
            format!(
                "all processes together have queues for {has} transfers, and may have {may_have}: raise the sysctl \
                 fs.aio-max-nr, or use a smaller depth"
            )
        }
        libc::ENOMEM => "there is no memory for the queue: use a smaller depth".to_owned(),
        libc::EINVAL => "the depth must be between 1 and 32,768".to_owned(),
        _ => "use a smaller depth, or another technique".to_owned(),
    };
    let what = "cannot make a queue of Linux native AIO for a depth of";
    io::Error::new(error.kind(), format!("{what} {depth}: {error}: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_list_begins_within_a_segment() {
        let bytes = [0_u8; 7];
        let entry = |(from, to): (usize, usize)| iovec {
            iov_base: bytes[from..].as_ptr().cast_mut().cast(),
            iov_len: to - from,
        };
        let mut slot = Slot {
            list: vec![entry((0, 3)), entry((3, 7))],
            ..Slot::default()
        };
        let places = |entries: &[iovec]| -> Vec<(usize, usize)> {
            let places = entries.iter().map(|one| (one.iov_base.addr(), one.iov_len));
            places.collect()
        };
        for (moved, expected) in [
            (0, vec![(0, 3), (3, 7)]),
            (1, vec![(1, 3), (3, 7)]),
            (5, vec![(5, 7)]),
            (7, vec![]),
        ] {
            slot.moved = moved;
            let expected: Vec<iovec> = expected.into_iter().map(entry).collect();
            assert_eq!(places(slot.rest()), places(&expected), "{moved}");
        }
    }
}
