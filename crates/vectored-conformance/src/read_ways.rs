//! The table of the functions that read a list from a descriptor, like [`write_ways`](crate::write_ways).
//!
//! To add one, add an entry to [`READ_WAYS`]. [`counted`] adapts a function that resumes from a cursor,
//! [`whole_list`] and [`positional`] one that takes a whole list.

use std::fmt;
#[cfg(unix)]
use std::fs::File;
use std::io::IoSliceMut;
#[cfg(unix)]
use std::io::{self, Read};

#[cfg(unix)]
use vectored::ScatterReader;
use vectored::bindings::BorrowedDescriptor;
use vectored::files::{read_exact_at, read_up_to_eof_at};
use vectored::{
    CostModel, Scatter, SegmentCursor, TransferError, read_exact, read_up_to_eof, resume_read,
};

use crate::outcome::{Outcome, Takes};

/// Fills a list from the cursor on, and advances the cursor by the bytes that were read.
pub type ReadFn =
    Box<dyn FnMut(BorrowedDescriptor<'_>, &mut [IoSliceMut<'_>], &mut SegmentCursor) -> Outcome>;

/// A function that reads a list.
pub struct ReadWay {
    /// The name in messages of failing tests.
    pub name: &'static str,
    /// The descriptors that it can be used on. A way for files alone does not move the file's position.
    pub takes: Takes,
    /// The result at an early end of the file.
    pub at_eof: AtEof,
    /// The bytes that it requests in one call.
    pub call_scope: CallScope,
    /// Makes the function, with the state that it keeps from list to list.
    pub make: fn() -> ReadFn,
}

impl fmt::Debug for ReadWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The result if the file ends before the list is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEof {
    /// The error `UnexpectedEof`.
    Fails,
    /// Success with fewer bytes.
    Stops,
}

/// The bytes that a call requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallScope {
    /// One call reads as much of the list as it can, and nothing beyond the list.
    List,
    /// One call reads like [`List`](CallScope::List), and reads bytes after the list as well, which are kept for the
    /// next list.
    ListAndReadAhead,
}

/// The properties that most ways share.
pub(crate) const EXACT_READ_WAY: ReadWay = ReadWay {
    name: "a reader that fills the list",
    takes: Takes::All,
    at_eof: AtEof::Fails,
    call_scope: CallScope::List,
    make: || whole_list(|fd, segments| read_exact(fd, segments).into()),
};

