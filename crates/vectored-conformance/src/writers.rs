//! The table of the ways to move a list into a descriptor.
//!
//! To add one, add an entry to [`WRITERS`]. [`whole_list`] and [`positional`] make one of a function
//! that knows no cursor; a function that goes on from a cursor is one as it stands.

use std::fmt;
use std::io::{self, IoSlice, Write};
use std::mem;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

use bytes::Buf;
use rustix::fs::FileType;
use rustix::io::Errno;
use vectored::{
    BufSender, CostModel, Gather, GatherWriter, Gathers, Limits, OnRefusal, SegmentCursor,
    TargetKind, TransferError, WriteFlags, iov_max, write_all_vectored, write_all_vectored_at,
    write_all_vectored_with, write_from, write_once,
};

/// How a transfer ended.
#[derive(Debug)]
pub struct Outcome {
    /// The bytes that it says went.
    pub transferred: u64,
    /// What ended it before its end.
    pub error: Option<io::Error>,
}

impl From<Result<u64, TransferError>> for Outcome {
    fn from(result: Result<u64, TransferError>) -> Outcome {
        match result {
            Ok(transferred) => Outcome {
                transferred,
                error: None,
            },
            Err(error) => Outcome {
                transferred: error.transferred(),
                error: Some(error.into_io_error()),
            },
        }
    }
}

/// Moves the list from the cursor on, and the cursor by what went.
pub type WriteFn = Box<dyn FnMut(BorrowedFd<'_>, &[IoSlice<'_>], &mut SegmentCursor) -> Outcome>;

/// One way to move a list.
pub struct Writer {
    /// What a failing test calls it.
    pub name: &'static str,
    /// Which descriptors it takes.
    pub takes: Takes,
    /// Makes the state that it keeps from list to list.
    pub make: fn() -> WriteFn,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Which descriptors a way takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All that bytes can be written to.
    All,
    /// Only those with an offset.
    Files,
}

