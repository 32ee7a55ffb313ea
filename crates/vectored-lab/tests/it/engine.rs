//! The engine on invented machines with exact timings, and its bookkeeping.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use vectored_lab::measure::{
    CellSetup, Clock, Contender, DrainChoice, FakeClock, MeasureError, Noise, Outcome, Progress,
    RunError, Sampler, SyntheticMachine, Timing, Watch, run,
};
use vectored_lab::model::{CellSpec, Drain, Experiment, Target, Technique, Verdict, Workload};
use vectored_lab::stats::judge;

const SECOND_NS: u64 = 1_000_000_000;

fn experiment(cells: usize, budget_ns: u64) -> Experiment {
    Experiment {
        cells: (1..=cells)
            .map(|count| CellSpec::write(Target::Pipe, Workload::uniform(count, 100)))
            .collect(),
        rivals: vec![
            Technique::WriteEach,
            Technique::CopyThenWrite,
            Technique::Writev,
        ],
        beside: vec![Technique::Adaptive],
        budget_ns,
        seed: 5,
    }
}

/// ns per call of the floor, then of the techniques in order.
fn machine(clock: &FakeClock, noise: Noise, costs: [f64; 5]) -> SyntheticMachine {
    SyntheticMachine::new(
        clock.clone(),
        noise,
        1,
        move |_, contender| match contender {
            Contender::Floor | Contender::FloorAgain => costs[0],
            Contender::Technique(technique) => costs[1 + technique as usize],
        },
    )
}

fn run_quietly(experiment: &Experiment, sampler: &mut dyn Sampler, clock: &dyn Clock) -> Outcome {
    let watch = Watch {
        progress: &mut |_| (),
        stop: &AtomicBool::new(false),
    };
    run(experiment, sampler, clock, watch).unwrap()
}

#[test]
fn exact_timings_give_exact_figures() {
    let clock = FakeClock::default();
    let mut sampler = machine(
        &clock,
        Noise::None,
        [1000.0, 1500.0, 1100.0, 1250.0, 1100.0],
    );
    let outcome = run_quietly(&experiment(1, SECOND_NS), &mut sampler, &clock);
    assert!(outcome.complete);
    let cell = &outcome.cells[0];
    assert_eq!(cell.verdict, Verdict::Faster);
    assert_eq!(cell.winner, Some(Technique::CopyThenWrite));
    assert_eq!(cell.floor_ns, 1000.0);
    assert_eq!(cell.noise_floor, Some(0.0));
    let writev = cell.technique(Technique::Writev).unwrap();
    assert_eq!(writev.median_ns, 1250.0);
    assert_eq!(writev.gather_tax, 0.25);
    assert!((writev.ratio_to_leader - 1250.0 / 1100.0).abs() < 1e-12);
    assert!((writev.ratio_low.unwrap() - 1250.0 / 1100.0).abs() < 1e-12);
    let adaptive = cell.technique(Technique::Adaptive).unwrap();
    assert_eq!(adaptive.ratio_to_leader, 1.0);
}

#[test]
fn equal_techniques_are_a_tie_after_the_fewest_rounds() {
    let clock = FakeClock::default();
    let mut sampler = machine(
        &clock,
        Noise::None,
        [1000.0, 1100.0, 1100.0, 1100.0, 1100.0],
    );
    let outcome = run_quietly(&experiment(1, SECOND_NS), &mut sampler, &clock);
    let cell = &outcome.cells[0];
    assert_eq!(cell.verdict, Verdict::Tie);
    assert_eq!(cell.winner, None);
    // Without noise the intervals have no width, so there is nothing to wait for.
    assert_eq!(cell.rounds, 20);
}

#[test]
fn samples_last_as_long_as_they_should_and_contenders_share_the_count() {
    let clock = FakeClock::default();
    let costs = [500.0, 900.0, 1000.0, 1500.0, 1000.0];
    let mut sampler = machine(&clock, Noise::None, costs);
    let outcome = run_quietly(&experiment(1, SECOND_NS), &mut sampler, &clock);
    for technique in &outcome.cells[0].techniques {
        assert!(technique.contender);
        let sample_ns = 900 * technique.calls_per_sample;
        assert!((50_000..=100_000).contains(&sample_ns), "{sample_ns}");
        assert_eq!(
            technique.calls_per_sample,
            outcome.cells[0].techniques[0].calls_per_sample
        );
    }
}

