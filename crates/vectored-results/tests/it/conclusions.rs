//! The conclusions from the samples of a run, and the sentences about the conclusions. The machines are invented and have
//! little noise, so every word is known.

use std::iter::zip;

use vectored::CostModel;
use vectored_results::model::{
    Cell, Drain, ModelSource, Rank, Results, Target, TechniqueName, Verdict,
};
use vectored_results::stats::{RefinementRequest, crossovers, judge, refinement_requests};

use crate::samples::{WRITES, cell, sentences, table, technique};

/// A run on this machine, of lists of 2, 16 and 1000 segments. The times vary by 0.5 %.
fn run_on(machine: CostModel) -> Results {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut round = |ns: f64| ns * (1.0 + 0.01 * (rng.f64() - 0.5));
    let mut rounds = |ns| (0..40).map(|_| round(ns)).collect::<Vec<f64>>();
    let mut cells = Vec::new();
    for count in [2, 16, 1000] {
        for bytes in [16, 64, 256, 1024, 1674, 4096, 16 << 10] {
            let total = (count * bytes) as u64;
            if total > 4 << 20 {
                continue;
            }
            let each = count as f64 * machine.call_ns + total as f64 * machine.byte_ns;
            let costs = [
                each,
                machine.copy_then_write_ns(count, total),
                machine.writev_ns(count, total),
            ];
            let floor = machine.call_ns + total as f64 * machine.byte_ns;
            let techniques = zip(WRITES, costs).map(|(name, ns)| {
                let mut measured = technique(name, 0.0, 1.0, None);
                measured.samples_ns = rounds(ns).into_iter().map(Some).collect();
                measured
            });
            let mut measured = cell(Target::Pipe, bytes, Verdict::Open, techniques.collect());
            (measured.segment_count, measured.floor_samples_ns) = (count, rounds(floor));
            measured.aa_samples_ns = rounds(floor).into_iter().map(Some).collect();
            cells.push(measured);
        }
    }
    judge(&mut cells, &WRITES);
    let mut results = Results {
        rivals: WRITES.to_vec(),
        cells,
        ..Results::default()
    };
    results.find(Vec::new());
    results
}

fn machine() -> CostModel {
    CostModel::default().with(|costs| {
        costs.gather_call_ns = 60.0;
        costs.segment_ns = 20.0;
        costs.large_segment_ns = 40.0;
        costs.copy_segment_ns = 2.0;
        costs.copy_byte_ns = 0.03;
        costs.copy_byte_uncached_ns = 0.08;
        costs.byte_ns = 0.1;
        costs.call_ns = 300.0;
        costs.iovec_step_ns = 40.0;
        costs.page_end_ns = 0.0;
    })
}

#[test]
fn a_section_names_the_crossover_and_what_it_costs_to_be_wrong() {
    insta::assert_snapshot!(table(&run_on(machine()), 120));
}

fn copying_machine() -> CostModel {
    machine().with(|costs| (costs.call_ns, costs.gather_call_ns) = (1e5, 1e5))
}

/// A machine with these costs of copying. Gathering costs nothing.
fn gathering_machine(copy_segment_ns: f64, copy_byte_ns: f64) -> CostModel {
    machine().with(|costs| {
        costs.large_segment_ns = 0.0;
        costs.segment_ns = 0.0;
        costs.gather_call_ns = 0.0;
        costs.iovec_step_ns = 0.0;
        costs.copy_segment_ns = copy_segment_ns;
        costs.copy_byte_ns = copy_byte_ns;
        costs.copy_byte_uncached_ns = copy_byte_ns;
    })
}

#[test]
fn where_one_technique_wins_everywhere_or_all_tie_that_is_the_answer() {
    let all_win = run_on(gathering_machine(20.0, 0.08));
    insta::assert_snapshot!(sentences(&all_win).join("\n"));
    let tied = run_on(gathering_machine(0.0, 0.0));
    let mut cells = tied.cells.iter();
    assert!(cells.all(|cell| cell.verdict == Verdict::Tie));
    let said = sentences(&tied);
    assert!(said[0].contains("take the same time"), "{said:?}");
    assert_eq!((said.len(), tied.crossovers), (1, vec![]));
}

/// Gives the chosen cells this winner, or no winner.
fn won(cells: &mut [Cell], winner: Option<TechniqueName>, is_it: impl Fn(usize, usize) -> bool) {
    for cell in cells {
        if is_it(cell.segment_count, cell.segment_bytes.unwrap()) {
            cell.verdict = if winner.is_some() { Verdict::Faster } else { Verdict::Open };
            cell.winner = winner;
        }
    }
}

