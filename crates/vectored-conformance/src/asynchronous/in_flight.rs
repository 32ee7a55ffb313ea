//! The transfers in flight of `vectored_measure::in_flight`, as entries beside the tables `write_ways` and `read_ways`.
//!
//! Each technique has one table, since a machine may not offer it.

use std::io::{self, IoSlice, IoSliceMut};
use std::ops::DerefMut;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use rustix::fs::{FileType, OFlags, SeekFrom, fcntl_getfl, fstat, seek, tell};
use vectored_measure::in_flight::{AioQueue, Event, ListError, ListQueue, Place, RingQueue};
use vectored_measure::measure::check_available;
use vectored_results::model::TechniqueName;

use crate::host::report_skip;
use crate::outcome::{Outcome, Takes};
use crate::read_ways::{self, AtEof, CallScope, ReadFn, ReadWay};
use crate::write_ways::{self, WriteFn, WriteWay};

/// The entries of a technique.
macro_rules! writing_entries {
    ($queue:ident, $name:literal) => {
        &[
            WriteWay {
                name: concat!("ListQueue::write by ", $name),
                takes: Takes::All,
                make: || write::<$queue>(1),
            },
            WriteWay {
                name: concat!("ListQueue::write by ", $name, ", 8 pieces in flight"),
                takes: Takes::All,
                make: || write::<$queue>(8),
            },
            WriteWay {
                name: concat!(
                    "ListQueue::write at an offset by ",
                    $name,
                    ", 64 in flight, unwound and made again"
                ),
                takes: Takes::Files,
                make: || write_at::<$queue>(),
            },
        ]
    };
}

/// The entries of a technique.
macro_rules! reading_entries {
    ($queue:ident, $name:literal) => {
        &[
            ReadWay {
                name: concat!("ListQueue::read by ", $name),
                takes: Takes::All,
                at_eof: AtEof::Fails,
                call_scope: CallScope::List,
                make: || read::<$queue>(1),
            },
            ReadWay {
                name: concat!("ListQueue::read by ", $name, ", 8 pieces in flight"),
                takes: Takes::All,
                at_eof: AtEof::Fails,
                call_scope: CallScope::List,
                make: || read::<$queue>(8),
            },
            ReadWay {
                name: concat!(
                    "ListQueue::read at an offset by ",
                    $name,
                    ", 64 in flight, unwound and made again"
                ),
                takes: Takes::Files,
                at_eof: AtEof::Fails,
                call_scope: CallScope::List,
                make: || read_at::<$queue>(),
            },
        ]
    };
}

/// The techniques that this machine offers. Those that it lacks or forbids are reported.
pub fn techniques() -> impl Iterator<Item = TechniqueName> {
    ["io-uring", "linux-aio"]
        .map(TechniqueName::new)
        .into_iter()
        .filter(|technique| match check_available(*technique, 64) {
            Ok(()) => true,
            Err(error) => {
                let is_refused = matches!(
                    error.kind(),
                    io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
                );
                assert!(is_refused, "{error}");
                report_skip("the entries of ListQueue in the suite", &error.to_string());
                false
            }
        })
}

/// Every way to write by a technique.
#[must_use]
pub fn write_ways_by(technique: TechniqueName) -> &'static [WriteWay] {
    match technique.as_str() {
        "io-uring" => writing_entries!(RingQueue, "io_uring"),
        "linux-aio" => writing_entries!(AioQueue, "Linux AIO"),
        other => panic!("{other} is not asynchronous"),
    }
}

/// Every way to read by a technique.
#[must_use]
pub fn read_ways_by(technique: TechniqueName) -> &'static [ReadWay] {
    match technique.as_str() {
        "io-uring" => reading_entries!(RingQueue, "io_uring"),
        "linux-aio" => reading_entries!(AioQueue, "Linux AIO"),
        other => panic!("{other} is not asynchronous"),
    }
}

fn queue<Q: ListQueue>(depth: u32) -> Q {
    Q::with_depth(depth).expect("the entries are used where there is the technique")
}

