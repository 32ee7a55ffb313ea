//! The output for fixed samples.

use std::sync::atomic::AtomicBool;

use vectored_bench::bench_target::BenchTarget;
use vectored_bench::grid::{Wanted, parts};
use vectored_bench::mix::Mix;
use vectored_bench::page::page;
use vectored_bench::promises::{Rounds, against_best, promises, ratio};
use vectored_bench::table::table;
use vectored_bench::techniques::{
    ADAPTIVE2, ADAPTIVE3, ADAPTIVES, BUF_WRITER, BY_HAND, C_FWRITE, C_GATHER, C_WRITEV, CONTROL,
    GO_NET_BUFFERS, LIBUV, peers_and_c_callers,
};
use vectored_machine::FakeClock;
use vectored_measure::measure::{Contender, SyntheticMachine, Watch, log_normal, run_rounds};
use vectored_results::model::{
    Cache, Cell, CellSpec, Drain, Experiment, Results, SCHEMA, Target, TechniqueName,
};

/// The cost of a technique on an invented machine, in ns. `adaptive` is near the best of the others in all
/// cells but one; with the second calibration it is slower in all cells.
fn cost_ns(spec: &CellSpec, contender: Contender) -> f64 {
    let bytes = spec.workload.total_bytes() as f64;
    let count = spec.workload.segment_count() as f64;
    let floor = 300.0 + 0.1 * bytes;
    let each = 300.0 * count + 0.1 * bytes;
    let copy = floor + 2.0 * count + 0.05 * bytes;
    let writev = floor + 40.0 + 20.0 * count;
    let best = copy.min(writev);
    let list = (
        spec.conditions.target,
        spec.workload.segment_count(),
        spec.workload.uniform_bytes(),
    );
    let Contender::Technique(technique) = contender else {
        return floor;
    };
    match technique {
        // With a reader, a technique takes different times when it is measured twice.
        TechniqueName::WRITE_EACH if list == (Target::Pipe, 130, Some(1000)) => 0.9 * best,
        CONTROL if list == (Target::Pipe, 130, Some(1000)) => best,
        TechniqueName::WRITE_EACH | CONTROL => each,
        TechniqueName::COPY_THEN_WRITE => copy,
        TechniqueName::WRITEV => writev,
        TechniqueName::ADAPTIVE if list == (Target::Pipe, 130, Some(550)) => 1.2 * best,
        TechniqueName::ADAPTIVE if spec.workload.uniform_bytes().is_none() => 0.8 * best,
        TechniqueName::ADAPTIVE | ADAPTIVE3 => 1.01 * best,
        ADAPTIVE2 => 1.04 * best,
        LIBUV if list == (Target::Unix, 2, Some(1000)) => 0.9 * best,
        BUF_WRITER => 0.99 * best,
        GO_NET_BUFFERS => 6.0 * each,
        C_GATHER => 1.02 * best,
        _ => 1.2 * writev,
    }
}

fn samples() -> Results {
    let wanted = Wanted {
        counts: Some(vec![2, 24, 64, 130]),
        sizes: Some(vec![10, 550, 1000]),
        mixes: Some(vec![Mix::LogLines, Mix::Wal(100), Mix::Http(64 << 10)]),
        ..Wanted::default()
    };
    let mut cells = Vec::new();
    for part in parts(&wanted) {
        for (specs, peers) in [
            (&part.with_peers, &peers_and_c_callers()[..]),
            (&part.without_peers, &[][..]),
        ] {
            if !specs.is_empty() {
                cells.extend(measured(specs, peers));
            }
        }
    }
    for cell in &mut cells {
        // A list that does not fit a pipe of 64 KiB needs a reader thread.
        let bytes = cell.segment_count * cell.segment_bytes.unwrap_or(0);
        let is_large = bytes > 65_536 || cell.segment_count == 13;
        cell.drain =
            (cell.conditions.target == Target::Pipe && is_large).then_some(Drain::ReaderThread);
    }
    Results {
        schema: SCHEMA.to_owned(),
        complete: true,
        vectored_version: "0.0.0".to_owned(),
        started_at: "2001-01-01T00:00:00Z".to_owned(),
        elapsed_s: 12.0,
        budget_s: 12.0,
        seed: 1,
        rivals: BY_HAND.to_vec(),
        cells,
        ..Results::default()
    }
}

