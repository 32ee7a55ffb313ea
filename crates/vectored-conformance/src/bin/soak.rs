//! Runs the conformance suite at random for a given time: `cargo xtask soak`.
//!
//! ```text
//! soak [--seconds 60] [--seed 1] [--backend plain] [--broken] [--broken-read]
//! ```
//!
//! The last line of the output is `transfers T, bytes B, faults injected F, bytes lost L`. The exit status is
//! 0 if no byte was lost, 1 if one was, and 2 for wrong arguments.

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use vectored_conformance::readers::{BROKEN_READER, READERS, Reader};
use vectored_conformance::soak::{Options, run};
use vectored_conformance::writers::{BROKEN_WRITER, WRITERS, Writer};

const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Transfers after which the process needs no more memory.
const WARM_UP_TRANSFERS: u64 = 500;

/// Losses that are printed. The rest is counted only.
const MAX_PRINTED_LOSSES: u64 = 10;

const ONLY_BROKEN_WRITER: &[Writer] = &[BROKEN_WRITER];
const ONLY_BROKEN_READER: &[Reader] = &[BROKEN_READER];

fn main() -> ExitCode {
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
    let mut warm_kib = None;
    let mut losses = 0;
    let outcome = run(&options, |totals, loss| {
        if let Some(loss) = loss {
            losses += 1;
            if losses <= MAX_PRINTED_LOSSES {
                println!("{loss}");
            }
        }
        if totals.transfers == WARM_UP_TRANSFERS {
            warm_kib = resident_kib();
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
    if let (Some(warm), Some(end)) = (warm_kib, resident_kib()) {
        println!("memory: {warm} KiB after {WARM_UP_TRANSFERS} transfers, {end} KiB at the end");
    }
    println!("{totals}");
    if totals.bytes_lost == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        duration: Duration::from_secs(60),
        seed: 1,
        directory: std::env::temp_dir(),
        writers: WRITERS,
        readers: READERS,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--seconds" => options.duration = Duration::from_secs(number(&word, &value()?)?),
            "--seed" => options.seed = number(&word, &value()?)?,
            "--backend" => match value()?.as_str() {
                "plain" => {}
                other => return Err(format!("unknown back end '{other}': the only one is plain")),
            },
            // For the tests that a loss is detected.
            "--broken" => (options.writers, options.readers) = (ONLY_BROKEN_WRITER, &[]),
            "--broken-read" => (options.writers, options.readers) = (&[], ONLY_BROKEN_READER),
            other => return Err(format!("unknown argument '{other}'")),
        }
    }
    Ok(options)
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{name} takes a number, not '{text}'"))
}

/// The resident set size of this process in KiB, see proc_pid_status(5).
fn resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
