//! The sampler that times real system calls.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fastrand::Rng;
use vectored::CostModel;
use vectored::cost::ChunkPolicy;
use vectored_machine::Clock;
use vectored_machine::platform::descriptors::EMPTIES_BETWEEN_SAMPLES;
use vectored_report::words;
use vectored_results::model::{
    Cache, CellSpec, Conditions, Drain, FittedModel, Operation, PageCache, Target, TechniqueName,
};
use vectored_results::stats::target_kind;

use crate::measure::cell::{FirstCall, Moving, OpenCell, Step, Supply, settings};
use crate::measure::sampler::{
    ALIGNMENT, CellExtras, CellSetup, ColdPool, Contender, DrainChoice, MAX_CALLS, MeasureError,
    Pattern, Payload, PoolMemory, PoolPayload, Sampler, Timing,
};
use crate::measure::sources::{FeedThreadSource, FileSource, PatternFile, StreamSource};
use crate::measure::targets::{
    End, FILE_SPAN_BYTES, StreamKind, THREAD_BYTES, TargetOpener, check_directory,
};
use crate::measure::techniques::{
    CopyMover, Mover, ReadMover, copy_movers, is_in_flight, movers, read_movers,
};
use crate::measure::unsuited::unsuited;

/// While lists longer than this are written to a pipe, a thread reads the pipe. In a program, a pipe also has a reader, and
/// how writer and reader meet decides which calls take the least time ([`ChunkPolicy`]).
const UNREAD_PIPE_BYTES: u64 = ChunkPolicy::OF_PIPES.threshold_bytes as u64;

type Opened = (CellSpec, Vec<TechniqueName>, DrainChoice);
type Making<C, M> = Box<dyn FnMut(Contender, &C) -> Box<M>>;

pub struct DescriptorSampler<'a> {
    clock: &'a dyn Clock,
    directory: PathBuf,
    /// The CPU of reader and writer threads.
    pub reader_cpu: Option<usize>,
    seed: u64,
    pattern: Pattern,
    rng: Rng,
    /// Calibrated models. `adaptive` uses a model for writes to the target on which the model was calibrated. For other
    /// targets, `adaptive` uses the default model of the kind of target.
    pub models: Vec<FittedModel>,
    /// Usually [`movers`], [`read_movers`] and [`copy_movers`]; tests also use deliberately wrong movers.
    pub make_mover: Making<CostModel, dyn Mover>,
    pub make_read_mover: Making<CostModel, dyn ReadMover>,
    pub make_copy_mover: Making<Conditions, dyn CopyMover>,
    pub cold_pool_bytes: u64,
    pool_memory: Rc<RefCell<PoolMemory>>,
    opener: TargetOpener,
    pub read_file_bytes: u64,
    /// The file that file cells read, with its directory.
    pattern_file: Option<(PathBuf, Rc<PatternFile>)>,
    /// The cells whose techniques are proved, each with the number of calls for which the ends of the cell have room. A
    /// cell that starts over with a thread at the other end is proved again.
    opened: Vec<(Opened, u32)>,
    cell: Option<OpenCell>,
}

impl<'a> DescriptorSampler<'a> {
    pub fn new(clock: &'a dyn Clock, directory: &Path, seed: u64) -> Self {
        DescriptorSampler {
            clock,
            directory: directory.to_owned(),
            reader_cpu: None,
            seed,
            pattern: Pattern::new(seed),
            rng: Rng::with_seed(seed),
            models: Vec::new(),
            make_mover: Box::new(movers),
            make_read_mover: Box::new(read_movers),
            make_copy_mover: Box::new(copy_movers),
            cold_pool_bytes: ColdPool::of_this_machine().pool_bytes,
            pool_memory: Rc::default(),
            opener: TargetOpener::default(),
            read_file_bytes: FILE_SPAN_BYTES,
            pattern_file: None,
            opened: Vec::new(),
            cell: None,
        }
    }
}

