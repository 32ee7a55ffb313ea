//! What follows from the samples of a run, and what is said of it, from invented machines with little
//! noise, so that every word of it is known.

use std::iter::zip;

use vectored::CostModel;
use vectored_results::model::{
    Cell, Drain, ModelSource, Rank, Results, Target, TechniqueName, Verdict,
};
use vectored_results::stats::{RefinementRequest, crossovers, judge, refinement_requests};

use crate::samples::{WRITES, cell, sentences, table, technique};

/// A run of lists of 2, 16 and 1000 segments on this machine, whose times vary by 0.5 %.
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

#[test]
fn where_one_technique_wins_everywhere_that_is_the_answer() {
    let machine = machine().with(|costs| {
        costs.large_segment_ns = 0.0;
        costs.segment_ns = 0.0;
        costs.gather_call_ns = 0.0;
        costs.iovec_step_ns = 0.0;
        costs.copy_segment_ns = 20.0;
    });
    insta::assert_snapshot!(sentences(&run_on(machine)).join("\n"));
}

#[test]
fn lists_with_another_answer_are_named() {
    let mut results = run_on(machine());
    for cell in results
        .cells
        .iter_mut()
        .filter(|cell| cell.segment_count < 1000)
    {
        (cell.verdict, cell.winner) = (Verdict::Faster, Some(TechniqueName::COPY_THEN_WRITE));
    }
    results.find(Vec::new());
    let said = &sentences(&results)[0];
    let expected = "pipe: 2 and 16 segments: always copy; 1000: copy below ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn where_nothing_is_sure_that_is_the_answer() {
    // Copying costs nothing, and neither does gathering.
    let machine = machine().with(|costs| {
        costs.large_segment_ns = 0.0;
        costs.segment_ns = 0.0;
        costs.gather_call_ns = 0.0;
        costs.iovec_step_ns = 0.0;
        costs.copy_segment_ns = 0.0;
        costs.copy_byte_ns = 0.0;
        costs.copy_byte_uncached_ns = 0.0;
    });
    let results = run_on(machine);
    assert!(
        results
            .cells
            .iter()
            .all(|cell| cell.verdict == Verdict::Tie)
    );
    let said = sentences(&results);
    assert!(said[0].contains("take the same time"), "{said:?}");
    assert_eq!(said.len(), 1);
    assert_eq!(results.crossovers, []);
}

#[test]
fn the_last_sentence_says_what_holds_on_every_target() {
    let mut results = run_on(machine());
    results
        .cells
        .retain(|cell| [2, 16].contains(&cell.segment_count));
    let mut others = results.cells.clone();
    others
        .iter_mut()
        .for_each(|cell| cell.conditions.target = Target::Unix);
    results.cells.extend(others);
    let overall = |results: &Results| {
        let mut said = sentences(results).into_iter();
        said.find(|sentence| sentence.starts_with("overall: "))
            .unwrap()
    };
    let said =
        |rules: &str| format!("overall: {rules}; never one by one (up to 13 times as long).");
    let both = said("copy up to 1 KiB, gather from 4 KiB on");
    let first = |cell: &&mut Cell, bytes| cell.segment_bytes == Some(bytes);
    let mut changed = |bytes, verdict, winner| {
        let cell = results
            .cells
            .iter_mut()
            .find(|cell| first(cell, bytes))
            .unwrap();
        (cell.verdict, cell.winner) = (verdict, winner);
        overall(&results)
    };
    // A cell without a winner does not end the rule of the others, a cell with another winner does.
    assert_eq!(changed(64, Verdict::Open, None), both);
    let gather = Some(TechniqueName::WRITEV);
    let less = said("copy up to 16 B, gather from 4 KiB on");
    assert_eq!(changed(64, Verdict::Faster, gather), less);
    // Without a rule for both counts each has its own.
    let each = "2 segments: gather from 4 KiB on; 16: copy up to 1 KiB, gather from 1674 B on";
    assert_eq!(changed(16, Verdict::Faster, gather), said(each));
}

