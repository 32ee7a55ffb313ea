//! Measures the cells by the engine of `vectored measure`, with the peers as further techniques.

use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime};

use vectored::CostModel;
use vectored_machine::MonotonicClock;
use vectored_machine::host::{Environment, Pinning, allowed_cpus, pin_measuring_thread};
use vectored_measure::measure::{
    ColdPool, DescriptorSampler, MeasureError, Outcome, Watch, calibrate, check_directory,
    measure_timer, run_rounds,
};
use vectored_results::model::{
    Cache, CellSpec, Experiment, FittedModel, LeftOut, Results, SCHEMA, TechniqueName,
};
use vectored_results::stats::target_kind;

use crate::args::Options;
use crate::bench_target::BenchTarget;
use crate::grid::{Part, parts};
use crate::peers::Peers;
use crate::techniques::{ADAPTIVES, BY_HAND, CONTROL};

/// Receives the progress of a run.
pub trait Listener {
    /// A line of progress.
    fn note(&mut self, line: &str);

    /// An error. The run continues with other cells.
    fn error(&mut self, line: &str);

    /// All results so far, to be saved.
    fn results(&mut self, results: &Results);
}

/// Measures the cells of `options`. Incomplete results are marked as such.
///
/// # Errors
///
/// If nothing can be measured. If only a part of the cells fails, `listener` is notified and the others are
/// measured.
pub fn measure(options: &Options, listener: &mut dyn Listener) -> Result<Results, String> {
    let began = Instant::now();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let parts = parts(&options.wanted);
    if parts.is_empty() {
        return Err("no cell has a name that contains a FILTER: see --list".to_owned());
    }
    let here = Path::new(".");
    let directory = check_directory(here, BenchTarget::FileOverwrite.measured_target(), 0)
        .map_err(|error| error.to_string())?;
    // The allowed CPUs are asked for before this thread is pinned to one of them.
    let allowed = allowed_cpus();
    let pins = pin_measuring_thread(Pinning::Current)
        .map_err(|error| format!("cannot stay on one CPU: {error}"))?;
    let environment = Environment::capture(Some(directory), pins, allowed);
    let clock = MonotonicClock;
    let timer =
        measure_timer(&clock).map_err(|error| format!("cannot measure the clock: {error}"))?;
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
        timer,
        ..Results::default()
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
    /// The peers that are asked for and available. Reports the others.
    fn measured_peers(&mut self) -> Vec<TechniqueName> {
        let mut here = Vec::new();
        for &technique in &self.options.peers {
            match self.peers.missing(technique) {
                None => here.push(technique),
                Some(reason) => self.listener.note(&format!("not measured: {reason}")),
            }
        }
        here
    }

    /// Makes as many fresh calibrations as are asked for.
    fn calibrate(&mut self, target: BenchTarget, fitted: &mut Vec<FittedModel>) -> Vec<CostModel> {
        let directory = Path::new(target.path().unwrap_or("."));
        let default = CostModel::for_target(target_kind(target.measured_target()));
        let mut models = Vec::new();
        for _ in 0..self.options.calibrations {
            models.push(match calibrate(target.measured_target(), None, directory) {
                Ok(Some(mut model)) => {
                    model.conditions.path = target.path().map(str::to_owned);
                    fitted.push(model.clone());
                    model.model
                }
                Ok(None) => default,
                Err(error) => {
                    self.listener.note(&format!(
                        "cannot calibrate on {target}, so adaptive uses the default model: {error}"
                    ));
                    default
                }
            });
        }
        models
    }

    /// Measures some cells of a part. An error is reported, and the outcome has the rounds before it.
    fn part(
        &mut self,
        part: &Part,
        cells: &[CellSpec],
        peers: &[TechniqueName],
        models: &[CostModel],
    ) -> Outcome {
        let is_controlled = part.target.is_stream() && part.cache == Cache::Hot;
        let control = is_controlled.then_some(CONTROL);
        let experiment = Experiment {
            cells: cells.to_vec(),
            rivals: BY_HAND.to_vec(),
            unranked: [&ADAPTIVES[..models.len()], control.as_slice(), peers].concat(),
            refine: false,
            budget_ns: u64::MAX,
            seed: self.options.seed,
        };
        let (all_peers, models) = (Rc::clone(&self.peers), models.to_vec());
        let mut sampler = DescriptorSampler::new(&self.clock, Path::new("."), self.options.seed);
        sampler.reader_cpu = self.reader_cpu;
        sampler.make_mover = Box::new(move |contender, _| all_peers.mover(contender, &models));
        let stop = AtomicBool::new(false);
        let watch = Watch {
            progress: &mut |_| (),
            stop: &stop,
            save: None,
        };
        let rounds = self.options.rounds;
        let outcome = match run_rounds(&experiment, rounds, &mut sampler, &self.clock, watch) {
            Ok(mut outcome) => {
                // The engine would expect more rounds than may have been asked for.
                outcome.complete = outcome.cells.iter().all(|cell| cell.rounds >= rounds);
                outcome
            }
            Err(failed) => {
                self.listener.error(&failed.error.to_string());
                match failed.error {
                    // Figures of a technique that moved wrong bytes mean nothing.
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

/// Checks that files can be made on the target, and that a tmpfs is one.
fn usable(target: BenchTarget) -> Result<(), String> {
    let Some(path) = target.path() else {
        return Ok(());
    };
    let described = check_directory(Path::new(path), target.measured_target(), 0);
    let described = described.map_err(|error| format!("{target}: {error}"))?;
    match described.file_system.as_str() {
        "tmpfs" => Ok(()),
        other => Err(format!(
            "{target}: '{path}' is on {other}; mount a tmpfs there"
        )),
    }
}

fn all_left_out<'p>(part: &'p Part, reason: &'p str) -> impl Iterator<Item = LeftOut> + 'p {
    let cells = part.with_peers.iter().chain(&part.without_peers);
    cells.map(|spec| LeftOut {
        conditions: spec.conditions.clone(),
        segment_sizes: spec.workload.runs(),
        reason: reason.to_owned(),
    })
}

/// The estimated wall time of a part, in seconds.
///
/// From runs on one machine: a sample takes some 75 µs, and the work around it about as long. A list with
/// many bytes takes longer for both.
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