const EACH: Option<TechniqueName> = Some(TechniqueName::WRITE_EACH);
const COPY: Option<TechniqueName> = Some(TechniqueName::COPY_THEN_WRITE);
const GATHER: Option<TechniqueName> = Some(TechniqueName::WRITEV);

#[test]
fn the_answer_says_what_is_certain_of_which_lists() {
    let mut results = run_on(machine());
    won(&mut results.cells, COPY, |count, _| count < 1000);
    results.find(Vec::new());
    let said = &sentences(&results)[0];
    let expected = "pipe: 2 and 16 segments: always copy; 1000: copy below ";
    assert!(said.starts_with(expected), "{said}");

    // Sizes without a winner end a rule. A list with a helper ends a rule if its winner contradicts the rule.
    let mut results = run_on(copying_machine());
    results.cells.retain(|cell| cell.segment_count == 2);
    let mut said = |winner, drain, is_it: fn(usize) -> bool, expected: &str| {
        won(&mut results.cells, winner, |_, bytes| is_it(bytes));
        let last = results.cells.last_mut().unwrap();
        (last.drain, last.leader) = (drain, last.winner.or(last.leader));
        results.find(Vec::new());
        let said = &sentences(&results)[0];
        assert!(said.starts_with(expected), "{expected}: {said}");
    };
    let helped = Some(Drain::ReaderThread);
    said(COPY, None, |_| true, "pipe: always copy; never");
    said(COPY, helped, |_| true, "pipe: always copy; never");
    said(
        EACH,
        helped,
        |bytes| bytes == 16 << 10,
        "pipe: copy up to 4 KiB; never gather",
    );
    said(COPY, None, |_| true, "pipe: always copy; never");
    let rule = "pipe: copy up to 16 B and from 16 KiB on, probably copy between; never";
    said(None, None, |bytes| (64..=4096).contains(&bytes), rule);
    said(None, None, |bytes| bytes == 16, "pipe: copy from 16 KiB on");
}

#[test]
fn the_last_sentence_says_what_holds_on_every_target() {
    let mut results = run_on(machine());
    results.cells.retain(|cell| cell.segment_count < 1000);
    let mut others = results.cells.clone();
    for cell in &mut others {
        cell.conditions.target = Target::Unix;
    }
    results.cells.extend(others);
    for (winner, bytes, rules) in [
        // A cell without a winner does not end the rule of its neighbours. A cell with another winner ends the rule.
        (None, 64, "copy up to 1 KiB, gather from 4 KiB on"),
        (GATHER, 64, "copy up to 16 B, gather from 4 KiB on"),
        // Without a rule for both counts, each count has its own rule.
        (
            GATHER,
            16,
            "2 segments: gather from 4 KiB on; 16: copy up to 1 KiB, gather from 1674 B on",
        ),
    ] {
        won(&mut results.cells[..7], winner, |count, size| {
            (count, size) == (2, bytes)
        });
        let said = sentences(&results);
        let expected = format!("overall: {rules}; never one by one (up to 13 times as long).");
        assert!(said.contains(&expected), "{expected}: {said:?}");
    }
}

fn said_of(results: &Results, segment_count: usize) -> Option<String> {
    let subject = format!("{segment_count} segments: ");
    let mut said = sentences(results).into_iter();
    said.find_map(|sentence| Some(sentence.strip_prefix(&subject)?.to_owned()))
}

#[test]
fn what_a_cell_contradicts_is_not_said() {
    let mut results = run_on(machine());
    assert!(said_of(&results, 2).unwrap().starts_with("Copy below"));
    assert!(sentences(&results)[0].contains("never one by one"));
    let techniques = &mut results.cells[6].techniques;
    techniques[0].ratio_low = Some(0.99);
    let said = &sentences(&results)[0];
    assert!(!said.contains("one by one"), "{said}");
    won(&mut results.cells[..1], GATHER, |_, _| true);
    results.find(Vec::new());
    assert_eq!(said_of(&results, 2), None);
    assert!(said_of(&results, 16).is_some());
    // No winner, no crossover.
    won(&mut results.cells, None, |_, _| true);
    results.find(Vec::new());
    assert_eq!(results.crossovers, []);
}

