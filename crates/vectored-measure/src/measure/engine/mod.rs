//! Spends a time budget on the cells of an experiment, in three stages.
//!
//! 1. Sweeps over all cells: every cell gets [`MIN_ROUNDS`] rounds, then more while its intervals are wide and its share of
//!    the budget lasts. If the budget is too short for [`MIN_ROUNDS`] of a cell, the cell keeps the rounds of its first visit.
//! 2. Refinement, if the experiment asks for it: cells of further sizes locate the crossovers between techniques.
//! 3. The remaining time goes to the cells whose verdict is still open, first to the cell that is decided soonest.

mod balanced_order;
mod cell_run;

use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;
use vectored_machine::Clock;
use vectored_machine::model::FAST_IOVECS;
use vectored_report::sort;
use vectored_results::model::{Cell, Experiment, LeftOut, Target, Verdict, Workload};
use vectored_results::stats::{
    LOOKS, RefinementRequest, decide, judge, refinement_requests, weigh_cell,
};

pub(crate) use balanced_order::BalancedOrder;
use cell_run::{CellRun, Sample, calls_per_sample};

use crate::measure::sampler::{CellSetup, Contender, DrainChoice, MeasureError, Sampler};

/// Rounds that every cell gets, if the budget lasts.
const MIN_ROUNDS: u32 = LOOKS[0] as u32;

const SWEEPS: u32 = 4;

/// The floor is sampled again, for the A/A pair, in one of this many rounds.
const AA_EVERY: u32 = 2;

/// Share of the budget that is divided evenly among all cells.
const EVEN_SHARE: f64 = 0.5;

/// This share of the budget is divided among all cells. The first visit of a cell ends when its rounds have taken the
/// cell's part, so that every cell gets some rounds.
const TRIAL_SHARE: f64 = 0.25;

/// Share of the budget that may be used up when refinement ends.
const REFINED_SHARE: f64 = 0.88;

/// A refinement step may take at most the time left for refinement divided by
/// this. If two techniques hardly differ, their crossover is worth no more time.
const STEP_DIVISOR: u64 = 3;

/// Rounds that a refinement cell gets at first. Later rounds may find the machine in another state.
const REFINED_ROUNDS: u32 = LOOKS[1] as u32;

const STEP_BYTES: usize = 64;

const STEP_ROUNDS: u32 = LOOKS[1] as u32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Cells that have rounds.
    pub cells_begun: usize,
    /// Cells that have at least the minimum number of rounds.
    pub cells_sampled: usize,
    pub cells: usize,
    /// Cells whose verdict is open; `None` before the last stage.
    pub open: Option<usize>,
    pub elapsed_ns: u64,
    pub budget_ns: u64,
    /// An estimate of the wall time after which every cell has the minimum number of rounds.
    pub needed_ns: u64,
    pub target: Target,
}

pub struct Watch<'a> {
    /// Called before each visit to a cell, and twice a second during the visit.
    pub progress: &'a mut dyn FnMut(Progress),
    pub stop: &'a AtomicBool,
    /// Called after each visit to a cell with the outcome so far, unless saving would take more than a twentieth of the
    /// time. [`Outcome::complete`] is false in this outcome.
    pub save: Option<&'a mut dyn FnMut(Outcome)>,
}

#[derive(Debug, Default)]
pub struct Outcome {
    /// The cells of the experiment that have at least one round, with verdicts.
    pub cells: Vec<Cell>,
    pub refined_cells: Vec<Cell>,
    pub left_out: Vec<LeftOut>,
    /// Whether every cell of the experiment that can be measured has the minimum number of rounds.
    pub complete: bool,
    /// See [`Progress::needed_ns`].
    pub needed_ns: u64,
    pub elapsed_ns: u64,
}

/// The error that ended a run, with the results up to then.
#[derive(Debug)]
pub struct RunError {
    pub error: MeasureError,
    /// The results up to the error. `complete` is false.
    pub outcome: Box<Outcome>,
}

