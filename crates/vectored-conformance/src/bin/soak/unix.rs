//! Runs the conformance suite at random for a given time: `cargo xtask soak`.
//!
//! ```text
//! soak [--seconds 60] [--seed 1] [--form all|lists|blocking|tokio] [--backend plain|uring]
//!      [--broken] [--broken-read]
//! ```
//!
//! The form `lists` moves lists by every function that takes a list. The other forms move a `SegmentQueue`: `blocking` to
//! descriptors, `tokio` by operations that are dropped half-way. The back end `uring` has the transfers of `uring::Ring`.
//! `--broken` and `--broken-read` lose bytes, for the test that a loss is detected. The last line of the output is
//! `transfers T, bytes B, faults injected F, bytes lost L`. The exit status is 0 if no byte was lost, 1 if a byte was lost
//! or a transfer failed, and 2 for wrong arguments.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use vectored_conformance::read_ways::{BROKEN_READ_WAY, READ_WAYS, ReadWay};
use vectored_conformance::rings::{ring_read_ways, ring_write_ways};
use vectored_conformance::soak::{Options, run};
use vectored_conformance::write_ways::{BROKEN_WRITE_WAY, RANDOM_QUEUE, WRITE_WAYS};

const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Losses that are printed. The rest is counted only.
const MAX_PRINTED_LOSSES: u64 = 10;

const ONLY_BROKEN_READ_WAY: &ReadWay = &BROKEN_READ_WAY;

pub fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(usage) => {
            eprintln!("error: {usage}");
            return ExitCode::from(2);
        }
    };
    println!(
        "seed {}, files in {}",
        options.seed,
        options.directory.display()
    );
    let began = Instant::now();
    let mut next = PROGRESS_INTERVAL;
    let mut losses = 0;
    let outcome = run(&options, |totals, loss| {
        if let Some(loss) = loss {
            losses += 1;
            if losses <= MAX_PRINTED_LOSSES {
                println!("{loss}");
            }
        }
        if began.elapsed() >= next {
            next += PROGRESS_INTERVAL;
            eprintln!("{:>5} s: {totals}", began.elapsed().as_secs());
        }
    });
    let totals = match outcome {
        Ok(totals) => totals,
        Err(error) => {
            eprintln!("error: the soak cannot continue: {error}");
            return ExitCode::from(1);
        }
    };
    println!("{totals}");
    if totals.counts.lost == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let every = || WRITE_WAYS.iter().chain([&RANDOM_QUEUE]).collect();
    let mut options = Options {
        duration: Duration::from_secs(60),
        seed: 1,
        directory: std::env::temp_dir(),
        write_ways: every(),
        read_ways: READ_WAYS.iter().collect(),
        tokio: true,
        rings: false,
    };
    let only = |options: &mut Options, write_ways, read_ways| {
        (options.write_ways, options.read_ways) = (write_ways, read_ways);
        options.tokio = false;
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--seconds" => options.duration = Duration::from_secs(number(&word, &value()?)?),
            "--seed" => options.seed = number(&word, &value()?)?,
            "--form" => match value()?.as_str() {
                "all" => {}
                "lists" => {
                    options.write_ways = WRITE_WAYS.iter().collect();
                    options.tokio = false;
                }
                "blocking" => only(&mut options, vec![&RANDOM_QUEUE], vec![]),
                "tokio" => {
                    only(&mut options, vec![], vec![]);
                    options.tokio = true;
                }
                other => {
                    let forms = "all, lists, blocking or tokio";
                    return Err(format!("--form is {forms}, not '{other}'"));
                }
            },
            "--backend" => match value()?.as_str() {
                "plain" => {}
                "uring" => {
                    let (write_ways, read_ways) = (ring_write_ways(), ring_read_ways());
                    if write_ways.is_empty() {
                        return Err("there is no io_uring here".to_owned());
                    }
                    only(
                        &mut options,
                        write_ways.iter().collect(),
                        read_ways.iter().collect(),
                    );
                    options.rings = true;
                }
                other => return Err(format!("--backend is plain or uring, not '{other}'")),
            },
            "--broken" => only(&mut options, vec![&BROKEN_WRITE_WAY], vec![]),
            "--broken-read" => only(&mut options, vec![], vec![ONLY_BROKEN_READ_WAY]),
            other => return Err(format!("unknown argument '{other}'")),
        }
    }
    Ok(options)
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{name} takes a number, not '{text}'"))
}