/// The sentences about the crossovers of lists of `segment_count` segments.
fn said_of(results: &Results, segment_count: usize) -> Option<String> {
    let subject = format!("{segment_count} segments: ");
    let mut said = sentences(results).into_iter();
    said.find_map(|sentence| Some(sentence.strip_prefix(&subject)?.to_owned()))
}

#[test]
fn sizes_without_a_winner_end_a_rule() {
    let mut results = run_on(machine().with(|costs| {
        // Neither many calls nor a list ever pays.
        costs.call_ns = 1e5;
        costs.gather_call_ns = 1e5;
    }));
    results.cells.retain(|cell| cell.segment_count == 2);
    results.refined_cells.clear();
    let before = &sentences(&results)[0];
    assert!(before.contains("always copy"), "{before}");
    let undecided = |cell: &&mut Cell| (64..=4096).contains(&cell.segment_bytes.unwrap());
    for cell in results.cells.iter_mut().filter(undecided) {
        (cell.verdict, cell.winner) = (Verdict::Open, None);
    }
    results.find(Vec::new());
    let after = &sentences(&results)[0];
    let rule = "copy up to 16 B and from 16 KiB on, probably copy between; never";
    assert!(after.contains(rule), "{after}");
    (results.cells[0].verdict, results.cells[0].winner) = (Verdict::Open, None);
    let last = &sentences(&results)[0];
    assert!(last.contains(": copy from 16 KiB on"), "{last}");
}

#[test]
fn a_winner_that_the_crossover_contradicts_silences_its_sentence() {
    let mut results = run_on(machine());
    assert!(said_of(&results, 2).unwrap().starts_with("Copy below"));
    let smallest = |cell: &&mut Cell| (cell.segment_count, cell.segment_bytes) == (2, Some(16));
    let cell = results.cells.iter_mut().find(smallest).unwrap();
    assert_eq!(cell.winner, Some(TechniqueName::COPY_THEN_WRITE));
    cell.winner = Some(TechniqueName::WRITEV);
    results.find(Vec::new());
    assert_eq!(said_of(&results, 2), None);
    assert!(said_of(&results, 16).is_some());
}

/// Whatever cells are open, a rule has a significantly fastest technique on each side.
#[test]
fn a_crossover_has_a_winner_on_each_side() {
    let sure = run_on(machine());
    assert!(!sure.crossovers.is_empty());
    let mut rng = fastrand::Rng::with_seed(5);
    let mut found = 0;
    for percent_open in [0, 20, 50, 80, 100] {
        for _ in 0..3 {
            let mut results = sure.clone();
            for cell in results.cells.iter_mut().chain(&mut results.refined_cells) {
                if rng.u32(..100) < percent_open {
                    (cell.verdict, cell.winner) = (Verdict::Open, None);
                }
            }
            results.find(Vec::new());
            found += results.crossovers.len();
            for crossover in &results.crossovers {
                let has_winner = |technique, is_on_side: &dyn Fn(f64) -> bool| {
                    let mut cells = results.cells.iter().chain(&results.refined_cells);
                    cells.any(|cell| {
                        cell.segment_count == crossover.segment_count
                            && cell.winner == Some(technique)
                            && is_on_side(cell.segment_bytes.unwrap() as f64)
                    })
                };
                let at = crossover.at_bytes;
                assert!(
                    has_winner(crossover.below, &|bytes| bytes <= at),
                    "{crossover:?}"
                );
                assert!(
                    has_winner(crossover.above, &|bytes| bytes >= at),
                    "{crossover:?}"
                );
            }
            if percent_open == 100 {
                assert_eq!(results.crossovers, []);
            }
        }
    }
    assert!(found > 0);
}

