//! `cargo xtask ruler --experiments`: measures the ratios between techniques twice, by the published
//! experiments of `vectored reproduce` and by plain C programs, and compares them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail, ensure};
use vectored_machine::MonotonicClock;
use vectored_measure::reproduce::{Bench, EtaTracker, ListPlan, Plan, REPEATS, run as reproduce};
use vectored_results::model::{Measure, Ratio};
use vectored_results::stats::median;

use super::{Medians, Options, agreement, plain};
use crate::commands::answer;

/// Element sizes at which ratios are compared: below, at and above the published
/// crossover.
const ELEMENT_BYTES: [usize; 3] = [100, 200, 1000];
const CALLS: u32 = 100;

/// An experiment that both instruments run.
enum Experiment {
    Records(u32),
    Elements(usize),
}

/// Compares all ratios; fails if one differs.
pub fn run(options: &Options, cpu: usize) -> Result<()> {
    let program = plain::compile("published_experiments")?;
    let directory = &options.directory;
    println!(
        "vectored reproduce and plain C in turn, {} times, on CPU {cpu}: CPU time ÷ that of copying",
        options.rounds
    );
    let mut all_agree = true;
    for experiment in experiments(options.records) {
        let repeats = experiment.repeats();
        println!("\n{}", experiment.name());
        all_agree &= agreement::in_turn(
            options.rounds,
            |round| experiment.plain(&program, (repeats, round), cpu, directory),
            |round| engine(experiment.plan(repeats), round as u64, directory),
        )?;
    }
    super::verdict(all_agree)
}

fn experiments(records: u32) -> Vec<Experiment> {
    let elements = ELEMENT_BYTES.map(Experiment::Elements);
    let records = Experiment::Records(records);
    std::iter::once(records).chain(elements).collect()
}

impl Experiment {
    fn name(&self) -> String {
        match self {
            Experiment::Records(records) => format!("apue-14.28, {records} records a file"),
            Experiment::Elements(bytes) => format!("kalinin, elements of {bytes} B"),
        }
    }

    /// The repeats of a turn, whose median is taken: as many as `vectored reproduce` makes, but no more than fit about one
    /// second. C and the engine then take turns faster than the speed of a shared machine changes.
    fn repeats(&self) -> usize {
        const TURN_RECORDS: usize = 1 << 20;
        match *self {
            Experiment::Records(count) => (TURN_RECORDS / count.max(1) as usize).clamp(1, REPEATS),
            Experiment::Elements(_) => REPEATS,
        }
    }

    fn plan(&self, repeats: usize) -> Box<dyn Plan> {
        let (element_bytes, calls) = match *self {
            Experiment::Records(records) => (None, records),
            Experiment::Elements(bytes) => (Some(vec![bytes]), CALLS),
        };
        Box::new(ListPlan {
            element_bytes,
            calls,
            repeats,
            reduced: false,
        })
    }

    /// Ratios of the C program.
    fn plain(
        &self,
        program: &Path,
        (repeats, turn): (usize, usize),
        cpu: usize,
        directory: &Path,
    ) -> Result<Medians> {
        let words = match self {
            Experiment::Records(records) => format!("records {records} {repeats} {turn} {cpu}"),
            Experiment::Elements(bytes) => format!("elements {bytes} {CALLS} {repeats} {cpu}"),
        };
        let mut command = Command::new(program);
        let printed = answer(command.args(words.split(' ')).arg(directory))?;
        let ratios = parse(&printed).with_context(|| format!("C printed '{printed}'"))?;
        ensure!(!ratios.is_empty(), "C printed no ratio: '{printed}'");
        Ok(ratios)
    }
}

/// Ratios as `vectored reproduce` has them.
fn engine(plan: Box<dyn Plan>, seed: u64, directory: &Path) -> Result<Medians> {
    let mut nobody = |_: &_| ();
    let mut bench = Bench {
        clock: &MonotonicClock,
        directory,
        // Only copies are run as children.
        program: Path::new("vectored"),
        reader_cpu: None,
        seed,
        eta: EtaTracker::new(&mut nobody),
        stop: &AtomicBool::new(false),
    };
    let (done, failure) = reproduce(&[plan], &mut bench);
    if let Some(error) = failure {
        bail!("{error}");
    }
    let [reproduction] = done.as_slice() else {
        bail!("one experiment was run, and {} came back", done.len());
    };
    let of_cpu = |ratio: &&Ratio| ratio.measure == Measure::Cpu;
    let ratios = reproduction.ratios.iter().filter(of_cpu);
    let named = ratios.map(|ratio| {
        let technique = &reproduction.rows[ratio.of].key.technique;
        (name_of(technique), ratio.ratio)
    });
    Ok(named.collect())
}

fn name_of(technique: &str) -> String {
    format!("{technique} ÷ copying")
}

/// Parses lines of technique, CPU time and wall time, in the order of the repeats. Returns for each technique the
/// median over the repeats of its CPU time ÷ the CPU time of copying.
fn parse(printed: &str) -> Option<Medians> {
    let mut samples: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in printed.lines() {
        let mut words = line.split(' ');
        let (technique, cpu_ns, wall_ns) = (words.next()?, words.next()?, words.next()?);
        let _: u64 = wall_ns.parse().ok()?;
        let times = samples.entry(technique).or_default();
        times.push(cpu_ns.parse().ok()?);
    }
    let copying = samples.remove("copy-then-write")?;
    let ratio = |(technique, times): (&str, Vec<f64>)| {
        let ratios = std::iter::zip(&times, &copying).map(|(time, copying)| time / copying);
        Some((name_of(technique), median(&ratios.collect::<Vec<_>>())?))
    };
    samples.into_iter().map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use vectored_machine::host::allowed_cpus;

    use super::*;
    use crate::root;

    #[test]
    fn the_c_experiments_compile_and_run() {
        let program = plain::compile("published_experiments").unwrap();
        let cpu = allowed_cpus().first().copied().unwrap_or(0);
        for experiment in experiments(10) {
            experiment.plain(&program, (1, 0), cpu, root()).unwrap();
        }
    }

    #[test]
    fn ratios_are_medians_of_the_repeats() {
        let printed = "writev 30 1\ncopy-then-write 20 1\n\
                       writev 50 1\ncopy-then-write 20 1\n\
                       copy-then-write 10 1\nwritev 20 1\n";
        let ratios = parse(printed).unwrap();
        assert_eq!(ratios["writev ÷ copying"], 2.0);
        assert_eq!(ratios.len(), 1);
        assert_eq!(parse("writev 30 1\n"), None);
        assert_eq!(parse("writev fast 1\n"), None);
    }
}
