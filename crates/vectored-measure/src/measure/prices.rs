//! The prices of advice: the cost of one more call in a program. Measuring a price takes some 150 ms.
//!
//! A price depends on more than the call. The time of `write(2)` differs by a factor of two or three between states
//! of the machine that a log does not show. Such states are whether the reader of a pipe sleeps and must be woken,
//! the size of the pages that a file's memory consists of, and the load of the host. Each price is therefore sampled in
//! several states. The value of a price comes from the states that are usual in programs; the interval covers all sampled
//! states.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use vectored::CostModel;
use vectored_machine::Clock;
use vectored_machine::host::check_room;
use vectored_machine::model::{DescriptorKind, Operation, Price};
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::{OFlags, SeekFrom, ftruncate, seek};
use vectored_report::sort::sort_by;
use vectored_results::model::{Conditions, Target};
use vectored_results::stats::{median, target_kind};

use self::Quantity::{Answer, Medium, Pages, Seek, Usual};
use crate::measure::model_calibration::calibrate;
use crate::measure::sampler::{MeasureError, is_refusal};
use crate::measure::targets::{FILE_SPAN_BYTES, StreamKind};
use crate::measure::techniques::{read_exact, write_all};

/// Approximate time for the probes of one price.
const BUDGET_NS: f64 = 100e6;

const MIN_ROUNDS: usize = 8;

const MAX_ROUNDS: usize = 400;

/// Target duration of a sample, in ns. The cost of reading the clock, some 50 ns, is negligible.
const SAMPLE_NS: f64 = 40_000.0;

/// The most lists in a sample: a stream must hold them.
const MAX_LISTS: u32 = 8;

/// Share of a state's rounds that may lie below the interval, and above it: nine of ten lie within.
const TAIL: f64 = 0.05;

/// Minimum relative half width of the interval: how much a call in a program may differ from a call in a loop, in either
/// direction. The program's own work evicts the kernel's code and data from the caches, and entries from branch predictors.
const COLDER: f64 = 0.1;

/// A round longer than this many medians is a stall, not a state of the machine. With few rounds, a
/// single stall would otherwise become the end of the interval.
const MAX_TIMES: f64 = 4.0;

/// Minimum of every price, in ns: if the differences are lost in noise, calls are still not free.
const MIN_NS: f64 = 1.0;

/// Duration of a program's work before it writes a piece: about as long as formatting a line of numbers.
const WORK: Duration = Duration::from_micros(1);

const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    /// The cost of a small call, in a usual state of programs.
    Usual,
    /// The cost of a call that fills a good part of a page.
    Medium,
    /// The extra cost of calls of one page each over one large call: the large call allocates memory for more pages at
    /// once.
    Pages,
    /// The cost of a call that sends a further piece of an answer: after a few calls, the program waits until the reader
    /// has all bytes.
    Answer,
    /// The cost of `lseek(2)` before each call, compared with the same calls without `lseek`.
    Seek,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    quantity: Quantity,
    /// Whether some work precedes each piece, as in a program that produces what it writes. A reader falls asleep during
    /// the work and must be woken.
    works: bool,
    pieces: usize,
    piece_bytes: usize,
    share: f64,
}

const fn probe(quantity: Quantity, (pieces, piece_bytes): (usize, usize), share: f64) -> Probe {
    Probe {
        quantity,
        works: false,
        pieces,
        piece_bytes,
        share,
    }
}

const SMALL: (usize, usize) = (64, 64);

const FILE: &[Probe] = &[
    probe(Usual, SMALL, 0.3),
    probe(Pages, (16, 4096), 0.25),
    probe(Medium, (8, 512), 0.15),
    probe(Seek, SMALL, 0.1),
    // The first probe again: the state of the machine may have changed by now.
    probe(Usual, SMALL, 0.2),
];

/// Whether the reader sleeps between two pieces depends on the speeds of both programs. A log does not show these speeds,
/// since strace slows the programs down. So the price is the mean of both states.
const TO_STREAM: &[Probe] = &[
    probe(Usual, SMALL, 0.3),
    Probe {
        works: true,
        ..probe(Usual, SMALL, 0.4)
    },
    probe(Answer, (4, 64), 0.3),
];

