//! Lists into a pipe whose reader is at work: `cargo bench -p vectored-bench --bench pipes`.
//!
//! The writer and the reader are two threads, each pinned to a CPU of its own. The writer sends lists one
//! after another, with a pause before each (busy waiting), and only the time within the writes counts. In each
//! round all techniques take turns at each list, in a random order. A figure is the median of all rounds;
//! `adaptive ÷ best` divides it by the smaller of the medians of one `writev` and of `writev` by 8 KiB.
//! `A/A` divides the two medians of one technique that is measured twice (`writev` by 8 KiB). Intervals are those
//! of 95 %, from rounds that are drawn anew.
//!
//! Before anything is timed, the reader compares the bytes of each technique with the list.

use std::hint::spin_loop;
use std::io::{self, IoSlice, PipeReader, PipeWriter, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use vectored::{CostModel, Gather, Limits, SegmentCursor, TargetKind, write_all_vectored};

const HELP: &str = "\
Lists into a pipe whose reader is at work

Usage: cargo bench -p vectored-bench --bench pipes -- [OPTIONS]

  --rounds N     rounds [31]
  --pauses LIST  pauses before each list, in microseconds, as in 0.5 [0,1,10]
  --counts LIST  segments in a list [6,11,17,27,45,90]
  --sizes LIST   bytes of a segment [777,1000,1500,2500,4000]
  --read BYTES   what the reader asks for in each call [65536]
  --test         3 rounds of one list, to see that all works
";

/// The bytes of a call, for the techniques that write in pieces.
const PIECE_BYTES: usize = 8 << 10;

/// A sample writes about this many bytes, so that the pipe is in its steady state for most of it.
const SAMPLE_BYTES: usize = 1 << 20;

const MIN_LISTS: usize = 16;
const MAX_LISTS: usize = 64;

/// Lies between two segments, so that they are not one piece of memory.
const GAP_BYTES: usize = 48;

/// How often the rounds are drawn anew for an interval.
const RESAMPLES: usize = 400;

/// A reader that has taken everything is asleep after this time.
const SETTLE: Duration = Duration::from_micros(20);

struct Options {
    rounds: usize,
    pauses_us: Vec<f64>,
    counts: Vec<usize>,
    sizes: Vec<usize>,
    read_bytes: usize,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)) {
        Ok(None) => print!("{HELP}"),
        Ok(Some(options)) => {
            if let Err(error) = run(&options) {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        }
        Err(error) => {
            eprintln!("error: {error}; see --help");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Reads the command line; `None` asks for the help.
fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        rounds: 31,
        pauses_us: vec![0.0, 1.0, 10.0],
        counts: vec![6, 11, 17, 27, 45, 90],
        sizes: vec![777, 1000, 1500, 2500, 4000],
        read_bytes: 64 << 10,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            // Cargo adds this one.
            "--bench" => {}
            "--test" => {
                options.rounds = 3;
                (options.counts, options.sizes) = (vec![17], vec![1000]);
            }
            "--rounds" => options.rounds = number(&word, &value()?)?,
            "--read" => options.read_bytes = number(&word, &value()?)?,
            "--pauses" => {
                let list = value()?;
                let pauses = list.split(',').map(|word| word.parse::<f64>().ok());
                let pauses = pauses.map(|pause| pause.filter(|us| (0.0..1e6).contains(us)));
                let pauses: Option<Vec<f64>> = pauses.collect();
                options.pauses_us =
                    pauses.ok_or_else(|| format!("--pauses takes microseconds, not '{list}'"))?;
            }
            "--counts" => options.counts = numbers(&word, &value()?)?,
            "--sizes" => options.sizes = numbers(&word, &value()?)?,
            _ => return Err(format!("unknown option '{word}'")),
        }
    }
    Ok(Some(options))
}

fn numbers(option: &str, list: &str) -> Result<Vec<usize>, String> {
    let words = list.split(',');
    words.map(|word| number(option, word)).collect()
}

fn number(option: &str, word: &str) -> Result<usize, String> {
    let number: Option<usize> = word.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| format!("{option} takes numbers from 1, not '{word}'"))
}

