//! Measures the cells: the lab's engine, with the peers as further techniques.

use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime};

use vectored::CostModel;
use vectored_lab::measure::{
    ColdPool, DescriptorSampler, Environment, MeasureError, MonotonicClock, Outcome, Pinning,
    Watch, allowed_cpus, calibrate, check_directory, measure_ruler, pin_measuring_thread,
    run_rounds,
};
use vectored_lab::model::{
    Cache, CellSpec, Experiment, FittedModel, LeftOut, Results, SCHEMA, Technique,
};
use vectored_lab::stats::target_kind;

use crate::args::Options;
use crate::bench_target::BenchTarget;
use crate::grid::{Part, parts};
use crate::peers::{ADAPTIVES, Peers};

/// The techniques that a program writes by hand.
pub const BY_HAND: [Technique; 3] = [
    Technique::WriteEach,
    Technique::CopyThenWrite,
    Technique::Writev,
];

/// What is measured once more, as a control: where a reader runs on another CPU,
/// the same calls take one time or another by who falls asleep.
pub const CONTROL: Technique = Technique::WriteEachAgain;

/// What a run tells while it goes on.
pub trait Listener {
    /// A line for whoever waits.
    fn note(&mut self, line: &str);

    /// What went wrong; the run goes on with other cells.
    fn error(&mut self, line: &str);

    /// All that there is by now, to be saved.
    fn results(&mut self, results: &Results);
}

/// Measures what `options` ask for. The results are complete or say what is
/// missing.
///
/// # Errors
///
/// What makes measuring impossible at all, and what to do about it. A part of
/// the cells that fails is told instead, and the others are measured.
pub fn measure(options: &Options, listener: &mut dyn Listener) -> Result<Results, String> {
    let began = Instant::now();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let parts = parts(&options.wanted);
    if parts.is_empty() {
        return Err("no cell has such a name: see --list".to_owned());
    }
    let here = Path::new(".");
    let directory = check_directory(here, BenchTarget::FileOverwrite.lab_target(), 0)
        .map_err(|error| error.to_string())?;
    // Before this thread is left with one of them.
    let allowed = allowed_cpus();
    let pins = pin_measuring_thread(Pinning::Current)
        .map_err(|error| format!("cannot stay on one CPU: {error}"))?;
    let environment = Environment::capture(Some(directory), pins, allowed);
    let clock = MonotonicClock;
    let ruler =
        measure_ruler(&clock).map_err(|error| format!("cannot measure the clock: {error}"))?;
    let peers = Peers::find(&options.peers)
        .map_err(|error| format!("cannot make a tokio runtime: {error}"))?;
    let mut run = Run {
        options,
        listener,
        peers: Rc::new(peers),
        clock,
        reader_cpu: pins.1,
    };
    let mut results = Results {
        schema: SCHEMA.to_owned(),
        complete: true,
        vectored_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        elapsed_s: 0.0,
        budget_s: 0.0,
        seed: options.seed,
        rivals: BY_HAND.to_vec(),
        host: Default::default(),
        ruler,
        cells: Vec::new(),
        refined_cells: Vec::new(),
        crossovers: Vec::new(),
        cost_models: Vec::new(),
        advice: Vec::new(),
        left_out: Vec::new(),
    };
    let measured = run.measured_peers();
    let mut target: Option<(BenchTarget, Vec<CostModel>)> = None;
    for part in &parts {
        results.left_out.extend(part.left_out.iter().cloned());
        if let Err(reason) = usable(part.target) {
            run.listener.note(&format!("not measured: {reason}"));
            results.left_out.extend(all_left_out(part, &reason));
            results.complete = false;
            continue;
        }
        let models = match target.take() {
            Some((same, models)) if same == part.target => models,
            _ => run.calibrate(part.target, &mut results.cost_models),
        };
        target = Some((part.target, models.clone()));
        for (cells, peers) in [
            (&part.with_peers, &measured[..]),
            (&part.without_peers, &[][..]),
        ] {
            if cells.is_empty() {
                continue;
            }
            let outcome = run.part(part, cells, peers, &models);
            results.complete &= outcome.complete;
            results.cells.extend(outcome.cells);
            results.left_out.extend(outcome.left_out);
            results.elapsed_s = (began.elapsed().as_secs_f64() * 1e3).round() / 1e3;
            results.budget_s = results.elapsed_s;
            run.listener.results(&results);
        }
    }
    results.host = environment.finish();
    results
        .host
        .warnings
        .extend(ColdPool::of_this_machine().warning());
    listener.results(&results);
    Ok(results)
}

struct Run<'r> {
    options: &'r Options,
    listener: &'r mut dyn Listener,
    peers: Rc<Peers>,
    clock: MonotonicClock,
    reader_cpu: Option<usize>,
}

