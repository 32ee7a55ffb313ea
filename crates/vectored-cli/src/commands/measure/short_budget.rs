//! A budget that was too short: what is said after the run.

use vectored_results::model::{Cell, Results, TechniqueResult};
use vectored_results::stats::MIN_ROUNDS;

use crate::interrupt::Interrupt;
use crate::progress::SHOWN_CPU_WAIT;

/// The reason why a run is incomplete, with the remedy. `unmeasured` cells have no figures.
pub fn incomplete(
    results: &Results,
    (unmeasured, needed_ns): (usize, u64),
    interrupt: &Interrupt,
) -> String {
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
    let cpu_wait = results
        .host
        .cpu_wait_share
        .filter(|share| *share >= SHOWN_CPU_WAIT);
    let busy = cpu_wait.map_or(String::new(), |share| {
        format!(
            "; for {:.0} % of the time this program had no CPU: stop other programs",
            share * 100.0
        )
    });
    // With a fifth more, in steps of 10 s.
    let next_s = (needed_ns as f64 * 1.2 / 1e10).ceil() * 10.0;
    format!("the budget of {budget_s} s {ended}; {short}{busy}; use --budget {next_s}s")
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