#[test]
fn dev_null_and_ranks_give_no_cost_models() {
    let run = run_on(machine());
    let mut null = run.clone();
    for cell in &mut null.cells {
        cell.conditions.target = Target::Null;
    }
    null.find(Vec::new());
    assert_eq!((null.crossovers, null.cost_models), (vec![], vec![]));
    let mut ranked = Results {
        ranks: vec![Rank::default()],
        ..run.clone()
    };
    for cell in &mut ranked.cells {
        cell.conditions.ranks = Some(1);
    }
    // No model is taken from cells, nor from a calibration before the run.
    ranked.find(run.cost_models);
    assert_eq!(ranked.cost_models, []);
}

#[test]
fn a_calibrated_model_is_judged_by_the_cells_and_shown_beside_the_fitted_one() {
    let mut results = run_on(machine());
    let before = results.clone();
    results.find(Vec::new());
    assert_eq!(before, results, "the same cells give the same conclusions");
    let fitted = &results.cost_models[0];
    let judged = (
        fitted.source,
        fitted.judged_cells,
        results.cost_models.len(),
    );
    assert_eq!(judged, (ModelSource::Cells, results.cells.len(), 1));
    // A model that never copies is wrong wherever segments are small.
    let mut bad = fitted.clone();
    bad.source = ModelSource::Calibration;
    bad.model.copy_thresholds = vectored::cost::CopyThresholds::everywhere(0);
    results.find(vec![bad]);
    let regrets = results
        .cost_models
        .iter()
        .map(|model| model.regret_p95.unwrap());
    let regrets: Vec<f64> = regrets.collect();
    assert!(regrets[0] < 0.01 && regrets[1] > 0.5, "{regrets:?}");
    let shown = table(&results, 100);
    assert_eq!(shown.matches("pipe, calibrated").count(), 1, "{shown}");
}

/// Lists at these sizes: the logarithm of the time of copying ÷ gathering, and the range over which the rounds spread.
fn priced(sizes: &[(usize, f64, f64)], rounds: usize) -> Vec<Cell> {
    let turn = |round: usize| ((round * 37 + 11) % 101) as f64 / 100.0 - 0.5;
    let of = |&(bytes, ln, spread): &(usize, f64, f64)| {
        let mut pair = [WRITES[1], WRITES[2]].map(|name| technique(name, 0.0, 1.0, None));
        let time = |round| Some(1000.0 * f64::exp(ln + spread * turn(round)));
        pair[0].samples_ns = (0..rounds).map(time).collect();
        pair[1].samples_ns = vec![Some(1000.0); rounds];
        Cell {
            rounds: rounds as u32,
            floor_samples_ns: vec![1000.0; rounds],
            aa_samples_ns: vec![Some(1000.0); rounds],
            ..cell(Target::Pipe, bytes, Verdict::Open, pair.into())
        }
    };
    let mut cells: Vec<Cell> = sizes.iter().map(of).collect();
    judge(&mut cells, &WRITES);
    cells
}

#[test]
fn an_interval_is_between_sure_sizes_or_around_a_doubtful_one() {
    let sure = [(64, -0.5, 0.0), (1024, 0.5, 0.0)];
    let doubtful = [(16, -0.5, 0.0), (256, 0.01, 0.2), (4096, 0.5, 0.0)];
    for (sizes, places, wanted) in [
        (&sure[..], [256.0, 64.0, 1024.0], Some(256)),
        (&doubtful[..], [247.5, 200.0, 305.7], None),
    ] {
        let all = priced(sizes, 40);
        let cells: Vec<&Cell> = all.iter().collect();
        let requests = refinement_requests(&cells, &WRITES);
        let size = requests.iter().find_map(|request| match request {
            RefinementRequest::Size { bytes, .. } => Some(*bytes),
            RefinementRequest::Rounds { .. } => None,
        });
        assert_eq!(size, wanted);
        let [found] = &crossovers(&cells)[..] else {
            panic!("no crossover of {sizes:?}");
        };
        let [at, low, high] = places;
        assert_eq!(
            (found.at_bytes, found.low_bytes, found.high_bytes),
            (at, low, high)
        );
    }
    // No sentence is about the cost of a wrong choice at sizes within the interval.
    let mut results = run_on(machine());
    results.cells = priced(&sure, 40);
    results.find(Vec::new());
    let said = said_of(&results, 1000).unwrap();
    assert_eq!(said, "Copy below 256 B [64, 1024], gather above.");
}

#[test]
fn too_few_rounds_recommend_nothing() {
    for (rounds, choice) in [(19, None), (20, Some(TechniqueName::COPY_THEN_WRITE))] {
        assert_eq!(priced(&[(64, 0.0, 0.0)], rounds)[0].choice, choice);
    }
}
