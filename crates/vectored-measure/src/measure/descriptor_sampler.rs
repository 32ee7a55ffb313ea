//! The sampler that times real system calls.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fastrand::Rng;
use vectored::CostModel;
use vectored::cost::ChunkPolicy;
use vectored_machine::Clock;
use vectored_machine::platform::descriptors::EMPTIES_BETWEEN_SAMPLES;
use vectored_results::model::{
    Cache, CellSpec, Conditions, Drain, FittedModel, Operation, PageCache, SyncMode, Target,
    TechniqueName,
};
use vectored_results::stats::target_kind;

use crate::measure::cell::copy::{Copier, CopyCell, Ends};
use crate::measure::cell::read::{FirstCall, ReadCell};
use crate::measure::cell::technique_latencies::TechniqueLatencies;
use crate::measure::cell::write::{Participant, WriteCell};
use crate::measure::cell::writers::cell::{WritersCell, WritersOpening};
use crate::measure::cell::writers::writer::WriterMovers;
use crate::measure::sampler::cell_extras::CellExtras;
use crate::measure::sampler::cold_pool::{ColdPool, PoolMemory, PoolPayload};
use crate::measure::sampler::interface::{
    CellSetup, Contender, DrainChoice, MAX_CALLS, MeasureError, Sampler, Timing,
};
use crate::measure::sampler::pattern::Pattern;
use crate::measure::sampler::payload::{ALIGNMENT, Payload, aligned_start};
use crate::measure::sampler::payload_supply::Supply;
use crate::measure::sources::feed_thread::FeedThreadSource;
use crate::measure::sources::read_source::{FileSource, PatternFile, Source, StreamSource};
use crate::measure::targets::{
    DrainMode, FILE_SPAN_BYTES, FileEnd, OpenChoice, OpenTarget, StreamKind, TargetOpener,
    check_directory,
};
use crate::measure::techniques::copy_mover::CopyMover;
use crate::measure::techniques::read_mover::ReadMover;
use crate::measure::techniques::write_mover::Mover;
use crate::measure::techniques::{copy_movers, is_in_flight, movers, read_movers};
use crate::measure::unsuited::unsuited;

/// Maximum size of a batch with a thread at the other end, which holds all of it.
const THREAD_BYTES: u64 = 8 << 20;

/// A pipe with longer lists is read while they are written. Every program's pipe has a reader, and how the two meet decides
/// which calls take the least time ([`ChunkPolicy`]).
const UNREAD_PIPE_BYTES: u64 = ChunkPolicy::OF_PIPES.threshold_bytes as u64;

type MakeMover = Box<dyn FnMut(Contender, &CostModel) -> Box<dyn Mover>>;
type MakeReadMover = Box<dyn FnMut(Contender, &CostModel) -> Box<dyn ReadMover>>;
type MakeCopyMover = Box<dyn FnMut(Contender, &Conditions) -> Box<dyn CopyMover>>;

/// Times techniques on descriptors that it opens itself.
pub struct DescriptorSampler<'a> {
    clock: &'a dyn Clock,
    directory: PathBuf,
    reader_cpu: Option<usize>,
    /// CPUs of several writers, in turn.
    writer_cpus: Vec<usize>,
    writer_movers: WriterMovers,
    seed: u64,
    /// The bytes that read cells read.
    pattern: Pattern,
    rng: Rng,
    /// Calibrated models for `adaptive`.
    models: Vec<FittedModel>,
    make_mover: MakeMover,
    make_read_mover: MakeReadMover,
    make_copy_mover: MakeCopyMover,
    cold_pool_bytes: u64,
    /// Memory of the cold pools; empty before the first cold cell and while one
    /// is open.
    pool_memory: PoolMemory,
    opener: TargetOpener,
    /// Length of the file that file cells read, unless two calls need more.
    read_file_bytes: u64,
    /// The file that file cells read, with its directory.
    pattern_file: Option<(PathBuf, Rc<PatternFile>)>,
    /// Techniques' working memory begins at multiples of this.
    alignment: usize,
    /// The write cells, and those of copies, that were opened before.
    opened: Vec<OpenedCell>,
    cell: Option<OpenCell>,
}

/// A write cell, or one of copies, whose techniques are proved.
struct OpenedCell {
    spec: CellSpec,
    techniques: Vec<TechniqueName>,
    drain: DrainChoice,
    /// The calls that fit into the target, if it is emptied between samples.
    fitting: u32,
}