/// A reader waits for its writer in any case, so only the reads of available bytes are measured.
const FROM_STREAM: &[Probe] = &[probe(Usual, SMALL, 1.0)];

impl Probe {
    /// The number of calls that one call for all pieces saves; for `Seek`, the number of saved seeks.
    fn more_calls(&self) -> f64 {
        match self.quantity {
            Seek => self.pieces as f64,
            _ => (self.pieces - 1) as f64,
        }
    }

    fn total_bytes(&self) -> usize {
        self.pieces * self.piece_bytes
    }
}

/// Measures the prices of `wanted`, in that order, in some 150 ms per price. [`DescriptorKind::Unknown`] and
/// [`DescriptorKind::Datagram`] have no price and are left out.
///
/// Opens its own pipe, sockets and files. The files are created in `directory` and have no name, so no file remains,
/// however the process ends.
pub fn measure_prices(
    directory: &Path,
    wanted: &[(DescriptorKind, Operation)],
    clock: &dyn Clock,
) -> Result<Vec<Price>, MeasureError> {
    let entry_ns = measure_entry_ns(clock);
    let mut models: Vec<(DescriptorKind, CostModel)> = Vec::new();
    let mut prices = Vec::with_capacity(wanted.len());
    for &(target, operation) in wanted {
        let place = match target {
            DescriptorKind::File => Target::File,
            DescriptorKind::Pipe => Target::Pipe,
            DescriptorKind::Unix => Target::Unix,
            DescriptorKind::Tcp => Target::Tcp,
            DescriptorKind::Datagram | DescriptorKind::Unknown => continue,
        };
        let probes = match (place, operation) {
            (Target::File, _) => FILE,
            (_, Operation::Write) => TO_STREAM,
            (_, Operation::Read) => FROM_STREAM,
        };
        if place == Target::File {
            check_room(directory, FILE_SPAN_BYTES).map_err(MeasureError::Directory)?;
        }
        let measured = models.iter().find(|(measured, _)| *measured == target);
        let model = match measured {
            Some((_, model)) => *model,
            None => {
                // The model is calibrated by writing. The prices of reads use the same costs.
                let fitted = match calibrate(place, None, directory) {
                    // If writev(2) is refused here, the costs of lists are the costs of another machine.
                    Err(error) if is_refusal(&error) => None,
                    fitted => fitted.map_err(MeasureError::io("cannot calibrate a cost model"))?,
                };
                let usual = CostModel::for_target(target_kind(place));
                let model = fitted.map_or(usual, |fitted| fitted.model);
                models.push((target, model));
                model
            }
        };
        let cannot = || MeasureError::io(format!("cannot measure the cost of calls on {place}"));
        let mut rounds = Vec::with_capacity(probes.len());
        for probe in probes {
            let mut scene = Scene::open(place, operation, probe, directory).map_err(cannot())?;
            let list_ns = |merged, lists| scene.list_ns(merged, lists, clock);
            rounds.push(sample(*probe, list_ns, clock).map_err(cannot())?);
        }
        prices.push(price(target, operation, &model, entry_ns, &rounds));
    }
    Ok(prices)
}

fn measure_entry_ns(clock: &dyn Clock) -> f64 {
    let round = |_| {
        let began_ns = clock.now_ns();
        for _ in 0..64 {
            std::hint::black_box(rustix::process::getppid());
        }
        (clock.now_ns() - began_ns) as f64 / 64.0
    };
    let fastest = (0..40).map(round).fold(f64::INFINITY, f64::min);
    // A coarse clock may measure 0.
    fastest.max(MIN_NS)
}

struct Scene {
    probe: Probe,
    operation: Operation,
    ours: File,
    writer: Option<File>,
    arrived_bytes: Option<Arc<AtomicU64>>,
    bytes: Vec<u8>,
    /// Bytes moved since the file was empty, or since the stream was opened.
    moved_bytes: u64,
}

