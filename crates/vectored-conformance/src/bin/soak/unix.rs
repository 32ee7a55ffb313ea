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

use vectored_conformance::read_ways::{BROKEN_READ_WAY, READ_WAYS};
use vectored_conformance::rings::{ring_read_ways, ring_write_ways};
use vectored_conformance::soak::{Move, Options, run};
use vectored_conformance::way::{ReadWay, WriteWay};
use vectored_conformance::write_ways::{BROKEN_WRITE_WAY, RANDOM_QUEUE, WRITE_WAYS};

const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// The most losses that are printed. Further losses are only counted.
const MAX_PRINTED_LOSSES: u64 = 10;

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
    let outcome = run(options, |totals, loss| {
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
    let mut options = Options {
        duration: Duration::from_secs(60),
        seed: 1,
        directory: std::env::temp_dir(),
        moves: Vec::new(),
    };
    let mut form = "all".to_owned();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--seconds" => options.duration = Duration::from_secs(number(&word, &value()?)?),
            "--seed" => options.seed = number(&word, &value()?)?,
            "--form" => form = value()?,
            "--backend" => match value()?.as_str() {
                "plain" => {}
                uring @ "uring" => form = uring.to_owned(),
                other => return Err(format!("--backend is plain or uring, not '{other}'")),
            },
            "--broken" | "--broken-read" => form = word,
            other => return Err(format!("unknown argument '{other}'")),
        }
    }
    let all = |writes: &'static [WriteWay], reads: &'static [ReadWay]| {
        let writes = writes.iter().map(Move::write);
        writes.chain(reads.iter().map(Move::read))
    };
    // Rings and tokio move many lists at once. Each is chosen as often as four ways.
    let (rings, tokio) = ([(); 4].map(|()| Move::Rings), [(); 4].map(|()| Move::Tokio));
    let queue = || [Move::write(&RANDOM_QUEUE)];
    options.moves = match form.as_str() {
        "all" => all(WRITE_WAYS, READ_WAYS)
            .chain(queue())
            .chain(tokio)
            .collect(),
        "lists" => all(WRITE_WAYS, READ_WAYS).collect(),
        "blocking" => queue().into(),
        "tokio" => tokio.into(),
        "uring" if ring_write_ways().is_empty() => {
            return Err("there is no io_uring here".to_owned());
        }
        "uring" => all(ring_write_ways(), ring_read_ways())
            .chain(rings)
            .collect(),
        "--broken" => vec![Move::write(&BROKEN_WRITE_WAY)],
        "--broken-read" => vec![Move::read(&BROKEN_READ_WAY)],
        other => {
            let forms = "all, lists, blocking or tokio";
            return Err(format!("--form is {forms}, not '{other}'"));
        }
    };
    Ok(options)
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{name} takes a number, not '{text}'"))
}
