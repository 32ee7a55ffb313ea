//! How much faster the second version is.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use vectored_lab::stats::{INTERVAL_LEVEL, interval_rank, median};

use crate::{Pair, Version, Workshop};

/// Wall times, in s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The median of the first version.
    pub before_s: f64,
    /// The median of the second one.
    pub after_s: f64,
    /// The median of the difference within a round.
    pub saving_s: f64,
    /// Its interval of 95 %: lower end.
    pub saving_low_s: f64,
    /// Its interval of 95 %: upper end.
    pub saving_high_s: f64,
}

/// Runs both versions in turns, in rounds; each round begins with the other one. `between` is
/// called after each round.
///
/// # Errors
///
/// When a program fails, or the versions did not write the same bytes in the first round.
pub fn time_in_turns(
    workshop: &Workshop,
    pair: &Pair,
    program: &Path,
    rounds: usize,
    mut between: impl FnMut() -> Result<()>,
) -> Result<Measured> {
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
                workshop.prepare(pair, pair.count)?;
            }
            seconds[version as usize] = run(workshop, program, version, pair.count)?;
            let output = workshop.take_output()?;
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

fn run(workshop: &Workshop, program: &Path, version: Version, count: u64) -> Result<f64> {
    let mut command = workshop.command(program, version, count);
    let began = Instant::now();
    let status = command.status();
    let seconds = began.elapsed().as_secs_f64();
    match status {
        Ok(status) if status.success() => Ok(seconds),
        Ok(status) => bail!("{command:?} ended with {status}"),
        Err(error) => Err(error).with_context(|| format!("cannot run {command:?}")),
    }
}

/// From the times of each round, before and after, in s.
fn summary(times: &[[f64; 2]]) -> Option<Measured> {
    let column = |of: fn(&[f64; 2]) -> f64| times.iter().map(of).collect::<Vec<f64>>();
    let mut savings = column(|[before, after]| before - after);
    savings.sort_unstable_by(f64::total_cmp);
    let rank = interval_rank(savings.len(), INTERVAL_LEVEL);
    Some(Measured {
        before_s: median(&column(|[before, _]| *before))?,
        after_s: median(&column(|[_, after]| *after))?,
        saving_s: median(&savings)?,
        saving_low_s: savings[rank],
        saving_high_s: savings[savings.len() - 1 - rank],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saving_is_the_median_of_what_each_round_saved() {
        let times: Vec<[f64; 2]> = (0..11).map(|n| [2.0 + f64::from(n), 1.0]).collect();
        let measured = summary(&times).unwrap();
        assert_eq!(measured.saving_s, 6.0);
        assert_eq!((measured.before_s, measured.after_s), (7.0, 1.0));
        // The second smallest and largest of eleven: 98.8 %.
        assert_eq!((measured.saving_low_s, measured.saving_high_s), (2.0, 10.0));
        assert!(summary(&[]).is_none());
    }
}