impl DescriptorSampler<'_> {
    fn open(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let has_in_flight = techniques.iter().any(|name| is_in_flight(*name));
        // A transfer in flight waits for room, and does not report that a stream is full.
        let is_threaded = is_emptied_meanwhile(spec) || has_in_flight || !EMPTIES_BETWEEN_SAMPLES;
        let drain = if is_threaded { DrainChoice::Thread } else { drain };
        let this = (spec.clone(), techniques.to_vec(), drain);
        let mut opened = self.opened.iter();
        let known_room = opened.find_map(|(cell, room)| (*cell == this).then_some(*room));
        let contenders = contenders(techniques);
        let (source, from) = match spec.conditions.operation {
            Operation::Write => (None, CellSetup::of_no_end()),
            Operation::Read => self.open_source(spec, drain)?,
            Operation::Copy => {
                let read = spec.conditions.source().unwrap_or(spec.conditions.clone());
                let read = CellSpec::new(read, spec.workload.clone());
                self.open_source(&read, drain)?
            }
        };
        let (sink, to) = if spec.conditions.operation == Operation::Read {
            (None, CellSetup::of_no_end())
        } else {
            // sendfile, splice and copy_file_range refuse a file with O_APPEND.
            let appends = spec.conditions.operation == Operation::Write && !has_in_flight;
            let files = (&*self.directory, self.reader_cpu);
            let (sink, end) = self.opener.open(spec, files, drain, appends)?;
            (Some(sink), end)
        };
        let drained = match (from.drain, to.drain) {
            (Some(Drain::WriterThread), Some(Drain::ReaderThread)) => Some(Drain::BothThreads),
            (Some(Drain::WriterThread), _) => Some(Drain::WriterThread),
            (filled, emptied) => emptied.or(filled),
        };
        let file_system = to.file_system.or(from.file_system);
        self.seed = self.seed.wrapping_add(1);
        let step = self.step(spec, techniques, &contenders);
        let place = spec.conditions.source().unwrap_or(spec.conditions.clone());
        let place = place.directory_or(&self.directory).display().to_string();
        let mut cell = OpenCell {
            name: format!(
                "{} with {}",
                spec.conditions.place(),
                words::list(&spec.workload.runs())
            ),
            step,
            source,
            sink,
            contenders: contenders.iter().map(|one| (*one, 0)).collect(),
            call_bytes: spec.workload.total_bytes() as u64,
            first: FirstCall::None,
            timed: settings(spec),
            not_cold: (place, file_system.clone().unwrap_or_default()),
            round: 0,
            alignment: alignment_of(spec),
            start_bytes: 0,
            batches: 0,
            proof_calls: 0,
        };
        let room = from.max_calls.min(match (to.drain, known_room) {
            // A thread fills the source, and the measuring thread empties the target between samples: each would wait for the
            // other.
            (Some(Drain::BetweenSamples), _) if from.drain == Some(Drain::WriterThread) => 0,
            (Some(Drain::BetweenSamples), Some(room)) => room,
            (Some(Drain::BetweenSamples), None) => {
                cell.probe(from.max_calls, self.clock, &mut self.rng)?
            }
            _ => to.max_calls,
        });
        if room == 0 {
            drop(cell);
            return self.open(spec, techniques, DrainChoice::Thread);
        }
        cell.first = FirstCall::of(spec, drained, room);
        if to.drain == Some(Drain::ReaderThread) && spec.conditions.operation == Operation::Write {
            cell.age(self.clock)?;
        }
        if known_room.is_none() {
            cell.prove(self.clock)?;
            self.opened.push((this, room));
        }
        let setup = CellSetup {
            max_calls: calls_within(room, spec, cell.first),
            calls_multiple: calls_multiple(spec),
            drain: drained,
            file_system,
            span_bytes: to.span_bytes.or(from.span_bytes),
        };
        self.cell = Some(cell);
        Ok(setup)
    }

    fn step(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        contenders: &[Contender],
    ) -> Step {
        let model = self.model_for(spec);
        let each = contenders.iter();
        let moving = match spec.conditions.operation {
            Operation::Write => Moving::Write(
                self.supply(spec),
                each.map(|one| (self.make_mover)(*one, &model)).collect(),
            ),
            Operation::Read => {
                // Transfers in flight cannot share segments.
                let has_in_flight = techniques.iter().any(|name| is_in_flight(*name));
                let count = if has_in_flight { spec.conditions.queue_depth } else { 1 };
                let seed = |number| self.seed.wrapping_add(number << 32);
                let buffers = (0..u64::from(count)).map(|number| payload(spec, seed(number)));
                Moving::Read {
                    buffers: buffers.collect(),
                    movers: each
                        .map(|one| (self.make_read_mover)(*one, &model))
                        .collect(),
                    held: Vec::new(),
                }
            }
            Operation::Copy => Moving::Copy(
                each.map(|one| (self.make_copy_mover)(*one, &spec.conditions))
                    .collect(),
            ),
        };
        Step {
            pattern: self.pattern,
            call_bytes: spec.workload.total_bytes(),
            moving,
        }
    }

    fn model_for(&self, spec: &CellSpec) -> CostModel {
        let mut models = self.models.iter();
        let calibrated = models.find(|model| {
            let on = &model.conditions;
            (on.target, &on.path) == (spec.conditions.target, &spec.conditions.path)
        });
        match calibrated {
            Some(fitted) => fitted.model,
            None => CostModel::for_target(target_kind(spec.conditions.target)),
        }
    }

    fn supply(&self, spec: &CellSpec) -> Supply {
        match spec.conditions.cache {
            Cache::Hot => Supply::Hot(payload(spec, self.seed)),
            Cache::Cold => Supply::Cold(PoolPayload::new(
                &spec.workload,
                spec.conditions.layout,
                self.cold_pool_bytes,
                &self.pool_memory,
                self.seed,
            )),
        }
    }

    fn open_source(
        &mut self,
        spec: &CellSpec,
        drain: DrainChoice,
    ) -> Result<(Option<Box<dyn End>>, CellSetup), MeasureError> {
        let call_bytes = spec.workload.total_bytes() as u64;
        let what =
            |doing: &str| MeasureError::io(format!("cannot {doing} {}", spec.conditions.place()));
        if spec.conditions.target == Target::File {
            let directory = spec.conditions.directory_or(&self.directory).to_owned();
            let page_cache = spec.conditions.page_cache.unwrap_or_default();
            let described =
                check_directory(&directory, spec.conditions.target, spec.half_batch_bytes())?;
            let file = self
                .pattern_file(&directory, spec.half_batch_bytes(), spec.conditions.direct)
                .map_err(what("create"))?;
            let bytes = if page_cache == PageCache::Cold { 0 } else { file.span_bytes };
            let end = CellSetup {
                file_system: Some(described.file_system),
                span_bytes: Some(file.span_bytes),
                ..CellSetup::with_room(bytes, spec)
            };
            let source = FileSource::new(file, page_cache, self.seed).map_err(what("read"))?;
            return Ok((Some(Box::new(source)), end));
        }
        let Some(stream) = StreamKind::of(&spec.conditions) else {
            let nothing = io::Error::other("this kind of target can only be written");
            return Err(what("read")(nothing));
        };
        if drain == DrainChoice::Probe {
            let mut source =
                StreamSource::open(stream, self.pattern, call_bytes).map_err(what("open"))?;
            let room = source.probe(MAX_CALLS + 1).map_err(what("fill"))?;
            if room > 0 {
                let end = CellSetup {
                    max_calls: room,
                    drain: Some(Drain::BetweenSamples),
                    ..CellSetup::default()
                };
                return Ok((Some(Box::new(source)), end));
            }
        }
        let pair = stream.open().map_err(what("open"))?;
        let source = FeedThreadSource::start(pair, self.pattern, self.reader_cpu)
            .map_err(what("start a writer thread for"))?;
        let end = CellSetup::with_room(THREAD_BYTES, spec).drained(Drain::WriterThread);
        Ok((Some(Box::new(source)), end))
    }

    fn pattern_file(
        &mut self,
        directory: &Path,
        call_bytes: u64,
        is_direct: bool,
    ) -> io::Result<Rc<PatternFile>> {
        let span_bytes = PatternFile::span_bytes(call_bytes, self.read_file_bytes);
        match &self.pattern_file {
            Some((place, file))
                if place == directory
                    && file.span_bytes >= span_bytes
                    && file.is_direct == is_direct =>
            {
                Ok(Rc::clone(file))
            }
            _ => {
                let file = PatternFile::with_span(directory, self.pattern, span_bytes, is_direct)?;
                let file = Rc::new(file);
                self.pattern_file = Some((directory.to_owned(), Rc::clone(&file)));
                Ok(file)
            }
        }
    }
}

