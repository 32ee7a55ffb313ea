//! Crossovers against machines whose truth is known: the whole procedure, with the sizes that the procedure adds between
//! the sizes of the grid.
//!
//! `cargo test -p vectored-measure crossovers -- --nocapture` prints the figures.

use fastrand::Rng;
use vectored::CostModel;
use vectored_machine::FakeClock;
use vectored_measure::measure::{Contender, SyntheticMachine};
use vectored_results::model::{
    Cell, CellSpec, DirectIo, Experiment, Target, TechniqueName, Workload,
};
use vectored_results::stats::crossovers;

use crate::noise::Noise;
use crate::simulation::simulations;
use crate::support::{WRITES, experiment, run_quietly};

const COUNTS: [usize; 3] = [2, 16, 1000];
const SIZES: [usize; 6] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10];

const MAX_BYTES: usize = 4 << 20;

/// The number of simulations of each kind of noise. These simulations have 96 crossovers. A procedure whose intervals cover
/// 93 % of the crossovers would reach [`MIN_COVERAGE`] with a probability of 3 % (binomial). In fact, the intervals cover
/// more than 99 %.
const SIMULATIONS: u64 = 40;
const MIN_COVERAGE: f64 = 0.97;

#[test]
fn crossovers_lie_in_their_intervals_under_independent_noise() {
    let noise = Noise::LogNormal { sigma: 0.05 };
    check_coverage("log-normal, sigma 0.05", noise, 1.7);
}

#[test]
fn crossovers_lie_in_their_intervals_under_shared_load() {
    let noise = Noise::Autoregressive {
        rho: 0.6,
        sigma: 0.1,
        shared: true,
    };
    // The noise is twice as strong, for the same time. Each width includes the difference between runs. The
    // difference alone is a factor of 1.2 to 1.5.
    check_coverage("AR(1) 0.6 over time, sigma 0.1", noise, 2.0);
}

fn check_coverage(name: &str, noise: Noise, median_width: f64) {
    let mut found = 0;
    let mut covered = 0;
    let mut missed = 0;
    let mut truths = 0;
    let mut widths = Vec::new();
    for seed in 0..simulations(SIMULATIONS) {
        let mut rng = Rng::with_seed(seed);
        let machine = any_machine(&mut rng);
        let count = COUNTS[rng.usize(..COUNTS.len())];
        let cells = measure(machine, noise, seed, &[count], true);
        let cells: Vec<&Cell> = cells.iter().collect();
        let crossovers = crossovers(&cells);
        let truth = true_crossovers(&machine, count);
        truths += truth;
        missed += truth.saturating_sub(crossovers.len());
        for crossover in crossovers {
            found += 1;
            let [below, above] = [crossover.below, crossover.above];
            let range = crossover.low_bytes..=crossover.high_bytes;
            let is_sign_change = |bytes: usize| {
                let gain = |bytes| {
                    cost(&machine, below, count, bytes) - cost(&machine, above, count, bytes)
                };
                (gain(bytes) > 0.0) != (gain(bytes + 1) > 0.0)
            };
            let [low, high] = [range.start().floor() as usize, range.end().ceil() as usize];
            let is_covered = (low..high).any(is_sign_change);
            covered += usize::from(is_covered);
            if !is_covered {
                println!("{seed}: {count} segments: {crossover:?}");
            }
            widths.push(crossover.high_bytes / crossover.low_bytes);
        }
    }
    widths.sort_unstable_by(f64::total_cmp);
    let coverage = f64::from(covered as u32) / f64::from(found);
    println!(
        "{name}: {found} crossovers found of {truths}, {missed} missed, {:.1} % in their intervals, \
         high ÷ low {:.3} in the median, {:.3} in the 95th percentile",
        100.0 * coverage,
        widths[widths.len() / 2],
        widths[widths.len() * 95 / 100],
    );
    assert!(coverage >= MIN_COVERAGE, "{name}: {coverage:.3}");
    assert!(missed * 10 <= truths, "{name}: {missed} of {truths}");
    assert!(widths[widths.len() / 2] <= median_width, "{name}");
}

#[test]
fn what_is_not_refined_is_measured_at_the_sizes_of_the_grid_only() {
    let machine = any_machine(&mut Rng::with_seed(1));
    let grid = measure(machine, Noise::None, 1, &COUNTS, false);
    assert!(
        grid.iter()
            .all(|cell| SIZES.contains(&cell.segment_bytes.unwrap()))
    );
    let refined = measure(machine, Noise::None, 1, &COUNTS, true);
    assert!(refined.len() > grid.len());
}