impl Run<'_> {
    /// The peers that are asked for and here; the others are named.
    fn measured_peers(&mut self) -> Vec<Technique> {
        let mut here = Vec::new();
        for &technique in &self.options.peers {
            match self.peers.missing(technique) {
                None => here.push(technique),
                Some(reason) => self.listener.note(&format!("not measured: {reason}")),
            }
        }
        here
    }

    /// As many fresh calibrations in a row as are asked for.
    fn calibrate(&mut self, target: BenchTarget, fitted: &mut Vec<FittedModel>) -> Vec<CostModel> {
        let directory = target.path().unwrap_or_else(|| ".".into());
        let default = CostModel::default_for(target_kind(target.lab_target()));
        let mut models = Vec::new();
        for _ in 0..self.options.calibrations {
            models.push(match calibrate(target.lab_target(), None, &directory) {
                Ok(Some(mut model)) => {
                    model.conditions.path = target.path().map(|path| path.display().to_string());
                    fitted.push(model.clone());
                    model.model()
                }
                Ok(None) => default,
                Err(error) => {
                    self.listener.note(&format!(
                        "cannot calibrate on {target}, adaptive works with defaults: {error}"
                    ));
                    default
                }
            });
        }
        models
    }

    /// Some cells of a part. What goes wrong is told, and the outcome has what
    /// there was before.
    fn part(
        &mut self,
        part: &Part,
        cells: &[CellSpec],
        peers: &[Technique],
        models: &[CostModel],
    ) -> Outcome {
        let is_controlled = part.target.is_stream() && part.cache == Cache::Hot;
        let control = is_controlled.then_some(CONTROL);
        let experiment = Experiment {
            cells: cells.to_vec(),
            rivals: BY_HAND.to_vec(),
            beside: [&ADAPTIVES[..models.len()], control.as_slice(), peers].concat(),
            refine: false,
            budget_ns: u64::MAX,
            seed: self.options.seed,
        };
        let (all_peers, models) = (Rc::clone(&self.peers), models.to_vec());
        let mut sampler = DescriptorSampler::new(&self.clock, Path::new("."), self.options.seed)
            .reader_cpu(self.reader_cpu)
            .with_movers(move |contender, _| all_peers.mover(contender, &models));
        let stop = AtomicBool::new(false);
        let watch = Watch {
            progress: &mut |_| (),
            stop: &stop,
        };
        let rounds = self.options.rounds;
        let outcome = match run_rounds(&experiment, rounds, &mut sampler, &self.clock, watch) {
            Ok(mut outcome) => {
                // A few rounds are enough where a few are asked for.
                outcome.complete = outcome.cells.iter().all(|cell| cell.rounds >= rounds);
                outcome
            }
            Err(failed) => {
                self.listener.error(&failed.error.to_string());
                match failed.error {
                    // Where a technique moved wrong bytes its figures mean nothing.
                    MeasureError::WrongBytes { .. } => Outcome {
                        elapsed_ns: failed.outcome.elapsed_ns,
                        ..Outcome::default()
                    },
                    _ => *failed.outcome,
                }
            }
        };
        self.listener.note(&format!(
            "{} {}: {} of {} cells, {} techniques, {:.1} s",
            part.target,
            part.cache.name(),
            outcome.cells.len(),
            cells.len(),
            experiment.techniques().len(),
            outcome.elapsed_ns as f64 / 1e9
        ));
        outcome
    }
}

/// Whether files can be made there, and it is what it is called.
fn usable(target: BenchTarget) -> Result<(), String> {
    let Some(path) = target.path() else {
        return Ok(());
    };
    let described = check_directory(&path, target.lab_target(), 0);
    let described = described.map_err(|error| format!("{target}: {error}"))?;
    match described.file_system.as_str() {
        "tmpfs" => Ok(()),
        other => Err(format!(
            "{target}: '{}' is on {other}; mount a tmpfs there",
            path.display()
        )),
    }
}

fn all_left_out<'p>(part: &'p Part, reason: &'p str) -> impl Iterator<Item = LeftOut> + 'p {
    let cells = part.with_peers.iter().chain(&part.without_peers);
    cells.map(|spec| LeftOut {
        target: spec.target,
        path: spec.path.as_ref().map(|path| path.display().to_string()),
        segment_sizes: spec.workload.runs(),
        reason: reason.to_owned(),
    })
}

/// The wall time that the cells of a part will take about, in seconds.
///
/// From runs on one machine: a sample takes some 75 µs, and about as long
/// before and after it; where a single call takes longer, so does all else.
pub fn estimated_s(part: &Part, rounds: u32, adaptives: usize, peers: usize) -> f64 {
    let cells = |cells: &[CellSpec], techniques: usize| -> f64 {
        cells.iter().map(|cell| cell_s(cell, techniques)).sum()
    };
    let own = 2 + BY_HAND.len() + adaptives;
    let round_s = cells(&part.with_peers, own + peers) + cells(&part.without_peers, own);
    f64::from(rounds) * round_s
}

fn cell_s(cell: &CellSpec, techniques: usize) -> f64 {
    const SAMPLE_S: f64 = 75e-6;
    let call_s = 0.4e-9 * cell.workload.total_bytes() as f64;
    techniques as f64 * (2.0 * SAMPLE_S + 3.0 * call_s)
}
