//! `cargo xtask bench-peers`: see `-- --help`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use vectored_bench::args::{HELP, Options, Task, parse};
use vectored_bench::command_line::exit_code;
use vectored_bench::grid::{List, name, parts};
use vectored_bench::measure::{Listener, estimated_s, measure};
use vectored_bench::page::page;
use vectored_bench::promises::promises;
use vectored_bench::table::table;
use vectored_results::model::Results;

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
        Task::Promises(files) => load(&files).map(|results| print!("{}", promises(&results))),
        Task::Page(files) => load(&files).map(|results| print!("{}", page(&results))),
    })
}

fn list(options: &Options) {
    let mut total_s = 0.0;
    for part in parts(&options.wanted) {
        let (adaptives, peers) = (options.calibrations, options.peers.len());
        let part_s = estimated_s(&part, options.rounds, adaptives, peers);
        total_s += part_s;
        println!("{} {}: about {part_s:.0} s", part.target, part.cache.name());
        for (cells, who) in [
            (&part.with_peers, "with peers"),
            (&part.without_peers, "without peers"),
        ] {
            for cell in cells {
                if let Some(list) = List::of_runs(&cell.workload.runs()) {
                    println!("  {}, {who}", name(part.target, list, part.cache));
                }
            }
        }
    }
    println!("about {total_s:.0} s in all");
}

fn run(options: &Options) -> Result<(), String> {
    let mut reporter = Reporter {
        output: options.output.clone(),
        failed: None,
    };
    let results = measure(options, &mut reporter)?;
    print!("{}", table(&results));
    if !results.complete {
        eprintln!("not all cells were measured: see above");
    }
    reporter.failed.map_or(Ok(()), Err)
}

/// Reports on standard error and saves the results.
struct Reporter {
    output: Option<PathBuf>,
    failed: Option<String>,
}

impl Listener for Reporter {
    fn note(&mut self, line: &str) {
        eprintln!("{line}");
    }

    fn error(&mut self, line: &str) {
        eprintln!("error: {line}");
        self.failed = Some("some cells could not be measured: see above".to_owned());
    }

    fn results(&mut self, results: &Results) {
        if let Some(path) = &self.output {
            let saved = save(path, &vectored_report::json(results));
            self.failed = self.failed.take().or(saved.err());
        }
    }
}

/// Saves a file completely or not at all.
fn save(path: &Path, text: &str) -> Result<(), String> {
    let beside = path.with_extension("part");
    let saved = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    saved.map_err(|error| format!("cannot save '{}': {error}", path.display()))
}

/// Joins the results of several runs: the first result, with the cells of all.
fn load(files: &[PathBuf]) -> Result<Results, String> {
    let mut all: Option<Results> = None;
    for file in files {
        let cannot = |why: String| format!("cannot read '{}': {why}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| cannot(error.to_string()))?;
        let results = vectored_report::parse(&text).map_err(|error| cannot(error.to_string()))?;
        match &mut all {
            None => all = Some(results),
            Some(all) => {
                all.complete &= results.complete;
                all.elapsed_s += results.elapsed_s;
                all.cells.extend(results.cells);
                all.cost_models.extend(results.cost_models);
                all.left_out.extend(results.left_out);
            }
        }
    }
    all.ok_or_else(|| "--bars and --page take files that --output has saved".to_owned())
}
