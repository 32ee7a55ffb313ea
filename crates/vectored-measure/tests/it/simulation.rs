//! The whole procedure against machines with known costs. The tests count wrong verdicts, intervals that miss the true
//! ratio, and cells that are decided.
//!
//! Each test simulates 60 runs without true differences and 60 runs with them, of four cells each, under one kind of noise.
//! The test prints the figures of `docs/method.md`, which has more runs:
//! `VECTORED_SIMULATIONS=1000 cargo test -p vectored-measure simulation -- --nocapture`.

use vectored_machine::FakeClock;
use vectored_measure::measure::{Contender, SyntheticMachine, techniques};
use vectored_results::model::{Cell, Experiment, Operation, Role, TechniqueName, Verdict};

use crate::noise::Noise;
use crate::support::{WRITES, cells_of_pipe, experiment, place, run_quietly};

const RUNS: u64 = 60;

/// The claims are 5 % and 95 %. At most 2.2 % of the verdicts "faster" are wrong, and at least 94.3 % of the intervals
/// cover the true ratio; the bounds leave room for chance.
const MAX_FALSE_DISCOVERIES: f64 = 0.05;
const MIN_COVERAGE: f64 = 0.93;

pub fn simulations(usual: u64) -> u64 {
    match std::env::var("VECTORED_SIMULATIONS") {
        Ok(number) => number.parse().expect("VECTORED_SIMULATIONS is a number"),
        Err(_) => usual,
    }
}

/// Time per call, relative to the fastest technique, of write-each,
/// copy-then-write, writev and adaptive; one row per cell.
type Scenario = [[f64; 4]; 4];

/// No technique differs from another in any cell, except that in the last two cells one technique is so far behind that it
/// is no contender.
const NO_DIFFERENCE: Scenario = [
    [1.0, 1.0, 1.0, 1.0],
    [1.0, 1.0, 1.0, 1.0],
    [6.0, 1.0, 1.0, 1.0],
    [9.0, 1.0, 1.0, 1.0],
];

/// Small and large differences, on both sides of the tie zone.
const DIFFERENCES: Scenario = [
    [1.30, 1.00, 1.01, 1.01],
    [1.05, 1.02, 1.00, 1.00],
    [5.00, 1.00, 1.04, 0.99],
    [2.00, 1.15, 1.00, 1.02],
];

const LOG_NORMAL: Noise = Noise::LogNormal { sigma: 0.3 };
const AUTOREGRESSIVE_LOAD: Noise = Noise::Autoregressive {
    rho: 0.6,
    sigma: 0.3,
    shared: true,
};
const AUTOREGRESSIVE_EACH: Noise = Noise::Autoregressive {
    rho: 0.6,
    sigma: 0.3,
    shared: false,
};
const LEVEL_SHIFTS: Noise = Noise::LevelShifts {
    factor: 1.8,
    probability: 0.03,
    sigma: 0.05,
};

#[test]
fn log_normal_noise() {
    check("log-normal, sigma 0.3", LOG_NORMAL, 0.25);
}

#[test]
fn autoregressive_noise_that_all_techniques_share() {
    check("AR(1) 0.6 over time", AUTOREGRESSIVE_LOAD, 0.30);
}

#[test]
fn autoregressive_noise_of_each_technique() {
    check("AR(1) 0.6 of each technique", AUTOREGRESSIVE_EACH, 0.09);
}

#[test]
fn level_shifts() {
    check("level shifts of 1.8", LEVEL_SHIFTS, 0.75);
}

#[derive(Default)]
struct Tally {
    runs: u64,
    intervals: u64,
    covering: u64,
    /// Sum over the runs: wrong ÷ `faster`.
    wrong_shares: f64,
    decided: u64,
    cells: u64,
    /// Cells with a choice.
    bounds: u64,
    broken: u64,
}

impl Tally {
    fn coverage(&self) -> f64 {
        self.covering as f64 / self.intervals as f64
    }

    fn wrong(&self) -> f64 {
        self.wrong_shares / self.runs as f64
    }
}

