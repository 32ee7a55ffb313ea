//! The table of the functions that read a list from a descriptor, like [`write_ways`](crate::write_ways).
//!
//! To add a function, add an entry to [`READ_WAYS`]. [`counted`] adapts a function that resumes from a cursor,
//! [`whole_list`] and [`positional`] a function that takes a whole list.

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

#[derive(Clone, Copy)]
pub struct ReadWay {
    pub name: &'static str,
    /// A way for files alone does not move the position of the file.
    pub takes: Takes,
    /// Whether an early end of the file is success with fewer bytes, and not the error `UnexpectedEof`.
    pub stops_at_eof: bool,
    /// Whether a call reads bytes after the list, which are kept for the next list.
    pub reads_ahead: bool,
    /// Makes the function, with the state that it keeps from list to list.
    pub make: fn() -> ReadFn,
}

impl ReadWay {
    /// A way that fills a list from every descriptor, or fails.
    pub(crate) const fn exact(name: &'static str, make: fn() -> ReadFn) -> ReadWay {
        ReadWay {
            name,
            takes: Takes::All,
            stops_at_eof: false,
            reads_ahead: false,
            make,
        }
    }

    pub(crate) const fn of_files(mut self) -> ReadWay {
        self.takes = Takes::Files;
        self
    }

    pub(crate) const fn that_stops(mut self) -> ReadWay {
        self.stops_at_eof = true;
        self
    }

    #[cfg(unix)]
    pub(crate) const fn that_reads_ahead(mut self) -> ReadWay {
        self.reads_ahead = true;
        self
    }
}

impl fmt::Debug for ReadWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

pub const READ_WAYS: &[ReadWay] = &[
    ReadWay::exact("read_exact", || {
        whole_list(|fd, segments| read_exact(fd, segments).into())
    }),
    ReadWay::exact("resume_read", || {
        Box::new(|fd, segments, cursor| {
            counted(segments, cursor, |segments, cursor| {
                resume_read(fd, segments, cursor)
            })
        })
    }),
    ReadWay::exact("read_up_to_eof", || {
        whole_list(|fd, segments| read_up_to_eof(fd, segments).into())
    })
    .that_stops(),
    ReadWay::exact("read_exact_at", || {
        positional(|fd, segments, offset| read_exact_at(fd, segments, offset).into())
    })
    .of_files(),
    ReadWay::exact("read_up_to_eof_at", || {
        positional(|fd, segments, offset| read_up_to_eof_at(fd, segments, offset).into())
    })
    .of_files()
    .that_stops(),
    ReadWay::exact("Scatter::read_exact", || scatter(CostModel::default())),
    ReadWay::exact("Scatter::read_exact with little staging memory", || {
        scatter(CostModel::default().with(|costs| costs.staging_bytes = 1000))
    }),
    ReadWay::exact("Scatter::read_exact that stages nothing", || {
        scatter(CostModel::default().with(|costs| costs.staging_bytes = 0))
    }),
    ReadWay::exact("Scatter::resume_read", || scattered(CostModel::default())),
    ReadWay::exact("Scatter::read_up_to_eof", || {
        let mut scatter = Scatter::default();
        whole_list(move |fd, segments| scatter.read_up_to_eof(fd, segments).into())
    })
    .that_stops(),
    ReadWay::exact("Scatter::read_exact_at", || {
        let mut scatter = Scatter::default();
        positional(move |fd, segments, offset| scatter.read_exact_at(fd, segments, offset).into())
    })
    .of_files(),
    ReadWay::exact("Scatter::read_up_to_eof_at", || {
        let mut scatter = Scatter::default();
        positional(move |fd, segments, offset| {
            scatter.read_up_to_eof_at(fd, segments, offset).into()
        })
    })
    .of_files()
    .that_stops(),
    #[cfg(unix)]
    ReadWay::exact(
        "ScatterReader::read_exact_vectored with a small buffer",
        || {
            let mut reader = ReusedReader::with_capacity(100);
            whole_list(move |fd, segments| {
                reader.on(fd, |reader| reader.read_exact_vectored(segments).into())
            })
        },
    )
    .that_reads_ahead(),
    #[cfg(unix)]
    ReadWay::exact("ScatterReader::resume_read", || buffered(8192)).that_reads_ahead(),
    #[cfg(unix)]
    ReadWay::exact("ScatterReader::read_up_to_eof", || {
        let mut reader = ReusedReader::with_capacity(8192);
        whole_list(move |fd, segments| {
            reader.on(fd, |reader| reader.read_up_to_eof(segments).into())
        })
    })
    .that_stops()
    .that_reads_ahead(),
    #[cfg(unix)]
    ReadWay::exact("ScatterReader without a buffer", || {
        let mut reader = ReusedReader::with_capacity(0);
        whole_list(move |fd, segments| {
            reader.on(fd, |reader| reader.read_exact_vectored(segments).into())
        })
    }),
];

/// A defective way, which proves that the suite detects defects: its cursor advances one byte too far at every third error.
pub const BROKEN_READ_WAY: ReadWay = ReadWay::exact("a broken read cursor", || {
    let mut errors = 0_u64;
    Box::new(move |fd, segments, cursor| {
        let mut outcome = Outcome::from(resume_read(fd, segments, cursor));
        errors += u64::from(outcome.error.is_some());
        if outcome.error.is_some() && errors.is_multiple_of(3) && !cursor.is_at_end(segments) {
            cursor.advance(segments, 1);
            outcome.transferred += 1;
        }
        outcome
    })
});

/// Adapts a function that fills whole lists. The function gets the rest of a list as another list.
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

/// A `ScatterReader` that gets its descriptor for each transfer anew. The reader keeps the bytes that it read ahead.
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
