//! The engine on simulated machines: figures, verdicts, budgets and stops.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use vectored_machine::{Clock, FakeClock};
use vectored_measure::measure::{
    Contender, DrainChoice, MeasureError, Outcome, Progress, RunError, Sampler, SyntheticMachine,
    Watch, run,
};
use vectored_results::model::{CellSpec, Drain, Experiment, TechniqueName, Verdict};
use vectored_results::stats::LOOKS;

use crate::noise::Noise;
use crate::support::{
    self, Hooked, Step, WRITES, cells_of_pipe, place, run_quietly, run_rounds_quietly, unwatched,
};

const SECOND_NS: u64 = 1_000_000_000;

fn experiment(cells: usize, budget_ns: u64) -> Experiment {
    support::experiment(cells_of_pipe(cells), &WRITES, budget_ns)
}

/// A machine with these costs in ns per call: of the floor, then of the
/// techniques in order.
fn machine(clock: &FakeClock, noise: Noise, costs: [f64; 5]) -> SyntheticMachine {
    SyntheticMachine::new(
        clock.clone(),
        noise,
        1,
        move |_, contender| match contender {
            Contender::Floor | Contender::FloorAgain => costs[0],
            Contender::Technique(technique) => costs[1 + place(technique)],
        },
    )
}

fn exact_machine(clock: &FakeClock) -> SyntheticMachine {
    machine(clock, Noise::None, [1000.0, 1500.0, 1100.0, 1250.0, 1100.0])
}

fn outcome_of(experiment: &Experiment, sampler: &mut dyn Sampler, clock: &dyn Clock) -> Outcome {
    run_quietly(experiment, sampler, clock).unwrap()
}

#[test]
fn exact_timings_give_exact_figures() {
    let clock = FakeClock::default();
    let mut sampler = exact_machine(&clock);
    let outcome = outcome_of(&experiment(1, SECOND_NS), &mut sampler, &clock);
    assert!(outcome.complete);
    let cell = &outcome.cells[0];
    assert_eq!(cell.verdict, Verdict::Faster);
    assert_eq!(cell.winner, Some(TechniqueName::COPY_THEN_WRITE));
    assert_eq!(cell.floor_ns, 1000.0);
    assert_eq!(cell.noise_floor, Some(0.0));
    let writev = cell.technique(TechniqueName::WRITEV).unwrap();
    assert_eq!(writev.median_ns, 1250.0);
    assert_eq!(writev.gather_tax, 0.25);
    assert!((writev.ratio_to_leader - 1250.0 / 1100.0).abs() < 1e-12);
    assert!((writev.ratio_low.unwrap() - 1250.0 / 1100.0).abs() < 1e-12);
    let adaptive = cell.technique(TechniqueName::ADAPTIVE).unwrap();
    assert_eq!(adaptive.ratio_to_leader, 1.0);
    // The floor, in every second round twice, and four techniques.
    let round_ns = 1.5 * 1000.0 + 1500.0 + 1100.0 + 1250.0 + 1100.0;
    let samples = f64::from(cell.rounds * writev.calls_per_sample);
    assert!((cell.timed_s - samples * round_ns / 1e9).abs() < 1e-9);
    assert!(cell.spent_s > cell.timed_s);
    assert!(cell.spent_s <= outcome.elapsed_ns as f64 / 1e9);
}

