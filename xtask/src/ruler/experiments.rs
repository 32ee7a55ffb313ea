//! `cargo xtask ruler --experiments`: compares the ratios between techniques that the published
//! experiments find with those of plain C programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail, ensure};
use vectored_machine::MonotonicClock;
use vectored_measure::reproduce::{
    Bench, ElementPlan, EtaTracker, Plan, REPEATS, RecordPlan, run as reproduce,
};
use vectored_results::model::{Measure, Reproduction};
use vectored_results::stats::median;

use super::{Medians, Options, agreement, plain};
use crate::commands::answer;

/// Element sizes at which ratios are compared: below, at and above the published
/// crossover.
const ELEMENT_BYTES: [usize; 3] = [100, 200, 1000];
const CALLS: u32 = 100;

/// Compares all ratios; fails if one differs.
pub fn run(options: &Options, cpu: usize) -> Result<()> {
    let plain = PlainExperiments::compile()?;
    println!(
        "vectored reproduce and plain C in turn, {} times, on CPU {cpu}: CPU time ÷ that of copying",
        options.rounds
    );
    let mut all_agree = true;
    for experiment in experiments(options.records) {
        let repeats = experiment.repeats();
        let directory = &options.directory;
        println!("\n{}", experiment.name());
        all_agree &= agreement::in_turn(
            options.rounds,
            |round| plain.measure(&experiment, (repeats, round), cpu, directory),
            |round| engine(experiment.plan(repeats), round as u64, directory),
        )?;
    }
    super::verdict(all_agree)
}

/// An experiment that both instruments run.
enum Experiment {
    Records(u32),
    Elements(usize),
}

fn experiments(records: u32) -> Vec<Experiment> {
    let elements = ELEMENT_BYTES.map(Experiment::Elements);
    [Experiment::Records(records)]
        .into_iter()
        .chain(elements)
        .collect()
}

impl Experiment {
    fn name(&self) -> String {
        match self {
            Experiment::Records(records) => format!("apue-14.28, {records} records a file"),
            Experiment::Elements(bytes) => format!("kalinin, elements of {bytes} B"),
        }
    }

    /// Repeats a turn, of which the median counts: as many as `vectored reproduce`
    /// has, but no more than a second's worth, so that C and the engine take turns
    /// faster than a shared machine changes.
    fn repeats(&self) -> usize {
        const TURN_RECORDS: usize = 1 << 20;
        match *self {
            Experiment::Records(records) => {
                (TURN_RECORDS / records.max(1) as usize).clamp(1, REPEATS)
            }
            Experiment::Elements(_) => REPEATS,
        }
    }

    fn plan(&self, repeats: usize) -> Box<dyn Plan> {
        match *self {
            Experiment::Records(records) => Box::new(RecordPlan {
                records,
                repeats,
                reduced: false,
            }),
            Experiment::Elements(bytes) => Box::new(ElementPlan {
                element_bytes: vec![bytes],
                calls: CALLS,
                repeats,
                reduced: false,
            }),
        }
    }

    fn words(&self, repeats: usize, turn: usize) -> Vec<String> {
        match self {
            Experiment::Records(records) => {
                vec![
                    "records".to_owned(),
                    records.to_string(),
                    repeats.to_string(),
                    turn.to_string(),
                ]
            }
            Experiment::Elements(bytes) => vec![
                "elements".to_owned(),
                bytes.to_string(),
                CALLS.to_string(),
                repeats.to_string(),
            ],
        }
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
    Ok(ratios_of(reproduction))
}

fn ratios_of(reproduction: &Reproduction) -> Medians {
    let ratios = reproduction.ratios.iter();
    ratios
        .filter(|ratio| ratio.measure == Measure::Cpu)
        .map(|ratio| {
            (
                name_of(&reproduction.rows[ratio.of].key.technique),
                ratio.ratio,
            )
        })
        .collect()
}

fn name_of(technique: &str) -> String {
    format!("{technique} ÷ copying")
}

/// The compiled program.
pub struct PlainExperiments {
    program: PathBuf,
}

impl PlainExperiments {
    /// Compiles `xtask/ruler/published_experiments.c` into the target folder.
    pub fn compile() -> Result<Self> {
        let program = plain::compile("published_experiments")?;
        Ok(PlainExperiments { program })
    }

    fn measure(
        &self,
        experiment: &Experiment,
        (repeats, turn): (usize, usize),
        cpu: usize,
        directory: &Path,
    ) -> Result<Medians> {
        let mut command = Command::new(&self.program);
        command
            .args(experiment.words(repeats, turn))
            .arg(cpu.to_string())
            .arg(directory);
        let printed = answer(&mut command)?;
        let ratios = parse(&printed).with_context(|| format!("C printed '{printed}'"))?;
        ensure!(!ratios.is_empty(), "C printed no ratio: '{printed}'");
        Ok(ratios)
    }
}

/// Lines of technique, CPU time and wall time, in the order of the repeats: the
/// medians of the repeats' ratios over copying.
fn parse(printed: &str) -> Option<Medians> {
    let mut samples: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in printed.lines() {
        let mut words = line.split(' ');
        let (technique, cpu_ns, wall_ns) = (words.next()?, words.next()?, words.next()?);
        let _: u64 = wall_ns.parse().ok()?;
        samples
            .entry(technique)
            .or_default()
            .push(cpu_ns.parse().ok()?);
    }
    let copying = samples.remove("copy-then-write")?;
    let ratio = |(technique, times): (&str, Vec<f64>)| {
        let ratios: Vec<f64> = std::iter::zip(&times, &copying)
            .map(|(time, copying)| time / copying)
            .collect();
        Some((name_of(technique), median(&ratios)?))
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
        let plain = PlainExperiments::compile().unwrap();
        let cpu = allowed_cpus().first().copied().unwrap_or(0);
        for experiment in experiments(10) {
            assert!(plain.measure(&experiment, (1, 0), cpu, root()).is_ok());
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
