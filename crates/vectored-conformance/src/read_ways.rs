//! The table of the functions that read a list from a descriptor, like [`write_ways`](crate::write_ways).
//!
//! To add a function, add an entry to [`READ_WAYS`]. A function that resumes from a cursor needs no adapter.
//! [`whole_list`] and [`positional`] adapt a function that takes a whole list.

#[cfg(unix)]
use std::fs::File;
use std::io::IoSliceMut;

#[cfg(unix)]
use vectored::ScatterReader;
use vectored::bindings::BorrowedDescriptor;
use vectored::files::{read_exact_at, read_up_to_eof_at};
use vectored::{CostModel, Scatter, SegmentCursor, read_exact, read_up_to_eof, resume_read};

use crate::outcome::Outcome;
use crate::way::{ReadFn, ReadWay, Way};

pub const READ_WAYS: &[ReadWay] = &[
    Way::new("read_exact", || {
        whole_list(|fd, segments| read_exact(fd, segments).into())
    }),
    Way::new("resume_read", || {
        Box::new(|fd, segments, cursor| resume_read(fd, segments, cursor).into())
    }),
    Way::new("read_up_to_eof", || {
        whole_list(|fd, segments| read_up_to_eof(fd, segments).into())
    })
    .that_stops(),
    Way::new("read_exact_at", || {
        positional(|fd, segments, offset| read_exact_at(fd, segments, offset).into())
    })
    .of_files(),
    Way::new("read_up_to_eof_at", || {
        positional(|fd, segments, offset| read_up_to_eof_at(fd, segments, offset).into())
    })
    .of_files()
    .that_stops(),
    Way::new("Scatter::read_exact", || scatter(CostModel::default())),
    Way::new("Scatter::read_exact with little staging memory", || {
        scatter(CostModel::default().with(|costs| costs.staging_bytes = 1000))
    }),
    Way::new("Scatter::read_exact that stages nothing", || {
        scatter(CostModel::default().with(|costs| costs.staging_bytes = 0))
    }),
    Way::new("Scatter::resume_read", || scattered(CostModel::default())),
    Way::new("Scatter::read_up_to_eof", || {
        let mut scatter = Scatter::default();
        whole_list(move |fd, segments| scatter.read_up_to_eof(fd, segments).into())
    })
    .that_stops(),
    Way::new("Scatter::read_exact_at", || {
        let mut scatter = Scatter::default();
        positional(move |fd, segments, offset| scatter.read_exact_at(fd, segments, offset).into())
    })
    .of_files(),
    Way::new("Scatter::read_up_to_eof_at", || {
        let mut scatter = Scatter::default();
        positional(move |fd, segments, offset| {
            scatter.read_up_to_eof_at(fd, segments, offset).into()
        })
    })
    .of_files()
    .that_stops(),
    #[cfg(unix)]
    Way::new(
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
    Way::new("ScatterReader::resume_read", || buffered(8192)).that_reads_ahead(),
    #[cfg(unix)]
    Way::new("ScatterReader::read_up_to_eof", || {
        let mut reader = ReusedReader::with_capacity(8192);
        whole_list(move |fd, segments| {
            reader.on(fd, |reader| reader.read_up_to_eof(segments).into())
        })
    })
    .that_stops()
    .that_reads_ahead(),
    #[cfg(unix)]
    Way::new("ScatterReader without a buffer", || {
        let mut reader = ReusedReader::with_capacity(0);
        whole_list(move |fd, segments| {
            reader.on(fd, |reader| reader.read_exact_vectored(segments).into())
        })
    }),
];

/// A defective way, which proves that the suite detects defects: its cursor advances one byte too far at every third error.
pub const BROKEN_READ_WAY: ReadWay = Way::new("a broken read cursor", || {
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
    positional(move |fd, segments, _| read_all(fd, segments))
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

fn scatter(model: CostModel) -> ReadFn {
    let mut scatter = Scatter::with_model(model);
    whole_list(move |fd, segments| scatter.read_exact(fd, segments).into())
}

/// `Scatter::resume_read` with this model.
pub(crate) fn scattered(model: CostModel) -> ReadFn {
    let mut scatter = Scatter::with_model(model);
    Box::new(move |fd, segments, cursor| scatter.resume_read(fd, segments, cursor).into())
}

/// `ScatterReader::resume_read` with a buffer of `capacity` bytes.
#[cfg(unix)]
pub(crate) fn buffered(capacity: usize) -> ReadFn {
    let mut reader = ReusedReader::with_capacity(capacity);
    Box::new(move |fd, segments, cursor| {
        reader.on(fd, |reader| reader.resume_read(segments, cursor).into())
    })
}

/// A `ScatterReader` that gets another descriptor for each transfer. The reader keeps the bytes that it read ahead.
#[cfg(unix)]
struct ReusedReader(ScatterReader<File>);

#[cfg(unix)]
impl ReusedReader {
    fn with_capacity(capacity: usize) -> ReusedReader {
        ReusedReader(ScatterReader::with_capacity(capacity, nothing()))
    }

    fn on(
        &mut self,
        fd: BorrowedDescriptor<'_>,
        transfer: impl FnOnce(&mut ScatterReader<File>) -> Outcome,
    ) -> Outcome {
        let fd = fd.try_clone_to_owned();
        *self.0.get_mut() = fd.expect("a descriptor can be duplicated").into();
        let outcome = transfer(&mut self.0);
        // A pipe does not break while a duplicate of its descriptor is open.
        *self.0.get_mut() = nothing();
        outcome
    }
}

#[cfg(unix)]
fn nothing() -> File {
    File::open("/dev/null").expect("every Unix has /dev/null")
}

fn rest<'s>(segments: &'s mut [IoSliceMut<'_>], from: SegmentCursor) -> Vec<IoSliceMut<'s>> {
    let mut offset = from.offset();
    let after = segments[from.segment()..].iter_mut();
    after
        .map(|segment| IoSliceMut::new(&mut segment[std::mem::take(&mut offset)..]))
        .collect()
}