#[test]
fn what_is_far_behind_is_sampled_in_every_tenth_round() {
    let clock = FakeClock::default();
    let noise = Noise::LogNormal { sigma: 0.1 };
    let mut sampler = machine(&clock, noise, [800.0, 9000.0, 1000.0, 1010.0, 1000.0]);
    let outcome = run_quietly(&experiment(1, SECOND_NS), &mut sampler, &clock);
    let cell = &outcome.cells[0];
    assert!(cell.rounds >= 80, "{}", cell.rounds);
    let far = cell.technique(Technique::WriteEach).unwrap();
    assert!(!far.contender);
    for (round, sample) in far.samples_ns.iter().enumerate() {
        assert_eq!(sample.is_some(), round < 5 || round % 10 == 0, "{round}");
    }
    let near = cell.technique(Technique::Writev).unwrap();
    assert!(near.samples_ns.iter().all(Option::is_some));
    assert_eq!(near.samples_ns.len(), cell.rounds as usize);
    assert_eq!(cell.floor_samples_ns.len(), cell.rounds as usize);
    assert_eq!(cell.aa_samples_ns.len(), cell.rounds as usize);
}

#[test]
fn what_only_seemed_far_behind_takes_part_again() {
    let clock = FakeClock::default();
    // The first hundred samples find the machine in an unusual state.
    let samples = Cell::new(0);
    let mut sampler = SyntheticMachine::new(
        clock.clone(),
        Noise::LogNormal { sigma: 0.02 },
        1,
        move |_, contender| {
            samples.set(samples.get() + 1);
            let unusual = samples.get() <= 100;
            match contender {
                Contender::Technique(Technique::Writev) if unusual => 90_000.0,
                Contender::Technique(Technique::Writev) => 10_000.0,
                _ => 12_000.0,
            }
        },
    );
    let outcome = run_quietly(&experiment(1, SECOND_NS), &mut sampler, &clock);
    let cell = &outcome.cells[0];
    assert!(cell.technique(Technique::Writev).unwrap().contender);
    assert_eq!(cell.winner, Some(Technique::Writev), "{:?}", cell.verdict);
}

#[test]
fn open_cells_get_the_time_that_is_left() {
    let clock = FakeClock::default();
    let noise = Noise::LogNormal { sigma: 0.1 };
    // The first cell is clear, the second is not.
    let mut sampler = SyntheticMachine::new(clock.clone(), noise, 1, |cell, contender| {
        let hard = cell.workload.segment_count() == 2;
        match contender {
            Contender::Technique(Technique::Writev) if hard => 10_200.0,
            Contender::Technique(Technique::Writev) => 15_000.0,
            Contender::Technique(Technique::WriteEach) => 30_000.0,
            _ => 10_000.0,
        }
    });
    let budget_ns = SECOND_NS;
    let outcome = run_quietly(&experiment(2, budget_ns), &mut sampler, &clock);
    assert_eq!(outcome.cells[0].verdict, Verdict::Faster);
    assert!(
        outcome.cells[1].rounds > outcome.cells[0].rounds,
        "{} and {} rounds",
        outcome.cells[0].rounds,
        outcome.cells[1].rounds
    );
    assert!(outcome.elapsed_ns <= budget_ns);
}

#[test]
fn rounds_end_only_at_looks() {
    let clock = FakeClock::default();
    let noise = Noise::LogNormal { sigma: 0.2 };
    let mut sampler = machine(&clock, noise, [800.0, 1000.0, 1005.0, 1010.0, 1000.0]);
    let outcome = run_quietly(&experiment(4, SECOND_NS), &mut sampler, &clock);
    for cell in &outcome.cells {
        assert!([20, 40, 80, 160, 320, 640, 1280].contains(&cell.rounds));
    }
}