#[test]
fn a_rival_or_guest_far_behind_is_sampled_in_every_tenth_round_but_adaptive_in_each() {
    const LIBUV: TechniqueName = TechniqueName::new("libuv");
    let clock = FakeClock::default();
    let cost = |_: &CellSpec, contender| match contender {
        Contender::Technique(TechniqueName::WRITEV | TechniqueName::COPY_THEN_WRITE) => 1000.0,
        Contender::Technique(_) => 9000.0,
        _ => 800.0,
    };
    let mut sampler = SyntheticMachine::new(clock.clone(), Noise::None, 1, cost);
    let guests = Experiment {
        unranked: vec![TechniqueName::ADAPTIVE, LIBUV],
        ..experiment(1, 0)
    };
    let outcome = run_rounds_quietly(&guests, 40, &mut sampler, &clock).unwrap();
    let cell = &outcome.cells[0];
    for (name, is_far) in [
        (TechniqueName::WRITE_EACH, true),
        (LIBUV, true),
        (TechniqueName::WRITEV, false),
        (TechniqueName::ADAPTIVE, false),
    ] {
        let technique = cell.technique(name).unwrap();
        assert_eq!(technique.samples_ns.len(), 40);
        for (round, sample) in technique.samples_ns.iter().enumerate() {
            let is_due = !is_far || round < 20 || round % 10 == 0;
            assert_eq!(sample.is_some(), is_due, "{name} {round}");
        }
    }
    assert_eq!(cell.floor_samples_ns.len(), 40);
    for (round, again) in cell.aa_samples_ns.iter().enumerate() {
        assert_eq!(again.is_some(), round % 2 == 0, "{round}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_sample_of_several_calls_exceeds_150_us(
        costs_ns in prop::array::uniform5(prop::num::f64::POSITIVE.prop_map(|x| 100.0 * (x.ln().abs() * 1e3 % 9.0).exp())),
    ) {
        let clock = FakeClock::default();
        let mut sampler = machine(&clock, Noise::None, costs_ns);
        let outcome = outcome_of(&experiment(1, SECOND_NS), &mut sampler, &clock);
        let mut longest_ns: f64 = 0.0;
        for (technique, call_ns) in std::iter::zip(&outcome.cells[0].techniques, &costs_ns[1..]) {
            let sample_ns = f64::from(technique.calls_per_sample) * call_ns;
            prop_assert!(sample_ns <= 151_000.0 || technique.calls_per_sample == 1, "{sample_ns} ns");
            longest_ns = longest_ns.max(sample_ns);
        }
        prop_assert!(longest_ns > 70_000.0, "{longest_ns} ns");
    }

    #[test]
    fn every_cell_has_figures_and_the_dearest_make_room_for_twenty_rounds_of_the_others(
        calls_us in prop::collection::vec(1_u32..3000, 2..12),
        budget_ms in 20_u64..2000,
        sigma in prop::sample::select(vec![0.0, 0.2]),
        // On a busy machine a stream with a thread takes a second to open.
        opening_share in prop::sample::select(vec![0.0, 0.5, 0.9]),
    ) {
        let clock = FakeClock::default();
        let of_cells = calls_us.clone();
        let noise = Noise::LogNormal { sigma };
        let opening_ns = (budget_ms as f64 * 1e6 * opening_share) as u64 / calls_us.len() as u64;
        let mut sampler = Hooked {
            inner: SyntheticMachine::new(clock.clone(), noise, 1, move |cell, _| {
                1e3 * f64::from(of_cells[cell.workload.segment_count() - 1])
            }),
            hook: |step: Step<'_>| {
                if let Step::Begin(..) = step {
                    clock.advance(opening_ns);
                }
                Ok(None)
            },
        };
        let budget_ns = budget_ms * 1_000_000;
        let outcome = outcome_of(&experiment(calls_us.len(), budget_ns), &mut sampler, &clock);
        prop_assert_eq!(outcome.complete, outcome.cells.iter().all(|cell| cell.rounds >= 20) && outcome.left_out.is_empty());
        prop_assert_eq!(outcome.cells.len() + outcome.left_out.len(), calls_us.len());
        prop_assert!(!outcome.cells.is_empty());
        prop_assert!(outcome.left_out.iter().all(|one| one.reason.contains("budget")));
        prop_assert!(outcome.cells.iter().all(|cell| cell.rounds >= 1));
        // If there is time for one round of each cell, no cell is left out: each begun cell has at least one round.
        let rounds_ns: f64 = calls_us.iter().map(|us| 14e3 * f64::from((*us).max(150))).sum();
        let most_ns = 1.1 * budget_ns as f64 + 2.0 * rounds_ns + 2.0 * opening_ns as f64;
        prop_assert!((outcome.elapsed_ns as f64) < most_ns, "{} ns", outcome.elapsed_ns);
        if rounds_ns + opening_share * (budget_ns as f64) < 0.7 * budget_ns as f64 {
            prop_assert_eq!(outcome.left_out.len(), 0);
        }
        // A cell with fewer than twenty rounds has dearer rounds than a cell with twenty.
        let dearness = |cell: &&vectored_results::model::Cell| calls_us[cell.segment_count - 1].max(150);
        let (full, cut): (Vec<_>, Vec<_>) = outcome.cells.iter().partition(|cell| cell.rounds >= 20);
        let dearest = full.iter().map(dearness).max();
        let cheapest = cut.iter().map(dearness).min();
        if let (Some(dearest), Some(cheapest), true) = (dearest, cheapest, sigma == 0.0) {
            prop_assert!(dearest <= 2 * cheapest, "{} {}", dearest, cheapest);
        }
    }
}

