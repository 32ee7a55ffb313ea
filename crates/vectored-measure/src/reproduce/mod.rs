//! Published experiments, repeated on this machine in interleaved repeats: `docs/experiments.md` describes them.

#[cfg(unix)]
pub(crate) mod content;
#[cfg(target_os = "linux")]
pub(crate) mod copies;
#[cfg(target_os = "linux")]
pub(crate) mod copy_program;
#[cfg(unix)]
pub(crate) mod lists;
#[cfg(unix)]
pub(crate) mod passes;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;
use vectored_machine::Clock;
use vectored_machine::host::check_room;
use vectored_machine::model::DirectoryInfo;
#[cfg(unix)]
use vectored_machine::platform::processes::Usage;
#[cfg(unix)]
use vectored_results::model::Times;
use vectored_results::model::{ExperimentName, ExperimentRow, Reproduction, Sample, Setting};
use vectored_results::report::experiments::{conclude, published};

use crate::measure::{BalancedOrder, MeasureError};
#[cfg(target_os = "linux")]
pub use crate::reproduce::copies::CopyPlan;
#[cfg(target_os = "linux")]
pub use crate::reproduce::copy_program::{BUFFER, CopyProgram, INPUT, OUTPUT};
#[cfg(unix)]
pub use crate::reproduce::lists::ListPlan;
#[cfg(unix)]
pub use crate::reproduce::passes::PassPlan;
#[cfg(unix)]
pub use crate::sys::stdio::copy_characters;

/// Repeats of every row. The smallest and the largest of seven independent repeats enclose the median with a probability of
/// 1 − 2 ÷ 2⁷, 98.4 %.
pub const REPEATS: usize = 7;

/// The destination of the copies of `apue-3.5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// `/dev/null`, as in the book.
    Null,
    /// An unnamed file in this directory, or in the directory of the input files if `None`.
    File(Option<PathBuf>),
    /// A pipe that a thread reads.
    Pipe,
}

/// The environment of a run of experiments.
pub struct Bench<'a> {
    pub clock: &'a dyn Clock,
    pub directory: &'a Path,
    /// The program `vectored`, whose `copy` runs as a child process.
    pub program: &'a Path,
    pub reader_cpu: Option<usize>,
    pub seed: u64,
    /// Called before each sample.
    pub on_progress: &'a mut dyn FnMut(&ReproduceProgress),
    /// When this becomes true, the run ends and keeps the samples so far.
    pub stop: &'a AtomicBool,
}