fn any_machine(rng: &mut Rng) -> CostModel {
    let mut within = |low: f64, high: f64| low + rng.f64() * (high - low);
    let segment_ns = within(14.0, 40.0);
    let copy_byte_ns = within(0.02, 0.06);
    CostModel::default().with(|costs| {
        costs.call_ns = within(200.0, 900.0);
        costs.gather_call_ns = within(40.0, 120.0);
        costs.segment_ns = segment_ns;
        costs.large_segment_ns = segment_ns * within(1.0, 3.0);
        costs.iovec_step_ns = within(30.0, 110.0);
        costs.page_end_ns = 0.0;
        costs.byte_ns = within(0.05, 0.3);
        costs.copy_segment_ns = within(1.5, 8.0);
        costs.copy_byte_ns = copy_byte_ns;
        costs.copy_byte_uncached_ns = copy_byte_ns * within(1.5, 3.0);
    })
}

/// The number of times that the fastest technique changes as the size grows.
fn true_crossovers(machine: &CostModel, count: usize) -> usize {
    let largest = (MAX_BYTES / count).min(SIZES[5]);
    let fastest = |bytes: usize| {
        let of = |technique| cost(machine, technique, count, bytes);
        WRITES.into_iter().min_by(|&a, &b| of(a).total_cmp(&of(b)))
    };
    (SIZES[0]..largest)
        .filter(|&bytes| fastest(bytes) != fastest(bytes + 1))
        .count()
}

fn cost(machine: &CostModel, technique: TechniqueName, count: usize, bytes: usize) -> f64 {
    let bytes = (count * bytes) as u64;
    match technique {
        TechniqueName::WRITE_EACH => {
            count as f64 * machine.call_ns + bytes as f64 * machine.byte_ns
        }
        TechniqueName::COPY_THEN_WRITE => machine.copy_then_write_ns(count, bytes),
        TechniqueName::WRITEV => machine.writev_ns(count, bytes),
        other => panic!("{other} is no rival here"),
    }
}

/// All cells of a run of the grid on an invented machine. The cells between the sizes of the grid come last.
fn measure(
    machine: CostModel,
    noise: Noise,
    seed: u64,
    counts: &[usize],
    refine: bool,
) -> Vec<Cell> {
    let grid = counts
        .iter()
        .flat_map(|&count| SIZES.map(|bytes| (count, bytes)));
    let cells = grid
        .filter(|(count, bytes)| count * bytes <= MAX_BYTES)
        .map(|(count, bytes)| CellSpec::write(Target::Pipe, Workload::uniform(count, bytes)));
    let budget_ns = counts.len() as u64 * 1_500_000_000;
    let experiment = Experiment {
        unranked: vec![],
        refine,
        seed,
        ..experiment(cells.collect(), &WRITES, budget_ns)
    };
    let clock = FakeClock::default();
    let mut sampler = SyntheticMachine::with_model(clock.clone(), noise, seed, machine);
    let mut outcome = run_quietly(&experiment, &mut sampler, &clock).unwrap();
    outcome.cells.append(&mut outcome.refined_cells);
    outcome.cells
}

#[test]
fn sizes_between_the_requested_ones_are_aligned_too() {
    let direct = DirectIo {
        memory_bytes: 512,
        offset_bytes: 512,
    };
    let clock = FakeClock::default();
    let cells = [512, 16 << 10, 256 << 10].map(|bytes| CellSpec {
        alignment: Some(direct),
        ..CellSpec::write(Target::File, Workload::uniform(16, bytes))
            .with(|asked| asked.direct = true)
    });
    let rivals = [TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV];
    let experiment = Experiment {
        unranked: vec![],
        refine: true,
        ..experiment(cells.to_vec(), &rivals, 60_000_000_000)
    };
    let noise = Noise::LogNormal { sigma: 0.01 };
    // Copying is faster below 20,000 bytes a segment.
    let mut machine = SyntheticMachine::new(clock.clone(), noise, 3, |cell, contender| {
        let bytes = cell.workload.total_bytes() as f64 / 16.0;
        match contender {
            Contender::Technique(TechniqueName::COPY_THEN_WRITE) => 1000.0 + 2.0 * bytes,
            Contender::Technique(_) => 21_000.0 + bytes,
            Contender::Floor | Contender::FloorAgain => 900.0,
        }
    });
    let outcome = run_quietly(&experiment, &mut machine, &clock).unwrap();
    let sizes = outcome.refined_cells.iter().map(|cell| cell.segment_bytes);
    let sizes: Vec<usize> = sizes.map(Option::unwrap).collect();
    assert!(!sizes.is_empty());
    assert!(
        sizes.iter().all(|bytes| bytes.is_multiple_of(512)),
        "{sizes:?}"
    );
}