#[test]
fn a_technique_that_only_seemed_far_behind_is_a_contender_again() {
    let clock = FakeClock::default();
    // The first eighty samples find the machine in an unusual state.
    let samples = Cell::new(0);
    let mut sampler = SyntheticMachine::new(
        clock.clone(),
        Noise::LogNormal { sigma: 0.02 },
        1,
        move |_, contender| {
            samples.set(samples.get() + 1);
            let unusual = samples.get() <= 80;
            match contender {
                Contender::Technique(TechniqueName::WRITEV) if unusual => 90_000.0,
                Contender::Technique(TechniqueName::WRITEV) => 10_000.0,
                _ => 12_000.0,
            }
        },
    );
    let outcome = outcome_of(&experiment(1, SECOND_NS), &mut sampler, &clock);
    let cell = &outcome.cells[0];
    assert!(cell.technique(TechniqueName::WRITEV).unwrap().contender);
    assert_eq!(
        cell.winner,
        Some(TechniqueName::WRITEV),
        "{:?}",
        cell.verdict
    );
}

#[test]
fn only_a_rival_can_put_other_rivals_far_behind() {
    let clock = FakeClock::default();
    let mut sampler = machine(&clock, Noise::None, [400.0, 9000.0, 2500.0, 3000.0, 500.0]);
    let outcome = run_rounds_quietly(&experiment(1, 0), 20, &mut sampler, &clock).unwrap();
    let cell = &outcome.cells[0];
    assert_eq!(cell.winner, Some(TechniqueName::COPY_THEN_WRITE));
    assert!(cell.technique(TechniqueName::WRITEV).unwrap().contender);
    assert_eq!(
        cell.technique(TechniqueName::ADAPTIVE)
            .unwrap()
            .ratio_to_leader,
        0.2
    );
}

#[test]
fn a_stop_does_not_wait_for_the_round_to_end() {
    let clock = FakeClock::default();
    let stop = AtomicBool::new(false);
    let samples = Cell::new(0);
    let mut sampler = Hooked {
        inner: exact_machine(&clock),
        hook: |step: Step<'_>| {
            if let Step::Sample(_) = step {
                samples.set(samples.get() + 1);
                stop.store(samples.get() == 28, Ordering::Relaxed);
            }
            Ok(None)
        },
    };
    let mut ignored = |_| ();
    let watch = unwatched(&mut ignored, &stop);
    let outcome = run(&experiment(1, SECOND_NS), &mut sampler, &clock, watch).unwrap();
    assert_eq!(samples.get(), 28);
    // Eight samples choose the calls per sample, and the rounds have six, five, six and five.
    assert_eq!(outcome.cells[0].rounds, 3);
    assert_eq!(outcome.cells[0].floor_samples_ns.len(), 3);
}