/// Measures the cells of `experiment`. Running out of budget is not an error: see [`Outcome::left_out`].
pub fn run<'a>(
    experiment: &'a Experiment,
    sampler: &'a mut dyn Sampler,
    clock: &'a dyn Clock,
    watch: Watch<'a>,
) -> Result<Outcome, RunError> {
    let (mut engine, mut cells) = Engine::start(experiment, sampler, clock, watch);
    let passed = engine.adaptively(&mut cells);
    engine.end(cells, passed)
}

/// Measures `rounds` rounds of each cell, whatever the budget.
pub fn run_rounds<'a>(
    experiment: &'a Experiment,
    rounds: u32,
    sampler: &'a mut dyn Sampler,
    clock: &'a dyn Clock,
    watch: Watch<'a>,
) -> Result<Outcome, RunError> {
    let (mut engine, mut cells) = Engine::start(experiment, sampler, clock, watch);
    engine.budget_ns = u64::MAX;
    let passed = engine.fixed_sweeps(&mut cells, rounds);
    engine.end(cells, passed)
}

struct Engine<'a> {
    experiment: &'a Experiment,
    sampler: &'a mut dyn Sampler,
    clock: &'a dyn Clock,
    watch: Watch<'a>,
    rng: Rng,
    /// `u64::MAX` for fixed rounds.
    budget_ns: u64,
    began_ns: u64,
    next_save_ns: u64,
    reported: Option<Progress>,
    refused: Option<MeasureError>,
}

const REPORT_NS: u64 = 500_000_000;

/// Saving takes at most `1 / SAVES_DIVISOR` of the time, except for the first save.
const SAVES_DIVISOR: u64 = 20;

impl<'a> Engine<'a> {
    fn start(
        experiment: &'a Experiment,
        sampler: &'a mut dyn Sampler,
        clock: &'a dyn Clock,
        watch: Watch<'a>,
    ) -> (Self, Vec<CellRun<'a>>) {
        assert!(!experiment.cells.is_empty(), "an experiment has cells");
        assert!(!experiment.rivals.is_empty(), "an experiment has rivals");
        let engine = Engine {
            experiment,
            sampler,
            clock,
            watch,
            rng: Rng::with_seed(experiment.seed),
            budget_ns: experiment.budget_ns,
            began_ns: clock.now_ns(),
            next_save_ns: 0,
            reported: None,
            refused: None,
        };
        let cells = experiment
            .cells
            .iter()
            .map(|spec| CellRun::new(spec.clone(), experiment, DrainChoice::Probe, Vec::new()))
            .collect();
        (engine, cells)
    }

    fn end(
        mut self,
        cells: Vec<CellRun<'a>>,
        passed: Result<(), MeasureError>,
    ) -> Result<Outcome, RunError> {
        let is_empty = cells.iter().all(|cell| cell.cell.rounds == 0);
        let passed = match self.refused.take().filter(|_| is_empty) {
            Some(refused) => passed.and(Err(refused)),
            None => passed,
        };
        let reason = if passed.is_err() {
            "the run failed before the first round of these cells"
        } else if self.stopped() {
            "the run was stopped before the first round of these cells"
        } else {
            "the budget ended before the first round of these cells"
        };
        let mut outcome = self.outcome(cells, reason);
        outcome.complete &= passed.is_ok();
        match passed {
            Ok(()) => Ok(outcome),
            Err(error) => Err(RunError {
                error,
                outcome: Box::new(outcome),
            }),
        }
    }

    fn adaptively(&mut self, cells: &mut Vec<CellRun<'a>>) -> Result<(), MeasureError> {
        self.even_sweeps(cells)?;
        self.refine(cells)?;
        self.open_pass(cells)
    }

