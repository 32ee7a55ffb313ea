//! `cargo xtask bench-programs`: see `-- --help`.

use std::io;
use std::process::ExitCode;

use vectored_bench::command_line::exit_code;
use vectored_bench::programs::catalogue::cases;
use vectored_bench::programs::figures::{cells, summary};
use vectored_bench::programs::measure::measure;
use vectored_bench::programs::options::{Format, HELP, Options, Task, parse};
use vectored_bench::programs::render::{json, markdown, table};

fn main() -> ExitCode {
    exit_code(parse(std::env::args().skip(1)), |task| match task {
        Task::Help => {
            print!("{HELP}");
            Ok(())
        }
        Task::Measure(options) if options.list => {
            list(&options);
            Ok(())
        }
        Task::Measure(options) => run(&options),
    })
}

fn run(options: &Options) -> io::Result<()> {
    // Progress goes to standard error, so that standard output holds the result alone.
    let samples = measure(options, |line| eprintln!("{line}"))?;
    let cells = cells(&samples);
    let summary = summary(&cells, options.rounds);
    match options.format {
        Format::Table => print!("{}", table(&cells, &summary)),
        Format::Markdown => print!("{}", markdown(&cells, &summary)),
        Format::Json => print!("{}", json(&cells, &summary)),
    }
    Ok(())
}

fn list(options: &Options) {
    let (sizes, counts) = (options.sizes.as_deref(), options.counts.as_deref());
    for (_, case) in cases(&options.programs, sizes, counts) {
        println!("{} {case}", case.program);
    }
}