#[test]
fn open_cells_get_the_remaining_time() {
    let clock = FakeClock::default();
    let noise = Noise::LogNormal { sigma: 0.3 };
    // The first cell is clear, the second is not.
    let mut sampler = SyntheticMachine::new(clock.clone(), noise, 1, |cell, contender| {
        let hard = cell.workload.segment_count() == 2;
        match contender {
            Contender::Technique(TechniqueName::WRITEV) if hard => 10_100.0,
            Contender::Technique(TechniqueName::WRITEV) => 15_000.0,
            Contender::Technique(TechniqueName::WRITE_EACH) => 30_000.0,
            _ => 10_000.0,
        }
    });
    let budget_ns = SECOND_NS / 2;
    let outcome = outcome_of(&experiment(2, budget_ns), &mut sampler, &clock);
    assert_eq!(outcome.cells[0].verdict, Verdict::Faster);
    let (clear_s, hard_s) = (outcome.cells[0].spent_s, outcome.cells[1].spent_s);
    assert!(hard_s > clear_s, "{hard_s} and {clear_s} s");
    assert!(outcome.elapsed_ns <= budget_ns);
}

#[test]
fn rounds_end_only_at_looks_and_with_the_budget() {
    let clock = FakeClock::default();
    let noise = Noise::LogNormal { sigma: 0.2 };
    let mut sampler = machine(&clock, noise, [800.0, 1000.0, 1005.0, 1010.0, 1000.0]);
    let outcome = outcome_of(&experiment(4, SECOND_NS), &mut sampler, &clock);
    let between = outcome
        .cells
        .iter()
        .filter(|cell| !LOOKS.contains(&(cell.rounds as usize)));
    assert_eq!(
        between.count(),
        1,
        "only the last visit ends with the budget"
    );
    assert!(outcome.elapsed_ns >= SECOND_NS - 1_000_000);
}

/// With a budget of twenty seconds, no cell is left open after one second: the cell is decided, or bounded, or has taken
/// the budget.
#[test]
fn a_cell_that_is_not_decided_takes_the_budget_or_has_a_bound() {
    for (sigma, ratio) in [(0.3, 1.019), (1.5, 1.05)] {
        let clock = FakeClock::default();
        let noise = Noise::LogNormal { sigma };
        let costs = [800.0, 3000.0, 1000.0, 1000.0 * ratio, 1000.0];
        let mut sampler = machine(&clock, noise, costs);
        let outcome = outcome_of(&experiment(1, 20 * SECOND_NS), &mut sampler, &clock);
        let cell = &outcome.cells[0];
        let is_spent = outcome.elapsed_ns > 19 * SECOND_NS;
        assert!(
            cell.verdict != Verdict::Open || is_spent,
            "{sigma} {ratio}: {} rounds, {} ns",
            cell.rounds,
            outcome.elapsed_ns
        );
        if cell.verdict == Verdict::Close {
            let bound = cell.at_most.unwrap();
            assert_eq!(cell.choice, Some(TechniqueName::COPY_THEN_WRITE));
            assert!(
                (0.0..0.1).contains(&bound) && (is_spent || bound < 0.035),
                "{bound}"
            );
        }
    }
}

fn orders(seed: u64) -> Vec<Vec<Contender>> {
    let clock = FakeClock::default();
    let mut samples = Vec::new();
    let mut sampler = Hooked {
        inner: exact_machine(&clock),
        hook: |step: Step<'_>| {
            if let Step::Sample(contender) = step {
                samples.push(contender);
            }
            Ok(None)
        },
    };
    let experiment = Experiment {
        seed,
        ..experiment(1, SECOND_NS)
    };
    outcome_of(&experiment, &mut sampler, &clock);
    // Two samples of each technique choose the calls per sample. Every second round has no second floor.
    let pairs = samples[8..].chunks(6 + 5);
    pairs
        .flat_map(|pair| [pair[..6].to_vec(), pair[6..].to_vec()])
        .collect()
}