/// Every way to read a list.
pub const READ_WAYS: &[ReadWay] = &[
    ReadWay {
        name: "read_exact",
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "resume_read",
        make: || {
            Box::new(|fd, segments, cursor| {
                counted(segments, cursor, |segments, cursor| {
                    resume_read(fd, segments, cursor)
                })
            })
        },
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "read_up_to_eof",
        at_eof: AtEof::Stops,
        make: || whole_list(|fd, segments| read_up_to_eof(fd, segments).into()),
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "read_exact_at",
        takes: Takes::Files,
        make: || positional(|fd, segments, offset| read_exact_at(fd, segments, offset).into()),
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "read_up_to_eof_at",
        takes: Takes::Files,
        at_eof: AtEof::Stops,
        make: || positional(|fd, segments, offset| read_up_to_eof_at(fd, segments, offset).into()),
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "Scatter::read_exact",
        make: || scatter(CostModel::default()),
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "Scatter::read_exact with little staging memory",
        make: || scatter(CostModel::default().with(|costs| costs.staging_bytes = 1000)),
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "Scatter::read_exact that stages nothing",
        make: || scatter(CostModel::default().with(|costs| costs.staging_bytes = 0)),
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "Scatter::resume_read",
        make: || scattered(CostModel::default()),
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "Scatter::read_up_to_eof",
        at_eof: AtEof::Stops,
        make: || {
            let mut scatter = Scatter::default();
            whole_list(move |fd, segments| scatter.read_up_to_eof(fd, segments).into())
        },
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "Scatter::read_exact_at",
        takes: Takes::Files,
        make: || {
            let mut scatter = Scatter::default();
            positional(move |fd, segments, offset| {
                scatter.read_exact_at(fd, segments, offset).into()
            })
        },
        ..EXACT_READ_WAY
    },
    ReadWay {
        name: "Scatter::read_up_to_eof_at",
        takes: Takes::Files,
        at_eof: AtEof::Stops,
        make: || {
            let mut scatter = Scatter::default();
            positional(move |fd, segments, offset| {
                scatter.read_up_to_eof_at(fd, segments, offset).into()
            })
        },
        ..EXACT_READ_WAY
    },
    #[cfg(unix)]
    ReadWay {
        name: "ScatterReader::read_exact_vectored with a small buffer",
        call_scope: CallScope::ListAndReadAhead,
        make: || {
            let mut reader = ReusedReader::with_capacity(100);
            whole_list(move |fd, segments| {
                reader.on(fd, |reader| reader.read_exact_vectored(segments).into())
            })
        },
        ..EXACT_READ_WAY
    },
    #[cfg(unix)]
    ReadWay {
        name: "ScatterReader::resume_read",
        call_scope: CallScope::ListAndReadAhead,
        make: || buffered(8192),
        ..EXACT_READ_WAY
    },
    #[cfg(unix)]
    ReadWay {
        name: "ScatterReader::read_up_to_eof",
        at_eof: AtEof::Stops,
        call_scope: CallScope::ListAndReadAhead,
        make: || {
            let mut reader = ReusedReader::with_capacity(8192);
            whole_list(move |fd, segments| {
                reader.on(fd, |reader| reader.read_up_to_eof(segments).into())
            })
        },
        ..EXACT_READ_WAY
    },
    #[cfg(unix)]
    ReadWay {
        name: "ScatterReader without a buffer",
        make: || {
            let mut reader = ReusedReader::with_capacity(0);
            whole_list(move |fd, segments| {
                reader.on(fd, |reader| reader.read_exact_vectored(segments).into())
            })
        },
        ..EXACT_READ_WAY
    },
];

/// A defective way, which proves that the suite detects one: its cursor advances one byte too far after
/// every third short read.
#[cfg(unix)]
pub const BROKEN_READ_WAY: ReadWay = ReadWay {
    name: "a broken read cursor",
    make: || {
        let mut short_reads = 0_u64;
        Box::new(move |fd, segments, cursor| {
            let at_first = cursor.remaining_bytes(segments);
            let error = loop {
                let mut batch = rest(segments, *cursor);
                batch.retain(|slice| !slice.is_empty());
                batch.truncate(vectored::limits::iov_max());
                let asked: usize = batch.iter().map(|slice| slice.len()).sum();
                let came = match rustix::io::readv(fd, &mut batch) {
                    Ok(0) if asked > 0 => break Some(io::ErrorKind::UnexpectedEof.into()),
                    Ok(came) => came,
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(error) => break Some(error.into()),
                };
                short_reads += u64::from(came < asked);
                let is_too_far = came < asked && short_reads.is_multiple_of(3);
                cursor.advance(segments, came + usize::from(is_too_far));
                if cursor.is_at_end(segments) {
                    break None;
                }
            };
            Outcome {
                transferred: at_first - cursor.remaining_bytes(segments),
                error,
            }
        })
    },
    ..EXACT_READ_WAY
};

/// Adapts a function that fills whole lists. It gets the rest of a list as another list.
pub fn whole_list(
    mut read_all: impl FnMut(BorrowedDescriptor<'_>, &mut [IoSliceMut<'_>]) -> Outcome + 'static,
) -> ReadFn {
    Box::new(move |fd, segments, cursor| {
        let outcome = if *cursor == SegmentCursor::new() {
            read_all(fd, segments)
        } else {
            read_all(fd, &mut rest(segments, *cursor))
        };
        cursor.advance(segments, outcome.transferred as usize);
        outcome
    })
}

