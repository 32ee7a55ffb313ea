//! The sampler of real system calls.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fastrand::Rng;
use vectored::{CostModel, TargetKind};

use super::clock::Clock;
use super::feeder::FeederSource;
use super::mover::{Mover, Timed, movers};
use super::pattern::Pattern;
use super::payload::{Payload, random_start};
use super::pool::{ColdPool, PoolMemory, PoolPayload};
use super::read_cell::{FirstCall, ReadCell};
use super::read_mover::{ReadMover, read_movers};
use super::reader::ReaderSink;
use super::sampler::{CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing};
use super::source::{FileSource, PatternFile, Source, StreamSource};
use super::supply::Supply;
use super::target::{
    Batch, FILE_SPAN_BYTES, FileSink, MakePair, Mismatch, NullSink, Sink, StreamSink,
    check_directory, pipe, unix_pair,
};
use crate::model::{Cache, CellSpec, Drain, IovecSetup, Operation, PageCache, Target, Technique};

/// Most calls of a sample, and so of the probe.
const MOST_CALLS: u32 = 1024;

/// What a thread at the other end may have to hold: the bytes of one batch.
const THREAD_BYTES: u64 = 8 << 20;

/// What goes through a stream with a reader thread before it is measured.
const AGE_BYTES: u64 = 32 << 20;

/// In batches of about this size.
const AGE_BATCH_BYTES: u64 = 1 << 20;

/// Of this many samples of a technique one is read back from a file and
/// compared, the first of each visit among them. Streams are compared every
/// time, since they have to be read anyway.
const PROOF_EVERY: u32 = 5;

type MakeMover = Box<dyn FnMut(Contender, &CostModel) -> Box<dyn Mover>>;
type MakeReadMover = Box<dyn FnMut(Contender, &CostModel) -> Box<dyn ReadMover>>;
type OpenSink = Box<dyn FnMut(&CellSpec) -> io::Result<Box<dyn Sink>>>;

/// Times techniques on descriptors of its own.
pub struct DescriptorSampler<'a> {
    clock: &'a dyn Clock,
    directory: PathBuf,
    reader_cpu: Option<usize>,
    seed: u64,
    /// What is to be read.
    pattern: Pattern,
    rng: Rng,
    make_mover: MakeMover,
    make_read_mover: MakeReadMover,
    open_sink: Option<OpenSink>,
    cold_pool_bytes: u64,
    /// What cold cells draw from, once there was one and while none is open.
    pool_memory: PoolMemory,
    /// What file cells read, once there is one.
    pattern_file: Option<Rc<PatternFile>>,
    cell: Option<OpenCell>,
}

/// The cell at hand.
enum OpenCell {
    Write(WriteCell),
    Read(ReadCell),
}

/// A cell that writes.
struct WriteCell {
    name: String,
    sink: Box<dyn Sink>,
    supply: Supply,
    iovec_setup: IovecSetup,
    movers: Vec<Contestant>,
    call_bytes: u64,
    /// The target holds one call but not two: it is emptied after the untimed
    /// call as well.
    empty_after_first: bool,
    /// Where the working memory of techniques starts in this round.
    start_bytes: usize,
    round: u32,
    batches: u64,
    proof_calls: u64,
}

impl<'a> DescriptorSampler<'a> {
    /// A sampler that makes its temporary files in `directory`.
    pub fn new(clock: &'a dyn Clock, directory: &Path, seed: u64) -> Self {
        DescriptorSampler {
            clock,
            directory: directory.to_owned(),
            reader_cpu: None,
            seed,
            pattern: Pattern::new(seed),
            rng: Rng::with_seed(seed),
            make_mover: Box::new(movers),
            make_read_mover: Box::new(read_movers),
            open_sink: None,
            cold_pool_bytes: ColdPool::of_this_machine().pool_bytes,
            pool_memory: PoolMemory::default(),
            pattern_file: None,
            cell: None,
        }
    }