#[test]
fn the_order_within_a_round_is_random_balanced_and_decided_by_the_seed() {
    let rounds = orders(1);
    assert_eq!(rounds.len(), 20);
    assert_eq!(rounds, orders(1));
    assert_ne!(rounds, orders(2));
    // In a block of six rounds no contender takes a place twice.
    for block in rounds.chunks_exact(6) {
        for place in 0..6 {
            for contender in &rounds[0] {
                let whole = block.iter().step_by(2);
                let here = whole.filter(|round| round[place] == *contender);
                assert!(here.count() <= 1, "{contender} at place {place}");
            }
        }
    }
    assert_ne!(rounds[..6], rounds[6..12]);
}

fn stopped_after(reports: usize) -> (Outcome, Vec<Progress>) {
    let clock = FakeClock::default();
    let mut sampler = exact_machine(&clock);
    let stop = AtomicBool::new(false);
    let mut seen: Vec<Progress> = Vec::new();
    let mut progress = |progress| {
        seen.push(progress);
        stop.store(seen.len() == reports, Ordering::Relaxed);
    };
    let watch = unwatched(&mut progress, &stop);
    let outcome = run(&experiment(9, SECOND_NS), &mut sampler, &clock, watch).unwrap();
    (outcome, seen)
}

#[test]
fn the_rounds_of_a_cell_are_spread_over_the_run() {
    let clock = FakeClock::default();
    let mut visits = Vec::new();
    let mut sampler = Hooked {
        inner: exact_machine(&clock),
        hook: |step: Step<'_>| {
            if let Step::Begin(cell, _) = step {
                visits.push(cell.workload.segment_count());
            }
            Ok(None)
        },
    };
    outcome_of(&experiment(3, SECOND_NS), &mut sampler, &clock);
    assert_eq!(visits, [1, 2, 3, 1, 2, 3]);
}

#[test]
fn a_cell_that_overflows_starts_over_with_a_reader_thread() {
    let clock = FakeClock::default();
    let mut choices = Vec::new();
    let mut samples = 0;
    let mut sampler = Hooked {
        inner: exact_machine(&clock),
        hook: |step: Step<'_>| match step {
            Step::Begin(_, choice) => {
                choices.push(choice);
                Ok(Some(match choice {
                    DrainChoice::Probe => Drain::BetweenSamples,
                    DrainChoice::Thread => Drain::ReaderThread,
                }))
            }
            Step::Sample(_) => {
                samples += 1;
                match choices.last() {
                    Some(DrainChoice::Probe) if samples > 40 => Err(MeasureError::DidNotFit),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        },
    };
    let outcome = outcome_of(&experiment(1, SECOND_NS), &mut sampler, &clock);
    let again = DrainChoice::Thread;
    assert_eq!(choices, [DrainChoice::Probe, again, again]);
    let cell = &outcome.cells[0];
    assert_eq!(cell.drain, Some(Drain::ReaderThread));
    // No sample from before the restart remains.
    assert_eq!(cell.rounds, 20);
    assert_eq!(cell.floor_samples_ns.len(), 20);
}

#[test]
fn a_cell_that_is_emptied_in_another_way_starts_over_and_keeps_its_proofs() {
    let clock = FakeClock::default();
    let mut visits = 0;
    let mut sampler = Hooked {
        inner: exact_machine(&clock),
        hook: |step: Step<'_>| {
            visits += u32::from(matches!(step, Step::Begin(..)));
            Ok(Some(if visits == 1 {
                Drain::BetweenSamples
            } else {
                Drain::Peer
            }))
        },
    };
    let outcome = outcome_of(&experiment(1, SECOND_NS), &mut sampler, &clock);
    let cell = &outcome.cells[0];
    assert_eq!((cell.drain, cell.rounds), (Some(Drain::Peer), 20));
    assert_eq!((cell.floor_samples_ns.len(), cell.proof_calls), (20, 2));
}