#[test]
fn the_same_samples_always_give_the_same_verdict() {
    let clock = FakeClock::default();
    let noise = Noise::LogNormal { sigma: 0.1 };
    let mut sampler = machine(&clock, noise, [800.0, 3000.0, 1000.0, 1030.0, 1000.0]);
    let experiment = experiment(3, SECOND_NS);
    let outcome = run_quietly(&experiment, &mut sampler, &clock);
    let saved = serde_json::to_string(&outcome.cells).unwrap();
    let mut loaded = serde_json::from_str::<Vec<_>>(&saved).unwrap();
    assert!(outcome.cells == loaded, "differs");
    judge(&mut loaded, &experiment.rivals);
    assert!(outcome.cells == loaded, "differs");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let saved = || {
        let clock = FakeClock::default();
        let noise = Noise::LogNormal { sigma: 0.1 };
        let mut sampler = machine(&clock, noise, [800.0, 3000.0, 1000.0, 1030.0, 1000.0]);
        let outcome = run_quietly(&experiment(2, SECOND_NS), &mut sampler, &clock);
        serde_json::to_string(&outcome.cells).unwrap()
    };
    assert_eq!(saved(), saved());
}

#[test]
fn a_budget_that_is_too_small_names_the_cells_it_left_out() {
    let clock = FakeClock::default();
    let mut sampler = machine(&clock, Noise::None, [1e6, 1e6, 1e6, 1e6, 1e6]);
    let outcome = run_quietly(&experiment(5, SECOND_NS / 10), &mut sampler, &clock);
    assert!(!outcome.complete, "{} ns", outcome.elapsed_ns);
    assert_eq!(outcome.cells.len() + outcome.left_out.len(), 5);
    assert!(!outcome.cells.is_empty());
    // What was begun has its fewest rounds.
    assert!(outcome.cells.iter().all(|cell| cell.rounds == 20));
    assert!(outcome.left_out[0].reason.contains("budget"));
}

/// Stops after so many reports of progress, which come before each visit.
fn stopped_after(reports: usize) -> (Outcome, Vec<Progress>) {
    let clock = FakeClock::default();
    let mut sampler = machine(
        &clock,
        Noise::None,
        [1000.0, 1500.0, 1100.0, 1250.0, 1100.0],
    );
    let stop = AtomicBool::new(false);
    let mut seen: Vec<Progress> = Vec::new();
    let watch = Watch {
        progress: &mut |progress| {
            seen.push(progress);
            stop.store(seen.len() == reports, Ordering::Relaxed);
        },
        stop: &stop,
    };
    let outcome = run(&experiment(9, SECOND_NS), &mut sampler, &clock, watch).unwrap();
    (outcome, seen)
}

#[test]
fn a_run_that_is_stopped_early_names_the_cells_it_left_out() {
    let (outcome, _) = stopped_after(3);
    assert!(!outcome.complete);
    assert_eq!(outcome.cells.len(), 2);
    assert_eq!(outcome.left_out.len(), 7);
    assert!(outcome.left_out[0].reason.contains("stopped"));
}

#[test]
fn a_stopped_run_keeps_what_was_measured() {
    // In the second sweep, two cells of nine later.
    let (outcome, seen) = stopped_after(12);
    assert!(!outcome.complete);
    assert_eq!(outcome.cells.len(), 9);
    assert_eq!(outcome.left_out, []);
    assert_eq!(outcome.cells[1].winner, Some(Technique::CopyThenWrite));
    assert_eq!(outcome.cells[2].rounds, 10);
    assert_eq!(outcome.cells[2].verdict, Verdict::Open);
    assert_eq!(seen[11].cells_sampled, 2);
    assert_eq!(seen[11].cells, 9);
}

#[test]
fn the_rounds_of_a_cell_are_spread_over_the_run() {
    let clock = FakeClock::default();
    let visits = Rc::new(RefCell::new(Vec::new()));
    let mut sampler = Recording {
        inner: machine(
            &clock,
            Noise::None,
            [1000.0, 1500.0, 1100.0, 1250.0, 1100.0],
        ),
        visits: Rc::clone(&visits),
    };
    run_quietly(&experiment(3, SECOND_NS), &mut sampler, &clock);
    assert_eq!(*visits.borrow(), [1, 2, 3, 1, 2, 3]);
}

/// Notes which cell is visited, by its count of segments.
struct Recording {
    inner: SyntheticMachine,
    visits: Rc<RefCell<Vec<usize>>>,
}

impl Sampler for Recording {
    fn begin_cell(
        &mut self,
        cell: &CellSpec,
        techniques: &[Technique],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let count = cell.workload.segment_count();
        self.visits.borrow_mut().push(count);
        self.inner.begin_cell(cell, techniques, drain)
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        self.inner.begin_round(round)
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        self.inner.sample(contender, calls)
    }