impl OpenedCell {
    /// A cell that starts over with a thread at the other end is proved again.
    fn is(&self, spec: &CellSpec, techniques: &[TechniqueName], drain: DrainChoice) -> bool {
        (&self.spec, &self.techniques[..], self.drain) == (spec, techniques, drain)
    }
}

enum OpenCell {
    Write(WriteCell),
    Read(ReadCell),
    Copy(Box<CopyCell>),
    Writers(Box<WritersCell>),
}

impl<'a> DescriptorSampler<'a> {
    /// A sampler that creates its temporary files in `directory`.
    pub fn new(clock: &'a dyn Clock, directory: &Path, seed: u64) -> Self {
        DescriptorSampler {
            clock,
            directory: directory.to_owned(),
            reader_cpu: None,
            writer_cpus: Vec::new(),
            writer_movers: movers,
            seed,
            pattern: Pattern::new(seed),
            rng: Rng::with_seed(seed),
            models: Vec::new(),
            make_mover: Box::new(movers),
            make_read_mover: Box::new(read_movers),
            make_copy_mover: Box::new(copy_movers),
            cold_pool_bytes: ColdPool::of_this_machine().pool_bytes,
            pool_memory: PoolMemory::default(),
            opener: TargetOpener::default(),
            read_file_bytes: FILE_SPAN_BYTES,
            pattern_file: None,
            alignment: ALIGNMENT,
            opened: Vec::new(),
            cell: None,
        }
    }

    /// Sets the CPU of reader and writer threads.
    pub fn reader_cpu(mut self, cpu: Option<usize>) -> Self {
        self.reader_cpu = cpu;
        self
    }

    /// Sets the CPUs of the writers of cells with several: in turn. Without any, they run anywhere.
    pub fn writer_cpus(mut self, cpus: Vec<usize>) -> Self {
        self.writer_cpus = cpus;
        self
    }

    /// Replaces [`movers`] in several writers.
    pub fn with_writer_movers(mut self, make_mover: WriterMovers) -> Self {
        self.writer_movers = make_mover;
        self
    }

    /// Sets calibrated models: `adaptive` uses them for writes to the targets
    /// that they were calibrated on, and the default for the kind of target
    /// otherwise.
    pub fn with_models(mut self, models: Vec<FittedModel>) -> Self {
        self.models = models;
        self
    }

    /// Replaces [`movers`], for example by deliberately wrong ones.
    pub fn with_movers(
        mut self,
        make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn Mover> + 'static,
    ) -> Self {
        self.make_mover = Box::new(make_mover);
        self
    }

    /// Replaces [`read_movers`].
    pub fn with_read_movers(
        mut self,
        make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn ReadMover> + 'static,
    ) -> Self {
        self.make_read_mover = Box::new(make_mover);
        self
    }

    /// Replaces [`copy_movers`].
    pub fn with_copy_movers(
        mut self,
        make_mover: impl FnMut(Contender, &Conditions) -> Box<dyn CopyMover> + 'static,
    ) -> Self {
        self.make_copy_mover = Box::new(make_mover);
        self
    }

    /// Sets the size of the cold pools, instead of that of [`ColdPool`].
    pub fn cold_pool_bytes(mut self, bytes: u64) -> Self {
        self.cold_pool_bytes = bytes;
        self
    }

    /// Sets the length of the file that file cells read. It is longer if two
    /// calls need more.
    pub fn read_file_bytes(mut self, bytes: u64) -> Self {
        self.read_file_bytes = bytes;
        self
    }

    /// Opens the target and chooses how it is emptied.
    fn open(&mut self, spec: &CellSpec, choice: OpenChoice) -> Result<OpenTarget, MeasureError> {
        let cpu = self.reader_cpu;
        self.opener.open(spec, &self.directory, cpu, choice)
    }
}

