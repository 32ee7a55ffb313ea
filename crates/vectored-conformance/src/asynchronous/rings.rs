//! The functions of `vectored::uring`, as entries beside the entries of `write_ways` and
//! `read_ways`.
//!
//! These entries are in tables of their own. The tests in which strace lets system calls fail do not reach the calls
//! of io_uring, and a machine may have no io_uring.

use std::io::{self, IoSlice};
use std::os::fd::{BorrowedFd, OwnedFd};

use bytes::{Bytes, BytesMut};
use rustix::fs::OFlags;
use vectored::files::AlignedBuffer;
use vectored::queue::QueuePolicy;
use vectored::uring::{Buffer, Completion, Data, Ring};
use vectored::{SegmentQueue, TransferError};

use crate::host::report_skip;
use crate::outcome::Outcome;
use crate::way::{ReadFn, ReadWay, Way, WriteFn, WriteWay};
use crate::{read_ways, write_ways};

const TOKEN: u64 = 7;

/// From this size on, segments of the same memory share one copy.
const MIN_SHARED_BYTES: usize = 1 << 20;

/// Every function that writes. If this system has no io_uring, the list is empty, and the skip is reported.
pub fn ring_write_ways() -> &'static [WriteWay] {
    if is_there() { WRITE_WAYS } else { &[] }
}

/// Every function that reads. If this system has no io_uring, the list is empty, and the skip is reported.
pub fn ring_read_ways() -> &'static [ReadWay] {
    if is_there() { READ_WAYS } else { &[] }
}

const WRITE_WAYS: &[WriteWay] = &[
    Way::new("Ring::submit_write", || write(0, false)),
    Way::new("Ring::submit_write of copied segments", || {
        write(1000, false)
    }),
    Way::new("Ring::submit_write, cancelled and submitted again", || {
        write(100, true)
    }),
    Way::new("Ring::submit_write_at", || {
        let mut ring: Ring = ring();
        write_ways::positional(move |fd, segments, offset| {
            ring.submit_write_at(owned(fd), queue_of(segments, 100), offset, TOKEN);
            end(&mut ring, fd).result.into()
        })
    })
    .of_files(),
];

const READ_WAYS: &[ReadWay] = &[
    Way::new("Ring::submit_read", || read(<[u8]>::to_vec, false)).that_stops(),
    Way::new("Ring::submit_read into boxed slices", || {
        read(|bytes| Box::<[u8]>::from(bytes), false)
    })
    .that_stops(),
    Way::new("Ring::submit_read into BytesMut", || {
        read(|bytes| BytesMut::from(bytes), false)
    })
    .that_stops(),
    Way::new("Ring::submit_read_at", || read(<[u8]>::to_vec, true))
        .of_files()
        .that_stops(),
    Way::new("Ring::submit_read_at into aligned buffers", || {
        read(aligned, true)
    })
    .of_files()
    .that_stops(),
];

fn aligned(bytes: &[u8]) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(bytes.len(), 4096);
    buffer.copy_from_slice(bytes);
    buffer
}

fn is_there() -> bool {
    match Ring::new(1) {
        Ok(_) => true,
        Err(error) if error.is_disabled() => {
            report_skip("the entries of Ring in the suite", &error.to_string());
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn ring<B: Buffer>() -> Ring<B> {
    Ring::with_buffers(2).expect("the entries are used where there is io_uring")
}

/// Writes lists. If `cancels` is set, each second transfer is cancelled once it has begun, and the rest of the list
/// is submitted.
fn write(copy_below_bytes: usize, cancels: bool) -> WriteFn {
    let mut ring: Ring = ring();
    let mut turn = 0_u32;
    write_ways::whole_list(move |fd, segments| {
        let mut queue = Box::new(queue_of(segments, copy_below_bytes));
        let mut transferred = 0;
        loop {
            ring.submit_write(owned(fd), queue, TOKEN);
            turn += 1;
            let is_cancelled = cancels && turn.is_multiple_of(2);
            if is_cancelled {
                ring.start().expect("the ring takes transfers");
                ring.cancel(TOKEN).expect("the ring takes cancellations");
            }
            let done = end(&mut ring, fd);
            let mut part = Outcome::from(done.result);
            transferred += part.transferred;
            if !part.error.as_ref().is_some_and(is_cancellation) {
                part.transferred = transferred;
                return part;
            }
            queue = done.data.into_queue().expect("the queue of a write");
        }
    })
}

/// Waits for the only transfer. If a transfer on a non-blocking descriptor has to wait, the transfer is cancelled and
/// fails with `WouldBlock`, like a plain call.
fn end<B: Buffer>(ring: &mut Ring<B>, fd: BorrowedFd<'_>) -> Completion<B> {
    let flags = rustix::fs::fcntl_getfl(fd).expect("the flags of a descriptor");
    if flags.contains(OFlags::NONBLOCK) {
        // The second and the third call are for the rest of the list.
        for _ in 0..3 {
            if let Some(done) = ring.try_wait().expect("the ring works") {
                return done;
            }
        }
        ring.cancel(TOKEN).expect("the ring takes cancellations");
    }
    let mut done = ring.wait().expect("the ring works").expect("a transfer");
    if flags.contains(OFlags::NONBLOCK)
        && let Err(error) = &done.result
        && is_cancellation(error.io_error())
    {
        let blocked = io::ErrorKind::WouldBlock.into();
        done.result = Err(TransferError::new(error.transferred(), blocked));
    }
    done
}

fn is_cancellation(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECANCELED)
}

fn owned(fd: BorrowedFd<'_>) -> OwnedFd {
    fd.try_clone_to_owned()
        .expect("a descriptor can be duplicated")
}

/// A queue with a copy of a list. A long segment that is listed many times is copied once: lists of gigabytes are made of
/// such segments.
fn queue_of(segments: &[IoSlice<'_>], copy_below_bytes: usize) -> SegmentQueue {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = copy_below_bytes;
    let mut queue = SegmentQueue::with_policy(policy);
    let mut long: Option<(*const u8, Bytes)> = None;
    for segment in segments {
        if segment.len() < MIN_SHARED_BYTES {
            queue.push(segment.to_vec());
            continue;
        }
        let shared = match long.take() {
            Some((start, copy)) if start == segment.as_ptr() && copy.len() >= segment.len() => copy,
            _ => Bytes::copy_from_slice(segment),
        };
        queue.push(shared.slice(..segment.len()));
        long = Some((segment.as_ptr(), shared));
    }
    queue
}

/// Reads into buffers that begin as copies of the segments.
fn read<B: Buffer>(copy: fn(&[u8]) -> B, has_offset: bool) -> ReadFn {
    let mut ring = ring();
    read_ways::positional(move |fd, segments, offset| {
        let buffers = segments.iter().map(|segment| copy(segment)).collect();
        if has_offset {
            ring.submit_read_at(owned(fd), buffers, offset, TOKEN);
        } else {
            ring.submit_read(owned(fd), buffers, TOKEN);
        }
        let done = end(&mut ring, fd);
        let Data::Buffers(buffers) = done.data else {
            panic!("a read has no queue");
        };
        // Copies whole buffers: bytes that were not read must be unchanged.
        for (segment, buffer) in segments.iter_mut().zip(buffers) {
            segment.copy_from_slice(&buffer);
        }
        done.result.into()
    })
}
