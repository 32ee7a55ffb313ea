//! The data of the pictures, and how they are measured.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use vectored::CostModel;
use vectored::cost::TargetKind;
use vectored_machine::MonotonicClock;
use vectored_machine::host::{Environment, Pinning, allowed_cpus, pin_measuring_thread};
use vectored_measure::measure::{
    CellExtras, CellSetup, Contender, DescriptorSampler, DrainChoice, MeasureError, Sampler,
    Timing, Watch, measure_entry_ns, movers, run_rounds,
};
use vectored_results::model::{
    Cell, CellSpec, Crossover, Experiment, Results, Target, TechniqueName, Workload,
};

use crate::commands;

/// The sizes of the segments whose calls are counted: a response with a long body.
const LIST: [usize; 6] = [17, 40, 90, 20_000, 25, 30];

/// The techniques whose calls are counted.
const COUNTED: [TechniqueName; 4] = [
    TechniqueName::WRITE_EACH,
    TechniqueName::COPY_THEN_WRITE,
    TechniqueName::WRITEV,
    TechniqueName::ADAPTIVE,
];

/// The segments of the lists whose times are drawn over their size.
const SEGMENTS: usize = 16;

/// The lists to a pipe whose times are explained.
const PIPE: [(usize, usize); 3] = [(16, 64), (16, 512), (2, 4096)];

/// All that is drawn.
#[derive(Serialize, Deserialize)]
pub struct Data {
    /// The command that made this file.
    pub made_by: String,
    pub date: String,
    pub machine: String,
    /// The sizes of the segments of the list whose calls are counted.
    pub list: Vec<usize>,
    /// The calls of each technique for that list: the sizes of the entries of each call, as strace saw them.
    pub calls: Vec<(TechniqueName, Vec<Vec<usize>>)>,
    /// Rounds of 2 segments of 1 KiB to a Unix socket: all samples in their order, with their times in ns.
    pub rounds: Vec<Vec<(Contender, u64)>>,
    /// The list of `rounds`, over all rounds.
    pub all_rounds: Times,
    /// Lists of 16 segments to a Unix socket, by size.
    pub sizes: Vec<Times>,
    /// The crossover among them.
    pub crossover: Crossover,
    /// The time of `getppid`.
    pub entry_ns: f64,
    /// The time that a write to a pipe takes for a page more.
    pub page_ns: f64,
    /// The model fitted to all lists to a pipe.
    pub model: CostModel,
    /// Some of these lists.
    pub pipe: Vec<Times>,
}

/// The median times of a list.
#[derive(Serialize, Deserialize)]
pub struct Times {
    pub segment_count: usize,
    pub segment_bytes: usize,
    pub rounds: u32,
    pub floor_ns: f64,
    pub copy_ns: f64,
    pub writev_ns: f64,
    /// The time of `writev` ÷ that of copying, within a round, and the ends of its 95 % interval.
    pub ratio: (f64, f64, f64),
}

/// The sizes of the curve. None divides a page: a segment that ends where a page ends is copied by the kernel in one piece.
const BETWEEN_PAGES: [usize; 12] = [
    70, 140, 280, 560, 1100, 1500, 2200, 2700, 3300, 4500, 6100, 8900,
];