/// Writes lists at the position of the descriptor: as one list, or in pieces.
fn write<Q: ListQueue + 'static>(depth: u32) -> WriteFn {
    let mut queue = queue::<Q>(depth);
    let mut rng = Rng::with_seed(7);
    write_ways::whole_list(move |fd, segments| {
        let place = place_of(fd);
        let outcome = match depth {
            1 => write_pieces(&mut queue, fd, place, &[segments], &mut |_| ()),
            _ => write_pieces(
                &mut queue,
                fd,
                place,
                &pieces(segments, &mut rng),
                &mut |_| (),
            ),
        };
        set_position(fd, place, outcome)
    })
}

/// Writes lists in pieces at an offset. A first attempt with other bytes ends by a panic, with pieces in flight. A write of it that ends after the panic leaves these bytes in the file.
fn write_at<Q: ListQueue + 'static>() -> WriteFn {
    let mut queue = queue::<Q>(64);
    let mut rng = Rng::with_seed(7);
    write_ways::positional(move |fd, segments, offset| {
        let place = match place_of(fd) {
            Place::Offset(_) => Place::Offset(offset),
            Place::Stream => Place::Stream,
        };
        let pieces = pieces(segments, &mut rng);
        // A list that is appended twice is in the file twice.
        if place != Place::Stream {
            let inverted: Vec<Vec<u8>> = segments
                .iter()
                .map(|segment| segment.iter().map(|byte| !byte).collect())
                .collect();
            let inverted: Vec<IoSlice<'_>> =
                inverted.iter().map(|bytes| IoSlice::new(bytes)).collect();
            let inverted = like(&pieces, &inverted);
            let last = rng.u64(..=pieces.len() as u64);
            unwound(|| {
                let mut until = unwind_at(last);
                let outcome = write_pieces(&mut queue, fd, place, &inverted, &mut until);
                assert!(outcome.error.is_some() || last == pieces.len() as u64);
            });
        }
        write_pieces(&mut queue, fd, place, &pieces, &mut |_| ())
    })
}

fn write_pieces<'s>(
    queue: &mut impl ListQueue,
    fd: BorrowedFd<'s>,
    place: Place,
    pieces: &[&'s [IoSlice<'s>]],
    on_event: &mut dyn FnMut(Event),
) -> Outcome {
    let slices: Vec<Vec<&[u8]>> = pieces
        .iter()
        .map(|piece| piece.iter().map(|segment| &**segment).collect())
        .collect();
    let mut list = |number: u64| &*slices[number as usize];
    let result = queue.write(fd, place, pieces.len() as u64, &mut list, on_event);
    let bytes = pieces
        .iter()
        .map(|piece| piece.iter().map(|segment| segment.len() as u64).sum());
    outcome(result, &bytes.collect::<Vec<u64>>())
}

/// Reads a list like [`write()`] writes it.
fn read<Q: ListQueue + 'static>(depth: u32) -> ReadFn {
    let mut queue = queue::<Q>(depth);
    let mut rng = Rng::with_seed(7);
    read_ways::whole_list(move |fd, segments| {
        let place = place_of(fd);
        let outcome = match depth {
            1 => read_pieces(&mut queue, fd, place, vec![segments], &mut |_| ()),
            _ => {
                let pieces = pieces_mut(segments, &mut rng);
                read_pieces(&mut queue, fd, place, pieces, &mut |_| ())
            }
        };
        set_position(fd, place, outcome)
    })
}

/// Reads at an offset like [`write_at`] writes. Nothing is written to the buffers of an attempt that has ended.
fn read_at<Q: ListQueue + 'static>() -> ReadFn {
    let mut queue = queue::<Q>(64);
    let mut rng = Rng::with_seed(7);
    read_ways::positional(move |fd, segments, offset| {
        let place = Place::Offset(offset);
        let before: Vec<Vec<u8>> = segments.iter().map(|segment| segment.to_vec()).collect();
        let pieces = pieces_mut(segments, &mut rng);
        let last = rng.u64(..=pieces.len() as u64);
        unwound(|| {
            read_pieces(&mut queue, fd, place, pieces, &mut unwind_at(last));
        });
        for (segment, before) in segments.iter_mut().zip(&before) {
            segment.copy_from_slice(before);
        }
        thread::sleep(Duration::from_micros(rng.u64(..100)));
        let is_as_before = segments
            .iter()
            .zip(&before)
            .all(|(now, before)| **now == **before);
        assert!(is_as_before, "a buffer was written to after its transfer");
        read_pieces(
            &mut queue,
            fd,
            place,
            pieces_mut(segments, &mut rng),
            &mut |_| (),
        )
    })
}