fn failing_in_visit(visit: u32) -> RunError {
    let clock = FakeClock::default();
    let mut visits_left = visit;
    let mut sampler = Hooked {
        inner: exact_machine(&clock),
        hook: |step: Step<'_>| {
            visits_left -= u32::from(matches!(step, Step::Begin(..)));
            if visits_left > 0 {
                return Ok(None);
            }
            Err(MeasureError::Directory(
                std::io::ErrorKind::StorageFull.into(),
            ))
        },
    };
    run_quietly(&experiment(5, SECOND_NS), &mut sampler, &clock).unwrap_err()
}

#[test]
fn a_run_that_is_stopped_or_fails_keeps_its_samples_and_names_what_is_left_out() {
    let (stopped, seen) = stopped_after(12);
    assert_eq!((seen[11].cells_sampled, seen[11].cells), (2, 9));
    let failed = failing_in_visit(8);
    assert!(matches!(failed.error, MeasureError::Directory(_)));
    // In the first sweep, and in the second sweep after two of the cells.
    for (outcome, cells, left_out, why) in [
        (stopped_after(3).0, 2, 7, "stopped"),
        (stopped, 9, 0, ""),
        (*failing_in_visit(3).outcome, 2, 3, "failed"),
        (*failed.outcome, 5, 0, ""),
    ] {
        assert!(!outcome.complete);
        assert_eq!(
            (outcome.cells.len(), outcome.left_out.len()),
            (cells, left_out)
        );
        assert!(
            outcome.left_out.iter().all(|one| one.reason.contains(why)),
            "{why}"
        );
        if left_out == 0 {
            assert_eq!(
                outcome.cells[1].winner,
                Some(TechniqueName::COPY_THEN_WRITE)
            );
            assert_eq!(
                (outcome.cells[2].rounds, outcome.cells[2].verdict),
                (10, Verdict::Open)
            );
        }
    }
}

#[test]
fn what_is_measured_is_saved_after_each_cell_and_marked_incomplete() {
    let clock = FakeClock::default();
    let mut saved: Vec<Outcome> = Vec::new();
    let watch = Watch {
        progress: &mut |_| (),
        stop: &AtomicBool::new(false),
        save: Some(&mut |outcome| saved.push(outcome)),
    };
    let mut sampler = exact_machine(&clock);
    let outcome = run(&experiment(3, SECOND_NS), &mut sampler, &clock, watch).unwrap();
    assert!(outcome.complete && saved.iter().all(|outcome| !outcome.complete));
    let counts = saved[..3]
        .iter()
        .map(|one| (one.cells.len(), one.left_out.len()));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 2), (2, 1), (3, 0)]);
    assert!(saved[0].left_out[0].reason.contains("not yet"));
    // The last saved outcome is the whole outcome, except for the mark of completeness.
    assert_eq!(saved.last().unwrap().cells, outcome.cells);
}

#[test]
fn every_open_cell_gets_its_next_rounds_before_any_gets_more() {
    let clock = FakeClock::default();
    let mut last_rounds = Vec::new();
    let noise = Noise::LogNormal { sigma: 0.3 };
    let mut sampler = Hooked {
        inner: machine(&clock, noise, [800.0, 1000.0, 1010.0, 1020.0, 1000.0]),
        hook: |step: Step<'_>| {
            match step {
                Step::Begin(..) => last_rounds.push(0),
                Step::Round(round) => *last_rounds.last_mut().unwrap() = round,
                _ => {}
            }
            Ok(None)
        },
    };
    outcome_of(&experiment(3, SECOND_NS), &mut sampler, &clock);
    let sweeps = [10, 20, 40, 80].map(|rounds| [rounds; 3]);
    assert_eq!(last_rounds[..12], sweeps.concat());
}
