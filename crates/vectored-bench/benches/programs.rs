//! `cargo xtask bench-programs`: see `-- --help`.

use std::process::ExitCode;

use vectored_bench::programs::catalogue::cases;
use vectored_bench::programs::figures::{cells, summary};
use vectored_bench::programs::measure::measure;
use vectored_bench::programs::options::{Format, HELP, Options, Task, parse};
use vectored_bench::programs::render::{json, markdown, table};

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Task::Help) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Ok(Task::Measure(options)) => options,
        Err(usage) => {
            eprintln!("error: {usage}");
            return ExitCode::from(2);
        }
    };
    if options.list {
        list(&options);
        return ExitCode::SUCCESS;
    }
    // Progress goes to standard error, so that standard output holds the result alone.
    match measure(&options, |line| eprintln!("{line}")) {
        Ok(samples) => {
            let cells = cells(&samples);
            let summary = summary(&cells, options.rounds);
            match options.format {
                Format::Table => print!("{}", table(&cells, &summary)),
                Format::Markdown => print!("{}", markdown(&cells, &summary)),
                Format::Json => print!("{}", json(&cells, &summary)),
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list(options: &Options) {
    let (sizes, counts) = (options.sizes.as_deref(), options.counts.as_deref());
    for (_, case) in cases(&options.programs, sizes, counts) {
        println!("{} {case}", case.program);
    }
}
