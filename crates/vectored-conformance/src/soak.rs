//! The suite at random: lists, ways to write and to read, descriptors and faults, from one seed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;
use vectored::SegmentCursor;

use crate::here::limit_file_size;
use crate::model::{bytes_lost, list, payload, pieces};
use crate::read_ways::{ReadMover, ReadWay};
use crate::script::{Answer, ScriptedSink};
use crate::signals::{Rain, ignore_file_size_signal};
use crate::source::{self, Feed, Source};
use crate::target::{self, Delivery, Target};
use crate::ways::{Mover, Takes, Way, drive};

/// What a soak is asked for.
#[derive(Debug)]
pub struct Options {
    /// How long.
    pub duration: Duration,
    /// The same seed makes the same lists, ways, descriptors and faults, in the same order.
    pub seed: u64,
    /// Where files lie.
    pub directory: PathBuf,
    /// The ways to write that are tried; all of the table, but for a test.
    pub ways: &'static [Way],
    /// The ways to read that are tried, in turns with those: at least one of both.
    pub read_ways: &'static [ReadWay],
}

/// What a soak has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Lists that were moved.
    pub transfers: u64,
    /// Bytes that arrived, written or read.
    pub bytes: u64,
    /// Short calls, interruptions, refusals and failures that were brought about.
    pub faults: u64,
    /// Bytes that are missing, wrong, surplus, or counted wrongly.
    pub bytes_lost: u64,
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Totals {
            transfers,
            bytes,
            faults,
            bytes_lost,
        } = self;
        write!(
            f,
            "transfers {transfers}, bytes {bytes}, faults injected {faults}, bytes lost {bytes_lost}"
        )
    }
}

/// What befalls a transfer.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Nothing but what the descriptor does by itself.
    None,
    /// A sink with a script, driven by the cursor: short, interrupted, refused and failed calls.
    Script,
    /// Signals, while a small pipe is full most of the time.
    Signals,
    /// A limit on the size of files, which is lifted when it has been met.
    FileSize,
    /// A reader that goes away.
    Break,
    /// A file that is forbidden to grow.
    Seal,
}

const FAULTS: [Fault; 9] = [
    Fault::None,
    Fault::None,
    Fault::None,
    Fault::None,
    Fault::Script,
    Fault::Signals,
    Fault::FileSize,
    Fault::Break,
    Fault::Seal,
];

/// What one transfer adds.
struct Seen {
    arrived: u64,
    faults: u64,
    lost: u64,
}

/// Moves lists until the time is over; calls `tell` after each with the totals so far, and with a
/// description of the transfer if it lost something.
///
/// It limits the size of files for the whole process for moments, and ignores `SIGXFSZ`.
///
/// # Errors
///
/// If a descriptor cannot be had: that says nothing about the ways.
pub fn run(options: &Options, mut tell: impl FnMut(&Totals, Option<String>)) -> io::Result<Totals> {
    ignore_file_size_signal();
    let mut rng = Rng::with_seed(options.seed);
    let ways = options.ways.iter();
    let mut ways: Vec<(&Way, Mover)> = ways.map(|way| (way, (way.make)())).collect();
    let read_ways = options.read_ways.iter();
    let mut read_ways: Vec<(&ReadWay, ReadMover)> =
        read_ways.map(|way| (way, (way.make)())).collect();
    let mut totals = Totals::default();
    let began = Instant::now();
    while began.elapsed() < options.duration {
        let sizes = any_sizes(&mut rng);
        let number = rng.usize(..ways.len() + read_ways.len());
        let (name, what, seen) = if let Some((way, mover)) = ways.get_mut(number) {
            let data = payload(&sizes);
            let fault = FAULTS[rng.usize(..FAULTS.len())];
            let seen = match (fault, way.takes) {
                (Fault::Script, _) => scripted(&mut rng, &data),
                (Fault::Signals | Fault::Break, Takes::Files) => continue,
                _ => transfer(&mut rng, fault, way, mover, &data, &options.directory)?,
            };
            (way.name, format!("{fault:?}"), seen)
        } else {
            let (way, mover) = &mut read_ways[number - ways.len()];
            let (source, seen) = read(&mut rng, way, mover, &sizes, &options.directory)?;
            (way.name, format!("from {source}"), seen)
        };
        totals.transfers += 1;
        totals.bytes += seen.arrived;
        totals.faults += seen.faults;
        totals.bytes_lost += seen.lost;
        let loss = (seen.lost > 0).then(|| {
            let number = totals.transfers;
            let (count, lost) = (sizes.len(), seen.lost);
            format!("transfer {number}: {name}, {count} segments, {what}: {lost} bytes lost")
        });
        tell(&totals, loss);
    }
    Ok(totals)
}

