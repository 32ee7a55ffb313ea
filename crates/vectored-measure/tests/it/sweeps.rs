//! Sweeps over one size of a mix, and the question whether messages are to be joined, on machines whose
//! crossovers are known.

use fastrand::Rng;
use vectored::CostModel;
use vectored_measure::measure::Noise;
use vectored_results::model::{
    Experiment, Results, SweptMix, Target, TechniqueName, Verdict, Workload,
};

use crate::crossovers::{any_machine, of_lists, run_on};
use crate::support::{WRITES, experiment, sentences};

const SIZES: [usize; 7] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

fn mix(runs: &[(usize, Option<usize>)]) -> SweptMix {
    SweptMix::try_from(runs.to_vec()).unwrap()
}

fn header_and_body() -> SweptMix {
    mix(&[(1, Some(150)), (1, None)])
}

fn swept(mix: &SweptMix) -> Vec<Workload> {
    SIZES.map(|bytes| Workload::swept(mix, bytes)).to_vec()
}

fn uniform(count: usize) -> Vec<Workload> {
    SIZES.map(|bytes| Workload::uniform(count, bytes)).to_vec()
}

fn measure(
    lists: Vec<Workload>,
    rivals: &[TechniqueName],
    unranked: &[TechniqueName],
    machine: CostModel,
    seed: u64,
) -> Results {
    let budget_ns = lists.len() as u64 * 300_000_000;
    let experiment = Experiment {
        unranked: unranked.to_vec(),
        refine: true,
        seed,
        ..experiment(of_lists(Target::Unix, lists.into_iter()), rivals, budget_ns)
    };
    run_on(machine, Noise::LogNormal { sigma: 0.01 }, &experiment)
}

fn measure_mixes(mixes: &[SweptMix], machine: CostModel, seed: u64) -> Results {
    let lists = mixes.iter().flat_map(swept).collect();
    measure(lists, &WRITES, &[], machine, seed)
}

fn measure_joins(counts: &[usize], machine: CostModel, seed: u64) -> Results {
    let lists = counts.iter().flat_map(|&count| uniform(count)).collect();
    let (rivals, beside) = (
        [TechniqueName::WRITE_EACH, TechniqueName::COPY_THEN_WRITE],
        [TechniqueName::WRITEV, TechniqueName::ADAPTIVE],
    );
    measure(lists, &rivals, &beside, machine, seed)
}

fn machine() -> CostModel {
    any_machine(&mut Rng::with_seed(1)).with(|costs| {
        costs.call_ns = 1000.0;
        costs.gather_call_ns = 60.0;
        costs.segment_ns = 20.0;
        costs.large_segment_ns = 20.0;
        costs.iovec_step_ns = 40.0;
        costs.byte_ns = 0.03;
        costs.copy_segment_ns = 3.0;
        costs.copy_byte_ns = 0.05;
        costs.copy_byte_uncached_ns = 0.1;
    })
}

#[test]
fn a_swept_mix_is_named_with_its_crossover() {
    let two = [header_and_body(), mix(&[(1, Some(4000)), (1, None)])];
    let results = measure_mixes(&two, machine(), 3);
    insta::assert_snapshot!(sentences(&results).join("\n"));
}

#[test]
fn a_sweep_without_a_crossover_says_so() {
    // Neither copying nor calls ever cost as much as a list.
    let machine = machine().with(|costs| {
        costs.gather_call_ns = 1e6;
        costs.call_ns = 1e5;
    });
    let results = measure_mixes(&[header_and_body()], machine, 3);
    assert_eq!(results.crossovers, []);
    insta::assert_snapshot!(sentences(&results).join("\n"));
    // Copying and gathering cost nothing: no size has a winner.
    let machine = machine.with(|costs| {
        costs.gather_call_ns = 0.0;
        costs.segment_ns = 0.0;
        costs.large_segment_ns = 0.0;
        costs.iovec_step_ns = 0.0;
        costs.copy_segment_ns = 0.0;
        costs.copy_byte_ns = 0.0;
        costs.copy_byte_uncached_ns = 0.0;
    });
    let results = measure_mixes(&[header_and_body()], machine, 3);
    assert!(
        results
            .cells
            .iter()
            .all(|cell| cell.verdict == Verdict::Tie)
    );
    let said = sentences(&results);
    assert!(
        said[0].contains("1 × SIZE: ") && said[0].contains("take the same time"),
        "{said:?}"
    );
}

#[test]
fn joining_is_answered_by_the_size_below_which_it_pays() {
    let said = sentences(&measure_joins(&[2, 16], machine(), 3));
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn joining_that_always_or_never_pays_is_said_so() {
    let dear_calls = machine().with(|costs| costs.call_ns = 1e5);
    let dear_copies = machine().with(|costs| costs.copy_segment_ns = 1e5);
    let always = sentences(&measure_joins(&[2], dear_calls, 3));
    let never = sentences(&measure_joins(&[2], dear_copies, 3));
    insta::assert_snapshot!([always, never].concat().join("\n"));
}

#[test]
fn a_size_equal_to_a_fixed_one_stays_in_the_sweep() {
    let even = mix(&[(2, Some(256)), (1, None)]);
    let mut lists = swept(&even);
    lists.extend(uniform(3));
    let results = measure(
        lists,
        &[TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV],
        &[],
        machine(),
        3,
    );
    let equal = &results.cells[2];
    assert_eq!(equal.segment_bytes, None);
    assert_eq!(
        equal.segment_sizes.as_deref(),
        Some(&[(2, 256), (1, 256)][..])
    );
    assert_eq!(equal.swept_bytes(), Some(256));
    // Lists of three equal segments are another group, with another crossover.
    let mixes: Vec<_> = results
        .crossovers
        .iter()
        .map(|one| one.swept_mix.as_ref())
        .collect();
    assert_eq!(mixes, [Some(&even), None]);
    assert!(results.crossovers[0].at_bytes > results.crossovers[1].at_bytes);
    let is_refined = |is_swept: bool| {
        let mut cells = results.refined_cells.iter();
        cells.any(|cell| cell.swept_mix.is_some() == is_swept)
    };
    assert!(is_refined(true) && is_refined(false));
}