    /// Reader and writer threads, where a cell needs one, run on this CPU.
    pub fn reader_cpu(mut self, cpu: Option<usize>) -> Self {
        self.reader_cpu = cpu;
        self
    }

    /// Uses other movers than [`movers`], such as deliberately wrong ones.
    pub fn with_movers(
        mut self,
        make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn Mover> + 'static,
    ) -> Self {
        self.make_mover = Box::new(make_mover);
        self
    }

    /// Uses other movers than [`read_movers`].
    pub fn with_read_movers(
        mut self,
        make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn ReadMover> + 'static,
    ) -> Self {
        self.make_read_mover = Box::new(make_mover);
        self
    }

    /// Cold cells draw from pools of this size instead of [`ColdPool`]'s.
    pub fn cold_pool_bytes(mut self, bytes: u64) -> Self {
        self.cold_pool_bytes = bytes;
        self
    }

    /// Writes to a descriptor of the caller's instead of the cell's target.
    pub fn with_sink(
        mut self,
        open_sink: impl FnMut(&CellSpec) -> io::Result<Box<dyn Sink>> + 'static,
    ) -> Self {
        self.open_sink = Some(Box::new(open_sink));
        self
    }

    /// Opens the target; says which way it is emptied and how many calls a
    /// sample may have.
    fn open(&mut self, spec: &CellSpec, drain: DrainChoice) -> Result<Opened, MeasureError> {
        let call_bytes = spec.workload.total_bytes() as u64;
        let what = |doing: &str| MeasureError::io(format!("cannot {doing} {}", spec.target));
        if let Some(open_sink) = &mut self.open_sink {
            let sink = open_sink(spec).map_err(what("open"))?;
            return Ok(Opened::new(sink, Emptying::Itself));
        }
        let make_pair: MakePair = match spec.target {
            Target::File => {
                let directory = check_directory(&self.directory, call_bytes)?;
                let sink = FileSink::create(&self.directory).map_err(what("create"))?;
                return Ok(Opened {
                    file_system: Some(directory.file_system),
                    ..Opened::new(Box::new(sink), Emptying::Itself)
                });
            }
            Target::Null => {
                let sink = NullSink::open().map_err(what("open"))?;
                return Ok(Opened::new(Box::new(sink), Emptying::Itself));
            }
            Target::Pipe => pipe,
            Target::Unix => unix_pair,
        };
        match drain {
            DrainChoice::Probe => {
                let sink = StreamSink::open(make_pair).map_err(what("open"))?;
                Ok(Opened::new(Box::new(sink), Emptying::BetweenSamples))
            }
            DrainChoice::Thread => {
                let pair = make_pair().map_err(what("open"))?;
                let sink = ReaderSink::start(pair, self.reader_cpu)
                    .map_err(what("start a reader thread for"))?;
                Ok(Opened::new(Box::new(sink), Emptying::Reader))
            }
        }
    }
}

/// A target that is ready.
struct Opened {
    sink: Box<dyn Sink>,
    emptying: Emptying,
    /// Of a file.
    file_system: Option<String>,
}

impl Opened {
    fn new(sink: Box<dyn Sink>, emptying: Emptying) -> Self {
        Opened {
            sink,
            emptying,
            file_system: None,
        }
    }
}

/// How room is made in a target.
#[derive(Clone, Copy, PartialEq)]
enum Emptying {
    /// It is never full, or empties itself.
    Itself,
    BetweenSamples,
    Reader,
}

