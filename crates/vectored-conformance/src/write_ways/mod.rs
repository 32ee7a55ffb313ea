//! The table of the functions that write a list to a descriptor.
//!
//! To add a function, add an entry to [`WRITE_WAYS`]. A function that resumes from a cursor needs no adapter.
//! [`whole_list`] and [`positional`] adapt a function that takes a whole list.

mod adapters;
mod buffered;
#[cfg(unix)]
mod copied;
mod queued;

#[cfg(unix)]
use std::io::IoSlice;
#[cfg(unix)]
use std::os::unix::net::UnixStream;

#[cfg(unix)]
use vectored::bindings::BorrowedDescriptor;
use vectored::buffered::VectoredWrite;
use vectored::cost::TargetKind;
use vectored::files::write_all_at;
#[cfg(unix)]
use vectored::files::{OnRefusal, WriteFlags, write_all_with};
use vectored::queue::QueuePolicy;
use vectored::{CostModel, Gather, GatherWriter, resume_write, write_all};

pub use adapters::{drive, positional, whole_list};

#[cfg(unix)]
use crate::ends;
#[cfg(unix)]
use crate::outcome::Outcome;
use crate::way::{Way, WriteFn, WriteWay};
use adapters::record_by_record;
#[cfg(unix)]
use adapters::{by_hand, is_a};
use buffered::{PlainWrites, list_by_list, slice_by_slice, through};

pub const WRITE_WAYS: &[WriteWay] = &[
    Way::new("write_all", || {
        whole_list(|fd, segments| write_all(fd, segments).into())
    }),
    Way::new("Gather::write_all", || gather(CostModel::default())),
    Way::new("Gather::write_all with little staging memory", || {
        gather(CostModel::default().with(|costs| costs.staging_bytes = 1000))
    }),
    Way::new("Gather::write_all as to a pipe", || {
        gather(CostModel::for_target(TargetKind::Pipe))
    }),
    Way::new("Gather::write_all that copies nothing", || {
        gather(CostModel::default().with(|costs| costs.staging_bytes = 0))
    }),
    #[cfg(unix)]
    Way::new("SegmentCursor by hand", || Box::new(by_hand)),
    Way::new("resume_write", || {
        Box::new(|fd, segments, cursor| resume_write(fd, segments, cursor).into())
    }),
    Way::new("Gather::resume_write", || {
        let mut gather = Gather::default();
        Box::new(move |fd, segments, cursor| gather.resume_write(fd, segments, cursor).into())
    }),
    Way::new("VectoredWrite::resume_write", || {
        let mut gather = Gather::default();
        Box::new(move |mut fd, segments, cursor| {
            fd.resume_write(&mut gather, segments, cursor).into()
        })
    }),
    #[cfg(unix)]
    Way::new(
        "VectoredWrite::resume_write of a UnixStream if it is a socket",
        || {
            let mut gather = Gather::default();
            Box::new(move |mut fd, segments, cursor| {
                let socket = as_unix_stream(fd);
                let mut gathers: Box<dyn VectoredWrite + '_> = match &socket {
                    Some(stream) => Box::new(stream),
                    None => Box::new(&mut fd),
                };
                gathers.resume_write(&mut gather, segments, cursor).into()
            })
        },
    ),
    Way::new("GatherWriter::copying", || {
        Box::new(|fd, segments, cursor| {
            let writer = GatherWriter::copying(PlainWrites(fd));
            through(writer, segments, cursor, slice_by_slice)
        })
    }),
    Way::new("GatherWriter::new", || {
        Box::new(|fd, segments, cursor| {
            through(GatherWriter::new(fd), segments, cursor, slice_by_slice)
        })
    }),
    Way::new("GatherWriter::write_vectored", || {
        Box::new(|fd, segments, cursor| {
            through(GatherWriter::new(fd), segments, cursor, list_by_list)
        })
    }),
    Way::new("write_all_at", || {
        positional(|fd, segments, offset| write_all_at(fd, segments, offset).into())
    })
    .of_files(),
    Way::new("Gather::write_all_at", || {
        let mut gather = Gather::default();
        positional(move |fd, segments, offset| gather.write_all_at(fd, segments, offset).into())
    })
    .of_files(),
    #[cfg(unix)]
    Way::new("write_all_with without a flag", || {
        whole_list(|fd, segments| with(fd, segments, None, WriteFlags::empty()))
    }),
    #[cfg(unix)]
    Way::new("write_all_with at an offset, without a flag", || {
        positional(|fd, segments, offset| with(fd, segments, Some(offset), WriteFlags::empty()))
    })
    .of_files(),
    Way::new("write_once, as much as fits at a time", || {
        Box::new(record_by_record)
    }),
    Way::new("SegmentQueue::write_to", || {
        queued::filled_and_drained(QueuePolicy::default(), queued::write_to)
    }),
    Way::new("SegmentQueue::write_to as to a pipe", || {
        let policy = QueuePolicy::for_target(TargetKind::Pipe);
        queued::filled_and_drained(policy, queued::write_to)
    }),
    Way::new("SegmentQueue::write_to that keeps every segment", || {
        queued::filled_and_drained(keeping(), queued::write_to)
    }),
    Way::new("SegmentQueue::write_some", || {
        queued::filled_and_drained(QueuePolicy::default(), queued::write_some)
    }),
    Way::new("SegmentQueue::write_some that keeps every segment", || {
        queued::filled_and_drained(keeping(), queued::write_some)
    }),
];