/// Measures and counts all of it.
pub fn measure(rounds: u32, made_by: String) -> Result<Data> {
    let cpus = allowed_cpus();
    let pins = pin_measuring_thread(Pinning::Current).context("cannot pin this thread")?;
    let environment = Environment::capture(None, pins, cpus);
    let unix = |count, bytes| CellSpec::write(Target::Unix, Workload::uniform(count, bytes));
    let recorded = unix(2, 1024);
    let sizes = [
        64, 128, 256, 512, 1024, 1536, 2048, 2500, 3000, 4096, 6000, 8192,
    ];
    let mut cells = vec![recorded.clone()];
    cells.extend(BETWEEN_PAGES.map(|bytes| unix(SEGMENTS, bytes)));
    let pipe = |count, bytes| CellSpec::write(Target::Pipe, Workload::uniform(count, bytes));
    for count in [2, 4, 16, 64] {
        // A thread reads longer lists from a pipe.
        let fitting = |bytes: &usize| count * bytes <= 12 << 10;
        let fitting = sizes.into_iter().filter(fitting);
        cells.extend(fitting.map(|bytes| pipe(count, bytes)));
    }
    // A pipe puts two writes of half a page into one page, but not two of some bytes more (`pipe_write` in `fs/pipe.c`).
    cells.push(pipe(2, 1025));
    let experiment = Experiment {
        cells,
        rivals: COUNTED[..3].to_vec(),
        unranked: Vec::new(),
        refine: false,
        budget_ns: 0,
        seed: 41,
    };
    let clock = MonotonicClock;
    let mut recorder = Recorder {
        sampler: DescriptorSampler::new(&clock, &std::env::temp_dir(), experiment.seed)
            .reader_cpu(pins.1),
        recorded,
        is_recorded: false,
        rounds: Vec::new(),
    };
    let watch = Watch {
        progress: &mut |_| (),
        stop: &AtomicBool::new(false),
        save: None,
    };
    let outcome = run_rounds(&experiment, rounds, &mut recorder, &clock, watch)?;
    ensure!(outcome.complete, "some lists were left out");
    let mut results = Results {
        cells: outcome.cells,
        ..Results::default()
    };
    results.find(Vec::new());
    let list = |target, count, bytes| {
        let mut cells = results.cells.iter();
        let is_it = |cell: &&Cell| {
            let shape = (cell.segment_count, cell.segment_bytes);
            cell.conditions.target == target && shape == (count, Some(bytes))
        };
        times(cells.find(is_it).context("a list is missing")?, bytes)
    };
    let mut crossovers = results.crossovers.iter();
    let crossover = crossovers.find(|found| found.conditions.target == Target::Unix);
    let mut models = results.cost_models.iter();
    let model = models.find(|model| model.conditions.target == Target::Pipe);
    let host = environment.finish();
    let kernel = host.kernel.split(['-', ' ']).next().unwrap_or_default();
    for warning in &host.warnings {
        eprintln!("note: {warning}");
    }
    let (cpu, cpus) = (&host.cpu.model, host.cpu.allowed_cpus.len());
    let calls = COUNTED.map(|technique| Ok((technique, count(technique)?)));
    let sizes = BETWEEN_PAGES.map(|bytes| list(Target::Unix, SEGMENTS, bytes));
    let pipe = PIPE.map(|(count, bytes)| list(Target::Pipe, count, bytes));
    let [half_page, above_half] = [1024, 1025].map(|bytes| list(Target::Pipe, 2, bytes));
    Ok(Data {
        made_by,
        date: commands::answer(Command::new("date").args(["-u", "+%Y-%m-%d"]))?,
        machine: format!("{cpu}, {cpus} CPUs, Linux {kernel}"),
        list: LIST.to_vec(),
        calls: calls.into_iter().collect::<Result<_>>()?,
        // The first rounds find out how long a sample is.
        rounds: recorder.rounds.into_iter().skip(5).take(8).collect(),
        all_rounds: list(Target::Unix, 2, 1024)?,
        sizes: sizes.into_iter().collect::<Result<_>>()?,
        crossover: crossover.context("no crossover: take more rounds")?.clone(),
        entry_ns: measure_entry_ns(&clock),
        page_ns: 2.0 * (above_half?.floor_ns - half_page?.floor_ns),
        model: model.context("no cost model")?.model,
        pipe: pipe.into_iter().collect::<Result<_>>()?,
    })
}

