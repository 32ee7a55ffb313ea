//! Runs the conformance suite at random for a given time: `cargo xtask soak`.
//!
//! ```text
//! soak [--seconds 60] [--seed 1] [--form all|lists|blocking|tokio] [--backend plain|uring|aio]
//!      [--broken] [--broken-read]
//! soak --records N
//! ```
//!
//! The form `lists` moves lists by every function that takes one. The others move a `SegmentQueue`: `blocking` to descriptors,
//! `tokio` by operations that are dropped half-way. The back end `uring` has the transfers of `uring::Ring`, and of the
//! measuring engine on such a ring; `aio` has the transfers of the measuring engine by Linux native AIO. `--broken` and
//! `--broken-read` lose bytes, for the test that a loss is detected. The last line of the output is
//! `transfers T, bytes B, faults injected F, bytes lost L`. The exit status is 0 if no byte was lost, 1 if one was or a transfer
//! failed, and 2 for wrong arguments.
//!
//! With `--records`, two processes append that many records to a log through queues, then write as many to a pipe. The
//! exit status is 0 if every record is whole.

use std::fs;
use std::io::{self, Read};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use vectored_conformance::in_flight::{read_ways_by, techniques, write_ways_by};
use vectored_conformance::queue::records::{self, Shared};
use vectored_conformance::read_ways::{BROKEN_READ_WAY, READ_WAYS, ReadWay};
use vectored_conformance::rings::{ring_read_ways, ring_write_ways};
use vectored_conformance::soak::{Options, run};
use vectored_conformance::write_ways::{BROKEN_WRITE_WAY, RANDOM_QUEUE, WRITE_WAYS, WriteWay};
use vectored_results::model::TechniqueName;

const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Transfers after which the process needs no more memory.
const WARM_UP_TRANSFERS: u64 = 500;

/// Losses that are printed. The rest is counted only.
const MAX_PRINTED_LOSSES: u64 = 10;

const ONLY_BROKEN_READ_WAY: &ReadWay = &BROKEN_READ_WAY;

pub fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Task::Soak(options)) => options,
        Ok(Task::Records(count)) => return write_records(count),
        Ok(Task::WriteRecords(shared, process, count)) => return child(shared, process, count),
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
    if totals.bytes_lost == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// The task that the arguments ask for.
enum Task {
    Soak(Options),
    /// Starts processes that write this many records.
    Records(u64),
    /// Writes records, as a process that `Records` started: to what, the number of the process, the number of records.
    WriteRecords(Shared, u64, u64),
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Task, String> {
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
                    let (lists_out, lists_in) = lists_of(TechniqueName::new("io-uring"))?;
                    only(
                        &mut options,
                        ring_write_ways().iter().chain(lists_out).collect(),
                        ring_read_ways().iter().chain(lists_in).collect(),
                    );
                    options.rings = true;
                }
                "aio" => {
                    let (write_ways, read_ways) = lists_of(TechniqueName::new("linux-aio"))?;
                    let (write_ways, read_ways) =
                        (write_ways.iter().collect(), read_ways.iter().collect());
                    only(&mut options, write_ways, read_ways);
                }
                other => return Err(format!("--backend is plain, uring or aio, not '{other}'")),
            },
            "--records" => return Ok(Task::Records(number(&word, &value()?)?)),
            "--write-records" => {
                let shared = match value()?.as_str() {
                    "log" => Shared::Log,
                    "pipe" => Shared::Pipe,
                    other => return Err(format!("{word} begins with log or pipe, not '{other}'")),
                };
                let process = number(&word, &value()?)?;
                return Ok(Task::WriteRecords(
                    shared,
                    process,
                    number(&word, &value()?)?,
                ));
            }
            "--broken" => only(&mut options, vec![&BROKEN_WRITE_WAY], vec![]),
            "--broken-read" => only(&mut options, vec![], vec![ONLY_BROKEN_READ_WAY]),
            other => return Err(format!("unknown argument '{other}'")),
        }
    }
    Ok(Task::Soak(options))
}

/// The ways to write and to read by a technique of the measuring engine.
fn lists_of(technique: TechniqueName) -> Result<(&'static [WriteWay], &'static [ReadWay]), String> {
    if techniques().any(|offered| offered == technique) {
        Ok((write_ways_by(technique), read_ways_by(technique)))
    } else {
        Err(format!("there is no {technique} here"))
    }
}

/// Has records written to a log and to a pipe.
fn write_records(count: u64) -> ExitCode {
    let mut all_whole = true;
    for shared in [Shared::Log, Shared::Pipe] {
        let began = Instant::now();
        let program = std::env::current_exe();
        let found = program
            .and_then(|program| records::run(shared, count, &program, &std::env::temp_dir()));
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                let name = shared.name();
                eprintln!("error: the records of the {name} cannot be written or read: {error}");
                return ExitCode::from(1);
            }
        };
        let is_whole = found.torn_at_byte.is_none() && found.records == count;
        all_whole &= is_whole;
        println!(
            "{}: {} whole records of {count}, {} changes of the process, {} s{}",
            shared.name(),
            found.records,
            found.switches,
            began.elapsed().as_secs(),
            found
                .torn_at_byte
                .map_or(String::new(), |at| format!(", torn at byte {at}")),
        );
    }
    ExitCode::from(u8::from(!all_whole))
}

/// Writes records to standard output once standard input ends.
fn child(shared: Shared, process: u64, count: u64) -> ExitCode {
    let begun = io::stdin().read_to_end(&mut Vec::new());
    let written = begun.and_then(|_| records::write(io::stdout(), shared, process, count));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: process {process} cannot write its records: {error}");
            ExitCode::from(1)
        }
    }
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
