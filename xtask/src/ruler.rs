//! `cargo xtask ruler`: the engine against plain C loops.
//!
//! The engine and the loops time the same techniques on the same targets, in turn, on the same CPU. The work that the engine
//! adds (traits, proofs, a balanced order) must not show in its medians.

mod agreement;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use clap::Parser as _;
use vectored_machine::MonotonicClock;
use vectored_machine::host::{Pinning, pin_measuring_thread};
use vectored_measure::measure::{DescriptorSampler, Watch};
use vectored_results::model::{CellSpec, Experiment, Target, TechniqueName, Workload};

use crate::commands::{answer, run as run_command, target_folder};

const PLAIN_MS: u64 = 400;

/// Time for one run of the engine. A run also compares the bytes.
const ENGINE_MS: u64 = 450;

const TARGETS: [Target; 3] = [Target::Null, Target::File, Target::Pipe];

const PURE: [TechniqueName; 3] = [
    TechniqueName::WRITE_EACH,
    TechniqueName::COPY_THEN_WRITE,
    TechniqueName::WRITEV,
];

/// The engine against plain C programs.
#[derive(clap::Parser)]
#[command(no_binary_name = true, name = "cargo xtask ruler")]
struct Options {
    /// Turns of each in every cell
    #[arg(long, default_value_t = 30)]
    rounds: usize,
    /// The directory of the file that is written
    #[arg(long, default_value = ".")]
    directory: PathBuf,
}

/// Median time of each technique, and of the floor, in ns.
pub type Medians = BTreeMap<String, f64>;

/// Compares all cells; fails if a technique differs in any of them.
pub fn run(options: Vec<String>) -> Result<()> {
    let options = Options::parse_from(options);
    let (cpu, reader_cpu) =
        pin_measuring_thread(Pinning::Current).context("cannot pin this thread")?;
    let cpu = cpu.context("no CPU to stay on")?;
    let bench = Bench {
        plain: compile()?,
        cpu,
        reader_cpu,
        directory: &options.directory,
    };
    println!(
        "engine and plain C in turn, {} times, on CPU {cpu}",
        options.rounds
    );
    let mut all_agree = true;
    for target in TARGETS {
        for workload in workloads() {
            let cell = CellSpec::write(target, workload);
            println!("\n{target}, {:?}", cell.workload.runs());
            all_agree &= agreement::in_turn(
                options.rounds,
                |round| bench.plain(&cell, PLAIN_MS, round as u64),
                |round| bench.engine(&cell, round as u64),
            )?;
        }
    }
    ensure!(all_agree, "some DIFFER");
    println!("\nall agree");
    Ok(())
}

fn workloads() -> [Workload; 2] {
    [
        Workload::uniform(1000, 100),
        Workload::from_sizes(vec![100, 200]),
    ]
}

/// Both instruments, their CPUs and the directory of the file.
struct Bench<'a> {
    plain: PathBuf,
    cpu: usize,
    reader_cpu: Option<usize>,
    directory: &'a Path,
}

impl Bench<'_> {
    /// Medians of one run of the program that was compiled from `plain_loops.c`.
    fn plain(&self, cell: &CellSpec, milliseconds: u64, seed: u64) -> Result<Medians> {
        let runs = cell.workload.runs();
        let sizes = runs.iter().map(|(count, bytes)| format!("{count}x{bytes}"));
        let numbers = [self.cpu, self.reader_cpu.unwrap_or(self.cpu)];
        let mut command = Command::new(&self.plain);
        command.args([
            cell.conditions.target.name(),
            &sizes.collect::<Vec<_>>().join(","),
        ]);
        command.arg(milliseconds.to_string());
        command.args(numbers.map(|number| number.to_string()));
        let printed = answer(command.arg(self.directory).arg(seed.to_string()))?;
        parse(&printed).with_context(|| format!("the C loops printed '{printed}'"))
    }

    fn engine(&self, cell: &CellSpec, seed: u64) -> Result<Medians> {
        let experiment = Experiment {
            cells: vec![cell.clone()],
            rivals: PURE.to_vec(),
            unranked: Vec::new(),
            refine: false,
            budget_ns: ENGINE_MS * 1_000_000,
            seed,
        };
        let clock = MonotonicClock;
        let mut sampler = DescriptorSampler::new(&clock, self.directory, seed);
        sampler.reader_cpu = self.reader_cpu;
        let watch = Watch {
            progress: &mut |_| (),
            stop: &AtomicBool::new(false),
            save: None,
        };
        let outcome = vectored_measure::measure::run(&experiment, &mut sampler, &clock, watch);
        let outcome = outcome.map_err(|failed| failed.error)?;
        ensure!(outcome.cells.len() == 1, "the engine measured no cell");
        let cell = &outcome.cells[0];
        let mut medians = Medians::from([("floor".to_owned(), cell.floor_ns)]);
        for technique in &cell.techniques {
            medians.insert(technique.name.to_string(), technique.median_ns);
        }
        Ok(medians)
    }
}

fn compile() -> Result<PathBuf> {
    let program = target_folder().join("plain_loops");
    std::fs::create_dir_all(target_folder()).context("cannot make the target folder")?;
    let mut compile = Command::new("cc");
    compile.args("-std=c11 -O2 -Wall -Wextra -Werror -pthread -o".split(' '));
    run_command(compile.arg(&program).arg("xtask/ruler/plain_loops.c"))?;
    Ok(program)
}

/// Parses lines of a name, a median in ns and a number of samples.
fn parse(printed: &str) -> Option<Medians> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let (median_ns, samples) = rest.split_once(' ')?;
        let _: u32 = samples.parse().ok()?;
        Some((name.to_owned(), median_ns.parse().ok()?))
    };
    printed.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn the_c_loops_compile_and_run_on_every_target_and_workload() {
        let cpus = vectored_machine::host::allowed_cpus();
        let bench = Bench {
            plain: compile().unwrap(),
            cpu: cpus.first().copied().unwrap_or(0),
            reader_cpu: cpus.last().copied(),
            directory: root(),
        };
        for target in TARGETS {
            for workload in workloads() {
                let cell = CellSpec::write(target, workload);
                assert!(!bench.plain(&cell, 0, 1).unwrap().is_empty());
            }
        }
    }
}