impl DescriptorSampler<'_> {
    fn begin_write(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let drain = if is_read_meanwhile(spec) { DrainChoice::Thread } else { drain };
        let call_bytes = spec.workload.total_bytes() as u64;
        let is_this = |cell: &&OpenedCell| cell.is(spec, techniques, drain);
        let known_fitting = self.opened.iter().find(is_this).map(|cell| cell.fitting);
        let latencies = TechniqueLatencies::of(techniques);
        let file_end = match latencies {
            None => FileEnd::Appended,
            Some(_) => FileEnd::Positioned,
        };
        let OpenTarget {
            sink,
            drain_mode,
            file_system,
            span_bytes,
        } = self.open(spec, OpenChoice { drain, file_end })?;
        let model = self.model_for(spec);
        self.seed = self.seed.wrapping_add(1);
        let supply = self.supply(spec);
        let mut cell = WriteCell {
            name: format!("{} with {}", spec.conditions.place(), describe(spec)),
            sink,
            supply,
            iovec_setup: spec.conditions.iovec_setup,
            fsync: spec.conditions.sync == SyncMode::Fsync,
            movers: self.participants(techniques, &model),
            call_bytes,
            first: match spec.conditions.sync {
                SyncMode::None if !spec.conditions.direct => FirstCall::InBatch,
                // A call would take as long as a sample and warm nothing up.
                _ => FirstCall::None,
            },
            start_bytes: 0,
            round: 0,
            batches: 0,
            proof_calls: 0,
            queue_depth: spec.conditions.queue_depth,
            latencies,
        };
        let up_to = |bytes: u64| calls_within(bytes, spec);
        let mut fitting = known_fitting.unwrap_or(0);
        let max_calls = match drain_mode {
            // One call less in each: the untimed call takes up space, too.
            DrainMode::NotNeeded if spec.conditions.target == Target::FileOverwrite => {
                up_to(span_bytes.unwrap_or(0).saturating_sub(call_bytes))
            }
            DrainMode::NotNeeded => up_to(FILE_SPAN_BYTES),
            DrainMode::Thread | DrainMode::Peer => {
                cell.first = cell.first.beside_a_thread(call_bytes);
                up_to(THREAD_BYTES.saturating_sub(call_bytes))
            }
            DrainMode::BetweenSamples => {
                if known_fitting.is_none() {
                    fitting = cell.probe()?;
                }
                match fitting {
                    0 => {
                        self.keep_memory(cell.supply);
                        // Closes its ends of a FIFO, which could not be opened again.
                        drop(cell.sink);
                        return self.begin_write(spec, techniques, DrainChoice::Thread);
                    }
                    1 => {
                        cell.first = FirstCall::Separate;
                        1
                    }
                    fitting => fitting - 1,
                }
            }
        };
        if drain_mode == DrainMode::Thread {
            cell.age(self.clock)?;
        }
        if known_fitting.is_none() {
            cell.prove_all()?;
            self.opened.push(OpenedCell {
                spec: spec.clone(),
                techniques: techniques.to_vec(),
                drain,
                fitting,
            });
        }
        self.cell = Some(OpenCell::Write(cell));
        Ok(CellSetup {
            max_calls,
            calls_multiple: calls_multiple(spec),
            sample_ns: None,
            drain: drain_mode.of_cell(),
            span_bytes,
            file_system,
        })
    }

    fn participants(
        &mut self,
        techniques: &[TechniqueName],
        model: &CostModel,
    ) -> Vec<Participant> {
        let participant = |contender| Participant {
            contender,
            mover: (self.make_mover)(contender, model),
            samples: 0,
        };
        contenders(techniques)
            .into_iter()
            .map(participant)
            .collect()
    }

    /// The calibrated model of the target, or the default one.
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

    fn begin_writers(&mut self, spec: &CellSpec) -> Result<CellSetup, MeasureError> {
        self.seed = self.seed.wrapping_add(1);
        let (cell, setup) = WritersCell::open(WritersOpening {
            spec,
            directory: &self.directory,
            reader_cpu: self.reader_cpu,
            cpus: &self.writer_cpus,
            model: self.model_for(spec),
            make_mover: self.writer_movers,
            seed: self.seed,
        })?;
        self.cell = Some(OpenCell::Writers(Box::new(cell)));
        Ok(setup)
    }

    /// The segments for the calls of a cell.
    fn supply(&mut self, spec: &CellSpec) -> Supply {
        match spec.conditions.cache {
            Cache::Hot => Supply::Hot(payload(spec, self.seed)),
            Cache::Cold => Supply::Cold(PoolPayload::new(
                &spec.workload,
                spec.conditions.layout,
                self.cold_pool_bytes,
                std::mem::take(&mut self.pool_memory),
                self.seed,
            )),
        }
    }

    /// Keeps the memory of a cold pool for the next cell.
    fn keep_memory(&mut self, supply: Supply) {
        if let Some(memory) = supply.into_memory() {
            self.pool_memory = memory;
        }
    }

    fn begin_read(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let call_bytes = spec.workload.total_bytes() as u64;
        let (source, mut setup) = self.open_source(spec, drain)?;
        // Transfers in flight cannot share segments.
        let count = if techniques.iter().any(|name| is_in_flight(*name)) {
            spec.conditions.queue_depth
        } else {
            1
        };
        let model = CostModel::for_target(target_kind(spec.conditions.target));
        self.seed = self.seed.wrapping_add(1);
        let first = match (spec.conditions.page_cache, setup.max_calls) {
            (Some(PageCache::Cold), _) => FirstCall::None,
            // Each call waits for the device, as synced writes do.
            _ if spec.conditions.direct => FirstCall::None,
            (None, 1) if setup.drain == Some(Drain::BetweenSamples) => FirstCall::Separate,
            _ if setup
                .drain
                .is_some_and(|drain| drain != Drain::BetweenSamples) =>
            {
                FirstCall::Filling
            }
            _ => FirstCall::InBatch,
        };
        if first.is_in_batch() && setup.max_calls > 1 {
            // The untimed call takes up space too.
            setup.max_calls -= 1;
        }
        let mut cell = ReadCell {
            name: format!("{} with {}", spec.conditions.place(), describe(spec)),
            source,
            pattern: self.pattern,
            buffers: (0..u64::from(count))
                .map(|number| {
                    let seed = self.seed.wrapping_add(number << 32);
                    payload(spec, seed)
                })
                .collect(),
            iovec_setup: spec.conditions.iovec_setup,
            movers: contenders(techniques)
                .into_iter()
                .map(|contender| (contender, (self.make_read_mover)(contender, &model)))
                .collect(),
            call_bytes,
            first,
            start_bytes: 0,
            proof_calls: 0,
            queue_depth: spec.conditions.queue_depth,
            latencies: TechniqueLatencies::of(techniques),
            round: 0,
            not_cold: (
                spec.conditions
                    .directory_or(&self.directory)
                    .display()
                    .to_string(),
                setup.file_system.clone().unwrap_or_default(),
            ),
        };
        cell.prove(self.clock)?;
        self.cell = Some(OpenCell::Read(cell));
        Ok(setup)
    }

    fn begin_copy(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        // So is every other stream: a copy has somebody at each end.
        let is_long = spec.workload.total_bytes() as u64 > UNREAD_PIPE_BYTES;
        let drain = if is_long { DrainChoice::Thread } else { drain };
        let is_this = |cell: &&OpenedCell| cell.is(spec, techniques, drain);
        let known_fitting = self.opened.iter().find(is_this).map(|cell| cell.fitting);
        let read = spec.conditions.source().unwrap_or(spec.conditions.clone());
        let read = CellSpec::new(read, spec.workload.clone());
        let (source, from) = self.open_source(&read, drain)?;
        // sendfile, splice and copy_file_range refuse a file with O_APPEND.
        let file_end = FileEnd::Positioned;
        let to = self.open(spec, OpenChoice { drain, file_end })?;
        let ends = Ends {
            filled: from.drain,
            emptied: to.drain_mode,
            is_cold: spec.conditions.page_cache == Some(PageCache::Cold),
        };
        let file_system = to.file_system.or(from.file_system);
        let mut cell = CopyCell {
            name: format!("{} with {}", spec.conditions.place(), describe(spec)),
            source,
            sink: to.sink,
            pattern: self.pattern,
            copiers: contenders(techniques)
                .into_iter()
                .map(|contender| Copier {
                    contender,
                    mover: (self.make_copy_mover)(contender, &spec.conditions),
                    samples: 0,
                })
                .collect(),
            call_bytes: spec.workload.total_bytes(),
            first: FirstCall::None,
            start_bytes: 0,
            image: Vec::new(),
            proof_calls: 0,
            not_cold: (
                read.conditions
                    .directory_or(&self.directory)
                    .display()
                    .to_string(),
                file_system.clone().unwrap_or_default(),
            ),
        };
        let call_bytes = cell.call_bytes as u64;
        let max_calls = from.max_calls.min(match ends.emptied {
            // One copy less in each: the untimed one takes up space, too.
            DrainMode::NotNeeded if spec.conditions.target == Target::FileOverwrite => {
                calls_within(to.span_bytes.unwrap_or(0).saturating_sub(call_bytes), spec)
            }
            DrainMode::NotNeeded => calls_within(FILE_SPAN_BYTES, spec),
            DrainMode::Thread | DrainMode::Peer => {
                calls_within(THREAD_BYTES.saturating_sub(call_bytes), spec)
            }
            // Two threads at the source, one of which also empties the target, would wait for each other.
            DrainMode::BetweenSamples if ends.filled == Some(Drain::WriterThread) => 0,
            DrainMode::BetweenSamples => match known_fitting {
                Some(fitting) => fitting,
                None => cell.probe(from.max_calls, &mut self.rng)?,
            },
        });
        if max_calls == 0 {
            // Closes its ends of a FIFO, which could not be opened again.
            drop(cell);
            return self.begin_copy(spec, techniques, DrainChoice::Thread);
        }
        cell.first = ends.first(max_calls, call_bytes);
        if known_fitting.is_none() {
            cell.prove(self.clock)?;
            self.opened.push(OpenedCell {
                spec: spec.clone(),
                techniques: techniques.to_vec(),
                drain,
                fitting: max_calls,
            });
        }
        let untimed = u32::from(cell.first.is_in_batch() && max_calls > 1);
        self.cell = Some(OpenCell::Copy(Box::new(cell)));
        Ok(CellSetup {
            max_calls: max_calls - untimed,
            drain: ends.drain(),
            file_system,
            span_bytes: to.span_bytes.or(from.span_bytes),
            ..CellSetup::default()
        })
    }

    /// Opens the source of a cell, with the way it is filled and the number of
    /// calls that it can serve at once.
    fn open_source(
        &mut self,
        spec: &CellSpec,
        drain: DrainChoice,
    ) -> Result<(Box<dyn Source>, CellSetup), MeasureError> {
        let call_bytes = spec.workload.total_bytes() as u64;
        let what =
            |doing: &str| MeasureError::io(format!("cannot {doing} {}", spec.conditions.place()));
        let up_to = |bytes: u64| calls_within(bytes, spec);
        if spec.conditions.target == Target::File {
            let directory = spec.conditions.directory_or(&self.directory).to_owned();
            let page_cache = spec.conditions.page_cache.unwrap_or_default();
            let described =
                check_directory(&directory, spec.conditions.target, spec.half_batch_bytes())?;
            let file = self
                .pattern_file(&directory, spec.half_batch_bytes(), spec.conditions.direct)
                .map_err(what("create"))?;
            let span_bytes = file.span_bytes;
            let source = FileSource::new(file, page_cache, self.seed).map_err(what("read"))?;
            let setup = CellSetup {
                max_calls: match page_cache {
                    PageCache::Hot => up_to(span_bytes),
                    PageCache::Cold => 1,
                },
                calls_multiple: calls_multiple(spec),
                sample_ns: None,
                drain: None,
                file_system: Some(described.file_system),
                span_bytes: Some(span_bytes),
            };
            return Ok((Box::new(source), setup));
        }
        let Some(stream) = StreamKind::of(&spec.conditions) else {
            let nothing = io::Error::other("this kind of target can only be written");
            return Err(what("read")(nothing));
        };
        if drain == DrainChoice::Probe && EMPTIES_BETWEEN_SAMPLES {
            let mut source = StreamSource::open(stream.clone(), self.pattern, call_bytes)
                .map_err(what("open"))?;
            let fitting = source.probe(MAX_CALLS + 1).map_err(what("fill"))?;
            if fitting > 0 {
                let setup = CellSetup {
                    max_calls: fitting,
                    drain: Some(Drain::BetweenSamples),
                    ..CellSetup::default()
                };
                return Ok((Box::new(source), setup));
            }
        }
        let pair = stream.open().map_err(what("open"))?;
        let source = FeedThreadSource::start(pair, self.pattern, self.reader_cpu)
            .map_err(what("start a writer thread for"))?;
        let setup = CellSetup {
            max_calls: up_to(THREAD_BYTES),
            drain: Some(Drain::WriterThread),
            ..CellSetup::default()
        };
        Ok((Box::new(source), setup))
    }

    /// The pattern file in a directory, past the page cache or through it. Creates a new one if there is none yet
    /// or it is too short.
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
                let mut file = PatternFile::with_span(directory, self.pattern, span_bytes)?;
                if is_direct {
                    file = file.past_page_cache()?;
                }
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
        self.alignment = alignment_of(spec);
        if spec.conditions.writers.is_some() {
            return self.begin_writers(spec);
        }
        match spec.conditions.operation {
            Operation::Write => self.begin_write(spec, techniques, drain),
            Operation::Read => self.begin_read(spec, techniques, drain),
            Operation::Copy => self.begin_copy(spec, techniques, drain),
        }
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        let start_bytes = aligned_start(&mut self.rng, self.alignment);
        let (name, outcome) = match self.cell.as_mut().expect("begin_cell comes first") {
            OpenCell::Write(cell) => {
                cell.round = round;
                cell.supply.lay_out();
                cell.start_bytes = start_bytes;
                (&cell.name, cell.sink.lay_out(&mut self.rng))
            }
            OpenCell::Read(cell) => {
                cell.round = round;
                cell.buffers.iter_mut().for_each(Payload::lay_out);
                cell.start_bytes = start_bytes;
                (&cell.name, cell.source.lay_out(&mut self.rng))
            }
            OpenCell::Copy(cell) => {
                cell.start_bytes = start_bytes;
                let sides = cell.source.lay_out(&mut self.rng);
                (
                    &cell.name,
                    sides.and_then(|()| cell.sink.lay_out(&mut self.rng)),
                )
            }
            OpenCell::Writers(cell) => {
                cell.round = round;
                return Ok(());
            }
        };
        outcome.map_err(MeasureError::io(format!("cannot reopen {name}")))
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        match self.cell.as_mut().expect("begin_cell comes first") {
            OpenCell::Write(cell) => cell.sample(contender, calls, self.clock),
            OpenCell::Read(cell) => cell.sample(contender, calls, self.clock),
            OpenCell::Copy(cell) => cell.sample(contender, calls, self.clock),
            OpenCell::Writers(cell) => cell.sample(contender, calls),
        }
    }

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError> {
        Ok(match self.cell.take() {
            Some(OpenCell::Write(mut cell)) => {
                let extras = CellExtras {
                    zerocopy: cell.take_zerocopy(),
                    proof_calls: cell.proof_calls,
                    latencies: cell
                        .latencies
                        .map_or_else(Vec::new, TechniqueLatencies::into_inner),
                    ..CellExtras::default()
                };
                self.keep_memory(cell.supply);
                extras
            }
            Some(OpenCell::Read(cell)) => CellExtras {
                proof_calls: cell.proof_calls,
                latencies: cell
                    .latencies
                    .map_or_else(Vec::new, TechniqueLatencies::into_inner),
                ..CellExtras::default()
            },
            Some(OpenCell::Copy(cell)) => CellExtras {
                proof_calls: cell.proof_calls,
                ..CellExtras::default()
            },
            Some(OpenCell::Writers(cell)) => CellExtras {
                proof_calls: cell.proof_calls,
                writers: cell.samples,
                ..CellExtras::default()
            },
            None => CellExtras::default(),
        })
    }
}