/// The ways of copying from a descriptor that holds the list. Not in [`WRITE_WAYS`]: these ways need memory for all
/// bytes of a list, and some tests have lists of gigabytes.
#[cfg(unix)]
pub const COPY_WAYS: &[WriteWay] = &[
    Way::new("copy of a file", || copied::of_a_file(&[])),
    Way::new("copy of a file within the kernel", || {
        copied::of_a_file(&copied::WITHIN_THE_KERNEL)
    }),
    Way::new("copy of a pipe", || copied::of_a_stream(ends::pipe)),
    Way::new("copy of a Unix stream", || {
        copied::of_a_stream(ends::unix_stream)
    }),
];

/// A queue that gets a list in pieces, by any function of the queue, and is written in between. Not in
/// [`WRITE_WAYS`], since calls of a few bytes take too long for lists of gigabytes.
pub const RANDOM_QUEUE: WriteWay = Way::new("SegmentQueue at random", queued::at_random);

/// The ways of writing with `RWF_DSYNC`. Not in [`WRITE_WAYS`], since each of their calls waits for the disk.
#[cfg(unix)]
pub const DURABLE_WRITE_WAYS: &[WriteWay] = &[
    Way::new("write_all_with DSYNC", || {
        whole_list(|fd, segments| with(fd, segments, None, WriteFlags::DSYNC))
    })
    .of_files(),
    Way::new("write_all_with DSYNC at an offset", || {
        positional(|fd, segments, offset| with(fd, segments, Some(offset), WriteFlags::DSYNC))
    })
    .of_files(),
];

/// A defective way, which proves that the suite detects defects: its cursor advances one byte too far after every third
/// short write.
#[cfg(unix)]
pub const BROKEN_WRITE_WAY: WriteWay = Way::new("a broken cursor", || {
    let mut short_writes = 0_u64;
    Box::new(move |fd, segments, cursor| {
        drive(segments, cursor, |batch, left| {
            let written = rustix::io::writev(fd, batch)?;
            let given: usize = batch.iter().map(|slice| slice.len()).sum();
            short_writes += u64::from(written < given);
            let is_too_far = written < given && short_writes.is_multiple_of(3);
            Ok(left.min(written as u64 + u64::from(is_too_far)) as usize)
        })
    })
});

fn gather(model: CostModel) -> WriteFn {
    let mut gather = Gather::with_model(model);
    whole_list(move |fd, segments| gather.write_all(fd, segments).into())
}

/// The policy of a queue that copies nothing. The queue has room for more than any list of the tests that count
/// calls.
fn keeping() -> QueuePolicy {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    policy.limit_bytes = 8 << 20;
    policy
}

#[cfg(unix)]
fn with(
    fd: BorrowedDescriptor<'_>,
    segments: &[IoSlice<'_>],
    offset: Option<u64>,
    flags: WriteFlags,
) -> Outcome {
    write_all_with(fd, segments, offset, flags, OnRefusal::Fallback).into()
}

/// A duplicate of the descriptor as a `UnixStream`, for which the library makes other system calls. `None` if the
/// descriptor is no socket; a socket may be of any kind.
#[cfg(unix)]
fn as_unix_stream(fd: BorrowedDescriptor<'_>) -> Option<UnixStream> {
    let is_socket = is_a(rustix::fs::FileType::Socket, fd);
    is_socket.then(|| UnixStream::from(fd.try_clone_to_owned().expect("a free descriptor")))
}