impl DescriptorSampler<'_> {
    fn begin_write(
        &mut self,
        spec: &CellSpec,
        techniques: &[Technique],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let call_bytes = spec.workload.total_bytes() as u64;
        let Opened {
            sink,
            emptying,
            file_system,
        } = self.open(spec, drain)?;
        let model = CostModel::default_for(target_kind(spec.target));
        let contenders = contenders(techniques);
        self.seed = self.seed.wrapping_add(1);
        let supply = self.supply(spec);
        let mut cell = WriteCell {
            name: format!("{} with {}", spec.target, describe(spec)),
            sink,
            supply,
            iovec_setup: spec.iovec_setup,
            movers: contenders
                .iter()
                .map(|&contender| Contestant {
                    contender,
                    mover: (self.make_mover)(contender, &model),
                    samples: 0,
                })
                .collect(),
            call_bytes,
            empty_after_first: false,
            start_bytes: 0,
            round: 0,
            batches: 0,
            proof_calls: 0,
        };
        let max_calls = match emptying {
            Emptying::Itself => (FILE_SPAN_BYTES / call_bytes).clamp(1, MOST_CALLS.into()) as u32,
            Emptying::Reader => (THREAD_BYTES / call_bytes)
                .saturating_sub(1)
                .clamp(1, MOST_CALLS.into()) as u32,
            Emptying::BetweenSamples => match cell.probe()? {
                0 => {
                    self.keep_memory(cell.supply);
                    return self.begin_write(spec, techniques, DrainChoice::Thread);
                }
                1 => {
                    cell.empty_after_first = true;
                    1
                }
                // The call that is not timed takes its place too.
                fitting => fitting - 1,
            },
        };
        if emptying == Emptying::Reader {
            cell.age()?;
        }
        for &contender in &contenders {
            cell.prove(contender)?;
        }
        self.cell = Some(OpenCell::Write(cell));
        Ok(CellSetup {
            max_calls,
            drain: match emptying {
                Emptying::Itself => None,
                Emptying::BetweenSamples => Some(Drain::BetweenSamples),
                Emptying::Reader => Some(Drain::ReaderThread),
            },
            span_bytes: file_system.is_some().then_some(FILE_SPAN_BYTES),
            file_system,
        })
    }

    /// Where the calls of a cell get their segments.
    fn supply(&mut self, spec: &CellSpec) -> Supply {
        match spec.cache {
            Cache::Hot => Supply::Hot(Payload::new(spec.workload.sizes(), spec.layout, self.seed)),
            Cache::Cold => Supply::Cold(PoolPayload::new(
                &spec.workload,
                spec.layout,
                self.cold_pool_bytes,
                std::mem::take(&mut self.pool_memory),
                self.seed,
            )),
        }
    }

    fn keep_memory(&mut self, supply: Supply) {
        if let Some(memory) = supply.into_memory() {
            self.pool_memory = memory;
        }
    }

    fn begin_read(
        &mut self,
        spec: &CellSpec,
        techniques: &[Technique],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        if spec.cache == Cache::Cold {
            let unsupported = io::Error::from(io::ErrorKind::Unsupported);
            return Err(MeasureError::io(
                "cannot read into segments that are in no cache",
            )(unsupported));
        }
        let call_bytes = spec.workload.total_bytes() as u64;
        let (source, mut setup) = self.open_source(spec, drain)?;
        let model = CostModel::default_for(target_kind(spec.target));
        self.seed = self.seed.wrapping_add(1);
        let first = match (spec.page_cache, setup.max_calls) {
            (Some(PageCache::Cold), _) => FirstCall::None,
            (None, 1) if setup.drain == Some(Drain::BetweenSamples) => FirstCall::Apart,
            _ => FirstCall::WithTheOthers,
        };
        if first == FirstCall::WithTheOthers && setup.max_calls > 1 {
            // The call that is not timed takes its place too.
            setup.max_calls -= 1;
        }
        let mut cell = ReadCell {
            name: format!("{} with {}", spec.target, describe(spec)),
            source,
            pattern: self.pattern,
            landing: Payload::new(spec.workload.sizes(), spec.layout, self.seed),
            iovec_setup: spec.iovec_setup,
            movers: contenders(techniques)
                .into_iter()
                .map(|contender| (contender, (self.make_read_mover)(contender, &model)))
                .collect(),
            call_bytes,
            first,
            start_bytes: 0,
            proof_calls: 0,
            not_cold: (
                self.directory.display().to_string(),
                setup.file_system.clone().unwrap_or_default(),
            ),
        };
        cell.prove(self.clock)?;
        self.cell = Some(OpenCell::Read(cell));
        Ok(setup)
    }

    /// Opens what is read; says how it is filled, and how many calls it has
    /// bytes for at once.
    fn open_source(
        &mut self,
        spec: &CellSpec,
        drain: DrainChoice,
    ) -> Result<(Box<dyn Source>, CellSetup), MeasureError> {
        let call_bytes = spec.workload.total_bytes() as u64;
        let what = |doing: &str| MeasureError::io(format!("cannot {doing} {}", spec.target));
        let up_to = |bytes: u64| (bytes / call_bytes).clamp(1, MOST_CALLS.into()) as u32;
        let make_pair: MakePair = match spec.target {
            Target::File => {
                let page_cache = spec.page_cache.unwrap_or_default();
                let directory = check_directory(&self.directory, call_bytes)?;
                let file = self.pattern_file(call_bytes).map_err(what("create"))?;
                let span_bytes = file.span_bytes;
                let source = FileSource::new(file, page_cache, self.seed).map_err(what("read"))?;
                let setup = CellSetup {
                    max_calls: match page_cache {
                        PageCache::Hot => up_to(span_bytes),
                        PageCache::Cold => 1,
                    },
                    drain: None,
                    file_system: Some(directory.file_system),
                    span_bytes: Some(span_bytes),
                };
                return Ok((Box::new(source), setup));
            }
            Target::Null => {
                let nothing = io::Error::other("there is nothing to read in it");
                return Err(what("read")(nothing));
            }
            Target::Pipe => pipe,
            Target::Unix => unix_pair,
        };
        if drain == DrainChoice::Probe {
            let mut source =
                StreamSource::open(make_pair, self.pattern, call_bytes).map_err(what("open"))?;
            let fitting = source.probe(MOST_CALLS + 1).map_err(what("fill"))?;
            if fitting > 0 {
                let setup = CellSetup {
                    max_calls: fitting,
                    drain: Some(Drain::BetweenSamples),
                    ..CellSetup::default()
                };
                return Ok((Box::new(source), setup));
            }
        }
        let pair = make_pair().map_err(what("open"))?;
        let source = FeederSource::start(pair, self.pattern, self.reader_cpu)
            .map_err(what("start a writer thread for"))?;
        let setup = CellSetup {
            max_calls: up_to(THREAD_BYTES),
            drain: Some(Drain::WriterThread),
            ..CellSetup::default()
        };
        Ok((Box::new(source), setup))
    }

    /// The file of the run, made anew where it is too short for two calls.
    fn pattern_file(&mut self, call_bytes: u64) -> io::Result<Rc<PatternFile>> {
        match &self.pattern_file {
            Some(file) if file.span_bytes >= PatternFile::span_bytes(call_bytes) => {
                Ok(Rc::clone(file))
            }
            _ => {
                let file = PatternFile::create(&self.directory, self.pattern, call_bytes)?;
                Ok(Rc::clone(self.pattern_file.insert(Rc::new(file))))
            }
        }
    }
}