impl Bench<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn go_on(&self) -> Result<(), MeasureError> {
        if self.is_stopped() { Err(MeasureError::Stopped) } else { Ok(()) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReproduceProgress {
    pub experiment: ExperimentName,
    pub step: String,
    /// The number of samples that have been taken, of all experiments.
    pub done: usize,
    pub samples: usize,
}

/// What is measured at once: one row, or several rows in turn.
pub struct Step {
    pub rows: Vec<ExperimentRow>,
    pub name: String,
    pub repeats: usize,
}

pub type Sampler<'a> =
    Box<dyn FnMut(usize, &mut Bench<'_>, &mut Rng) -> Result<Vec<Sample>, MeasureError> + 'a>;

pub trait Plan {
    fn name(&self) -> ExperimentName;

    fn is_reduced(&self) -> bool;

    /// The total length of all files that exist at the same time.
    fn file_bytes(&self) -> u64;

    fn steps(&self) -> Vec<Step>;

    /// Proves what cannot be proven in the samples, and makes the files that are read. Findings are noted in the result.
    fn begin<'a>(
        &'a self,
        bench: &mut Bench<'_>,
        result: &mut Reproduction,
    ) -> Result<Sampler<'a>, MeasureError>;

    fn check(&self, directory: &Path) -> Result<DirectoryInfo, MeasureError> {
        check_room(directory, self.file_bytes()).map_err(MeasureError::Directory)
    }

    /// The time in seconds after which no row is repeated.
    fn limit_s(&self) -> f64 {
        f64::INFINITY
    }
}

/// Runs the experiments one after the other. An error ends the run; the result has everything measured before it.
pub fn run(
    plans: &[Box<dyn Plan>],
    bench: &mut Bench<'_>,
) -> (Vec<Reproduction>, Option<MeasureError>) {
    let all: Vec<Vec<Step>> = plans.iter().map(|plan| plan.steps()).collect();
    let samples = all.iter().flatten().map(|step| step.repeats).sum();
    let (mut results, mut done) = (Vec::new(), 0);
    for (plan, steps) in std::iter::zip(plans, &all) {
        if bench.is_stopped() {
            break;
        }
        let mut result = unmeasured(plan.as_ref(), steps);
        let counts = (&mut done, samples);
        let outcome = measure(plan.as_ref(), steps, bench, &mut result, counts);
        conclude(&mut result);
        result.complete = outcome.is_ok() && result.rows.iter().all(|row| row.repeats > 0);
        results.push(result);
        match outcome {
            Ok(()) | Err(MeasureError::Stopped) => {}
            Err(error) => return (results, Some(error)),
        }
    }
    (results, None)
}

fn unmeasured(plan: &dyn Plan, steps: &[Step]) -> Reproduction {
    let repeats = steps.iter().map(|step| step.repeats).max().unwrap_or(0);
    let rows = steps.iter().flat_map(|step| step.rows.clone());
    Reproduction {
        name: plan.name(),
        reduced: plan.is_reduced(),
        setting: Setting {
            repeats,
            ..Setting::default()
        },
        rows: rows
            .map(|row| ExperimentRow {
                samples: vec![None; repeats],
                ..row
            })
            .collect(),
        published: published(plan.name()),
        ..Reproduction::default()
    }
}

/// Measures the samples, without anything that is computed from them. `counts` are the numbers of samples of all
/// experiments: taken so far, and in total.
fn measure(
    plan: &dyn Plan,
    steps: &[Step],
    bench: &mut Bench<'_>,
    result: &mut Reproduction,
    (done, samples): (&mut usize, usize),
) -> Result<(), MeasureError> {
    // The plan is checked again, since other experiments may have used the space.
    plan.check(bench.directory)?;
    let mut sample = plan.begin(bench, result)?;
    let mut rng = Rng::with_seed(bench.seed);
    let counts: Vec<usize> = steps.iter().map(|step| step.repeats).collect();
    let first_ns = bench.clock.now_ns();
    for (repeat, step) in interleaved(&counts, &mut rng) {
        bench.go_on()?;
        let limit_s = plan.limit_s();
        if repeat > 0 && (bench.clock.now_ns() - first_ns) as f64 / 1e9 > limit_s {
            let note = format!("No row was repeated after {limit_s} s.");
            result.notes.push(note);
            return Ok(());
        }
        (bench.on_progress)(&ReproduceProgress {
            experiment: plan.name(),
            step: steps[step].name.clone(),
            done: *done,
            samples,
        });
        let first: usize = steps[..step].iter().map(|step| step.rows.len()).sum();
        let taken = sample(step, bench, &mut rng)?;
        for (row, sample) in std::iter::zip(&mut result.rows[first..], taken) {
            row.samples[repeat] = Some(sample);
        }
        *done += 1;
    }
    Ok(())
}

/// The order in which steps are measured, as `(repeat, step)`.
///
/// Every repeat takes the steps in another order, so that changes over time, and the effects of a step on the next, are
/// spread over all steps. `counts` has the repeats of each step; the repeats of a step with fewer repeats are spread over
/// the whole run.
fn interleaved(counts: &[usize], rng: &mut Rng) -> Vec<(usize, usize)> {
    let repeats = counts.iter().copied().max().unwrap_or(0);
    let mut orders = BalancedOrder::new(counts.len());
    let mut all = Vec::new();
    for repeat in 0..repeats {
        let order = orders.next(rng).into_iter();
        let taking_part = order.filter(|&step| takes_part(repeat, repeats, counts[step]));
        all.extend(taking_part.map(|step| (repeat, step)));
    }
    all
}

/// Whether a step with `count` repeats takes part in a repeat. A step takes part in the first repeat, in the last repeat,
/// and in repeats spread evenly between these two.
fn takes_part(repeat: usize, repeats: usize, count: usize) -> bool {
    match count {
        0 => false,
        1 => repeat == 0,
        _ => (0..count).any(|index| index * (repeats - 1) / (count - 1) == repeat),
    }
}

#[cfg(unix)]
fn times(used: Usage, clock_s: f64) -> Times {
    Times {
        user_s: Some(used.user_s),
        system_s: Some(used.system_s),
        cpu_s: Some(used.user_s + used.system_s),
        clock_s: Some(clock_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repeats_of_every_step_are_spread_over_the_run_in_changing_order() {
        let all = interleaved(&[7, 3, 7, 1], &mut Rng::with_seed(1));
        let repeats_of = |wanted| -> Vec<usize> {
            let of_step = all.iter().filter(|(_, step)| *step == wanted);
            of_step.map(|(repeat, _)| *repeat).collect()
        };
        assert_eq!(repeats_of(0), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(repeats_of(1), [0, 3, 6]);
        assert_eq!(repeats_of(3), [0]);
        assert!(all.is_sorted_by_key(|(repeat, _)| *repeat));
        let all = interleaved(&[7; 5], &mut Rng::with_seed(1));
        let orders: Vec<Vec<usize>> = all
            .chunks(5)
            .map(|repeat| repeat.iter().map(|(_, step)| *step).collect())
            .collect();
        assert!(orders.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
