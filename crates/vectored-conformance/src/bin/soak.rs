//! The suite at random, for as long as wanted: `cargo xtask soak` runs it.
//!
//! ```text
//! soak [--seconds 60] [--seed 1] [--backend plain] [--broken] [--broken-read]
//! ```
//!
//! The last line of its output is `transfers T, bytes B, faults injected F, bytes lost L`. It ends
//! with status 0 if nothing was lost, 1 if something was, 2 if it was called wrongly.

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use vectored_conformance::readers::{BROKEN_READER, READERS, Reader};
use vectored_conformance::soak::{Options, run};
use vectored_conformance::writers::{BROKEN_WRITER, WRITERS, Writer};

const PROGRESS: Duration = Duration::from_secs(5);

/// Transfers after which every allocator has what it needs.
const WARM: u64 = 500;

/// Losses that are described; the rest is only counted.
const TOLD: u64 = 10;

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
    let mut next = PROGRESS;
    let mut warm_kib = None;
    let mut losses = 0;
    let outcome = run(&options, |totals, loss| {
        if let Some(loss) = loss {
            losses += 1;
            if losses <= TOLD {
                println!("{loss}");
            }
        }
        if totals.transfers == WARM {
            warm_kib = resident_kib();
        }
        if began.elapsed() >= next {
            next += PROGRESS;
            eprintln!("{:>5} s: {totals}", began.elapsed().as_secs());
        }
    });
    let totals = match outcome {
        Ok(totals) => totals,
        Err(error) => {
            eprintln!("error: the soak cannot go on: {error}");
            return ExitCode::from(1);
        }
    };
    if let (Some(warm), Some(end)) = (warm_kib, resident_kib()) {
        println!("memory: {warm} KiB after {WARM} transfers, {end} KiB at the end");
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
                other => return Err(format!("unknown back end '{other}': there is plain")),
            },
            // For the tests that a loss is seen.
            "--broken" => (options.writers, options.readers) = (ONLY_BROKEN_WRITER, &[]),
            "--broken-read" => (options.writers, options.readers) = (&[], ONLY_BROKEN_READER),
            other => return Err(format!("unexpected '{other}'")),
        }
    }
    Ok(options)
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{name} takes a number, not '{text}'"))
}

/// The memory of this process that is in use, see proc_pid_status(5).
fn resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