/// The figures of a cell that are drawn. The cell has ratios to its leader, which is one of the two techniques.
fn times(cell: &Cell, segment_bytes: usize) -> Result<Times> {
    let of = |name| cell.technique(name).context("a technique is missing");
    let (copy, writev) = (
        of(TechniqueName::COPY_THEN_WRITE)?,
        of(TechniqueName::WRITEV)?,
    );
    let is_inverse = cell.leader == Some(TechniqueName::WRITEV);
    let behind = if is_inverse { copy } else { writev };
    let ends = behind.ratio_low.zip(behind.ratio_high);
    let (low, high) = ends.context("too few rounds for an interval")?;
    let mut ratio = (behind.ratio_to_leader, low, high);
    if is_inverse {
        ratio = (1.0 / ratio.0, 1.0 / high, 1.0 / low);
    }
    Ok(Times {
        segment_count: cell.segment_count,
        segment_bytes,
        rounds: cell.rounds,
        floor_ns: cell.floor_ns,
        copy_ns: copy.median_ns,
        writev_ns: writev.median_ns,
        ratio,
    })
}

/// Keeps the samples of one cell.
struct Recorder<S> {
    sampler: S,
    recorded: CellSpec,
    is_recorded: bool,
    rounds: Vec<Vec<(Contender, u64)>>,
}

impl<S: Sampler> Sampler for Recorder<S> {
    fn begin_cell(
        &mut self,
        cell: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        self.is_recorded = *cell == self.recorded;
        self.sampler.begin_cell(cell, techniques, drain)
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        if self.is_recorded {
            self.rounds.push(Vec::new());
        }
        self.sampler.begin_round(round)
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        let timing = self.sampler.sample(contender, calls)?;
        if let Some(round) = self.rounds.last_mut().filter(|_| self.is_recorded) {
            round.push((contender, timing.elapsed_ns));
        }
        Ok(timing)
    }

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError> {
        self.sampler.end_cell()
    }
}

/// Writes the list once by a technique.
pub fn write_list(technique: TechniqueName, path: &Path) -> Result<()> {
    let segments = LIST.map(|bytes| vec![b'x'; bytes]);
    let segments: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
    let model = CostModel::for_target(TargetKind::File);
    let mut mover = movers(Contender::Technique(technique), &model);
    mover.prepare(&segments, 0);
    Ok(mover.call(File::create(path)?.as_fd(), &segments)?)
}

/// The sizes of the entries of each call that a technique makes for the list, by strace.
fn count(technique: TechniqueName) -> Result<Vec<Vec<usize>>> {
    let folder = crate::root().join("target/steps");
    std::fs::create_dir_all(&folder)?;
    let [log, path] = ["pictures-log", "pictures-list"].map(|name| folder.join(name));
    let mut strace = Command::new("strace");
    strace
        .args(["-s0", "-v", "-P"])
        .arg(&path)
        .arg("-o")
        .arg(&log);
    strace
        .arg("-e")
        .arg("trace=write,writev,pwrite64,pwritev,pwritev2");
    strace
        .arg(std::env::current_exe()?)
        .args(["pictures", "--write-list", &technique]);
    commands::run(strace.arg(&path))?;
    let log = std::fs::read_to_string(log)?;
    log.lines()
        .filter(|line| line.contains("write"))
        .map(entries)
        .collect()
}

/// The sizes of the entries of `write(3, ""..., 17) = 17` or `writev(3, [{iov_base=""..., iov_len=17}, …], 6) = 20202`.
fn entries(line: &str) -> Result<Vec<usize>> {
    let (call, _) = line.split_once(" = ").context("a call without a result")?;
    let number = |text: &str| -> Result<usize> {
        let end = text.find(|c: char| !c.is_ascii_digit());
        Ok(text[..end.unwrap_or(text.len())].parse()?)
    };
    if call.starts_with("writev(") {
        return call.split("iov_len=").skip(1).map(number).collect();
    }
    let (_, last) = call.rsplit_once(", ").context("a call without a length")?;
    Ok(vec![number(last)?])
}
