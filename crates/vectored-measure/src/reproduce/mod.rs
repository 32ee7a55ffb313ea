//! Published experiments, repeated on this machine in interleaved repeats: `docs/experiments.md` describes them.

pub(crate) mod bench;
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

use fastrand::Rng;
use vectored_machine::host::check_room;
use vectored_machine::model::DirectoryInfo;
#[cfg(unix)]
use vectored_machine::platform::processes::Usage;
#[cfg(unix)]
use vectored_results::model::Times;
use vectored_results::model::{ExperimentName, ExperimentRow, Reproduction, Sample, Setting};
use vectored_results::report::experiments::{conclude, published};

use crate::measure::{BalancedOrder, MeasureError};
pub use crate::reproduce::bench::{Bench, EtaTracker, ReproduceProgress};
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

/// What is measured at once: one row, or several rows in turn.
pub struct Step {
    pub rows: Vec<ExperimentRow>,
    pub name: String,
    pub repeats: usize,
    /// The estimated duration of a repeat, in seconds.
    pub guess_s: f64,
}

pub type Sampler<'a> = Box<
    dyn FnMut(usize, &mut Bench<'_>, &mut Rng) -> Result<Option<Vec<Sample>>, MeasureError> + 'a,
>;

pub trait Plan {
    fn name(&self) -> ExperimentName;

    fn is_reduced(&self) -> bool;

    /// The length of all files that exist at once.
    fn file_bytes(&self) -> u64;

    fn steps(&self) -> Vec<Step>;

    /// Proves what cannot be proven in the samples, and makes the files that are read. `None` if the run was stopped.
    /// Findings are noted in the result.
    fn begin<'a>(
        &'a self,
        bench: &mut Bench<'_>,
        result: &mut Reproduction,
    ) -> Result<Option<Sampler<'a>>, MeasureError>;

    /// Checks that the files of the plan can be created in `directory`, and describes it.
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
    for (plan, steps) in std::iter::zip(plans, &all) {
        steps
            .iter()
            .for_each(|step| bench.eta.enter(plan.name(), step));
    }
    let (mut done, mut first_step) = (Vec::new(), 0);
    for (plan, steps) in std::iter::zip(plans, &all) {
        if bench.is_stopped() {
            break;
        }
        let mut result = unmeasured(plan.as_ref(), steps);
        let outcome = measure(plan.as_ref(), (steps, first_step), bench, &mut result);
        first_step += steps.len();
        conclude(&mut result);
        let is_complete = matches!(outcome, Ok(true));
        result.complete = is_complete && result.rows.iter().all(|row| row.repeats > 0);
        done.push(result);
        if let Err(error) = outcome {
            return (done, Some(error));
        }
    }
    (done, None)
}

/// An experiment before its first sample, with room for the samples of each row.
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

/// Measures the samples, without anything that is computed from them. Returns whether the measurement came to its end.
fn measure(
    plan: &dyn Plan,
    (steps, first_step): (&[Step], usize),
    bench: &mut Bench<'_>,
    result: &mut Reproduction,
) -> Result<bool, MeasureError> {
    // Checked again, since other experiments may have used the space.
    plan.check(bench.directory)?;
    let Some(mut sample) = plan.begin(bench, result)? else {
        return Ok(false);
    };
    let mut rng = Rng::with_seed(bench.seed);
    let counts: Vec<usize> = steps.iter().map(|step| step.repeats).collect();
    let first_ns = bench.clock.now_ns();
    for (repeat, step) in interleaved(&counts, &mut rng) {
        if bench.is_stopped() {
            return Ok(false);
        }
        let began_ns = bench.clock.now_ns();
        let limit_s = plan.limit_s();
        if repeat > 0 && (began_ns - first_ns) as f64 / 1e9 > limit_s {
            let note = format!("No row was repeated after {limit_s} s.");
            result.notes.push(note);
            return Ok(true);
        }
        bench.eta.begin(first_step + step);
        let Some(samples) = sample(step, bench, &mut rng)? else {
            return Ok(false);
        };
        let first: usize = steps[..step].iter().map(|step| step.rows.len()).sum();
        for (row, sample) in std::iter::zip(&mut result.rows[first..], samples) {
            row.samples[repeat] = Some(sample);
        }
        let took_ns = bench.clock.now_ns() - began_ns;
        bench.eta.end(took_ns as f64 / 1e9);
    }
    Ok(true)
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

/// Whether a step with `count` repeats takes part in a repeat: in the first and the last repeat, and in others evenly
/// between.
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