/// How a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Technique {
    Writev,
    WritevByPieces,
    CopiedByPieces,
    WriteEach,
    Adaptive,
    /// The same as `WritevByPieces`, for the A/A control.
    WritevByPiecesAgain,
}

const TECHNIQUES: [(Technique, &str); 6] = [
    (Technique::Writev, "writev"),
    (Technique::WritevByPieces, "writev/8K"),
    (Technique::CopiedByPieces, "copied/8K"),
    (Technique::WriteEach, "each"),
    (Technique::Adaptive, "adaptive"),
    (Technique::WritevByPiecesAgain, "A/A"),
];

/// A list of equal segments that do not touch.
struct List {
    memory: Vec<u8>,
    segment_bytes: usize,
}

impl List {
    fn new(count: usize, segment_bytes: usize) -> List {
        let memory = (0..count * (segment_bytes + GAP_BYTES)).map(|i| (i % 251) as u8);
        List {
            memory: memory.collect(),
            segment_bytes,
        }
    }

    fn segments(&self) -> Vec<IoSlice<'_>> {
        let slots = self.memory.chunks(self.segment_bytes + GAP_BYTES);
        slots
            .map(|slot| IoSlice::new(&slot[..self.segment_bytes]))
            .collect()
    }
}

/// Writes lists by one technique. It owns the memory that this takes.
struct Mover {
    technique: Technique,
    gather: Gather,
    buffer: Vec<u8>,
}

impl Mover {
    fn new(technique: Technique) -> Mover {
        Mover {
            technique,
            gather: Gather::new(CostModel::default_for(TargetKind::Pipe)),
            buffer: Vec::with_capacity(PIECE_BYTES),
        }
    }

