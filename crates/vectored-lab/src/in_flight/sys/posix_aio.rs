//! POSIX AIO: aio(7), of the C library.
//!
//! It has no lists: each segment has a control block of its own. glibc hands them to a thread for each descriptor, which
//! calls pread(2) and pwrite(2) for one after another, and read(2) and write(2) where these answer `ESPIPE`.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::ptr;
use std::slice;
use std::thread;

use libc::{aio_error, aio_return, aio_suspend, aiocb, iovec, lio_listio};

use crate::in_flight::sys::backend::{Backend, Call, Ended, MAX_REFUSALS, Operation, PAUSE};

/// glibc ends the control blocks of a descriptor in the order in which they were submitted.
const ENDS_IN_ORDER: bool = cfg!(target_env = "gnu");

pub(super) struct Requests {
    /// The control blocks of each slot.
    slots: Vec<Blocks>,
    /// The slots with calls, the oldest first.
    in_flight: VecDeque<usize>,
    pointers: Vec<*mut aiocb>,
}

#[derive(Default)]
struct Blocks {
    /// One for each segment. The threads of the C library write to those of a call.
    blocks: Vec<UnsafeCell<aiocb>>,
    /// How many of the first ones are known to have ended.
    ended: usize,
    /// The error with which the C library refused some. It does not report which ones, but those moved no byte.
    refused: Option<i32>,
    /// How often this call was refused.
    refusals: u32,
}

impl Requests {
    /// For up to `depth` calls, at least 1.
    pub(super) fn new(depth: u32) -> io::Result<Requests> {
        // SAFETY: it takes an integer and returns one.
        if unsafe { libc::sysconf(libc::_SC_ASYNCHRONOUS_IO) } == -1 {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        let mut requests = Requests {
            slots: (0..depth).map(|_| Blocks::default()).collect(),
            in_flight: VecDeque::with_capacity(depth as usize),
            pointers: Vec::new(),
        };
        requests.try_one()?;
        Ok(requests)
    }

    /// Writes a byte to a pipe: a sandbox may forbid the threads of the C library.
    fn try_one(&mut self) -> io::Result<()> {
        let (_reader, writer) = io::pipe()?;
        let mut byte = [0_u8];
        let array = [iovec {
            iov_base: byte.as_mut_ptr().cast(),
            iov_len: byte.len(),
        }];
        let call = Call {
            operation: Operation::Write,
            fd: writer.as_raw_fd(),
            array: array.as_ptr(),
            count: array.len(),
            offset: None,
            is_non_blocking: false,
        };
        // SAFETY: the array and the byte live until the call has ended, which `wait` reports. Neither panics.
        unsafe { self.start(0, call) };
        let mut ended = VecDeque::new();
        self.wait(&mut ended);
        match ended.pop_front().map(|ended| ended.result) {
            Some(Err(code)) => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(()),
        }
    }

    /// Submits all blocks of a slot. They stay valid and are not moved until all have ended.
    fn submit(&mut self, slot: usize) {
        let Blocks {
            blocks,
            ended,
            refused,
            ..
        } = &mut self.slots[slot];
        *ended = 0;
        self.pointers.clear();
        self.pointers.extend(blocks.iter().map(UnsafeCell::get));
        // At most `IOV_MAX`.
        let count = self.pointers.len() as i32;
        let list = self.pointers.as_ptr();
        // SAFETY: each pointer is that of a control block, which is in a vector that is not changed until `wait` has seen
        // the end of all. Each names a buffer that stays valid until then, by the contract of `start`. Without a
        // `sigevent` there is no notification.
        let result = unsafe { lio_listio(libc::LIO_NOWAIT, list, count, ptr::null_mut()) };
        *refused = (result != 0).then(|| {
            io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or(libc::EIO)
        });
    }
}

impl Backend for Requests {
    unsafe fn start(&mut self, slot: usize, call: Call) {
        // SAFETY: the caller keeps the array.
        let array = unsafe { slice::from_raw_parts(call.array, call.count) };
        // On a stream, the bytes of a block after a short one would be in the wrong place.
        let array = if call.offset.is_none() {
            &array[..1]
        } else {
            array
        };
        let mut offset = call.offset.unwrap_or(0);
        self.slots[slot].refusals = 0;
        let blocks = &mut self.slots[slot].blocks;
        blocks.clear();
        for segment in array {
            // SAFETY: a control block consists of integers and pointers, for which zero is a value.
            let mut block: aiocb = unsafe { mem::zeroed() };
            block.aio_fildes = call.fd;
            block.aio_lio_opcode = match call.operation {
                Operation::Write => libc::LIO_WRITE,
                Operation::Read => libc::LIO_READ,
            };
            block.aio_buf = segment.iov_base;
            block.aio_nbytes = segment.iov_len;
            block.aio_offset = offset as libc::off_t;
            block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
            blocks.push(UnsafeCell::new(block));
            offset += segment.iov_len as u64;
        }
        self.in_flight.push_back(slot);
        self.submit(slot);
    }