impl Scene {
    fn open(
        place: Target,
        operation: Operation,
        probe: &Probe,
        directory: &Path,
    ) -> io::Result<Self> {
        let stream = StreamKind::of(&Conditions::write(place));
        let pair = stream.map(|stream| stream.open()).transpose()?;
        let (mut writer, mut arrived_bytes) = (None, None);
        let ours = match pair {
            Some((ours, reader)) if operation == Operation::Write => {
                let count = Arc::clone(arrived_bytes.insert(Arc::default()));
                // The thread ends when the writer is closed.
                std::thread::Builder::new()
                    .name("peer".to_owned())
                    .spawn(move || take_all(File::from(reader), &count))?;
                File::from(ours)
            }
            Some((other, ours)) => {
                writer = Some(File::from(other));
                File::from(ours)
            }
            None => {
                let file = File::from(unnamed_file(directory, OFlags::APPEND)?);
                if operation == Operation::Read {
                    (&file).write_all(&vec![b'v'; probe.total_bytes() * MAX_LISTS as usize])?;
                }
                file
            }
        };
        Ok(Scene {
            probe: *probe,
            operation,
            ours,
            writer,
            arrived_bytes,
            bytes: vec![b'v'; probe.total_bytes()],
            moved_bytes: 0,
        })
    }

    /// The time of a list in a sample of `lists`, in ns: piece by piece, or by one call if `merged`.
    fn list_ns(&mut self, merged: bool, lists: u32, clock: &dyn Clock) -> io::Result<f64> {
        let sample_bytes = self.bytes.len() as u64 * u64::from(lists);
        if let Some(writer) = &mut self.writer {
            writer.write_all(&self.bytes.repeat(lists as usize))?;
        } else if self.operation == Operation::Read {
            seek(self.ours.as_fd(), SeekFrom::Start(0))?;
        } else if self.arrived_bytes.is_none() && self.moved_bytes + sample_bytes > FILE_SPAN_BYTES
        {
            ftruncate(&self.ours, 0)?;
            self.moved_bytes = 0;
        }
        let began_ns = clock.now_ns();
        for _ in 0..lists {
            self.move_list(merged)?;
            self.moved_bytes += self.bytes.len() as u64;
            if self.probe.quantity == Answer {
                self.wait()?;
            }
        }
        let elapsed_ns = clock.now_ns() - began_ns;
        self.wait()?;
        Ok(elapsed_ns as f64 / f64::from(lists))
    }

    fn move_list(&mut self, merged: bool) -> io::Result<()> {
        let (is_seek, works) = (self.probe.quantity == Seek, self.probe.works);
        let fd = self.ours.as_fd();
        let transfer = |bytes: &mut [u8]| match self.operation {
            Operation::Write => write_all(fd, bytes),
            Operation::Read => read_exact(fd, bytes),
        };
        let pieces = self.bytes.chunks_mut(self.probe.piece_bytes);
        for (index, piece) in pieces.enumerate() {
            if works {
                let began = Instant::now();
                while began.elapsed() < WORK {}
            }
            if is_seek && !merged {
                // The file is opened for appending, so the position does not matter to writes.
                seek(fd, SeekFrom::Start(index as u64))?;
            }
            if is_seek || !merged {
                transfer(piece)?;
            }
        }
        if merged && !is_seek { transfer(&mut self.bytes) } else { Ok(()) }
    }