    fn save(&mut self, cells: &[CellRun<'a>]) {
        let began_ns = self.clock.now_ns();
        if self.watch.save.is_none() || began_ns < self.next_save_ns {
            return;
        }
        let reason = "the run had not yet come to these cells";
        let mut outcome = self.outcome(cells.to_vec(), reason);
        outcome.complete = false;
        if let Some(save) = &mut self.watch.save {
            save(outcome);
        }
        let ended_ns = self.clock.now_ns();
        self.next_save_ns = ended_ns + SAVES_DIVISOR * (ended_ns - began_ns);
    }

    fn fixed_sweeps(&mut self, cells: &mut [CellRun<'a>], rounds: u32) -> Result<(), MeasureError> {
        for sweep in 1..=SWEEPS {
            for index in 0..cells.len() {
                if self.stopped() {
                    return Ok(());
                }
                let rounds = rounds * sweep / SWEEPS;
                let cell = &cells[index];
                if cell.cell.rounds < rounds && cell.impossible.is_none() {
                    self.visit(cells, index, Visit::to(rounds))?;
                }
            }
        }
        Ok(())
    }

    /// Gives every cell [`MIN_ROUNDS`] rounds, then further rounds while its
    /// intervals are wide, up to its share of [`EVEN_SHARE`].
    ///
    /// Works in sweeps over all cells, so that the rounds of each cell are spread over the run. A shared machine can change
    /// its speed for seconds; a cell measured in one go would be sampled at one speed only.
    fn even_sweeps(&mut self, cells: &mut [CellRun<'a>]) -> Result<(), MeasureError> {
        let budget_ns = self.budget_ns;
        let part_ns = |share: f64| (budget_ns as f64 * share) as u64 / cells.len() as u64;
        let (trial_ns, share_ns) = (part_ns(TRIAL_SHARE), part_ns(EVEN_SHARE));
        let mut affordable = Vec::new();
        let looks = LOOKS.map(|look| look as u32);
        let all_rounds = std::iter::once(MIN_ROUNDS / 2).chain(looks);
        for (sweep, rounds) in all_rounds.enumerate() {
            if sweep == 1 {
                affordable = self.affordable(cells);
            }
            for index in 0..cells.len() {
                if self.stopped() {
                    return Ok(());
                }
                let cell = &cells[index];
                let (is_wanted, most_ns) = match sweep {
                    // The first cell is measured in any case.
                    0 => (index == 0 || self.elapsed_ns() < budget_ns, trial_ns),
                    1 => (affordable[index] && self.elapsed_ns() < budget_ns, u64::MAX),
                    _ => {
                        let is_even = cell.cell.rounds == looks[sweep - 2]
                            && cell.spent_ns + cell.cost_ns(rounds) <= share_ns;
                        (is_even && cell.wants_rounds(), u64::MAX)
                    }
                };
                if is_wanted {
                    let visit = Visit::to(rounds);
                    self.visit(cells, index, Visit { most_ns, ..visit })?;
                }
            }
        }
        Ok(())
    }

    fn affordable(&self, cells: &[CellRun<'a>]) -> Vec<bool> {
        let mut left_ns = self.budget_ns.saturating_sub(self.elapsed_ns());
        let mut order: Vec<usize> = (0..cells.len())
            .filter(|&index| cells[index].cell.rounds > 0)
            .collect();
        sort::sort_by_key(&mut order, |&index| cells[index].cost_to_minimum_ns());
        let mut affordable = vec![false; cells.len()];
        for (place, index) in order.into_iter().enumerate() {
            let cost_ns = cells[index].cost_to_minimum_ns();
            if place > 0 && cost_ns > left_ns {
                break;
            }
            left_ns = left_ns.saturating_sub(cost_ns);
            affordable[index] = true;
        }
        affordable
    }

    /// Locates crossovers: adds cells between the sizes of the experiment,
    /// and gives more rounds to the cells around a crossover. Ends when every
    /// crossover is known well enough or [`REFINED_SHARE`] is spent.
    fn refine(&mut self, cells: &mut Vec<CellRun<'a>>) -> Result<(), MeasureError> {
        let share_ns = (self.budget_ns as f64 * REFINED_SHARE) as u64;
        if self.experiment.refine {
            self.measure_iovec_step(cells, share_ns)?;
        }
        while self.experiment.refine && !self.stopped() {
            let mut steps = self.steps_to_crossovers(cells);
            let left_ns = share_ns.saturating_sub(self.elapsed_ns());
            steps.retain(|step| step.cost_ns <= left_ns / STEP_DIVISOR);
            let Some(cheapest_ns) = steps.iter().map(|step| step.cost_ns).min() else {
                break;
            };
            // All steps of about the same cost are taken before the steps are
            // computed anew.
            steps.retain(|step| step.cost_ns <= 2 * cheapest_ns);
            for step in steps {
                let index = step.cell.unwrap_or_else(|refined| {
                    cells.push(*refined);
                    cells.len() - 1
                });
                if self.stopped() {
                    break;
                }
                self.visit(cells, index, Visit::to(step.rounds))?;
            }
        }
        Ok(())
    }

    fn steps_to_crossovers(&self, cells: &[CellRun<'a>]) -> Vec<Step<'a>> {
        let sampled: Vec<&CellRun<'_>> = cells
            .iter()
            .filter(|cell| cell.cell.rounds >= MIN_ROUNDS)
            .collect();
        let measured: Vec<&Cell> = sampled.iter().map(|cell| &cell.cell).collect();
        let index_of = |run: &CellRun<'_>| cells.iter().position(|cell| std::ptr::eq(cell, run));
        refinement_requests(&measured, &self.experiment.rivals)
            .into_iter()
            .filter_map(|request| match request {
                RefinementRequest::Size { like, bytes } => {
                    let like = &sampled[like];
                    let bytes = like.spec.nearest_size(bytes);
                    let refined = like.with_list(like.spec.workload.with_bytes(bytes)?);
                    // If such a cell exists already, its target is filled or emptied in another way than the targets of
                    // these cells, so the cells cannot be compared.
                    let is_new = cells.iter().all(|cell| cell.spec != refined.spec);
                    is_new.then(|| Step {
                        cost_ns: like.cost_ns_of(REFINED_ROUNDS),
                        cell: Err(Box::new(refined)),
                        rounds: REFINED_ROUNDS,
                    })
                }
                RefinementRequest::Rounds { cell } => {
                    let run = sampled[cell];
                    let rounds = run.next_look()?;
                    Some(Step {
                        cost_ns: run.cost_ns(rounds),
                        cell: Ok(index_of(run)?),
                        rounds,
                    })
                }
            })
            .collect()
    }

    /// Measures lists of [`FAST_IOVECS`] and of one more segment, if the experiment has shorter and longer lists. Cost
    /// models are fitted to the step between these two lengths.
    fn measure_iovec_step(
        &mut self,
        cells: &mut Vec<CellRun<'a>>,
        share_ns: u64,
    ) -> Result<(), MeasureError> {
        for index in 0..cells.len() {
            let like = &cells[index];
            let counts = || {
                let alike = cells.iter().filter(|cell| cell.is_like(like));
                alike.map(|cell| cell.cell.segment_count)
            };
            let is_between = counts().any(|count| count < FAST_IOVECS)
                && counts().any(|count| count > FAST_IOVECS + 1);
            // With `O_DIRECT` no cost model is fitted.
            let is_direct = like.spec.conditions.direct;
            let is_measured = like.cell.rounds > 0;
            if like.cell.segment_bytes.is_none() || !is_between || is_direct || !is_measured {
                continue;
            }
            for count in [FAST_IOVECS, FAST_IOVECS + 1] {
                let refined = cells[index].with_list(Workload::uniform(count, STEP_BYTES));
                let is_new = cells.iter().all(|cell| cell.spec != refined.spec);
                let cost_ns = cells[index].cost_ns_of(STEP_ROUNDS);
                let fits = self.elapsed_ns() + cost_ns <= share_ns;
                if is_new && fits && !self.stopped() {
                    cells.push(refined);
                    let last = cells.len() - 1;
                    self.visit(cells, last, Visit::to(STEP_ROUNDS))?;
                }
            }
        }
        Ok(())
    }

    fn open_pass(&mut self, cells: &mut [CellRun<'a>]) -> Result<(), MeasureError> {
        while !self.stopped() {
            let left_ns = self.budget_ns.saturating_sub(self.elapsed_ns());
            let weighed = || {
                cells
                    .iter()
                    .enumerate()
                    .filter(|(_, cell)| cell.evidence.is_some())
            };
            let decisions = decide(weighed().filter_map(|(_, cell)| cell.evidence.as_ref()));
            let open: Vec<(usize, &CellRun<'_>)> = std::iter::zip(weighed(), decisions)
                .filter(|((_, cell), decision)| !cell.is_refined && *decision == Verdict::Open)
                .map(|(cell, _)| cell)
                .collect();
            let open_count = open.len();
            // The last visit has the rounds that fit.
            let next = open
                .into_iter()
                .filter(|(_, cell)| cell.wants_rounds())
                .filter_map(|(index, cell)| {
                    let rounds_ns = left_ns.saturating_sub(cell.opening_ns());
                    let fitting = u32::try_from(rounds_ns / cell.cost_ns_of(1).max(1));
                    let most = cell.cell.rounds.saturating_add(fitting.unwrap_or(u32::MAX));
                    let look = cell.next_look()?;
                    let rounds = look.min(most);
                    let is_useful = rounds >= MIN_ROUNDS && rounds > cell.cell.rounds;
                    is_useful.then(|| (index, (rounds, look), cell.cost_to_decide_ns()))
                })
                .min_by(|a, b| a.2.total_cmp(&b.2));
            let Some((index, (rounds, look), _)) = next else {
                break;
            };
            let open = Some(open_count);
            let visit = Visit::to(rounds);
            self.visit(cells, index, Visit { open, ..visit })?;
            if rounds < look {
                break;
            }
        }
        Ok(())
    }

    fn visit(
        &mut self,
        cells: &mut [CellRun<'a>],
        index: usize,
        visit: Visit,
    ) -> Result<(), MeasureError> {
        self.report(cells, index, visit.open);
        while let Err(error) = self.sample_cell(&mut cells[index], visit) {
            let MeasureError::Refused { technique, source } = error else {
                return Err(error);
            };
            cells[index].refuse(technique, &source);
            let refused = MeasureError::Refused { technique, source };
            self.refused.get_or_insert(refused);
            if cells[index].impossible.is_some() {
                return Ok(());
            }
        }
        self.save(cells);
        Ok(())
    }

    fn sample_cell(&mut self, cell: &mut CellRun<'a>, visit: Visit) -> Result<(), MeasureError> {
        loop {
            let began_ns = self.clock.now_ns();
            let setup = match self
                .sampler
                .begin_cell(&cell.spec, &cell.techniques, cell.drain)
            {
                Err(MeasureError::DidNotFit) if cell.drain == DrainChoice::Probe => {
                    cell.restart(DrainChoice::Thread);
                    continue;
                }
                outcome => outcome?,
            };
            if !cell.agrees_with(&setup) {
                cell.restart(cell.drain);
            }
            cell.visits += 1;
            let outcome = self.choose_calls(cell, &setup).and_then(|()| {
                cell.spent_ns += self.clock.now_ns() - began_ns;
                self.sample_until(cell, visit)
            });
            let extras = self.sampler.end_cell();
            match outcome {
                Err(MeasureError::DidNotFit) if cell.drain == DrainChoice::Probe => {
                    cell.restart(DrainChoice::Thread);
                }
                outcome => {
                    let merged = extras.map(|extras| cell.extras.merge(extras));
                    return outcome.and(merged);
                }
            }
        }
    }

    fn choose_calls(
        &mut self,
        cell: &mut CellRun<'a>,
        setup: &CellSetup,
    ) -> Result<(), MeasureError> {
        if cell.cell.rounds > 0 {
            return Ok(());
        }
        cell.adopt(setup);
        self.sampler.begin_round(0)?;
        let mut times_ns = Vec::new();
        for technique in cell.techniques.clone() {
            let (mut calls, mut call_ns) = (1, 1);
            // Twice, since an estimate from a single call is coarse.
            for _ in 0..2 {
                if self.stopped() {
                    return Ok(());
                }
                let contender = Contender::Technique(technique);
                let timing = self.sampler.sample(contender, calls)?;
                call_ns = (timing.elapsed_ns / u64::from(calls)).max(1);
                calls = calls_per_sample(call_ns, setup);
            }
            times_ns.push(call_ns);
        }
        cell.choose_calls(&times_ns, setup);
        Ok(())
    }

    fn sample_until(&mut self, cell: &mut CellRun<'a>, visit: Visit) -> Result<(), MeasureError> {
        while cell.cell.rounds < visit.rounds && !self.stopped() {
            // A round that leaves the cell below the minimum is begun only while the budget lasts: long calls could exceed
            // the budget by minutes. The first round is always made.
            let is_late = self.elapsed_ns() >= self.budget_ns || cell.rounds_ns >= visit.most_ns;
            if is_late && (1..MIN_ROUNDS).contains(&cell.cell.rounds) {
                break;
            }
            let began_ns = self.clock.now_ns();
            self.sample_round(cell)?;
            let round_ns = self.clock.now_ns() - began_ns;
            cell.rounds_ns += round_ns;
            cell.spent_ns += round_ns;
            self.report_again();
        }
        if self.budget_ns == u64::MAX {
            // The budget has no limit, so rivals that are surely behind are sampled as well.
            cell.readmit();
            return Ok(());
        }
        let weigh = |cell: &CellRun<'_>| weigh_cell(&cell.cell, &self.experiment.rivals);
        cell.evidence = weigh(cell);
        if cell.readmit() {
            // A technique that was no contender may lead, and its interval is wide.
            cell.evidence = weigh(cell);
        }
        Ok(())
    }

    fn sample_round(&mut self, cell: &mut CellRun<'a>) -> Result<(), MeasureError> {
        let round = cell.cell.rounds;
        self.sampler.begin_round(round + 1)?;
        // Two floors, then the techniques in the order of the results.
        let mut samples: Vec<Option<Sample>> = vec![None; 2 + cell.cell.techniques.len()];
        for place in cell.order.next(&mut self.rng) {
            let (contender, calls, is_due) = match place {
                0 => (Contender::Floor, cell.calls, true),
                1 => {
                    let is_due = round.is_multiple_of(AA_EVERY);
                    (Contender::FloorAgain, cell.calls, is_due)
                }
                _ => {
                    let technique = &cell.cell.techniques[place - 2];
                    let contender = Contender::Technique(technique.name);
                    (
                        contender,
                        technique.calls_per_sample,
                        cell.is_due(place - 2),
                    )
                }
            };
            if !is_due {
                continue;
            }
            if self.stopped() {
                return Ok(());
            }
            let timing = self.sampler.sample(contender, calls)?;
            samples[place] = Some(Sample::per_call(timing, calls));
        }
        cell.record(&samples);
        Ok(())
    }

    fn outcome(&self, cells: Vec<CellRun<'a>>, reason: &str) -> Outcome {
        let has_minimum = |cell: &CellRun<'_>| {
            cell.is_refined || cell.impossible.is_some() || cell.cell.rounds >= MIN_ROUNDS
        };
        let complete = cells.iter().all(has_minimum);
        let needed_ns = self.needed_ns(&cells);
        let (measured, unmeasured): (Vec<_>, Vec<_>) =
            cells.into_iter().partition(|cell| cell.cell.rounds > 0);
        let planned = measured.iter().filter(|cell| !cell.is_refined).count();
        let mut measured: Vec<Cell> = measured.into_iter().map(CellRun::finish).collect();
        // All cells are judged together, since the figures chose the refinement cells.
        judge(&mut measured, &self.experiment.rivals);
        let mut refined_cells = measured.split_off(planned);
        sort::sort_by(&mut refined_cells, |a, b| {
            let by_shape = (a.conditions.target, a.shape()).cmp(&(b.conditions.target, b.shape()));
            by_shape.then(a.swept_bytes().cmp(&b.swept_bytes()))
        });
        let unmeasured = unmeasured.iter().filter(|cell| !cell.is_refined);
        let unmeasured = unmeasured.map(|cell| LeftOut {
            conditions: cell.spec.conditions.clone(),
            segment_sizes: cell.spec.workload.runs(),
            reason: cell.impossible.clone().unwrap_or(reason.to_owned()),
        });
        Outcome {
            cells: measured,
            refined_cells,
            left_out: unmeasured.collect(),
            complete,
            needed_ns,
            elapsed_ns: self.elapsed_ns(),
        }
    }

    fn report(&mut self, cells: &[CellRun<'_>], index: usize, open: Option<usize>) {
        let with = |rounds| cells.iter().filter(move |cell| cell.cell.rounds >= rounds);
        let progress = Progress {
            cells_begun: with(1).count(),
            cells_sampled: with(MIN_ROUNDS).count(),
            cells: cells.len(),
            open,
            elapsed_ns: self.elapsed_ns(),
            budget_ns: self.budget_ns,
            needed_ns: self.needed_ns(cells),
            target: cells[index].spec.conditions.target,
        };
        self.reported = Some(progress);
        (self.watch.progress)(progress);
    }

    fn report_again(&mut self) {
        let elapsed_ns = self.elapsed_ns();
        if let Some(progress) = &mut self.reported
            && elapsed_ns >= progress.elapsed_ns + REPORT_NS
        {
            progress.elapsed_ns = elapsed_ns;
            (self.watch.progress)(*progress);
        }
    }

    /// See [`Progress::needed_ns`]. A cell that is not begun is expected to take as long as the others.
    fn needed_ns(&self, cells: &[CellRun<'_>]) -> u64 {
        let asked = || cells.iter().filter(|cell| !cell.is_refined);
        let (begun, others): (Vec<_>, Vec<_>) = asked().partition(|cell| cell.cell.rounds > 0);
        let left_ns: u64 = begun.iter().map(|cell| cell.cost_to_minimum_ns()).sum();
        let whole_ns: u64 = begun.iter().map(|cell| cell.spent_ns).sum::<u64>() + left_ns;
        let others = others.iter().filter(|cell| cell.impossible.is_none());
        let mean_ns = whole_ns / (begun.len() as u64).max(1);
        self.elapsed_ns() + left_ns + mean_ns * others.count() as u64
    }

    fn stopped(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed)
    }

    fn elapsed_ns(&self) -> u64 {
        self.clock.now_ns() - self.began_ns
    }
}

#[derive(Clone, Copy)]
struct Visit {
    rounds: u32,
    /// The visit ends early if the rounds of the cell have taken this time and are fewer than [`MIN_ROUNDS`].
    most_ns: u64,
    /// See [`Progress::open`].
    open: Option<usize>,
}

impl Visit {
    fn to(rounds: u32) -> Self {
        Visit {
            rounds,
            most_ns: u64::MAX,
            open: None,
        }
    }
}

struct Step<'a> {
    cost_ns: u64,
    /// The index of a cell that has rounds already, or a new cell.
    cell: Result<usize, Box<CellRun<'a>>>,
    rounds: u32,
}
