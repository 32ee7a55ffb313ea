//! Compares the savings that `vectored advise` predicts with the measured ones.
//!
//! `cargo xtask pairs [--rounds 11] [--only NAME] [--directory DIRECTORY]`, on an
//! idle machine with strace. `--test` runs one round of each pair.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vectored_advise::advisor::Saving;
use vectored_machine::MonotonicClock;
use vectored_measure::measure::measure_prices;
use vectored_pairs::{
    PAIRS, Pair, Row, Sandbox, prediction, strace_unavailable, table, time_in_turns, trace,
};

fn main() -> Result<()> {
    let options = Options::from_args()?;
    if let Some(reason) = strace_unavailable() {
        println!("skipped: {reason}");
        return Ok(());
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_log_writer"));
    let mut rows = Vec::new();
    for pair in PAIRS {
        if options.only.as_deref().is_none_or(|only| only == pair.name) {
            let sandbox = Sandbox::open(&options.directory, binary)?;
            eprintln!("{} …", pair.name);
            rows.push(row(&sandbox, &pair, options.rounds)?);
        }
    }
    if rows.is_empty() {
        bail!("no pair has the name of --only");
    }
    print!("{}", table(&rows));
    Ok(())
}

/// Traces the version before the change, then runs both versions in turns. Prices are measured after each
/// round: on a shared machine they change within seconds, and must belong to the same state as the times.
fn row(sandbox: &Sandbox, pair: &Pair, rounds: usize) -> Result<Row> {
    let program = sandbox.build(pair)?;
    let log = trace(sandbox, pair, &program)?;
    let tallies = prediction::count(&log)?;
    std::fs::remove_file(log)?;
    let wanted = prediction::wanted(pair.finds);
    let scale = pair.count as f64 / pair.traced_count as f64;
    let mut savings = Vec::with_capacity(rounds);
    let measured = time_in_turns(sandbox, pair, &program, rounds, || {
        let prices = measure_prices(sandbox.directory(), &wanted, &MonotonicClock)?;
        let total = prediction::total(&tallies, &prices);
        savings.push(Saving {
            s: scale * total.s,
            low_s: scale * total.low_s,
            high_s: scale * total.high_s,
        });
        Ok(())
    })?;
    let predicted = prediction::median_saving(&savings).context("there was no round")?;
    Ok(Row {
        name: pair.name,
        measured,
        predicted,
    })
}

struct Options {
    rounds: usize,
    only: Option<String>,
    directory: PathBuf,
}

impl Options {
    fn from_args() -> Result<Options> {
        let mut options = Options {
            rounds: 11,
            only: None,
            directory: std::env::temp_dir(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .with_context(|| format!("{word} takes a value"))
            };
            match word.as_str() {
                // Added by Cargo.
                "--bench" => {}
                "--test" => options.rounds = 1,
                "--rounds" => options.rounds = value()?.parse().context("--rounds is a number")?,
                "--only" => options.only = Some(value()?),
                "--directory" => options.directory = value()?.into(),
                other => bail!("unknown argument '{other}'"),
            }
        }
        Ok(options)
    }
}