impl Sampler for DescriptorSampler<'_> {
    fn begin_cell(
        &mut self,
        spec: &CellSpec,
        techniques: &[Technique],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        match spec.operation {
            Operation::Write => self.begin_write(spec, techniques, drain),
            Operation::Read => self.begin_read(spec, techniques, drain),
        }
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        let start_bytes = random_start(&mut self.rng);
        let (name, outcome) = match self.cell.as_mut().expect("begin_cell comes first") {
            OpenCell::Write(cell) => {
                cell.round = round;
                cell.supply.lay_out();
                cell.start_bytes = start_bytes;
                (&cell.name, cell.sink.lay_out(&mut self.rng))
            }
            OpenCell::Read(cell) => {
                cell.landing.lay_out();
                cell.start_bytes = start_bytes;
                (&cell.name, cell.source.lay_out(&mut self.rng))
            }
        };
        outcome.map_err(MeasureError::io(format!("cannot reopen {name}")))
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        match self.cell.as_mut().expect("begin_cell comes first") {
            OpenCell::Write(cell) => cell.sample(contender, calls, self.clock),
            OpenCell::Read(cell) => cell.sample(contender, calls, self.clock),
        }
    }

    fn end_cell(&mut self) -> Result<u64, MeasureError> {
        Ok(match self.cell.take() {
            Some(OpenCell::Write(cell)) => {
                self.keep_memory(cell.supply);
                cell.proof_calls
            }
            Some(OpenCell::Read(cell)) => cell.proof_calls,
            None => 0,
        })
    }
}

