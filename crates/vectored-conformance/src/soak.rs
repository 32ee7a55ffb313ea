//! The suite with random lists, ways, descriptors and faults.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::host::limit_file_size;
use crate::model::{adjacent_list, bytes_lost, list, payload};
use crate::outcome::Counts;
use crate::queue;
use crate::ring_sessions;
use crate::source::{self, Feed, Source};
use crate::sys::signals::{SignalStorm, ignore_file_size_signal};
use crate::target::{self, Delivery, Target};
use crate::way::{ReadFn, ReadWay, WriteFn, WriteWay};

pub struct Options {
    pub duration: Duration,
    /// The seed of the random numbers: one seed gives the same lists, functions, descriptors and faults in the same
    /// order.
    pub seed: u64,
    pub directory: PathBuf,
    /// What is chosen from. A move that is listed twice is chosen twice as often.
    pub moves: Vec<Move>,
}

/// A way to move a list, with its function, or something else that moves bytes.
pub enum Move {
    Write(&'static WriteWay, WriteFn),
    Read(&'static ReadWay, ReadFn),
    /// Many transfers of a ring at once.
    Rings,
    /// A queue that is written to the sockets and pipes of tokio.
    Tokio,
}

impl Move {
    pub fn write(way: &'static WriteWay) -> Move {
        Move::Write(way, (way.make)())
    }

    pub fn read(way: &'static ReadWay) -> Move {
        Move::Read(way, (way.make)())
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub transfers: u64,
    pub counts: Counts,
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts {
            arrived,
            faults,
            lost,
        } = self.counts;
        let transfers = self.transfers;
        write!(
            f,
            "transfers {transfers}, bytes {arrived}, faults injected {faults}, bytes lost {lost}"
        )
    }
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// Signals during writes to a small pipe, which is full most of the time.
    Signals,
    /// A limit on the size of files. The limit is lifted once a write has reached it.
    FileSize,
    Break,
    Seal,
}

const FAULTS: [Fault; 8] = [
    Fault::None,
    Fault::None,
    Fault::None,
    Fault::None,
    Fault::Signals,
    Fault::FileSize,
    Fault::Break,
    Fault::Seal,
];

/// Moves lists until the time is over. After each list, calls `report` with the totals so far. If the transfer lost
/// bytes, `report` also gets a description of the transfer.
///
/// For moments, sets the file size limit of the whole process. Ignores `SIGXFSZ`.
pub fn run(
    mut options: Options,
    mut report: impl FnMut(&Totals, Option<String>),
) -> io::Result<Totals> {
    ignore_file_size_signal();
    let mut rng = Rng::with_seed(options.seed);
    let directory = &options.directory;
    let runtime = queue::soak::runtime()?;
    let mut totals = Totals::default();
    let began = Instant::now();
    while began.elapsed() < options.duration {
        let sizes = random_sizes(&mut rng);
        let chosen = rng.usize(..options.moves.len());
        let (name, what, counts) = match &mut options.moves[chosen] {
            Move::Write(way, write_fn) => {
                let data = payload(&sizes);
                let fault = FAULTS[rng.usize(..FAULTS.len())];
                let counts = match (fault, way.only_files) {
                    (Fault::Signals | Fault::Break, true) => continue,
                    // Only memfd_create(2) of Linux makes files that can be sealed.
                    (Fault::Seal, _) if !cfg!(target_os = "linux") => continue,
                    _ => transfer(&mut rng, fault, way, write_fn, &data, directory)?,
                };
                (way.name, format!("{fault:?}"), counts)
            }
            Move::Read(way, read_fn) => {
                let (source, counts) = read(&mut rng, way, read_fn, &sizes, directory)?;
                (way.name, format!("from {source}"), counts)
            }
            Move::Rings => {
                let counts = ring_sessions::session(&mut rng, directory)?;
                ("Ring", "many transfers at once".to_owned(), counts)
            }
            Move::Tokio => {
                let (to, counts) = queue::soak::connection(&mut rng, &runtime)?;
                ("SegmentQueue through tokio", format!("to {to}"), counts)
            }
        };
        totals.transfers += 1;
        totals.counts.arrived += counts.arrived;
        totals.counts.faults += counts.faults;
        totals.counts.lost += counts.lost;
        let loss = (counts.lost > 0).then(|| {
            let number = totals.transfers;
            let (count, lost) = (sizes.len(), counts.lost);
            format!("transfer {number}: {name}, {count} segments, {what}: {lost} bytes lost")
        });
        report(&totals, loss);
    }
    Ok(totals)
}

fn transfer(
    rng: &mut Rng,
    fault: Fault,
    way: &WriteWay,
    write_fn: &mut WriteFn,
    data: &[Vec<u8>],
    directory: &Path,
) -> io::Result<Counts> {
    let model = data.concat();
    // Some lists have adjacent segments.
    let segments = match rng.u32(..4) {
        0 => adjacent_list(&model, &data.iter().map(Vec::len).collect::<Vec<_>>()),
        _ => list(data),
    };
    let somewhere = rng.u64(..=model.len() as u64);
    let mut mended = 0;
    let signals_before = SignalStorm::caught();
    let delivery = match fault {
        Fault::None => {
            let mut target = target::ALL[rng.usize(..target::ALL.len())](directory)?;
            if way.only_files && !target.is_file() {
                target = Target::file(directory)?;
            }
            target.deliver(write_fn, &segments)?
        }
        Fault::Signals => {
            let target = Target::small_pipe(Duration::from_micros(rng.u64(..200)))?;
            let _storm = SignalStorm::begin(Duration::from_micros(rng.u64(20..200)))?;
            target.deliver(write_fn, &segments)?
        }
        Fault::FileSize => {
            let target = Target::file(directory)?;
            limit_file_size(Some(somewhere))?;
            let mend = |error: &io::Error| {
                mended += 1;
                error.kind() == io::ErrorKind::FileTooLarge && limit_file_size(None).is_ok()
            };
            let delivery = target.deliver_resuming(write_fn, &segments, mend);
            limit_file_size(None)?;
            delivery?
        }
        Fault::Break => Target::pipe_that_breaks(somewhere)?.deliver(write_fn, &segments)?,
        Fault::Seal => {
            let delivery = Target::memory(Some(somewhere))?.deliver(write_fn, &segments)?;
            without_unwritten_zeros(delivery)
        }
    };
    let faults = mended
        + delivery.resumptions
        + u64::from(delivery.error.is_some())
        + (SignalStorm::caught() - signals_before);
    Ok(Counts {
        arrived: delivery.received.len() as u64,
        faults,
        lost: lost(&model, &delivery, fault),
    })
}

/// Fills a list from a source, sometimes during a storm of signals. The source has as many bytes as the list,
/// more or fewer. Also returns the name of the source.
fn read(
    rng: &mut Rng,
    way: &ReadWay,
    read_fn: &mut ReadFn,
    sizes: &[usize],
    directory: &Path,
) -> io::Result<(&'static str, Counts)> {
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
    let in_storm = !way.only_files && rng.u32(..6) == 0;
    if in_storm {
        feed = feed.waiting(Duration::from_micros(rng.u64(1..50)));
    }
    let mut source = source::ALL[rng.usize(..source::ALL.len())](directory, feed.clone())?;
    if way.only_files && !source.is_file() {
        source = Source::file(directory, feed)?;
    }
    let name = source.name;
    let signals_before = SignalStorm::caught();
    let interval = Duration::from_micros(rng.u64(50..300));
    let storm = in_storm.then(|| SignalStorm::begin(interval)).transpose()?;
    let arrival = source.fill(way, read_fn, sizes)?;
    drop(storm);
    if arrival.error.is_some() {
        // The function may hold bytes that it read ahead from the old source.
        *read_fn = (way.make)();
    }
    let ends = u64::from(!arrival.ended_well(way));
    let counts = Counts {
        arrived: arrival.reported,
        faults: arrival.resumptions
            + u64::from(held < total)
            + (SignalStorm::caught() - signals_before),
        lost: arrival.lost(way) + ends,
    };
    Ok((name, counts))
}

fn lost(model: &[u8], delivery: &Delivery, fault: Fault) -> u64 {
    let received = delivery.received.len() as u64;
    let reported = delivery.reported;
    let arrived_part = &model[..model.len().min(delivery.received.len())];
    let (expected, miscounted) = match (fault, &delivery.error) {
        // The bytes in the pipe when it broke were written, but can no longer be read.
        (Fault::Break, Some(_)) => (arrived_part, received.saturating_sub(reported)),
        (Fault::Break, None) => (arrived_part, reported.abs_diff(model.len() as u64)),
        (Fault::Seal, Some(_)) => (arrived_part, reported.abs_diff(received)),
        // No other fault may end a transfer early.
        _ => (model, reported.abs_diff(received)),
    };
    bytes_lost(expected, &delivery.received) + miscounted + delivery.miscounts
}

/// Removes the zeros at the end of a sealed file, which has had its size from the start. No byte of a payload is
/// zero, so these zeros were not written.
fn without_unwritten_zeros(mut delivery: Delivery) -> Delivery {
    let received = &mut delivery.received;
    let written = received.iter().take_while(|&&byte| byte != 0).count();
    if received[written..].iter().all(|&byte| byte == 0) {
        received.truncate(written);
    }
    delivery
}

fn random_sizes(rng: &mut Rng) -> Vec<usize> {
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
            // Tiny segments.
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