fn transfer(
    rng: &mut Rng,
    fault: Fault,
    way: &Way,
    mover: &mut Mover,
    data: &[Vec<u8>],
    directory: &Path,
) -> io::Result<Seen> {
    let model = data.concat();
    // Now and then they touch.
    let segments = match rng.u32(..4) {
        0 => pieces(&model, &data.iter().map(Vec::len).collect::<Vec<_>>()),
        _ => list(data),
    };
    let somewhere = rng.u64(..=model.len() as u64);
    let mut mended = 0;
    let signals_before = Rain::caught();
    let delivery = match fault {
        Fault::None => {
            let mut target = target::ALL[rng.usize(..target::ALL.len())](directory)?;
            if !target.suits(way.takes) {
                target = Target::file(directory)?;
            }
            target.deliver(mover, &segments)?
        }
        Fault::Signals => {
            let target = Target::small_pipe(Duration::from_micros(rng.u64(..200)))?;
            let _rain = Rain::begin(Duration::from_micros(rng.u64(20..200)))?;
            target.deliver(mover, &segments)?
        }
        Fault::FileSize => {
            let target = Target::file(directory)?;
            limit_file_size(Some(somewhere))?;
            let mend = |error: &io::Error| {
                mended += 1;
                error.kind() == io::ErrorKind::FileTooLarge && limit_file_size(None).is_ok()
            };
            let delivery = target.deliver_resuming(mover, &segments, mend);
            limit_file_size(None)?;
            delivery?
        }
        Fault::Break => Target::pipe_that_breaks(somewhere)?.deliver(mover, &segments)?,
        Fault::Seal => {
            let delivery = Target::memory(Some(somewhere))?.deliver(mover, &segments)?;
            sealed(delivery)
        }
        Fault::Script => unreachable!("a script needs no descriptor"),
    };
    let faults = mended
        + delivery.resumptions
        + u64::from(delivery.error.is_some())
        + (Rain::caught() - signals_before);
    Ok(Seen {
        arrived: delivery.received.len() as u64,
        faults,
        lost: lost(&model, &delivery, fault),
    })
}

/// A list is filled from a source of as many bytes, of more, or of fewer, now and then in a rain of
/// signals. Returns the name of the source, too.
fn read(
    rng: &mut Rng,
    way: &ReadWay,
    mover: &mut ReadMover,
    sizes: &[usize],
    directory: &Path,
) -> io::Result<(&'static str, Seen)> {
    let total: usize = sizes.iter().sum();
    let held = match rng.u32(..4) {
        0 => rng.usize(..=total),
        1 => total,
        _ => total + rng.usize(..20_000),
    };
    let content = payload(&[held]).concat();
    let least = 1 + held / 200;
    let pieces: Vec<usize> = (0..rng.usize(1..6))
        .map(|_| least + rng.choice([0, 3, 700, 5000, 100_000]).unwrap_or(0))
        .collect();
    let mut feed = Feed::new(content, &pieces);
    let in_rain = way.takes == Takes::All && rng.u32(..6) == 0;
    if in_rain {
        feed = feed.waiting(Duration::from_micros(rng.u64(1..50)));
    }
    let mut source = source::ALL[rng.usize(..source::ALL.len())](directory, feed.clone())?;
    if !source.suits(way.takes) {
        source = Source::file(directory, feed)?;
    }
    let name = source.name;
    let signals_before = Rain::caught();
    let rain = match in_rain {
        true => Some(Rain::begin(Duration::from_micros(rng.u64(50..300)))?),
        false => None,
    };
    let arrival = source.fill(way, mover, sizes)?;
    drop(rain);
    if arrival.error.is_some() {
        // What it may have read ahead is of a source that is gone.
        *mover = (way.make)();
    }
    let ends = u64::from(!arrival.ended_well(way));
    let seen = Seen {
        arrived: arrival.reported,
        faults: arrival.resumptions + u64::from(held < total) + (Rain::caught() - signals_before),
        lost: arrival.lost(way) + ends,
    };
    Ok((name, seen))
}