    fn end_cell(&mut self) -> Result<u64, MeasureError> {
        self.inner.end_cell()
    }
}

/// A sampler whose target overflows once while it is emptied between samples.
struct Overflowing {
    inner: SyntheticMachine,
    choices: Rc<RefCell<Vec<DrainChoice>>>,
    samples: u32,
}

impl Sampler for Overflowing {
    fn begin_cell(
        &mut self,
        cell: &CellSpec,
        techniques: &[Technique],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        self.choices.borrow_mut().push(drain);
        let setup = self.inner.begin_cell(cell, techniques, drain)?;
        let drain = match drain {
            DrainChoice::Probe => Drain::BetweenSamples,
            DrainChoice::Thread => Drain::ReaderThread,
        };
        Ok(CellSetup {
            drain: Some(drain),
            ..setup
        })
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        self.inner.begin_round(round)
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        self.samples += 1;
        let probing = self.choices.borrow().last() == Some(&DrainChoice::Probe);
        if probing && self.samples > 40 {
            return Err(MeasureError::DidNotFit);
        }
        self.inner.sample(contender, calls)
    }

    fn end_cell(&mut self) -> Result<u64, MeasureError> {
        self.inner.end_cell()
    }
}

#[test]
fn a_cell_that_overflows_is_begun_again_with_a_reader_thread() {
    let clock = FakeClock::default();
    let choices = Rc::new(RefCell::new(Vec::new()));
    let mut sampler = Overflowing {
        inner: machine(
            &clock,
            Noise::None,
            [1000.0, 1500.0, 1100.0, 1250.0, 1100.0],
        ),
        choices: Rc::clone(&choices),
        samples: 0,
    };
    let outcome = run_quietly(&experiment(1, SECOND_NS), &mut sampler, &clock);
    assert_eq!(
        *choices.borrow(),
        [DrainChoice::Probe, DrainChoice::Thread, DrainChoice::Thread]
    );
    let cell = &outcome.cells[0];
    assert_eq!(cell.drain, Some(Drain::ReaderThread));
    // No sample from before is left among them.
    assert_eq!(cell.rounds, 20);
    assert_eq!(cell.floor_samples_ns.len(), 20);
}

/// A sampler that fails in one of its visits.
struct Failing {
    inner: SyntheticMachine,
    visits_left: u32,
}

impl Sampler for Failing {
    fn begin_cell(
        &mut self,
        cell: &CellSpec,
        techniques: &[Technique],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        self.visits_left -= 1;
        if self.visits_left == 0 {
            return Err(MeasureError::NoSpace {
                directory: "/full".to_owned(),
                free_bytes: 1,
                needed_bytes: 2,
            });
        }
        self.inner.begin_cell(cell, techniques, drain)
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        self.inner.begin_round(round)
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        self.inner.sample(contender, calls)
    }

    fn end_cell(&mut self) -> Result<u64, MeasureError> {
        self.inner.end_cell()
    }
}

fn failing_in_visit(visit: u32) -> RunError {
    let clock = FakeClock::default();
    let mut sampler = Failing {
        inner: machine(
            &clock,
            Noise::None,
            [1000.0, 1500.0, 1100.0, 1250.0, 1100.0],
        ),
        visits_left: visit,
    };
    let watch = Watch {
        progress: &mut |_| (),
        stop: &AtomicBool::new(false),
    };
    run(&experiment(5, SECOND_NS), &mut sampler, &clock, watch).unwrap_err()
}

#[test]
fn a_late_failure_keeps_what_was_measured() {
    // The third cell of the second sweep.
    let failed = failing_in_visit(8);
    assert!(matches!(failed.error, MeasureError::NoSpace { .. }));
    let cells = &failed.outcome.cells;
    assert!(!failed.outcome.complete);
    assert_eq!(cells.len(), 5);
    assert_eq!(cells[1].winner, Some(Technique::CopyThenWrite));
    assert_eq!(cells[2].verdict, Verdict::Open);
}

#[test]
fn a_failure_names_the_cells_it_left_out() {
    let failed = failing_in_visit(3);
    assert_eq!(failed.outcome.cells.len(), 2);
    assert_eq!(failed.outcome.left_out.len(), 3);
    assert!(failed.outcome.left_out[0].reason.contains("failed"));
}
