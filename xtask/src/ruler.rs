//! `cargo xtask ruler`: the engine against plain C loops.
//!
//! Both time the same techniques on the same targets, in turn, on the same
//! CPU. The work that the engine adds (traits, proofs, a balanced order) must
//! not show in its medians.

mod agreement;
mod plain;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use vectored_machine::MonotonicClock;
use vectored_machine::host::{Pinning, pin_measuring_thread};
use vectored_measure::measure::{DescriptorSampler, Watch};
use vectored_results::model::{CellSpec, Experiment, Target, TechniqueName, Workload};

/// Time for one run of the C loops.
const PLAIN_MS: u64 = 400;

/// Time for one run of the engine, which compares the bytes as well.
const ENGINE_MS: u64 = 450;

const TARGETS: [Target; 3] = [Target::Null, Target::File, Target::Pipe];

const PURE: [TechniqueName; 3] = [
    TechniqueName::WRITE_EACH,
    TechniqueName::COPY_THEN_WRITE,
    TechniqueName::WRITEV,
];

/// The options of the comparison.
#[derive(clap::Args)]
pub struct Options {
    /// Turns of each in every cell
    #[arg(long, default_value_t = 30)]
    rounds: usize,
    /// The directory of the file that is written
    #[arg(long, default_value = ".")]
    directory: PathBuf,
}

/// Median time of each technique, and of the floor, in ns.
pub type Medians = BTreeMap<String, f64>;

/// Compares all cells; fails if a technique differs in one.
pub fn run(options: &Options) -> Result<()> {
    let (cpu, reader_cpu) =
        pin_measuring_thread(Pinning::Current).context("cannot pin this thread")?;
    let cpu = cpu.context("no CPU to stay on")?;
    let bench = Bench {
        plain: plain::compile("plain_loops")?,
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
            println!("\n{target}, {}", describe(&cell.workload));
            all_agree &= agreement::in_turn(
                options.rounds,
                |round| bench.plain(&cell, round as u64),
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

fn describe(workload: &Workload) -> String {
    let runs = workload.runs();
    let shown = runs
        .iter()
        .map(|(count, bytes)| format!("{count} × {bytes} B"));
    shown.collect::<Vec<_>>().join(" + ")
}

/// Both instruments, their CPUs and the directory of the file.
struct Bench<'a> {
    plain: PathBuf,
    cpu: usize,
    reader_cpu: Option<usize>,
    directory: &'a Path,
}

impl Bench<'_> {
    fn plain(&self, cell: &CellSpec, seed: u64) -> Result<Medians> {
        let request = plain::Request {
            target: cell.conditions.target,
            workload: &cell.workload,
            milliseconds: PLAIN_MS,
            cpus: [self.cpu, self.reader_cpu.unwrap_or(self.cpu)],
            directory: self.directory,
            seed,
        };
        plain::measure(&self.plain, &request)
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
        let mut sampler =
            DescriptorSampler::new(&clock, self.directory, seed).reader_cpu(self.reader_cpu);
        let watch = Watch {
            progress: &mut |_| (),
            stop: &AtomicBool::new(false),
            save: None,
        };
        let outcome = vectored_measure::measure::run(&experiment, &mut sampler, &clock, watch)?;
        ensure!(outcome.cells.len() == 1, "the engine measured no cell");
        let cell = &outcome.cells[0];
        let mut medians = Medians::from([("floor".to_owned(), cell.floor_ns)]);
        for technique in &cell.techniques {
            medians.insert(technique.name.to_string(), technique.median_ns);
        }
        Ok(medians)
    }
}