    fn wait(&self) -> io::Result<()> {
        let Some(arrived) = &self.arrived_bytes else {
            return Ok(());
        };
        let began = Instant::now();
        while arrived.load(Ordering::Acquire) < self.moved_bytes {
            if began.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

fn take_all(mut stream: File, arrived_bytes: &AtomicU64) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => {
                arrived_bytes.fetch_add(count as u64, Ordering::Release);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

type Rounds = (Probe, Vec<f64>);

fn sample(
    probe: Probe,
    mut list_ns: impl FnMut(bool, u32) -> io::Result<f64>,
    clock: &dyn Clock,
) -> io::Result<Rounds> {
    let until_ns = clock.now_ns() + (BUDGET_NS * probe.share) as u64;
    let alone_ns = list_ns(false, 1)?.max(1.0);
    let lists = ((SAMPLE_NS / alone_ns) as u32).clamp(1, MAX_LISTS);
    let mut extra_ns = Vec::new();
    while extra_ns.len() < MIN_ROUNDS || (extra_ns.len() < MAX_ROUNDS && clock.now_ns() < until_ns)
    {
        let first = list_ns(extra_ns.len() % 2 == 0, lists)?;
        let second = list_ns(extra_ns.len() % 2 == 1, lists)?;
        let saved_ns = if extra_ns.len() % 2 == 0 { second - first } else { first - second };
        extra_ns.push(saved_ns / probe.more_calls());
    }
    Ok((probe, extra_ns))
}

/// Computes a price. The price is at least `entry_ns`, the cost of entering the kernel.
///
/// `call_ns` is the mean of the medians of the usual states. The interval of a price contains nine of ten rounds of every
/// usual and medium state, except stalls ([`MAX_TIMES`]).
fn price(
    target: DescriptorKind,
    operation: Operation,
    model: &CostModel,
    entry_ns: f64,
    rounds: &[Rounds],
) -> Price {
    let least_ns = entry_ns.max(MIN_NS);
    let median_ns = |(_, extra_ns): &Rounds| median(extra_ns).unwrap_or(0.0);
    let of = |quantity: Quantity| {
        rounds
            .iter()
            .filter(move |(probe, _)| probe.quantity == quantity)
    };
    let mean = |quantity| {
        let medians: Vec<f64> = of(quantity).map(median_ns).collect();
        (!medians.is_empty()).then(|| medians.iter().sum::<f64>() / medians.len() as f64)
    };
    let call_ns = mean(Usual).unwrap_or(0.0).max(least_ns);
    let (mut low_ns, mut high_ns) = (call_ns * (1.0 - COLDER), call_ns * (1.0 + COLDER));
    for state in of(Usual).chain(of(Medium)) {
        low_ns = low_ns.min(quantile_ns(&state.1, TAIL));
        let high = quantile_ns(&state.1, 1.0 - TAIL);
        high_ns = high_ns.max(high.min(median_ns(state) * MAX_TIMES));
    }
    let pages = of(Pages).next();
    let page_bytes = pages.map_or(1.0, |(probe, _)| {
        probe.total_bytes() as f64 / probe.more_calls()
    });
    Price {
        target,
        operation,
        call_ns,
        call_low_ns: low_ns.max(least_ns),
        call_high_ns: high_ns,
        // A larger call cannot cost less than a small one; a smaller figure is noise.
        medium_call_ns: mean(Medium).unwrap_or(call_ns).max(call_ns),
        answer_call_ns: mean(Answer).unwrap_or(call_ns).clamp(least_ns, call_ns),
        batch_byte_ns: mean(Pages).map_or(0.0, |pages_ns| (pages_ns - call_ns) / page_bytes),
        entry_ns,
        seek_ns: mean(Seek).map_or(0.0, |seek_ns| seek_ns.clamp(least_ns, call_ns)),
        gather_call_ns: model.gather_call_ns,
        segment_ns: model.segment_ns,
        large_segment_ns: model.large_segment_ns,
        iovec_step_ns: model.iovec_step_ns,
        copy_segment_ns: model.copy_segment_ns,
        copy_byte_ns: model.copy_byte_ns,
    }
}

fn quantile_ns(extra_ns: &[f64], share: f64) -> f64 {
    let mut sorted = extra_ns.to_vec();
    sort_by(&mut sorted, f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let rank = (share * last as f64).round() as usize;
    sorted.get(rank).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use vectored_machine::{FakeClock, MonotonicClock};

    use super::*;

    /// The price on a machine: a call costs 340 ns and `lseek` 90 ns. A byte costs 0.1 ns in a merged call of more than a
    /// page, otherwise 0.2 ns. Each sample is multiplied by the next value of `noise`.
    fn priced(probes: &[Probe], noise: &[f64]) -> Price {
        let clock = FakeClock::default();
        let rounds = probes.iter().map(|probe| {
            let mut noise = noise.iter().cycle();
            let list_ns = |merged, lists: u32| {
                let bytes = probe.total_bytes() as f64;
                let byte_ns = if merged && bytes > 4096.0 { 0.1 } else { 0.2 };
                let (calls, seek_ns) = match (probe.quantity, merged) {
                    (Seek, merged) => (probe.pieces, if merged { 0.0 } else { 90.0 }),
                    (_, merged) => (if merged { 1 } else { probe.pieces }, 0.0),
                };
                let ns =
                    (calls as f64 * (340.0 + seek_ns) + bytes * byte_ns) * noise.next().unwrap();
                clock.advance((ns * f64::from(lists)) as u64);
                Ok(ns)
            };
            sample(*probe, list_ns, &clock).unwrap()
        });
        let rounds: Vec<Rounds> = rounds.collect();
        let (file, write) = (DescriptorKind::File, Operation::Write);
        price(file, write, &CostModel::default(), 0.0, &rounds)
    }

    fn within(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 0.01, "{got}, not {expected}");
    }

    #[test]
    fn the_price_of_a_call_excludes_its_bytes_and_covers_most_rounds() {
        let file = priced(FILE, &[1.0]);
        within(file.call_ns, 340.0);
        within(file.call_low_ns, 340.0 * 0.9);
        within(file.call_high_ns, 340.0 * 1.1);
        within(file.batch_byte_ns, 0.1);
        within(file.medium_call_ns, 340.0);
        within(file.seek_ns, 90.0);
        let stream = priced(TO_STREAM, &[1.0]);
        within(stream.answer_call_ns, 340.0);
        assert_eq!((stream.batch_byte_ns, stream.seek_ns), (0.0, 0.0));
        let noisy = priced(FROM_STREAM, &[0.7, 1.0, 1.0, 1.3, 1.0]);
        assert!(noisy.call_low_ns < 0.8 * noisy.call_ns, "{noisy:?}");
        assert!(noisy.call_high_ns > 1.2 * noisy.call_ns, "{noisy:?}");
    }

    #[test]
    fn neither_a_stall_nor_less_than_an_entry_to_the_kernel_is_a_price() {
        let price = |entry_ns, extra_ns: Vec<f64>| {
            let rounds = (FILE[0], extra_ns);
            let (file, write) = (DescriptorKind::File, Operation::Write);
            let price = price(file, write, &CostModel::default(), entry_ns, &[rounds]);
            [price.call_low_ns, price.call_ns, price.call_high_ns]
        };
        let stalled = [[400.0; 7].as_slice(), &[1e6]].concat();
        assert_eq!(price(0.0, stalled), [360.0, 400.0, 1600.0]);
        assert_eq!(price(200.0, vec![-50.0; 8])[..2], [200.0, 200.0]);
        assert_eq!(price(200.0, vec![210.0; 8])[..2], [200.0, 210.0]);
    }

    #[test]
    fn real_prices_are_positive_and_in_order_and_no_file_remains() {
        let directory = std::env::temp_dir().join(format!("prices-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let all = [
            DescriptorKind::File,
            DescriptorKind::Pipe,
            DescriptorKind::Unix,
            DescriptorKind::Tcp,
        ]
        .map(|target| Operation::ALL.map(|operation| (target, operation)))
        .concat();
        let prices = measure_prices(&directory, &all, &MonotonicClock).unwrap();
        let left = std::fs::read_dir(&directory).unwrap().count();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(left, 0, "files are left");
        let named: Vec<_> = prices.iter().map(|p| (p.target, p.operation)).collect();
        assert_eq!(named, all);
        for price in prices {
            let ends = [price.call_low_ns, price.call_ns, price.call_high_ns];
            let is_known = |ns: &f64| ns.is_finite() && *ns > 0.0;
            assert!(ends.iter().all(is_known) && ends.is_sorted(), "{price:?}");
            assert!(price.batch_byte_ns.is_finite(), "{price:?}");
            assert!(
                price.seek_ns.is_finite() && price.seek_ns >= 0.0,
                "{price:?}"
            );
        }
    }
}