/// Every way there is.
pub const WRITERS: &[Writer] = &[
    Writer {
        name: "write_all_vectored",
        takes: Takes::All,
        make: || whole_list(|fd, segments| write_all_vectored(fd, segments).into()),
    },
    Writer {
        name: "Gather::write_all",
        takes: Takes::All,
        make: || gather(CostModel::default()),
    },
    Writer {
        name: "Gather::write_all with little staging memory",
        takes: Takes::All,
        make: || {
            gather(CostModel {
                staging_bytes: 1000,
                ..CostModel::default()
            })
        },
    },
    Writer {
        name: "Gather::write_all as to a pipe",
        takes: Takes::All,
        make: || gather(CostModel::default_for(TargetKind::Pipe)),
    },
    Writer {
        name: "Gather::write_all that copies nothing",
        takes: Takes::All,
        make: || {
            gather(CostModel {
                staging_bytes: 0,
                ..CostModel::default()
            })
        },
    },
    Writer {
        name: "SegmentCursor by hand",
        takes: Takes::All,
        make: || Box::new(by_hand),
    },
    Writer {
        name: "write_from",
        takes: Takes::All,
        make: || {
            Box::new(|fd, segments, cursor| {
                counted(segments, cursor, |cursor| write_from(fd, segments, cursor))
            })
        },
    },
    Writer {
        name: "Gather::write_from",
        takes: Takes::All,
        make: || {
            let mut gather = Gather::default();
            Box::new(move |fd, segments, cursor| {
                counted(segments, cursor, |cursor| {
                    gather.write_from(fd, segments, cursor)
                })
            })
        },
    },
    Writer {
        name: "Gathers::gather_from",
        takes: Takes::All,
        make: || {
            let mut gather = Gather::default();
            Box::new(move |mut fd, segments, cursor| {
                counted(segments, cursor, |cursor| {
                    fd.gather_from(&mut gather, segments, cursor)
                })
            })
        },
    },
    Writer {
        name: "Gathers::gather_from of a UnixStream where it is a socket",
        takes: Takes::All,
        make: || {
            let mut gather = Gather::default();
            Box::new(move |mut fd, segments, cursor| {
                let socket = as_unix_stream(fd);
                let mut gathers: Box<dyn Gathers + '_> = match &socket {
                    Some(stream) => Box::new(stream),
                    None => Box::new(&mut fd),
                };
                counted(segments, cursor, |cursor| {
                    gathers.gather_from(&mut gather, segments, cursor)
                })
            })
        },
    },
    Writer {
        name: "Gather::write_buf",
        takes: Takes::All,
        make: || {
            let mut gather = Gather::default();
            whole_list(move |fd, segments| gather.write_buf(fd, &mut Chunks::of(segments)).into())
        },
    },
    Writer {
        name: "BufSender",
        takes: Takes::All,
        make: || whole_list(|fd, segments| BufSender::new(Chunks::of(segments)).send(fd).into()),
    },
    Writer {
        name: "GatherWriter::copying",
        takes: Takes::All,
        make: || {
            whole_list(|fd, segments| slice_by_slice(GatherWriter::copying(Plain(fd)), segments))
        },
    },
    Writer {
        name: "GatherWriter::new",
        takes: Takes::All,
        make: || whole_list(|fd, segments| slice_by_slice(GatherWriter::new(fd), segments)),
    },
    Writer {
        name: "GatherWriter::new that stages no slice behind a call",
        takes: Takes::All,
        make: || {
            whole_list(|fd, segments| {
                let model = CostModel {
                    staging_bytes: 0,
                    ..CostModel::default()
                };
                slice_by_slice(GatherWriter::with_model(8192, model, fd), segments)
            })
        },
    },
    Writer {
        name: "GatherWriter::write_vectored",
        takes: Takes::All,
        make: || {
            Box::new(|fd, segments, cursor| {
                let mut writer = GatherWriter::new(fd);
                let mut accepted = *cursor;
                let error = loop {
                    if accepted.is_at_end(segments) {
                        break writer.flush().err();
                    }
                    match writer.write_vectored(&rest(segments, accepted)) {
                        Ok(bytes) => accepted.advance(segments, bytes),
                        Err(error) => break Some(error),
                    }
                };
                let left = accepted.remaining_bytes(segments);
                let accepted = cursor.remaining_bytes(segments) - left;
                let outcome = written(writer, accepted, error);
                cursor.advance(segments, outcome.transferred as usize);
                outcome
            })
        },
    },
    Writer {
        name: "write_all_vectored_at",
        takes: Takes::Files,
        make: || {
            positional(|fd, segments, offset| write_all_vectored_at(fd, segments, offset).into())
        },
    },
    Writer {
        name: "Gather::write_all_at",
        takes: Takes::Files,
        make: || {
            let mut gather = Gather::default();
            positional(move |fd, segments, offset| gather.write_all_at(fd, segments, offset).into())
        },
    },
    Writer {
        name: "write_all_vectored_with without a flag",
        takes: Takes::All,
        make: || whole_list(|fd, segments| with(fd, segments, None, WriteFlags::empty())),
    },
    Writer {
        name: "write_all_vectored_with at an offset, without a flag",
        takes: Takes::Files,
        make: || {
            positional(|fd, segments, offset| with(fd, segments, Some(offset), WriteFlags::empty()))
        },
    },
    Writer {
        name: "write_once, as much as fits at a time",
        takes: Takes::All,
        make: || Box::new(record_by_record),
    },
];

/// The ways with `RWF_DSYNC`: not in the table of all, since each of their calls waits for the disk.
pub const DURABLE_WRITERS: &[Writer] = &[
    Writer {
        name: "write_all_vectored_with DSYNC",
        takes: Takes::Files,
        make: || whole_list(|fd, segments| with(fd, segments, None, WriteFlags::DSYNC)),
    },
    Writer {
        name: "write_all_vectored_with DSYNC at an offset",
        takes: Takes::Files,
        make: || {
            positional(|fd, segments, offset| with(fd, segments, Some(offset), WriteFlags::DSYNC))
        },
    },
];