/// Both floors, then the techniques.
fn contenders(techniques: &[Technique]) -> Vec<Contender> {
    [Contender::Floor, Contender::FloorAgain]
        .into_iter()
        .chain(techniques.iter().copied().map(Contender::Technique))
        .collect()
}

impl WriteCell {
    /// How many calls fit into the target, at the least over all contenders.
    fn probe(&mut self) -> Result<u32, MeasureError> {
        let mut fewest = MOST_CALLS + 1;
        for Contestant {
            contender, mover, ..
        } in &mut self.movers
        {
            self.supply.draw(*contender, 1, 0);
            let lists = self.supply.lists(*contender);
            mover.prepare(lists.first(), self.start_bytes);
            let mut fitting = 0;
            while fitting < fewest {
                match mover.call(self.sink.fd(), lists.first()) {
                    Ok(()) => fitting += 1,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(failed(*contender, &self.name)(error)),
                }
            }
            self.sink
                .discard()
                .map_err(MeasureError::io(format!("cannot empty {}", self.name)))?;
            fewest = fitting;
        }
        Ok(fewest)
    }

    /// Sends bytes through a new stream until it is like one in use.
    ///
    /// Pages that one CPU fills and another frees spread over the memory with
    /// time, and are no longer in a cache when they come round again: a pipe
    /// read by a thread takes a third longer after its first 10 MiB or so.
    fn age(&mut self) -> Result<(), MeasureError> {
        let calls = (AGE_BATCH_BYTES / self.call_bytes).clamp(1, MOST_CALLS.into());
        let batch = Batch {
            calls: calls as u32,
            call_bytes: self.call_bytes,
        };
        let mover = &mut find(&mut self.movers, Contender::Floor).mover;
        let cannot = || failed(Contender::Floor, &self.name);
        for part in 0..AGE_BYTES.div_ceil(batch.bytes()) {
            self.supply.draw(Contender::Floor, batch.calls, part);
            let lists = self.supply.lists(Contender::Floor);
            mover.prepare(lists.first(), self.start_bytes);
            self.sink.begin(batch).map_err(cannot())?;
            let mut turns = lists.in_turn();
            for _ in 0..calls {
                mover
                    .call(self.sink.fd(), turns.next())
                    .map_err(|error| full_or(error, cannot()))?;
            }
            self.sink
                .finish(batch, &self.supply.sent(), false)
                .map_err(|mismatch| wrong(mismatch, Contender::Floor, &self.name))?;
        }
        Ok(())
    }

    /// One call whose every byte is read back and compared.
    fn prove(&mut self, contender: Contender) -> Result<(), MeasureError> {
        self.batches += 1;
        let mark = mark(contender, u32::MAX, self.batches);
        self.supply.draw(contender, 1, mark);
        let lists = self.supply.lists(contender);
        let mover = &mut find(&mut self.movers, contender).mover;
        mover.prepare(lists.first(), self.start_bytes);
        let batch = Batch {
            calls: 1,
            call_bytes: self.call_bytes,
        };
        let cannot = || failed(contender, &self.name);
        self.sink.begin(batch).map_err(cannot())?;
        mover
            .call(self.sink.fd(), lists.first())
            .map_err(|error| full_or(error, cannot()))?;
        self.sink
            .finish(batch, &self.supply.sent(), true)
            .map_err(|mismatch| wrong(mismatch, contender, &self.name))?;
        self.proof_calls += u64::from(self.sink.can_prove());
        Ok(())
    }