/// Adapts a function that fills whole lists from an offset. The list begins at offset 0 of the file.
pub fn positional(
    mut read_all_at: impl FnMut(BorrowedDescriptor<'_>, &mut [IoSliceMut<'_>], u64) -> Outcome + 'static,
) -> ReadFn {
    Box::new(move |fd, segments, cursor| {
        let all = SegmentCursor::new().remaining_bytes(segments);
        let offset = all - cursor.remaining_bytes(segments);
        let outcome = read_all_at(fd, &mut rest(segments, *cursor), offset);
        cursor.advance(segments, outcome.transferred as usize);
        outcome
    })
}

/// Runs a transfer that moves the cursor itself.
pub fn counted(
    segments: &mut [IoSliceMut<'_>],
    cursor: &mut SegmentCursor,
    transfer: impl FnOnce(&mut [IoSliceMut<'_>], &mut SegmentCursor) -> Result<u64, TransferError>,
) -> Outcome {
    let before = cursor.remaining_bytes(segments);
    let outcome = Outcome::from(transfer(segments, cursor));
    let moved = before - cursor.remaining_bytes(segments);
    assert_eq!(moved, outcome.transferred, "cursor and count differ");
    outcome
}

fn scatter(model: CostModel) -> ReadFn {
    let mut scatter = Scatter::with_model(model);
    whole_list(move |fd, segments| scatter.read_exact(fd, segments).into())
}

/// `Scatter::resume_read` with this model.
pub(crate) fn scattered(model: CostModel) -> ReadFn {
    let mut scatter = Scatter::with_model(model);
    Box::new(move |fd, segments, cursor| {
        counted(segments, cursor, |segments, cursor| {
            scatter.resume_read(fd, segments, cursor)
        })
    })
}

/// `ScatterReader::resume_read` with a buffer of `capacity` bytes.
#[cfg(unix)]
pub(crate) fn buffered(capacity: usize) -> ReadFn {
    let mut reader = ReusedReader::with_capacity(capacity);
    Box::new(move |fd, segments, cursor| {
        reader.on(fd, |reader| {
            counted(segments, cursor, |segments, cursor| {
                reader.resume_read(segments, cursor)
            })
        })
    })
}

/// A `ScatterReader` that gets its descriptor for each transfer anew. It keeps the bytes that it read ahead.
#[cfg(unix)]
struct ReusedReader(ScatterReader<Lent>);

#[cfg(unix)]
impl ReusedReader {
    fn with_capacity(capacity: usize) -> ReusedReader {
        ReusedReader(ScatterReader::with_capacity(capacity, Lent(None)))
    }

    fn on(
        &mut self,
        fd: BorrowedDescriptor<'_>,
        transfer: impl FnOnce(&mut ScatterReader<Lent>) -> Outcome,
    ) -> Outcome {
        let fd = fd.try_clone_to_owned();
        let fd = fd.expect("a descriptor can be duplicated");
        self.0.get_mut().0 = Some(fd.into());
        let outcome = transfer(&mut self.0);
        // A pipe does not break while a duplicate of its descriptor is open.
        self.0.get_mut().0 = None;
        outcome
    }
}

/// A file for the time of a transfer.
#[cfg(unix)]
struct Lent(Option<File>);

#[cfg(unix)]
impl Lent {
    fn file(&mut self) -> &mut File {
        self.0.as_mut().expect("a descriptor is lent")
    }
}

#[cfg(unix)]
impl Read for Lent {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.file().read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.file().read_vectored(bufs)
    }
}

fn rest<'s>(segments: &'s mut [IoSliceMut<'_>], from: SegmentCursor) -> Vec<IoSliceMut<'s>> {
    let mut offset = from.offset();
    let after = segments[from.segment()..].iter_mut();
    after
        .map(|segment| IoSliceMut::new(&mut segment[std::mem::take(&mut offset)..]))
        .collect()
}