/// Not a way: its cursor goes one byte too far at every third short write.
///
/// It proves that the suite would notice.
pub const BROKEN_WRITER: Writer = Writer {
    name: "a broken cursor",
    takes: Takes::All,
    make: || {
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
    },
};

/// A mover of a function that writes whole lists: it is handed the rest of the list as a list.
pub fn whole_list(
    mut write_all: impl FnMut(BorrowedFd<'_>, &[IoSlice<'_>]) -> Outcome + 'static,
) -> WriteFn {
    Box::new(move |fd, segments, cursor| {
        let outcome = if *cursor == SegmentCursor::new() {
            write_all(fd, segments)
        } else {
            write_all(fd, &rest(segments, *cursor))
        };
        cursor.advance(segments, outcome.transferred as usize);
        outcome
    })
}

/// A mover of a function that writes whole lists at an offset, for files that the list begins.
pub fn positional(
    mut write_all_at: impl FnMut(BorrowedFd<'_>, &[IoSlice<'_>], u64) -> Outcome + 'static,
) -> WriteFn {
    Box::new(move |fd, segments, cursor| {
        let all = SegmentCursor::new().remaining_bytes(segments);
        let offset = all - cursor.remaining_bytes(segments);
        let outcome = write_all_at(fd, &rest(segments, *cursor), offset);
        cursor.advance(segments, outcome.transferred as usize);
        outcome
    })
}

/// A transfer that moves the cursor itself: it must move it by what it counts.
fn counted(
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    transfer: impl FnOnce(&mut SegmentCursor) -> Result<u64, TransferError>,
) -> Outcome {
    let before = cursor.remaining_bytes(segments);
    let outcome = Outcome::from(transfer(cursor));
    let moved = before - cursor.remaining_bytes(segments);
    assert_eq!(moved, outcome.transferred, "cursor and count differ");
    outcome
}

fn gather(model: CostModel) -> WriteFn {
    let mut gather = Gather::new(model);
    whole_list(move |fd, segments| gather.write_all(fd, segments).into())
}

fn with(
    fd: BorrowedFd<'_>,
    segments: &[IoSlice<'_>],
    offset: Option<u64>,
    flags: WriteFlags,
) -> Outcome {
    write_all_vectored_with(fd, segments, offset, flags, OnRefusal::Fallback).into()
}

/// Another descriptor of the same socket, of whatever kind, as the type of which the library makes other
/// calls; `None` if it is no socket.
fn as_unix_stream(fd: BorrowedFd<'_>) -> Option<UnixStream> {
    let stat = rustix::fs::fstat(fd).ok()?;
    let is_socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
    is_socket.then(|| UnixStream::from(fd.try_clone_to_owned().expect("a free descriptor")))
}

/// A descriptor that is written to by plain calls alone.
struct Plain<'fd>(BorrowedFd<'fd>);