/// The alignment of the segments and of the working memory of a cell.
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

/// How many timed calls of a cell fit into a target with the untimed ones that keep its queue full, within
/// [`MAX_CALLS`]. At least 1.
fn calls_within(bytes: u64, spec: &CellSpec) -> u32 {
    let fitting = bytes / spec.workload.total_bytes() as u64;
    let untimed = match spec.conditions.queue_depth {
        0 | 1 => 0,
        depth => 2 * depth - 1,
    };
    fitting
        .saturating_sub(untimed.into())
        .clamp(1, MAX_CALLS.max(calls_multiple(spec)).into()) as u32
}

/// Samples of a deep queue have a multiple of twice as many calls as are in flight, so that the time of at least as many as are in
/// flight is measured: see [`full_queue`](crate::measure::sampler::full_queue).
fn calls_multiple(spec: &CellSpec) -> u32 {
    match spec.conditions.queue_depth {
        0 | 1 => 1,
        depth => 2 * depth,
    }
}

/// Whether the list goes into a pipe and is longer than [`UNREAD_PIPE_BYTES`].
fn is_read_meanwhile(spec: &CellSpec) -> bool {
    let is_pipe = matches!(spec.conditions.target, Target::Pipe | Target::Fifo);
    is_pipe && spec.workload.total_bytes() as u64 > UNREAD_PIPE_BYTES
}

/// Both floors, then the techniques.
fn contenders(techniques: &[TechniqueName]) -> Vec<Contender> {
    [Contender::Floor, Contender::FloorAgain]
        .into_iter()
        .chain(techniques.iter().copied().map(Contender::Technique))
        .collect()
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