    fn sample(
        &mut self,
        contender: Contender,
        calls: u32,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        let contestant = find(&mut self.movers, contender);
        let proof = contestant.samples.is_multiple_of(PROOF_EVERY);
        contestant.samples += 1;
        let mover = &mut contestant.mover;
        let cannot = || failed(contender, &self.name);
        let batch_of = |calls| Batch {
            calls,
            call_bytes: self.call_bytes,
        };
        if self.empty_after_first {
            let first = batch_of(1);
            self.batches += 1;
            let mark = mark(contender, self.round, self.batches);
            self.supply.draw(contender, 1, mark);
            let lists = self.supply.lists(contender);
            mover.prepare(lists.first(), self.start_bytes);
            self.sink.begin(first).map_err(cannot())?;
            mover
                .call(self.sink.fd(), lists.first())
                .map_err(|error| full_or(error, cannot()))?;
            self.sink
                .finish(first, &self.supply.sent(), true)
                .map_err(|mismatch| wrong(mismatch, contender, &self.name))?;
        }
        let timed = Timed {
            calls,
            untimed_first: !self.empty_after_first,
            iovec_setup: self.iovec_setup,
        };
        let batch = batch_of(timed.all_calls());
        self.batches += 1;
        let mark = mark(contender, self.round, self.batches);
        self.supply.draw(contender, batch.calls, mark);
        let lists = self.supply.lists(contender);
        mover.prepare(lists.first(), self.start_bytes);
        self.sink.begin(batch).map_err(cannot())?;
        let timing = mover
            .sample(self.sink.fd(), &lists, timed, clock)
            .map_err(|error| full_or(error, cannot()))?;
        self.sink
            .finish(batch, &self.supply.sent(), proof)
            .map_err(|mismatch| wrong(mismatch, contender, &self.name))?;
        Ok(timing)
    }
}

/// What takes part in a cell.
struct Contestant {
    contender: Contender,
    mover: Box<dyn Mover>,
    samples: u32,
}

fn find(contestants: &mut [Contestant], contender: Contender) -> &mut Contestant {
    contestants
        .iter_mut()
        .find(|contestant| contestant.contender == contender)
        .expect("the engine samples what it announced")
}

/// A number that no other technique, round or batch has.
fn mark(contender: Contender, round: u32, batch: u64) -> u64 {
    let who = match contender {
        Contender::Floor => 1,
        Contender::FloorAgain => 2,
        Contender::Technique(technique) => 3 + technique as u64,
    };
    (who << 56) ^ (u64::from(round) << 24) ^ batch.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn failed(contender: Contender, cell: &str) -> impl FnOnce(io::Error) -> MeasureError {
    MeasureError::io(format!("{contender} failed on {cell}"))
}

/// A non-blocking target that is full is a matter for the engine.
fn full_or(error: io::Error, otherwise: impl FnOnce(io::Error) -> MeasureError) -> MeasureError {
    if error.kind() == io::ErrorKind::WouldBlock {
        MeasureError::DidNotFit
    } else {
        otherwise(error)
    }
}

fn wrong(mismatch: Mismatch, contender: Contender, cell: &str) -> MeasureError {
    match mismatch {
        Mismatch::Io(error) => MeasureError::io(format!("cannot read back from {cell}"))(error),
        // What is written is in the page cache anyway.
        Mismatch::NotCold => MeasureError::DidNotFit,
        Mismatch::Bytes(difference) => MeasureError::WrongBytes {
            contender: contender.to_string(),
            cell: cell.to_owned(),
            difference,
        },
    }
}

fn describe(spec: &CellSpec) -> String {
    let runs = spec.workload.runs();
    let shown: Vec<String> = runs
        .iter()
        .take(4)
        .map(|(count, bytes)| format!("{count} × {bytes} B"))
        .collect();
    let more = if runs.len() > 4 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn target_kind(target: Target) -> TargetKind {
    match target {
        Target::File => TargetKind::File,
        Target::Pipe => TargetKind::Pipe,
        Target::Unix => TargetKind::Socket,
        Target::Null => TargetKind::Other,
    }
}