impl Write for Plain<'_> {
    fn write(&mut self, slice: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(self.0, slice)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn slice_by_slice<W>(mut writer: GatherWriter<W>, segments: &[IoSlice<'_>]) -> Outcome {
    let mut accepted = 0;
    for segment in segments {
        let mut slice = &segment[..];
        while !slice.is_empty() {
            let error = match writer.write(slice) {
                Ok(0) => Some(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    accepted += bytes as u64;
                    slice = &slice[bytes..];
                    None
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
                Err(error) => Some(error),
            };
            if error.is_some() {
                return written(writer, accepted, error);
            }
        }
    }
    let error = writer.flush().err();
    written(writer, accepted, error)
}

/// What went of the bytes that were accepted: all but those that are still staged, which are given up.
fn written<W>(writer: GatherWriter<W>, accepted: u64, error: Option<io::Error>) -> Outcome {
    let (_, staged) = writer.into_parts();
    let staged = staged.expect("nothing panics here");
    Outcome {
        transferred: accepted - staged.len() as u64,
        error,
    }
}

/// A list as records, each as long as `write_once` takes here. One of which a part went is gone on
/// with behind that part, which its error counts.
fn record_by_record(
    fd: BorrowedFd<'_>,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
) -> Outcome {
    let is_pipe = rustix::fs::fstat(fd)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    let mut limits = Limits::default();
    if is_pipe {
        limits.bytes = libc::PIPE_BUF;
    }
    drive_within(limits, segments, cursor, |batch, _| {
        let outcome = Outcome::from(write_once(fd, batch));
        match (outcome.transferred, outcome.error) {
            (0, Some(error)) => Err(error),
            (bytes, _) => Ok(bytes as usize),
        }
    })
}

/// What a caller does who makes the system calls himself.
fn by_hand(fd: BorrowedFd<'_>, segments: &[IoSlice<'_>], cursor: &mut SegmentCursor) -> Outcome {
    drive(segments, cursor, |batch, _| {
        Ok(rustix::io::writev(fd, batch)?)
    })
}

/// Batch after batch into `call`, which is also told how many bytes are left in the list.
///
/// # Panics
///
/// If a batch is more than a call takes.
pub fn drive(
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    call: impl FnMut(&[IoSlice<'_>], u64) -> io::Result<usize>,
) -> Outcome {
    drive_within(Limits::default(), segments, cursor, call)
}

fn drive_within(
    limits: Limits,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    mut call: impl FnMut(&[IoSlice<'_>], u64) -> io::Result<usize>,
) -> Outcome {
    let mut scratch = Vec::new();
    let at_first = cursor.remaining_bytes(segments);
    let error = loop {
        let batch = cursor.batch(segments, limits, &mut scratch);
        if batch.is_empty() {
            break None;
        }
        // What rustix would mend by itself, and the kernel would not.
        assert!(batch.len() <= iov_max(), "{} slices", batch.len());
        assert!(batch.iter().all(|slice| !slice.is_empty()), "an empty one");
        match call(batch, cursor.remaining_bytes(segments)) {
            Ok(0) => break Some(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => cursor.advance(segments, bytes),
            Err(error) if error.raw_os_error() == Some(Errno::INTR.raw_os_error()) => {}
            Err(error) => break Some(error),
        }
    };
    Outcome {
        transferred: at_first - cursor.remaining_bytes(segments),
        error,
    }
}

/// A list as a `Buf`.
#[derive(Clone)]
struct Chunks<'a> {
    segments: &'a [IoSlice<'a>],
    /// On a byte, or at the end.
    cursor: SegmentCursor,
    left: usize,
}

impl<'a> Chunks<'a> {
    fn of(segments: &'a [IoSlice<'a>]) -> Chunks<'a> {
        let mut cursor = SegmentCursor::new();
        let left = cursor.remaining_bytes(segments) as usize;
        // Past the empty segments at the start.
        cursor.advance(segments, 0);
        Chunks {
            segments,
            cursor,
            left,
        }
    }

    /// The segments from here on, the first of them cut.
    fn rest(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut offset = self.cursor.offset();
        let segments = &self.segments[self.cursor.segment()..];
        segments
            .iter()
            .map(move |segment| &segment[mem::take(&mut offset)..])
    }
}

impl Buf for Chunks<'_> {
    fn remaining(&self) -> usize {
        self.left
    }

    fn chunk(&self) -> &[u8] {
        self.rest().next().unwrap_or_default()
    }

    fn advance(&mut self, bytes: usize) {
        self.cursor.advance(self.segments, bytes);
        self.left -= bytes;
    }

    fn chunks_vectored<'a>(&'a self, to: &mut [IoSlice<'a>]) -> usize {
        let shown = to.iter_mut().zip(self.rest());
        shown.map(|(to, chunk)| *to = IoSlice::new(chunk)).count()
    }
}

fn rest<'a>(segments: &'a [IoSlice<'_>], from: SegmentCursor) -> Vec<IoSlice<'a>> {
    let mut offset = from.offset();
    let after = segments[from.segment()..].iter();
    after
        .map(|segment| IoSlice::new(&segment[mem::take(&mut offset)..]))
        .collect()
}