fn measured(specs: &[CellSpec], peers: &[TechniqueName]) -> Vec<Cell> {
    let clock = FakeClock::default();
    let mut machine = SyntheticMachine::new(clock.clone(), log_normal(0.01), 7, cost_ns);
    let experiment = Experiment {
        cells: specs.to_vec(),
        rivals: BY_HAND.to_vec(),
        unranked: [&ADAPTIVES[..], &[CONTROL], peers].concat(),
        refine: false,
        budget_ns: 0,
        seed: 3,
    };
    let stop = AtomicBool::new(false);
    let watch = Watch {
        progress: &mut |_| (),
        stop: &stop,
        save: None,
    };
    let outcome = run_rounds(&experiment, 41, &mut machine, &clock, watch);
    outcome.unwrap().cells
}

#[test]
fn fixed_samples_have_fixed_results() {
    insta::assert_snapshot!("promises", promises(&samples()));
}

#[test]
fn a_table_has_a_line_for_each_cell() {
    let mut results = samples();
    results.cells.retain(|cell| {
        cell.conditions.target == Target::Unix && cell.conditions.cache == Cache::Hot
    });
    insta::assert_snapshot!("table", table(&results));
}

#[test]
fn a_page_has_bars_promises_and_the_machine() {
    let mut results = samples();
    results
        .cells
        .retain(|cell| BenchTarget::of(cell) == Some(BenchTarget::Tmpfs));
    insta::assert_snapshot!("page", page(&results));
}

#[test]
fn a_page_of_programs_in_c_has_a_line_for_each_list_and_no_promises() {
    let wanted = Wanted {
        counts: Some(vec![2, 130]),
        sizes: Some(vec![10, 1000]),
        mixes: Some(vec![Mix::LogLines]),
        ..Wanted::default()
    };
    let parts = parts(&wanted).into_iter();
    let mut specs: Vec<CellSpec> = parts.flat_map(|part| part.with_peers).collect();
    specs.retain(|spec| matches!(spec.conditions.target, Target::Unix | Target::Null));
    let of_c = [C_GATHER, C_WRITEV, C_FWRITE];
    let mut results = samples();
    results.cells = measured(&specs, &of_c);
    insta::assert_snapshot!("page_of_programs_in_c", page(&results));
}

/// A cell with only these techniques, and these times by round.
fn cell(times: &[(TechniqueName, &[f64])]) -> Cell {
    let spec = parts(&Wanted::default())[0].with_peers[0].clone();
    let mut cell = measured(&[spec], &[]).remove(0);
    cell.techniques
        .retain(|result| times.iter().any(|(name, _)| *name == result.name));
    for result in &mut cell.techniques {
        let (_, samples) = times.iter().find(|(name, _)| *name == result.name).unwrap();
        result.samples_ns = samples.iter().copied().map(Some).collect();
    }
    cell
}

#[test]
fn the_best_is_chosen_on_odd_rounds_and_compared_on_even_ones() {
    // Copying is the faster one on odd rounds only.
    let cell = cell(&[
        (TechniqueName::COPY_THEN_WRITE, &[90.0, 200.0, 90.0, 200.0]),
        (TechniqueName::WRITEV, &[100.0, 100.0, 100.0, 100.0]),
        (TechniqueName::ADAPTIVE, &[500.0, 100.0, 500.0, 100.0]),
    ]);
    let found = against_best(&cell, TechniqueName::ADAPTIVE, &BY_HAND).unwrap();
    assert_eq!(found.best, TechniqueName::COPY_THEN_WRITE);
    assert!(
        (found.pair.ratio - 0.5).abs() < 1e-12,
        "{}",
        found.pair.ratio
    );
    assert_eq!(found.pair.rounds, 2);
}

#[test]
fn rounds_without_one_of_the_two_do_not_count() {
    let mut cell = cell(&[
        (TechniqueName::WRITEV, &[100.0, 100.0, 100.0]),
        (TechniqueName::ADAPTIVE, &[300.0, 200.0, 200.0]),
    ]);
    cell.techniques[0].samples_ns[0] = None;
    let pair = ratio(
        &cell,
        TechniqueName::ADAPTIVE,
        TechniqueName::WRITEV,
        Rounds::All,
    )
    .unwrap();
    assert_eq!(pair.rounds, 2);
    assert!((pair.ratio - 2.0).abs() < 1e-12);
    let nothing = ratio(&cell, TechniqueName::ADAPTIVE, LIBUV, Rounds::All);
    assert!(nothing.is_none());
}