/// A reader works beside the largest list of each count: what it changes is not contradicted by the sentence.
#[test]
fn a_sentence_does_not_contradict_cells_beside_a_thread() {
    let mut results = run_on(machine().with(|costs| {
        // Neither many calls nor a list ever pays.
        costs.call_ns = 1e5;
        costs.gather_call_ns = 1e5;
    }));
    results.cells.retain(|cell| cell.segment_count == 2);
    results.refined_cells.clear();
    let largest = results
        .cells
        .iter_mut()
        .max_by_key(|cell| cell.segment_bytes);
    let largest = largest.unwrap();
    largest.drain = Some(Drain::ReaderThread);
    results.find(Vec::new());
    let alike = &sentences(&results)[0];
    assert!(alike.contains("always copy"), "{alike}");
    let largest = results
        .cells
        .iter_mut()
        .max_by_key(|cell| cell.segment_bytes);
    let largest = largest.unwrap();
    let each = Some(TechniqueName::WRITE_EACH);
    (largest.winner, largest.leader) = (each, each);
    results.find(Vec::new());
    let other = &sentences(&results)[0];
    assert!(
        other.starts_with("pipe: copy up to 4 KiB; never gather"),
        "{other}"
    );
}

#[test]
fn one_by_one_is_not_said_to_lose_where_it_may_be_as_fast_somewhere() {
    let mut results = run_on(machine());
    let before = &sentences(&results)[0];
    assert!(before.contains("never one by one"), "{before}");
    let largest =
        |cell: &&mut Cell| (cell.segment_count, cell.segment_bytes) == (2, Some(16 << 10));
    let cell = results.cells.iter_mut().find(largest).unwrap();
    let mut techniques = cell.techniques.iter_mut();
    let each = techniques.find(|one| one.name == TechniqueName::WRITE_EACH);
    each.unwrap().ratio_low = Some(0.99);
    let after = &sentences(&results)[0];
    assert!(!after.contains("one by one"), "{after}");
}

#[test]
fn dev_null_gives_no_conclusions() {
    let mut results = run_on(machine());
    assert!(!results.crossovers.is_empty() && !results.cost_models.is_empty());
    for cell in &mut results.cells {
        cell.conditions.target = Target::Null;
    }
    results.find(Vec::new());
    assert_eq!(results.crossovers, []);
    assert_eq!(results.cost_models, []);
}

#[test]
fn ranks_give_no_cost_models() {
    let alone = run_on(machine());
    let mut ranked = Results {
        ranks: vec![Rank::default()],
        ..alone.clone()
    };
    for cell in &mut ranked.cells {
        cell.conditions.ranks = Some(1);
    }
    // No model is taken from cells, nor from a calibration before the run.
    ranked.find(alone.cost_models);
    assert_eq!(ranked.cost_models, []);
}

#[test]
fn the_same_cells_give_the_same_conclusions() {
    let mut results = run_on(machine());
    for measured in results.cells.iter().flat_map(|cell| &cell.techniques) {
        let ratio = measured.floor_ratio.unwrap() / (1.0 + measured.gather_tax);
        assert!((ratio - 1.0).abs() < 0.01, "{measured:?}");
    }
    let before = results.clone();
    results.find(Vec::new());
    assert_eq!(before, results);
}

#[test]
fn a_calibrated_model_is_judged_by_the_cells_and_shown_beside_the_fitted_one() {
    let mut results = run_on(machine());
    let [fitted] = &results.cost_models[..] else {
        panic!("{:?}", results.cost_models);
    };
    assert_eq!(fitted.source, ModelSource::Cells);
    assert_eq!(fitted.judged_cells, results.cells.len());
    // A model that never copies is wrong wherever segments are small.
    let mut bad = fitted.clone();
    bad.source = ModelSource::Calibration;
    bad.model.copy_thresholds = vectored::cost::CopyThresholds::everywhere(0);
    results.find(vec![bad]);
    let [fitted, bad] = &results.cost_models[..] else {
        panic!("{:?}", results.cost_models);
    };
    assert!(fitted.regret_p95.unwrap() < 0.01, "{fitted:?}");
    assert!(bad.regret_p95.unwrap() > 0.5, "{bad:?}");
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
    // Nothing is said of what it costs to be wrong at sizes within the interval.
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
