//! Are the savings that `vectored advise` predicts the real ones?
//!
//! `cargo bench -p vectored-pairs -- [--rounds 11] [--only NAME] [--directory DIRECTORY]`, on an
//! idle machine with strace. With `--test` it runs each pair once, small.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vectored_lab::advisor::Saving;
use vectored_lab::measure::{MonotonicClock, measure_prices};
use vectored_pairs::{
    PAIRS, Pair, Row, Workshop, forecast, strace_is_missing, table, time_in_turns, trace,
};

fn main() -> Result<()> {
    let options = Options::typed()?;
    if let Some(reason) = strace_is_missing() {
        println!("no system calls to look at: {reason}");
        return Ok(());
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_log_writer"));
    let mut rows = Vec::new();
    for pair in PAIRS {
        if options.only.as_deref().is_none_or(|only| only == pair.name) {
            let workshop = Workshop::open(&options.directory, binary)?;
            eprintln!("{} …", pair.name);
            rows.push(row(&workshop, &pair, options.rounds)?);
        }
    }
    if rows.is_empty() {
        bail!("there is no such pair");
    }
    print!("{}", table(&rows));
    Ok(())
}

/// Traces the first version, then runs both in turns. Prices are measured after each round: a
/// machine that is shared has other ones every few seconds, and both sides are to be in the same.
fn row(workshop: &Workshop, pair: &Pair, rounds: usize) -> Result<Row> {
    let program = workshop.build(pair)?;
    let log = trace(workshop, pair, &program)?;
    let tallies = forecast::count(&log)?;
    std::fs::remove_file(log)?;
    let wanted = forecast::wanted(pair.finds);
    let scale = pair.count as f64 / pair.traced_count as f64;
    let mut savings = Vec::with_capacity(rounds);
    let measured = time_in_turns(workshop, pair, &program, rounds, || {
        let prices = measure_prices(workshop.directory(), &wanted, &MonotonicClock)?;
        let total = forecast::total(&tallies, &prices);
        savings.push(Saving {
            s: scale * total.s,
            low_s: scale * total.low_s,
            high_s: scale * total.high_s,
        });
        Ok(())
    })?;
    let predicted = forecast::median_saving(&savings).context("there was no round")?;
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
    fn typed() -> Result<Options> {
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
                // What cargo says.
                "--bench" => {}
                "--test" => options.rounds = 1,
                "--rounds" => options.rounds = value()?.parse().context("--rounds is a number")?,
                "--only" => options.only = Some(value()?),
                "--directory" => options.directory = value()?.into(),
                other => bail!("unexpected '{other}'"),
            }
        }
        Ok(options)
    }
}
