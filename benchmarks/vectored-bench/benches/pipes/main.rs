//! Lists into a pipe that a thread reads meanwhile: `cargo bench --manifest-path benchmarks/Cargo.toml --bench pipes`.
//!
//! The writer and the reader are two threads, each pinned to a CPU of its own. The writer sends lists one after another, with a
//! pause before each (busy waiting). Only the time within the writes counts. In each round all techniques take turns at each
//! list, in random order. A time is the median over the rounds. A ratio is the median of the ratios within a round.
//!
//! - `adaptive ÷ best` is the larger of two ratios: to one `writev`, and to `writev` in calls of 8 KiB.
//! - `A/A` is the ratio of one technique that is measured twice (`writev` in calls of 8 KiB).
//! - Intervals are 95 % bootstrap intervals over the rounds.
//!
//! Before anything is timed, the reader compares the bytes of each technique with the list.

mod cell;
mod channel;
mod options;
mod tables;
mod techniques;

use std::io;
use std::process::ExitCode;

use rustix::thread::{CpuSet, sched_getaffinity};

use cell::{Cell, verify};
use channel::{Channel, pin};
use options::{HELP, Options, parse};
use tables::print_table;
use vectored_bench::command_line::exit_code;

fn main() -> ExitCode {
    exit_code(parse(std::env::args().skip(1)), |options| match options {
        Some(options) => run(&options),
        None => {
            print!("{HELP}");
            Ok(())
        }
    })
}

fn run(options: &Options) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu))
        .collect();
    let [writer_cpu, .., reader_cpu] = cpus[..] else {
        println!(
            "skipped: the writer and the reader need a CPU each, but this process may use only one"
        );
        return Ok(());
    };
    pin(writer_cpu)?;
    println!(
        "pipe, writer on CPU {writer_cpu}, reader on CPU {reader_cpu} reads of {} bytes, {} rounds, \
         microseconds per list",
        options.read_bytes, options.rounds
    );
    let mut channel = Channel::open(reader_cpu, options.read_bytes)?;
    let mut tables: Vec<(f64, Vec<Cell>)> = Vec::new();
    for &pause_us in &options.pauses_us {
        let mut cells = Vec::new();
        for &count in &options.counts {
            for &segment_bytes in &options.sizes {
                cells.push(Cell::new(count, segment_bytes, pause_us));
            }
        }
        tables.push((pause_us, cells));
    }
    for (_, cells) in &tables {
        for cell in cells {
            verify(&cell.list.segments())?;
        }
    }
    // Rounds are the outer loop: a short disturbance affects a few rounds of all cells, not all rounds of a
    // few cells.
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..options.rounds {
        for cell in tables.iter_mut().flat_map(|(_, cells)| cells) {
            cell.take_round(&mut channel, &mut random)?;
        }
    }
    for (pause_us, cells) in &tables {
        print_table(*pause_us, cells, options.rounds);
    }
    Ok(())
}
