//! A budget that is too short: the forecast before the run, and what to say after it.

use vectored::CostModel;
use vectored_report::words;
use vectored_results::model::{
    Cell, CellSpec, Experiment, FittedModel, Results, Role, Target, TechniqueResult,
};
use vectored_results::stats::MIN_ROUNDS;

use crate::interrupt::Interrupt;

/// The reason why a run is incomplete, with the remedy. `unmeasured` cells have no figures.
pub fn incomplete(results: &Results, unmeasured: usize, interrupt: &Interrupt) -> String {
    let cells = results.cells.len() + unmeasured;
    let short = results
        .cells
        .iter()
        .filter(|cell| cell.rounds < MIN_ROUNDS as u32);
    let parts = [
        (unmeasured, "no figures".to_owned()),
        (short.count(), format!("fewer than {MIN_ROUNDS} rounds")),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, what)| {
        let cells_have = match (cells, count) {
            (1, _) => "cell has",
            (_, 1) => "cells has",
            _ => "cells have",
        };
        format!("{count} of {cells} {cells_have} {what}")
    });
    let short = parts.collect::<Vec<_>>().join(", ");
    if interrupt.exit_code().is_some() {
        return format!("stopped: {short}");
    }
    let Results {
        budget_s,
        elapsed_s,
        ..
    } = results;
    let longest_s = results.cells.iter().map(round_s).fold(0.0, f64::max);
    let ended = if longest_s > *budget_s {
        format!("was exceeded: one round takes {}", seconds(longest_s))
    } else if *elapsed_s > 1.1 * budget_s {
        format!("was exceeded: the run took {}", seconds(*elapsed_s))
    } else {
        format!("ended before every cell had {MIN_ROUNDS} rounds")
    };
    format!("the budget of {budget_s} s {ended}; {short}; increase --budget")
}

/// The time of one round of a cell: two samples of the floor and one of each technique.
fn round_s(cell: &Cell) -> f64 {
    let calls = |technique: &TechniqueResult| f64::from(technique.calls_per_sample);
    let most_calls = cell.techniques.iter().map(calls).fold(0.0, f64::max);
    let techniques = cell.techniques.iter();
    let techniques_ns: f64 = techniques.map(|one| one.median_ns * calls(one)).sum();
    (2.0 * cell.floor_ns * most_calls + techniques_ns) / 1e9
}

/// `33 s`, `0.12 s`, `3.0 ms`.
fn seconds(s: f64) -> String {
    match s {
        _ if s >= 10.0 => format!("{s:.0} s"),
        _ if s >= 1.0 => format!("{s:.1} s"),
        _ if s >= 0.1 => format!("{s:.2} s"),
        _ => format!("{:.1} ms", s * 1e3),
    }
}

/// The costs that a forecast is based on.
pub struct Costs {
    call_ns: f64,
    byte_ns: f64,
    copy_byte_ns: f64,
}

impl From<CostModel> for Costs {
    fn from(model: CostModel) -> Self {
        Costs {
            call_ns: model.call_ns,
            byte_ns: model.byte_ns,
            copy_byte_ns: model.copy_byte_ns,
        }
    }
}

/// The costs calibrated for the target of the cell, or the library's default.
pub fn costs_of(cell: &CellSpec, models: &[FittedModel]) -> Costs {
    let is_here = |model: &&FittedModel| {
        let (on, asked) = (&model.conditions, &cell.conditions);
        (on.target, &on.path) == (asked.target, &asked.path)
    };
    match models.iter().find(is_here) {
        Some(model) => model.model.into(),
        None => CostModel::default().into(),
    }
}

/// A note on the cell whose first round is expected to exceed the whole budget, if there is one. Every
/// technique moves the list twice on trial and once in the round, and the floor twice.
pub fn forecast(experiment: &Experiment, costs: impl Fn(&CellSpec) -> Costs) -> Option<String> {
    let budget_s = experiment.budget_ns as f64 / 1e9;
    let round_s = |cell: &CellSpec| {
        let Costs {
            call_ns,
            byte_ns,
            copy_byte_ns,
        } = costs(cell);
        let bytes = cell.workload.total_bytes() as f64;
        // A list that does not fit a socket, or is too long for a pipe that nobody reads, waits for a thread at the other
        // end: a call then costs three times, and a byte six times as much.
        let has_thread = match cell.conditions.target {
            Target::Pipe | Target::Fifo => bytes > 12_288.0,
            target => !target.is_file() && target != Target::Null && bytes > 65_536.0,
        };
        let (call_ns, byte_ns) =
            if has_thread { (3.0 * call_ns, 6.0 * byte_ns) } else { (call_ns, byte_ns) };
        let count = cell.workload.segment_count() as f64;
        let techniques = experiment.rivals.iter().chain(&experiment.unranked);
        let techniques_ns: f64 = techniques
            .map(|technique| match technique.role() {
                Role::Each => count * call_ns,
                Role::Copy => bytes * copy_byte_ns,
                _ => call_ns,
            })
            .map(|own_ns| own_ns + bytes * byte_ns)
            .sum();
        let round_ns = 3.0 * techniques_ns + 2.0 * (call_ns + bytes * byte_ns);
        // A sample has at least as many calls as fill the queue four times.
        let calls = match cell.conditions.queue_depth {
            0 | 1 => 1.0,
            depth => 4.0 * f64::from(depth) - 1.0,
        };
        let writers = f64::from(cell.conditions.writers.unwrap_or(1));
        round_ns * calls * writers / 1e9
    };
    let (longest_s, cell) = experiment
        .cells
        .iter()
        .map(|cell| (round_s(cell), cell))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (longest_s > budget_s).then(|| {
        format!(
            "one round of {} on {}, with the trial calls before it, is expected to take {} or \
             more: the run will exceed its budget of {budget_s} s; increase --budget, or use \
             shorter lists",
            words::list(&cell.workload.runs()),
            cell.conditions.target,
            seconds(longest_s)
        )
    })
}