impl Sampler for DescriptorSampler<'_> {
    fn begin_cell(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        if let Some(why) = unsuited(spec, techniques) {
            let what = format!("cannot measure {}", spec.conditions.place());
            return Err(MeasureError::io(what)(io::Error::other(why)));
        }
        self.open(spec, techniques, drain)
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        let cell = self.cell.as_mut().expect("begin_cell comes first");
        cell.lay_out(round, &mut self.rng)
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        let cell = self.cell.as_mut().expect("begin_cell comes first");
        cell.sample(contender, calls, self.clock)
    }

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError> {
        Ok(CellExtras {
            proof_calls: self.cell.take().map_or(0, |cell| cell.proof_calls),
            ..CellExtras::default()
        })
    }
}

fn alignment_of(spec: &CellSpec) -> usize {
    let memory_bytes = spec.alignment.map_or(1, |direct| direct.memory_bytes);
    memory_bytes.max(ALIGNMENT)
}

fn payload(spec: &CellSpec, seed: u64) -> Payload {
    Payload::new(
        spec.workload.sizes(),
        spec.conditions.layout,
        alignment_of(spec),
        seed,
    )
}

/// The number of timed calls among the calls for which there is room: at least 1, and at most [`MAX_CALLS`].
fn calls_within(room: u32, spec: &CellSpec, first: FirstCall) -> u32 {
    let untimed = match spec.conditions.queue_depth {
        0 | 1 => u32::from(first.is_in_batch()),
        // The untimed calls keep the queue full.
        depth => 2 * depth - 1,
    };
    let most = MAX_CALLS.max(calls_multiple(spec));
    room.saturating_sub(untimed).clamp(1, most)
}

/// With a depth d of 2 or more, the number of calls of a sample is a multiple of 2d, so that the time of at least d
/// transfers is measured: see [`full_queue`](crate::measure::sampler::full_queue).
fn calls_multiple(spec: &CellSpec) -> u32 {
    match spec.conditions.queue_depth {
        0 | 1 => 1,
        depth => 2 * depth,
    }
}

fn is_emptied_meanwhile(spec: &CellSpec) -> bool {
    let asked = &spec.conditions;
    let is_long = spec.workload.total_bytes() as u64 > UNREAD_PIPE_BYTES;
    match asked.operation {
        Operation::Write => asked.target == Target::Pipe && is_long,
        Operation::Read => false,
        Operation::Copy => is_long,
    }
}

fn contenders(techniques: &[TechniqueName]) -> Vec<Contender> {
    [Contender::Floor, Contender::FloorAgain]
        .into_iter()
        .chain(techniques.iter().copied().map(Contender::Technique))
        .collect()
}