fn read_pieces(
    queue: &mut impl ListQueue,
    fd: BorrowedFd<'_>,
    place: Place,
    mut pieces: Vec<&mut [IoSliceMut<'_>]>,
    on_event: &mut dyn FnMut(Event),
) -> Outcome {
    let bytes: Vec<u64> = pieces
        .iter()
        .map(|piece| piece.iter().map(|segment| segment.len() as u64).sum())
        .collect();
    let count = pieces.len() as u64;
    let mut slices: Vec<Vec<&mut [u8]>> = pieces
        .iter_mut()
        .map(|piece| piece.iter_mut().map(DerefMut::deref_mut).collect())
        .collect();
    let lists = slices.iter_mut().map(Vec::as_mut_slice).collect();
    let result = queue.read(fd, place, count, lists, on_event);
    outcome(result, &bytes)
}

/// The place of lists that begin at the position of a descriptor.
fn place_of(fd: BorrowedFd<'_>) -> Place {
    let kind = fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    let flags = fcntl_getfl(fd).expect("the flags of a descriptor");
    match kind.expect("the type of a descriptor") {
        FileType::RegularFile if !flags.contains(OFlags::APPEND) => {
            Place::Offset(tell(fd).expect("a file has a position"))
        }
        _ => Place::Stream,
    }
}

/// Sets the position of a file after the bytes that were moved.
fn set_position(fd: BorrowedFd<'_>, place: Place, outcome: Outcome) -> Outcome {
    if let Place::Offset(begin) = place {
        seek(fd, SeekFrom::Start(begin + outcome.transferred)).expect("a file has a position");
    }
    outcome
}

/// The bytes before an error. `bytes` has the number of bytes of each list.
fn outcome(result: Result<(), ListError>, bytes: &[u64]) -> Outcome {
    match result {
        Ok(()) => Outcome {
            transferred: bytes.iter().sum(),
            error: None,
        },
        Err(error) => Outcome {
            transferred: bytes[..error.list() as usize].iter().sum::<u64>() + error.transferred(),
            error: Some(error.into_io_error()),
        },
    }
}

/// The list in pieces of random numbers of segments.
fn pieces<'s>(mut segments: &'s [IoSlice<'s>], rng: &mut Rng) -> Vec<&'s [IoSlice<'s>]> {
    let mut pieces = Vec::new();
    while !segments.is_empty() {
        let (piece, rest) = segments.split_at(rng.usize(1..=segments.len().min(40)));
        pieces.push(piece);
        segments = rest;
    }
    pieces
}

/// Cuts the list like `pieces`. In both attempts the same piece then reaches the end of a file that cannot grow.
fn like<'s>(pieces: &[&[IoSlice<'_>]], segments: &'s [IoSlice<'s>]) -> Vec<&'s [IoSlice<'s>]> {
    let mut rest = segments;
    let split = pieces.iter().map(|piece| {
        let (here, after) = rest.split_at(piece.len());
        rest = after;
        here
    });
    split.collect()
}

/// The [`pieces`] of a list to read into.
fn pieces_mut<'s, 'b>(
    mut segments: &'s mut [IoSliceMut<'b>],
    rng: &mut Rng,
) -> Vec<&'s mut [IoSliceMut<'b>]> {
    let mut pieces = Vec::new();
    while !segments.is_empty() {
        let (piece, rest) = segments.split_at_mut(rng.usize(1..=segments.len().min(40)));
        pieces.push(piece);
        segments = rest;
    }
    pieces
}

/// The payload of a panic that unwinds a transfer.
struct Unwound;

/// Unwinds when the list of this number has ended. The kernel may have others then: all that began before the first wait.
fn unwind_at(number: u64) -> impl FnMut(Event) {
    move |event| {
        if event == Event::Ended(number) {
            resume_unwind(Box::new(Unwound));
        }
    }
}

/// Calls `body`, which may unwind with [`Unwound`].
fn unwound(body: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body))
        && !panic.is::<Unwound>()
    {
        resume_unwind(panic);
    }
}