    fn write(&mut self, pipe: &mut PipeWriter, segments: &[IoSlice<'_>]) -> io::Result<()> {
        match self.technique {
            Technique::Writev => {
                write_all_vectored(&*pipe, segments)?;
            }
            Technique::WritevByPieces | Technique::WritevByPiecesAgain => {
                by_pieces(pipe, segments)?;
            }
            Technique::CopiedByPieces => copied_by_pieces(pipe, segments, &mut self.buffer)?,
            Technique::WriteEach => {
                for segment in segments {
                    pipe.write_all(segment)?;
                }
            }
            Technique::Adaptive => {
                self.gather.write_all(&*pipe, segments)?;
            }
        }
        Ok(())
    }
}

fn by_pieces(pipe: &mut PipeWriter, segments: &[IoSlice<'_>]) -> io::Result<()> {
    let limits = Limits {
        bytes: PIECE_BYTES,
        ..Limits::default()
    };
    let (mut cursor, mut scratch) = (SegmentCursor::new(), Vec::new());
    while cursor.segment() < segments.len() {
        let batch = cursor.batch(segments, limits, &mut scratch);
        let written = pipe.write_vectored(batch)?;
        cursor.advance(segments, written);
    }
    Ok(())
}

fn copied_by_pieces(
    pipe: &mut PipeWriter,
    segments: &[IoSlice<'_>],
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    buffer.clear();
    for segment in segments {
        let mut rest = &segment[..];
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(rest.len().min(PIECE_BYTES - buffer.len()));
            buffer.extend_from_slice(part);
            rest = behind;
            if buffer.len() == PIECE_BYTES {
                pipe.write_all(buffer)?;
                buffer.clear();
            }
        }
    }
    pipe.write_all(buffer)
}

/// A pipe that a thread on another CPU reads.
struct Channel {
    pipe: PipeWriter,
    sent_bytes: u64,
    read_bytes: Arc<AtomicU64>,
}

impl Channel {
    fn open(cpu: usize, call_bytes: usize) -> io::Result<Channel> {
        let (mut reader, pipe) = io::pipe()?;
        let read_bytes = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&read_bytes);
        // It ends with the pipe.
        thread::spawn(move || {
            let mut buffer = vec![0; call_bytes];
            pin(cpu).expect("the CPU was allowed when the bench began");
            loop {
                match reader.read(&mut buffer).expect("a pipe can be read") {
                    0 => return,
                    bytes => counter.fetch_add(bytes as u64, Ordering::Release),
                };
            }
        });
        Ok(Channel {
            pipe,
            sent_bytes: 0,
            read_bytes,
        })
    }

    /// The time of one list, in ns: the mean of several, each after a pause.
    fn sample(
        &mut self,
        mover: &mut Mover,
        segments: &[IoSlice<'_>],
        lists: usize,
        pause: Duration,
    ) -> io::Result<f64> {
        while self.read_bytes.load(Ordering::Acquire) < self.sent_bytes {
            spin_loop();
        }
        wait(Instant::now(), SETTLE);
        let bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        self.sent_bytes += (bytes * lists) as u64;
        if pause.is_zero() {
            // No clock is read between the lists.
            let began = Instant::now();
            for _ in 0..lists {
                mover.write(&mut self.pipe, segments)?;
            }
            return Ok(began.elapsed().as_nanos() as f64 / lists as f64);
        }
        let mut took = Duration::ZERO;
        let mut ended = Instant::now();
        for _ in 0..lists {
            let began = wait(ended, pause);
            mover.write(&mut self.pipe, segments)?;
            ended = Instant::now();
            took += ended - began;
        }
        Ok(took.as_nanos() as f64 / lists as f64)
    }
}

/// Waits at work until so much time has passed since `from`; returns the time.
fn wait(from: Instant, pause: Duration) -> Instant {
    loop {
        let now = Instant::now();
        if now - from >= pause {
            return now;
        }
        spin_loop();
    }
}

fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Compares the bytes of two lists by each technique with what was sent.
fn verify(segments: &[IoSlice<'_>]) -> io::Result<()> {
    let expected: Vec<u8> = segments
        .iter()
        .flat_map(|segment| segment.to_vec())
        .collect();
    for (technique, name) in TECHNIQUES {
        let (mut reader, mut pipe): (PipeReader, PipeWriter) = io::pipe()?;
        let reading = thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        let mut mover = Mover::new(technique);
        for _ in 0..4 {
            mover.write(&mut pipe, segments)?;
        }
        drop(pipe);
        let arrived = reading.join().expect("the reader does not panic")?;
        if arrived != expected.repeat(4) {
            return Err(io::Error::other(format!("{name} moved other bytes")));
        }
    }
    Ok(())
}

/// A kind of list after a pause, and the times of each technique, round by round.
struct Cell {
    name: String,
    list: List,
    lists_in_sample: usize,
    pause: Duration,
    movers: [Mover; TECHNIQUES.len()],
    samples: [Vec<f64>; TECHNIQUES.len()],
}

impl Cell {
    fn new(count: usize, segment_bytes: usize, pause_us: f64) -> Cell {
        Cell {
            name: format!("{count}x{segment_bytes}"),
            list: List::new(count, segment_bytes),
            lists_in_sample: (SAMPLE_BYTES / (count * segment_bytes)).clamp(MIN_LISTS, MAX_LISTS),
            pause: Duration::from_nanos((pause_us * 1e3) as u64),
            movers: TECHNIQUES.map(|(technique, _)| Mover::new(technique)),
            samples: TECHNIQUES.map(|_| Vec::new()),
        }
    }

    fn take_round(&mut self, channel: &mut Channel, random: &mut fastrand::Rng) -> io::Result<()> {
        let segments = self.list.segments();
        let mut turns: [usize; TECHNIQUES.len()] = std::array::from_fn(|index| index);
        random.shuffle(&mut turns);
        for index in turns {
            let mover = &mut self.movers[index];
            let ns = channel.sample(mover, &segments, self.lists_in_sample, self.pause)?;
            self.samples[index].push(ns);
        }
        Ok(())
    }

    /// The median time of a technique in these rounds, in ns.
    fn median(&self, technique: Technique, rounds: &[usize]) -> f64 {
        let samples = &self.samples[index_of(technique)];
        median(rounds.iter().map(|&round| samples[round]).collect())
    }

    /// The faster one of one call and of calls of 8 KiB.
    fn best(&self, rounds: &[usize]) -> f64 {
        let ns = |technique| self.median(technique, rounds);
        ns(Technique::Writev).min(ns(Technique::WritevByPieces))
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn index_of(technique: Technique) -> usize {
    let found = TECHNIQUES.iter().position(|&(one, _)| one == technique);
    found.expect("each technique is in the table")
}

fn run(options: &Options) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu))
        .collect();
    let [writer_cpu, .., reader_cpu] = cpus[..] else {
        println!(
            "skipped: the writer and the reader need a CPU each, and this process may use one"
        );
        return Ok(());
    };
    pin(writer_cpu)?;
    println!(
        "pipe, writer on CPU {writer_cpu}, reader on CPU {reader_cpu} by {} bytes, {} rounds, \
         microseconds a list",
        options.read_bytes, options.rounds
    );
    let mut channel = Channel::open(reader_cpu, options.read_bytes)?;
    let mut tables: Vec<(f64, Vec<Cell>)> = Vec::new();
    for &pause_us in &options.pauses_us {
        let mut cells = Vec::new();
        for &count in &options.counts {
            for &segment_bytes in &options.sizes {
                cells.push(Cell::new(count, segment_bytes, pause_us));
            }
        }
        tables.push((pause_us, cells));
    }
    for (_, cells) in &tables {
        for cell in cells {
            verify(&cell.list.segments())?;
        }
    }
    // Whatever else runs for a while disturbs a few rounds of all cells instead of all rounds of a few.
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..options.rounds {
        for cell in tables.iter_mut().flat_map(|(_, cells)| cells) {
            cell.take_round(&mut channel, &mut random)?;
        }
    }
    for (pause_us, cells) in &tables {
        print_table(*pause_us, cells, options.rounds);
    }
    Ok(())
}

fn print_table(pause_us: f64, cells: &[Cell], round_count: usize) {
    print!("\npause {pause_us} µs\n{:>11}", "list");
    for (_, name) in TECHNIQUES {
        print!(" {name:>9}");
    }
    println!(" adaptive ÷ best");
    let rounds: Vec<usize> = (0..round_count).collect();
    for cell in cells {
        print!("{:>11}", cell.name);
        for (technique, _) in TECHNIQUES {
            print!(" {:>9.1}", cell.median(technique, &rounds) / 1e3);
        }
        let ratio = cell.median(Technique::Adaptive, &rounds) / cell.best(&rounds);
        println!(" {ratio:>15.2}");
    }
    let (adaptive, again) = (Technique::Adaptive, Technique::WritevByPiecesAgain);
    let pieces = Technique::WritevByPieces;
    summarize("adaptive ÷ best", cells, round_count, |cell, rounds| {
        cell.median(adaptive, rounds) / cell.best(rounds)
    });
    summarize("A/A", cells, round_count, |cell, rounds| {
        cell.median(again, rounds) / cell.median(pieces, rounds)
    });
    summarize("writev/8K ÷ writev", cells, round_count, |cell, rounds| {
        cell.median(pieces, rounds) / cell.median(Technique::Writev, rounds)
    });
}

/// Prints the geometric mean of a ratio over all cells, its 95 % interval (bootstrap of the rounds), and the worst.
fn summarize(
    what: &str,
    cells: &[Cell],
    round_count: usize,
    ratio: impl Fn(&Cell, &[usize]) -> f64,
) {
    let mean = |rounds: &[usize]| {
        let logs = cells.iter().map(|cell| ratio(cell, rounds).ln());
        (logs.sum::<f64>() / cells.len() as f64).exp()
    };
    let rounds: Vec<usize> = (0..round_count).collect();
    let mut random = fastrand::Rng::with_seed(1);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let resampled = rounds.iter().map(|_| random.usize(0..round_count));
            mean(&resampled.collect::<Vec<_>>())
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let [low, high] = [RESAMPLES / 40, RESAMPLES - 1 - RESAMPLES / 40].map(|index| means[index]);
    let ratios = cells
        .iter()
        .map(|cell| (ratio(cell, &rounds), &cell.name[..]));
    let worst = ratios.max_by(|a, b| a.0.total_cmp(&b.0));
    let (worst, name) = worst.expect("there is a cell");
    let mean = mean(&rounds);
    println!("{what}: geometric mean {mean:.3} [{low:.3}, {high:.3}], worst {worst:.2} ({name})");
}