    fn wait(&mut self, ended: &mut VecDeque<Ended>) {
        loop {
            let mut place = 0;
            while let Some(&slot) = self.in_flight.get(place) {
                match self.slots[slot].result() {
                    State::InProgress if ENDS_IN_ORDER => break,
                    State::InProgress => place += 1,
                    State::Refused => {
                        thread::sleep(PAUSE);
                        self.submit(slot);
                        place += 1;
                    }
                    State::Ended(result) => {
                        self.in_flight.remove(place);
                        ended.push_back(Ended { slot, result });
                    }
                }
            }
            if !ended.is_empty() {
                return;
            }
            if let Some(&oldest) = self.in_flight.front() {
                self.slots[oldest].suspend();
            }
        }
    }
}

/// Of all blocks of a slot.
enum State {
    InProgress,
    /// None has moved a byte, and the first one was refused or has to be submitted again.
    Refused,
    /// The bytes at the start of the list that were moved, or the error of the first block.
    Ended(Result<usize, i32>),
}

impl Blocks {
    fn result(&mut self) -> State {
        while let Some(block) = self.blocks.get(self.ended) {
            if error_of(block) == libc::EINPROGRESS {
                return State::InProgress;
            }
            self.ended += 1;
        }
        let mut all_moved = 0;
        for block in &self.blocks {
            let error = error_of(block);
            // SAFETY: the block has ended, so only this thread uses it.
            let (moved, given) = unsafe { (aio_return(block.get()), (*block.get()).aio_nbytes) };
            let first = all_moved == 0;
            // A refused block has an error, or is as it was submitted: without an error and without bytes.
            if let Some(refused) = self.refused
                && first
                && (error == libc::EAGAIN || moved == 0)
            {
                let code = if error == 0 { refused } else { error };
                self.refusals += 1;
                return match self.refusals {
                    ..MAX_REFUSALS if code == libc::EAGAIN => State::Refused,
                    _ => State::Ended(Err(code)),
                };
            }
            match usize::try_from(moved) {
                Ok(moved) => {
                    all_moved += moved;
                    if moved < given {
                        break;
                    }
                }
                Err(_) if first => return State::Ended(Err(error)),
                Err(_) => break,
            }
        }
        State::Ended(Ok(all_moved))
    }

    /// Waits until the last block that is in progress has ended.
    fn suspend(&self) {
        let mut blocks = self.blocks.iter().rev();
        let Some(last) = blocks.find(|block| error_of(block) == libc::EINPROGRESS) else {
            return;
        };
        let list = [last.get().cast_const()];
        // SAFETY: the list has one pointer, to a control block that was submitted.
        let result = unsafe { aio_suspend(list.as_ptr(), 1, ptr::null()) };
        if result != 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            thread::sleep(PAUSE);
        }
    }
}

/// The code of the error of a block, `EINPROGRESS`, or 0.
fn error_of(block: &UnsafeCell<aiocb>) -> i32 {
    // SAFETY: the block was submitted, or is zero and then has no error. The C library synchronizes with its threads.
    unsafe { aio_error(block.get()) }
}