/// Checks errors, coverage, and the share of cells that are decided where techniques differ.
fn check(name: &str, noise: Noise, least_decided: f64) {
    let without = tally(&NO_DIFFERENCE, noise);
    let with = tally(&DIFFERENCES, noise);
    println!(
        "{name}: without differences {:.1} % covered, {:.2} % of faster wrong, \
         {:.1} % decided; with differences {:.1} % covered, {:.2} % of faster wrong, \
         {:.1} % decided; {} of {} bounds broken",
        100.0 * without.coverage(),
        100.0 * without.wrong(),
        100.0 * without.decided as f64 / without.cells as f64,
        100.0 * with.coverage(),
        100.0 * with.wrong(),
        100.0 * with.decided as f64 / with.cells as f64,
        without.broken + with.broken,
        without.bounds + with.bounds,
    );
    let decided = with.decided as f64 / with.cells as f64;
    assert!(decided >= least_decided, "{name}: {decided:.4}");
    for tally in [&without, &with] {
        assert!(tally.intervals > tally.runs);
        let (coverage, wrong) = (tally.coverage(), tally.wrong());
        assert!(coverage >= MIN_COVERAGE, "{name}: {coverage:.4}");
        assert!(wrong <= MAX_FALSE_DISCOVERIES, "{name}: {wrong:.4}");
        // With few bounds the share varies much by chance.
        let broken = tally.broken as f64 / tally.bounds as f64;
        assert!(broken <= 0.05 || tally.bounds < 40, "{name}: {broken:.4}");
    }
}

fn tally(scenario: &Scenario, noise: Noise) -> Tally {
    let mut tally = Tally {
        runs: simulations(RUNS),
        ..Tally::default()
    };
    for seed in 0..tally.runs {
        let (mut wrong, mut faster) = (0, 0);
        for (cell, truth) in std::iter::zip(simulate(scenario, noise, seed), scenario) {
            tally.cells += 1;
            tally.decided += u64::from(matches!(cell.verdict, Verdict::Faster | Verdict::Tie));
            let leader = cell.leader.expect("every cell has rounds");
            let cost = |technique: TechniqueName| truth[place(technique)];
            for technique in &cell.techniques {
                if technique.name == leader {
                    continue;
                }
                if let (Some(low), Some(high)) = (technique.ratio_low, technique.ratio_high) {
                    let true_ratio = cost(technique.name) / cost(leader);
                    tally.intervals += 1;
                    tally.covering += u64::from(low <= true_ratio && true_ratio <= high);
                }
            }
            if let Some((choice, at_most)) = cell.choice.zip(cell.at_most) {
                let least = WRITES
                    .iter()
                    .map(|&rival| cost(rival))
                    .fold(f64::MAX, f64::min);
                tally.bounds += 1;
                tally.broken += u64::from(cost(choice) / least > 1.0 + at_most);
            }
            if let Some(winner) = cell.winner {
                let others = techniques(Operation::Write, true).into_iter();
                let others = others.filter(|technique| technique.role() != Role::Adaptive);
                let is_wrong = others
                    .filter(|&other| other != winner)
                    .any(|other| cost(other) <= cost(winner));
                wrong += u32::from(is_wrong);
                faster += 1;
            }
        }
        tally.wrong_shares += f64::from(wrong) / f64::from(faster.max(1));
    }
    tally
}

fn simulate(scenario: &Scenario, noise: Noise, seed: u64) -> Vec<Cell> {
    let clock = FakeClock::default();
    let truth = *scenario;
    let mut machine = SyntheticMachine::new(clock.clone(), noise, seed, move |cell, contender| {
        let row = truth[cell.workload.segment_count() - 1];
        20_000.0
            * match contender {
                Contender::Floor | Contender::FloorAgain => 0.8,
                Contender::Technique(technique) => row[place(technique)],
            }
    });
    let experiment = Experiment {
        seed,
        ..experiment(cells_of_pipe(scenario.len()), &WRITES, 400_000_000)
    };
    let outcome = run_quietly(&experiment, &mut machine, &clock).unwrap();
    assert!(outcome.complete);
    outcome.cells
}
