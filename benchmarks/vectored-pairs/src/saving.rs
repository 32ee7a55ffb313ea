//! Measures the time that the advised change saves.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use vectored_results::stats::median;

use crate::catalogue::Pair;
use crate::invocation::Version;
use crate::sandbox::Sandbox;

/// Wall times of a pair, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredSaving {
    /// The median of the version before the change.
    pub before_s: f64,
    /// The median of the version after it.
    pub after_s: f64,
    /// The median of the differences within a round.
    pub saving_s: f64,
    /// The lower end of its 95 % interval.
    pub saving_low_s: f64,
    /// The upper end of its 95 % interval.
    pub saving_high_s: f64,
}

/// Runs both versions in each round, in alternating order. `between` is called after each round.
///
/// # Errors
///
/// If a program fails, or if the versions write different bytes in the first round.
pub fn time_in_turns(
    sandbox: &Sandbox,
    pair: &Pair,
    program: &Path,
    rounds: usize,
    mut between: impl FnMut() -> Result<()>,
) -> Result<MeasuredSaving> {
    let mut times = Vec::with_capacity(rounds);
    let mut outputs = Vec::new();
    for round in 0..rounds {
        let mut order = Version::BOTH;
        if round % 2 == 1 {
            order.reverse();
        }
        let mut seconds = [0.0; 2];
        for version in order {
            if pair.input.changes() || times.is_empty() {
                sandbox.prepare(pair, pair.count)?;
            }
            seconds[version as usize] = run(sandbox, program, version, pair.count)?;
            let output = sandbox.take_output()?;
            if round == 0 {
                outputs.push(output);
            }
        }
        times.push(seconds);
        between()?;
    }
    if outputs.first() != outputs.last() {
        bail!("{} writes other bytes after the change", program.display());
    }
    summary(&times).context("there was no round")
}

fn run(sandbox: &Sandbox, program: &Path, version: Version, count: u64) -> Result<f64> {
    let mut command = sandbox.command(program, version, count);
    let began = Instant::now();
    let status = command.status();
    let seconds = began.elapsed().as_secs_f64();
    match status {
        Ok(status) if status.success() => Ok(seconds),
        Ok(status) => bail!("{command:?} ended with {status}"),
        Err(error) => Err(error).with_context(|| format!("cannot run {command:?}")),
    }
}

/// Summarizes the times of each round, before and after, in seconds.
fn summary(times: &[[f64; 2]]) -> Option<MeasuredSaving> {
    let column = |of: fn(&[f64; 2]) -> f64| times.iter().map(of).collect::<Vec<f64>>();
    let mut savings = column(|[before, after]| before - after);
    savings.sort_unstable_by(f64::total_cmp);
    let rank = interval_rank(savings.len());
    Some(MeasuredSaving {
        before_s: median(&column(|[before, _]| *before))?,
        after_s: median(&column(|[_, after]| *after))?,
        saving_s: median(&savings)?,
        saving_low_s: savings[rank],
        saving_high_s: savings[savings.len() - 1 - rank],
    })
}

/// The rank, counted from 0, of two values of `n` that lie equally far from the ends. They enclose the median with a
/// probability of at least 95 %. The probability is 1 − 2 P(Bin(n, ½) ≤ rank) (H. A. David, *Order Statistics*, 2.5).
fn interval_rank(n: usize) -> usize {
    let mut term = 0.5_f64.powf(n as f64);
    let mut tail = term;
    for rank in 0..n / 2 {
        term *= (n - rank) as f64 / (rank + 1) as f64;
        tail += term;
        if tail > 0.025 {
            return rank;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saving_is_the_median_of_the_savings_of_the_rounds() {
        let times: Vec<[f64; 2]> = (0..11).map(|n| [2.0 + f64::from(n), 1.0]).collect();
        let measured = summary(&times).unwrap();
        assert_eq!(measured.saving_s, 6.0);
        assert_eq!((measured.before_s, measured.after_s), (7.0, 1.0));
        // The second smallest and the second largest of eleven, a 98.8 % interval.
        assert_eq!((measured.saving_low_s, measured.saving_high_s), (2.0, 10.0));
        assert!(summary(&[]).is_none());
    }
}
