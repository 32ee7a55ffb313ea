//! The message after a run whose budget was too short.

use vectored_results::model::Results;
use vectored_results::stats::MIN_ROUNDS;

use crate::interrupt::Interrupt;

/// The smallest fraction of time without a CPU that the message reports.
const TOLD_CPU_WAIT: f64 = 0.1;

/// Returns the reason for an incomplete run, and the remedy. `unmeasured` is the number of cells without figures.
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
    let busy = results
        .host
        .cpu_wait_share
        .filter(|share| *share >= TOLD_CPU_WAIT);
    let busy = busy.map_or(String::new(), |share| {
        format!(
            "; for {:.0} % of the time this program had no CPU: stop other programs",
            share * 100.0
        )
    });
    // The proposed budget has a reserve of 20 % and is rounded up to 10 s.
    let next_s = (needed_ns as f64 * 1.2 / 1e10).ceil() * 10.0;
    format!(
        "the budget of {} s ended before every cell had {MIN_ROUNDS} rounds; {short}{busy}; use --budget {next_s}s",
        results.budget_s
    )
}
