//! Gathered writes by `vectored::uring::Ring`, against a C program that uses liburing:
//! `cargo bench --manifest-path benchmarks/Cargo.toml --bench uring`.
//!
//! Both have a list of segments for each transfer: an array of `iovec` in C, a `SegmentQueue` here. Writing passes the list to
//! the kernel as it is, keeps as many transfers in flight as the depth says, and finishes short transfers. The last column adds
//! the time for making the lists: a queue also keeps the owner of each segment, and drops the owner when the bytes are written.
//! Another column is for a C program that copies each list into an array, and submits the array.
//!
//! All take turns in random order, within one thread. A second ring of the C program takes part: its ratio to the first ring
//! shows what the method resolves. A ratio is a robust mean over the rounds, with its 95 % interval.
//!
//! `Ring` is driven by the function that `vectored measure --technique io-uring` calls: `move_by_ring` of the measuring engine.
//! `--instructions bench|technique SEGMENTS DEPTH LISTS` makes and writes LISTS lists to `/dev/null`, for a program that counts
//! instructions: `valgrind --tool=callgrind`.

mod cell;
mod instructions;
mod options;
mod ring;
mod target;

use std::io;
use std::process::ExitCode;

use vectored::uring::Ring;
use vectored_bench::liburing::Liburing;

use cell::Cell;
use options::{HELP, Options, Task, parse};
use target::{Kind, Target};

/// Segments of a list, and bytes of each.
const LISTS: [(usize, usize); 2] = [(16, 4096), (1000, 1024)];

const DEPTHS: [u32; 2] = [1, 64];

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)) {
        Ok(Task::Help) => print!("{HELP}"),
        Ok(Task::Instructions(counted)) => {
            if let Err(error) = counted.run() {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        }
        Ok(Task::Measure(options)) => {
            if let Err(error) = run(&options) {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        }
        Err(error) => {
            eprintln!("error: {error}; see --help");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run(options: &Options) -> io::Result<()> {
    if let Err(error) = Ring::new(1) {
        println!("nothing is measured: {error}");
        return Ok(());
    }
    let liburing = match Liburing::build() {
        Ok(liburing) => liburing,
        Err(error) => {
            println!("nothing is measured, since the C program cannot be built: {error}");
            println!("it needs cc and liburing (Debian: apt-get install gcc liburing-dev)");
            return Ok(());
        }
    };
    let mut random = fastrand::Rng::with_seed(1);
    cell::print_head();
    for kind in Kind::ALL {
        if !options.wants(kind.name()) {
            continue;
        }
        for depth in DEPTHS {
            if depth > 1 && kind.is_stream() {
                continue; // writes of one stream go one after another
            }
            for (count, bytes) in LISTS {
                let target = Target::open(kind, &options.directory)?;
                let mut cell = Cell::new(target, depth, (count, bytes), &liburing)?;
                for _ in 0..options.rounds {
                    cell.take_round(&mut random)?;
                }
                cell.print();
            }
        }
    }
    Ok(())
}
