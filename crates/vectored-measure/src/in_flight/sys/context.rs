//! Linux native AIO: io_submit(2).

use std::collections::VecDeque;
use std::ffi::{c_int, c_long, c_ulong};
use std::io;
use std::mem;
use std::os::fd::RawFd;
use std::ptr;
use std::thread;

use libc::iovec;
use libc::{SYS_io_destroy, SYS_io_getevents, SYS_io_setup, SYS_io_submit, syscall};

use crate::in_flight::refusals::{MAX_REFUSALS, PAUSE, cannot_wait};

/// `IOCB_CMD_PREADV` and `IOCB_CMD_PWRITEV` of `include/uapi/linux/aio_abi.h`, since Linux 2.6.19.
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;

/// `struct iocb` of the same header. (The crate libc has it for glibc alone.)
#[repr(C)]
#[derive(Clone, Default)]
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

/// A call: the whole of an array, at an offset or on a stream.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) is_write: bool,
    pub(super) fd: RawFd,
    /// An array of at least one entry and at most `IOV_MAX`, none of them empty. Linux cuts a call at 2 GiB by
    /// itself, which is a short call.
    pub(super) array: *const iovec,
    pub(super) count: usize,
    pub(super) offset: Option<u64>,
}

/// The slot of a call that has ended; the bytes, or the code of the error.
pub(super) struct Ended {
    pub(super) slot: usize,
    pub(super) result: Result<usize, i32>,
}

/// A context of io_setup(2).
pub(super) struct Context {
    id: c_ulong,
    /// The control block of each slot.
    blocks: Vec<Iocb>,
    /// The slots whose control blocks the kernel has not got.
    started: Vec<usize>,
    /// The pointers of a call of io_submit(2).
    pointers: Vec<*mut Iocb>,
    events: Vec<IoEvent>,
    /// Calls that the kernel has and whose events were not taken.
    in_kernel: usize,
}

impl Context {
    /// A context for up to `depth` calls.
    pub(super) fn new(depth: u32) -> io::Result<Context> {
        let mut id: c_ulong = 0;
        // SAFETY: io_setup(2) writes the identifier of the context to where the second argument points.
        answer(unsafe { syscall(SYS_io_setup, depth as c_long, &raw mut id) })?;
        let context = Context {
            id,
            blocks: vec![Iocb::default(); depth as usize],
            started: Vec::with_capacity(depth as usize),
            pointers: Vec::with_capacity(depth as usize),
            events: vec![IoEvent::default(); depth as usize],
            in_kernel: 0,
        };
        // A sandbox may allow io_setup(2) alone.
        // SAFETY: with a count of zero the kernel uses no pointer.
        answer(unsafe { syscall(SYS_io_submit, id, 0 as c_long, ptr::null::<*mut Iocb>()) })?;
        context.get_events(0, &mut [])?;
        Ok(context)
    }

    /// Passes what was started to the kernel. What it refuses has ended with that error.
    fn submit(&mut self, ended: &mut VecDeque<Ended>) {
        let mut refusals = 0;
        while let Some(&first) = self.started.first() {
            self.pointers.clear();
            let blocks = self.blocks.as_mut_ptr();
            // SAFETY: a slot is less than the number of blocks.
            let pointers = self.started.iter().map(|&slot| unsafe { blocks.add(slot) });
            self.pointers.extend(pointers);
            let count = self.pointers.len() as c_long;
            // SAFETY: each pointer is to a control block, which the kernel reads, and whose key it sets, in this call
            // alone. Each names an array of buffers that stays as it is until the event, by the contract of `start`.
            let taken =
                answer(unsafe { syscall(SYS_io_submit, self.id, count, self.pointers.as_ptr()) });
            match taken {
                Ok(taken) => {
                    self.in_kernel += taken;
                    self.started.drain(..taken);
                    // Linux takes one at least, or names the error of the first.
                    assert!(taken > 0, "io_submit(2) took none and named no error");
                    refusals = 0;
                }
                // The others can be submitted when one has ended.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && self.in_kernel > 0 => {
                    return;
                }
                Err(error)
                    if refusals < MAX_REFUSALS && error.raw_os_error() == Some(libc::EAGAIN) =>
                {
                    refusals += 1;
                    thread::sleep(PAUSE);
                }
                // The first one failed, and none was taken.
                Err(error) => {
                    self.started.remove(0);
                    ended.push_back(Ended {
                        slot: first,
                        result: Err(error.raw_os_error().unwrap_or(libc::EIO)),
                    });
                }
            }
        }
    }

    /// Takes events: at least `least`, which it waits for.
    fn get_events(&self, least: usize, events: &mut [IoEvent]) -> io::Result<usize> {
        // SAFETY: the kernel writes no more events than there is room for.
        answer(unsafe {
            syscall(
                SYS_io_getevents,
                self.id,
                least as c_long,
                events.len() as c_long,
                events.as_mut_ptr(),
                ptr::null_mut::<libc::timespec>(),
            )
        })
    }

    /// Takes a call over for a slot that has none, or panics without having taken it. It begins at the latest with
    /// [`wait`](Context::wait).
    ///
    /// # Safety
    ///
    /// Until `wait` has reported the end of the call, its array and the memory that this names stay as they are and
    /// valid; for a read, nothing else uses that memory.
    pub(super) unsafe fn start(&mut self, slot: usize, call: Call) {
        let block = &mut self.blocks[slot];
        block.data = slot as u64;
        block.lio_opcode = if call.is_write { PWRITEV } else { PREADV };
        block.fildes = call.fd as u32;
        block.buf = call.array.addr() as u64;
        block.nbytes = call.count as u64;
        // A stream has no offsets, and an appending write ignores it. It is in the range of `i64`.
        block.offset = call.offset.unwrap_or(0) as i64;
        self.started.push(slot);
    }

    /// Waits until a call has ended, and adds all that have. There is a call in flight.
    pub(super) fn wait(&mut self, ended: &mut VecDeque<Ended>) {
        self.submit(ended);
        if self.in_kernel == 0 {
            return; // the kernel has refused all
        }
        let mut events = mem::take(&mut self.events);
        loop {
            let least = usize::from(ended.is_empty());
            match self.get_events(least, &mut events) {
                Ok(count) => {
                    self.in_kernel -= count;
                    ended.extend(events[..count].iter().map(|event| Ended {
                        slot: event.data as usize,
                        result: match event.res {
                            error @ ..0 => Err(-error as c_int),
                            moved => Ok(moved as usize),
                        },
                    }));
                    if !ended.is_empty() {
                        break;
                    }
                }
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => cannot_wait("io_getevents", &error),
            }
        }
        self.events = events;
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context belongs to this value, and has no call.
        let destroyed = answer(unsafe { syscall(SYS_io_destroy, self.id) });
        // The call fails in a forked child: the context belongs to the parent.
        let _ = destroyed;
    }
}

fn answer(result: c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