/// The bytes that a delivery owes its list.
fn lost(model: &[u8], delivery: &Delivery, fault: Fault) -> u64 {
    let received = delivery.received.len() as u64;
    let reported = delivery.reported;
    let arrived_part = &model[..model.len().min(delivery.received.len())];
    let (expected, miscounted) = match (fault, &delivery.error) {
        // What the pipe held when it broke was taken, and can no longer be read.
        (Fault::Break, Some(_)) => (arrived_part, received.saturating_sub(reported)),
        (Fault::Break, None) => (arrived_part, reported.abs_diff(model.len() as u64)),
        (Fault::Seal, Some(_)) => (arrived_part, reported.abs_diff(received)),
        // Nothing else may end a transfer before its end.
        _ => (model, reported.abs_diff(received)),
    };
    bytes_lost(expected, &delivery.received) + miscounted + delivery.miscounts
}

/// A sealed file had its size before: cuts off the zeros that were not overwritten, as no byte of a
/// payload is zero.
fn sealed(mut delivery: Delivery) -> Delivery {
    let received = &mut delivery.received;
    let written = received.iter().take_while(|&&byte| byte != 0).count();
    if received[written..].iter().all(|&byte| byte == 0) {
        received.truncate(written);
    }
    delivery
}

/// The cursor into a sink with a script.
fn scripted(rng: &mut Rng, data: &[Vec<u8>]) -> Seen {
    let segments = list(data);
    let model = data.concat();
    let mut sink = ScriptedSink::new(any_script(rng));
    let mut cursor = SegmentCursor::new();
    let mut reported = 0;
    let mut miscounted = 0;
    loop {
        let outcome = drive(&segments, &mut cursor, |batch, _| sink.call(batch));
        reported += outcome.transferred;
        miscounted += reported.abs_diff(sink.taken.len() as u64);
        if outcome.error.is_none() {
            break;
        }
    }
    Seen {
        arrived: sink.taken.len() as u64,
        faults: sink.faults,
        lost: bytes_lost(&model, &sink.taken) + miscounted,
    }
}

fn any_sizes(rng: &mut Rng) -> Vec<usize> {
    let count = match rng.u32(..10) {
        0 => 0,
        1 => rng.usize(1000..2100),
        2 => rng.choice([1023, 1024, 1025, 2048]).unwrap_or(1024),
        _ => rng.usize(1..60),
    };
    let most = rng.choice([3, 70, 700, 9000]).unwrap_or(70);
    let mut sizes: Vec<usize> = (0..count)
        .map(|_| match rng.u32(..4) {
            0 => 0,
            // Now and then a whole list of tiny ones but for one.
            1 => rng.usize(..8),
            _ => rng.usize(..most.min(2_000_000 / count)),
        })
        .collect();
    if rng.u32(..8) == 0 && !sizes.is_empty() {
        let place = rng.usize(..sizes.len());
        sizes[place] = rng.usize(..300_000);
    }
    sizes
}

fn any_script(rng: &mut Rng) -> Vec<Answer> {
    let count = rng.usize(..40);
    let most = rng.usize(1..5000);
    let answer = |_| match rng.u32(..12) {
        0 | 1 => Answer::Fail(libc::EINTR),
        2 => Answer::Fail(libc::EAGAIN),
        3 => Answer::Fail(libc::EIO),
        4 => Answer::Take(0),
        5 => Answer::Take(usize::MAX),
        6 | 7 => Answer::Take(rng.usize(1..4)),
        _ => Answer::Take(rng.usize(1..=most)),
    };
    (0..count).map(answer).collect()
}
