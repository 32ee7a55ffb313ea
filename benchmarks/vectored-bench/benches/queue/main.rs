//! When a queue should copy a segment, and when it should join messages:
//! `cargo bench --manifest-path benchmarks/Cargo.toml --bench queue`.
//!
//! Before each write, other memory is read, and the values are taken at random from a pool, as in a server. `fresh` values are
//! then read, as if they had just arrived; `cold` values are not. The time of a write includes putting the messages into a
//! queue, the system calls, and dropping what was kept.
//!
//! - `push`: a value with a copied head and tail, one or 16 in a call. The figure is the time if the value is copied,
//!   divided by the time if it is kept.
//! - `join`: messages of these bytes in all. The figure is the time if they are copied into one call, divided by the
//!   time of a call for each.
//!
//! A figure is the median over the rounds, and a `*` marks a figure whose sign test is not significant (5 %). Both ways take
//! turns in random order. The bytes that arrive at a stream are compared.

mod cell;
mod channel;
mod options;
mod put;
mod tables;

use std::io;
use std::process::ExitCode;

use cell::{Cell, Memory, Question, State};
use channel::{Channel, Kind};
use options::{HELP, Options, parse};
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

/// A column of a table: everything of a cell but its size.
pub type Column = (Kind, Question, State);

fn columns() -> Vec<Column> {
    let questions = [
        Question::Push { values: 1 },
        Question::Push { values: 16 },
        Question::Join { messages: 2 },
        Question::Join { messages: 8 },
    ];
    let mut columns = Vec::new();
    for question in questions {
        for kind in Kind::ALL {
            for state in [State::Fresh, State::Cold] {
                columns.push((kind, question, state));
            }
        }
    }
    columns
}

fn run(options: &Options) -> io::Result<()> {
    let memory = Memory {
        other: vec![1; options.work_bytes],
        pool_bytes: options.pool_bytes,
    };
    let mut channels = Vec::new();
    for kind in Kind::ALL {
        channels.push(Channel::open(kind, &options.directory)?);
    }
    let mut cells: Vec<(Column, Cell)> = Vec::new();
    for column in columns() {
        for &bytes in &options.sizes {
            cells.push((column, Cell::new(column.1, column.2, bytes)));
        }
    }
    // Rounds are the outer loop: a short disturbance affects a few rounds of all cells, not all rounds of a few cells.
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..options.rounds {
        for ((kind, ..), cell) in &mut cells {
            cell.take_round(&mut channels[*kind as usize], &memory, &mut random)?;
        }
    }
    tables::print(options, &cells)?;
    put::print(options.rounds);
    Ok(())
}
