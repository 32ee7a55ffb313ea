//! Spends a budget of time on the cells of an experiment.
//!
//! First every cell gets its fewest rounds and, while its share lasts, as many
//! as its intervals need, in sweeps over all cells. Then, where that is wanted,
//! sizes between these are measured to find where the better of two techniques
//! changes. What time is left goes to the cells whose verdict is still open,
//! the cheapest step first.

pub(crate) mod balanced_order;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;

use crate::measure::engine::balanced_order::BalancedOrder;
use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::sampler::{
    CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing,
};
use crate::model::{
    Cell, CellSpec, Drain, Experiment, FAST_IOVECS, LeftOut, Target, Technique, TechniqueResult,
    Verdict, Workload,
};
use crate::stats::{Evidence, FAMILY_ERROR, LOOKS, Wish, judge, median, weigh_cell, wishes};

/// Rounds after which a technique that is far behind stops being a contender.
pub const SCREENING_ROUNDS: u32 = 5;

/// Rounds that every cell gets, whatever the budget.
const MIN_ROUNDS: u32 = LOOKS[0] as u32;

/// How far each sweep over the cells goes: the fewest rounds in two parts, then
/// from look to look.
const STOPS: [u32; 1 + LOOKS.len()] = {
    let mut stops = [MIN_ROUNDS / 2; 1 + LOOKS.len()];
    let mut index = 0;
    while index < LOOKS.len() {
        stops[index + 1] = LOOKS[index] as u32;
        index += 1;
    }
    stops
};

/// In how many parts [`run_rounds`] samples a cell.
pub const SWEEPS: u32 = 4;

/// A technique this many times slower than the leader is far behind.
const FAR_BEHIND: f64 = 4.0;

/// What is far behind is sampled in one of this many rounds, once it has those
/// that it takes to say so surely: with fewer, a cell that is clear would stay
/// open for the technique that nobody asks about.
const RARE: u32 = 10;

/// What a sample should last. Samples of 50–600 µs are equally good per round,
/// so the short ones are better per second; but the clock must not matter.
const SAMPLE_NS: u64 = 75_000;

/// The share of the budget that is dealt out evenly before the open cells get
/// the rest.
const EVEN_SHARE: f64 = 0.5;

/// The share of the budget up to which crossovers are looked for.
const REFINED_SHARE: f64 = 0.88;

/// No step towards one crossover takes more than one part in this many of the
/// time that is left for all of them: where the two techniques hardly differ,
/// its place is not worth more.
const DEAREST_STEP: u64 = 3;

/// The rounds that a size between others gets at once. More come later, when
/// the machine may be in another state.
const REFINED_ROUNDS: u32 = LOOKS[1] as u32;

/// Segments of this size are measured to find what that costs.
const STEP_BYTES: usize = 64;

/// In so many rounds.
const STEP_ROUNDS: u32 = LOOKS[1] as u32;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Cells that have their fewest rounds.
    pub cells_sampled: usize,
    /// Cells of the experiment.
    pub cells: usize,
    /// Cells whose verdict is open; known once all are sampled.
    pub open: Option<usize>,
    /// Wall time since the run began.
    pub elapsed_ns: u64,
    /// Wall time that the run may take.
    pub budget_ns: u64,
    /// The target that is being measured.
    pub target: Target,
}

/// How a caller watches a run, and ends it early.
pub struct Watch<'a> {
    /// Called after every stretch of rounds.
    pub progress: &'a mut dyn FnMut(Progress),
    /// When this becomes true the run ends after the current sample and keeps
    /// what was measured.
    pub stop: &'a AtomicBool,
}

/// What a run of the engine found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The cells that have at least one round, judged.
    pub cells: Vec<Cell>,
    /// Those that were measured between them, in order of size.
    pub refined_cells: Vec<Cell>,
    /// The cells that the budget or a stop left no time for.
    pub left_out: Vec<LeftOut>,
    /// Whether every cell has its fewest rounds.
    pub complete: bool,
    /// Wall time of the run.
    pub elapsed_ns: u64,
}

/// A run that did not come to its end, with what it had found by then.
#[derive(Debug)]
pub struct RunError {
    /// What ended it.
    pub error: MeasureError,
    /// What was measured before: never complete.
    pub outcome: Box<Outcome>,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Measures the cells of `experiment`.
///
/// # Errors
///
/// What the sampler met: the kernel's refusal, or a technique that moved wrong
/// bytes; with the cells that were measured before. Running out of budget is
/// no error: see [`Outcome::left_out`].
///
/// # Panics
///
/// When `experiment` has no cells, or a cell no rival that works on its target:
/// there would be nothing to find.
pub fn run<'a>(
    experiment: &'a Experiment,
    sampler: &'a mut dyn Sampler,
    clock: &'a dyn Clock,
    watch: Watch<'a>,
) -> Result<Outcome, RunError> {
    let (mut engine, mut cells) = Engine::start(experiment, sampler, clock, watch);
    let passed = engine
        .even_sweeps(&mut cells)
        .and_then(|()| engine.refine(&mut cells))
        .and_then(|()| engine.open_pass(&mut cells));
    engine.end(cells, passed)
}

/// Measures every cell of `experiment` for so many rounds, in [`SWEEPS`] sweeps
/// over all cells: neither its budget nor a narrow interval ends it early.
///
/// # Errors
///
/// Those of [`run`].
///
/// # Panics
///
/// When [`run`] does.
pub fn run_rounds(
    experiment: &Experiment,
    rounds: u32,
    sampler: &mut dyn Sampler,
    clock: &dyn Clock,
    watch: Watch<'_>,
) -> Result<Outcome, RunError> {
    let experiment = Experiment {
        budget_ns: u64::MAX,
        ..experiment.clone()
    };
    // Borrowed for as long as that experiment.
    let watch = Watch {
        progress: &mut *watch.progress,
        stop: watch.stop,
    };
    let (mut engine, mut cells) = Engine::start(&experiment, sampler, clock, watch);
    let passed = engine.fixed_sweeps(&mut cells, rounds);
    engine.end(cells, passed)
}

struct Engine<'a> {
    experiment: &'a Experiment,
    sampler: &'a mut dyn Sampler,
    clock: &'a dyn Clock,
    watch: Watch<'a>,
    rng: Rng,
    began_ns: u64,
}

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
            began_ns: clock.now_ns(),
        };
        let cells = experiment
            .cells
            .iter()
            .map(|spec| CellRun::new(spec.clone(), experiment, DrainChoice::Probe))
            .collect();
        (engine, cells)
    }

    fn end(
        self,
        cells: Vec<CellRun<'a>>,
        passed: Result<(), MeasureError>,
    ) -> Result<Outcome, RunError> {
        let outcome = self.conclude(cells, passed.is_err());
        match passed {
            Ok(()) => Ok(outcome),
            Err(error) => Err(RunError {
                error,
                outcome: Box::new(outcome),
            }),
        }
    }

    /// Gives every cell so many rounds, spread over the run.
    fn fixed_sweeps(&mut self, cells: &mut [CellRun<'a>], rounds: u32) -> Result<(), MeasureError> {
        for sweep in 1..=SWEEPS {
            for index in 0..cells.len() {
                if self.stopped() {
                    return Ok(());
                }
                let rounds = rounds * sweep / SWEEPS;
                if cells[index].cell.rounds < rounds {
                    self.report(cells, index, None);
                    self.visit(&mut cells[index], rounds)?;
                }
            }
        }
        Ok(())
    }

    /// Gives every cell its fewest rounds and then, while its intervals are
    /// wide, its share of the even half of the budget.
    ///
    /// In sweeps over all cells, so that the rounds of each are spread over
    /// the run: a shared machine can be in another state for seconds, and a
    /// cell that was measured in one go would know that state only.
    fn even_sweeps(&mut self, cells: &mut [CellRun<'a>]) -> Result<(), MeasureError> {
        let even_ns = (self.experiment.budget_ns as f64 * EVEN_SHARE) as u64;
        let share_ns = even_ns / cells.len() as u64;
        for (sweep, rounds) in STOPS.into_iter().enumerate() {
            for index in 0..cells.len() {
                if self.stopped() {
                    return Ok(());
                }
                let cell = &cells[index];
                let wanted = match sweep {
                    // What is begun will need as much again. Something is
                    // measured in any case.
                    0 => index == 0 || self.elapsed_ns() < even_ns,
                    1 => cell.cell.rounds > 0,
                    _ => {
                        let cost_ns = cell.cost_ns(rounds);
                        cell.cell.rounds == STOPS[sweep - 1]
                            && cell.wants_rounds()
                            && cell.spent_ns + cost_ns <= share_ns
                            && self.elapsed_ns() + cost_ns <= even_ns
                    }
                };
                if wanted {
                    self.report(cells, index, None);
                    self.visit(&mut cells[index], rounds)?;
                }
            }
            if sweep == 1 {
                self.begin_the_rest(cells)?;
            }
        }
        Ok(())
    }

    /// Begins the cells that the first sweep had no time for: figures for one
    /// more cell are worth more than better ones for another.
    fn begin_the_rest(&mut self, cells: &mut [CellRun<'a>]) -> Result<(), MeasureError> {
        for index in 0..cells.len() {
            let is_time = self.elapsed_ns() < self.experiment.budget_ns;
            if cells[index].cell.rounds == 0 && is_time && !self.stopped() {
                self.report(cells, index, None);
                self.visit(&mut cells[index], MIN_ROUNDS)?;
            }
        }
        Ok(())
    }

    /// Measures sizes between those that were asked for, and measures the sizes
    /// around a crossover longer, until every crossover is known well enough
    /// or this part of the budget is spent.
    fn refine(&mut self, cells: &mut Vec<CellRun<'a>>) -> Result<(), MeasureError> {
        let share_ns = (self.experiment.budget_ns as f64 * REFINED_SHARE) as u64;
        if self.experiment.refine {
            self.find_step(cells, share_ns)?;
        }
        while self.experiment.refine && !self.stopped() {
            let mut steps = self.steps_to_crossovers(cells);
            let left_ns = share_ns.saturating_sub(self.elapsed_ns());
            steps.retain(|step| step.cost_ns <= left_ns / DEAREST_STEP);
            let Some(cheapest_ns) = steps.iter().map(|step| step.cost_ns).min() else {
                break;
            };
            // What costs about the same before it is asked again what is wanted.
            steps.retain(|step| step.cost_ns <= 2 * cheapest_ns);
            for step in steps {
                let index = match step.cell {
                    StepCell::Measured(index) => index,
                    StepCell::New(between) => {
                        cells.push(*between);
                        cells.len() - 1
                    }
                };
                if self.stopped() {
                    break;
                }
                self.report(cells, index, None);
                self.visit(&mut cells[index], step.rounds)?;
            }
        }
        Ok(())
    }

    /// What would tell more of the crossovers.
    fn steps_to_crossovers(&self, cells: &[CellRun<'a>]) -> Vec<Step<'a>> {
        let sampled: Vec<&CellRun<'_>> = cells
            .iter()
            .filter(|cell| cell.cell.rounds >= MIN_ROUNDS)
            .collect();
        let measured: Vec<&Cell> = sampled.iter().map(|cell| &cell.cell).collect();
        let index_of = |run: &CellRun<'_>| cells.iter().position(|cell| std::ptr::eq(cell, run));
        wishes(&measured, &self.experiment.rivals)
            .into_iter()
            .filter_map(|wish| match wish {
                Wish::Size {
                    like,
                    segment_bytes,
                } => {
                    let like = &sampled[like];
                    let between = like.between(like.cell.segment_count, segment_bytes);
                    // One that is there already turned out to be filled or
                    // emptied in another way, so it says nothing of the others.
                    let is_new = cells.iter().all(|cell| cell.spec != between.spec);
                    is_new.then(|| Step {
                        cost_ns: like.cost_ns_of(REFINED_ROUNDS),
                        cell: StepCell::New(Box::new(between)),
                        rounds: REFINED_ROUNDS,
                    })
                }
                Wish::Rounds { cell } => {
                    let run = sampled[cell];
                    let rounds = run.next_look()?;
                    Some(Step {
                        cost_ns: run.cost_ns(rounds),
                        cell: StepCell::Measured(index_of(run)?),
                        rounds,
                    })
                }
            })
            .collect()
    }

    /// Measures lists on both sides of [`FAST_IOVECS`], where there are shorter
    /// and longer ones: cost models want to know that step.
    fn find_step(
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
            if like.cell.segment_bytes.is_none() || !is_between {
                continue;
            }
            for count in [FAST_IOVECS, FAST_IOVECS + 1] {
                let between = cells[index].between(count, STEP_BYTES);
                let is_new = cells.iter().all(|cell| cell.spec != between.spec);
                let cost_ns = cells[index].cost_ns_of(STEP_ROUNDS);
                let fits = self.elapsed_ns() + cost_ns <= share_ns;
                if is_new && fits && !self.stopped() {
                    cells.push(between);
                    let index = cells.len() - 1;
                    self.report(cells, index, None);
                    self.visit(&mut cells[index], STEP_ROUNDS)?;
                }
            }
        }
        Ok(())
    }

    /// Spends what is left on the open cells, always on the one whose next
    /// look is the cheapest, until none is open or no look fits.
    fn open_pass(&mut self, cells: &mut [CellRun<'a>]) -> Result<(), MeasureError> {
        // Which p-values Holm's procedure admits is known only at the end, so
        // its strictest threshold says what is open until then.
        let threshold = FAMILY_ERROR / cells.len() as f64;
        while !self.stopped() {
            let left_ns = self.experiment.budget_ns.saturating_sub(self.elapsed_ns());
            let open = |cell: &CellRun<'_>| !cell.is_between && cell.is_open(threshold);
            let next = cells
                .iter()
                .enumerate()
                .filter(|(_, cell)| open(cell) && cell.wants_rounds())
                .filter_map(|(index, cell)| Some((index, cell.cost_ns(cell.next_look()?))))
                .filter(|&(_, cost_ns)| cost_ns <= left_ns)
                .min_by_key(|&(_, cost_ns)| cost_ns);
            let Some((index, _)) = next else { break };
            let open_count = cells.iter().filter(|cell| open(cell)).count();
            self.report(cells, index, Some(open_count));
            if let Some(look) = cells[index].next_look() {
                self.visit(&mut cells[index], look)?;
            }
        }
        Ok(())
    }

    /// Opens a cell and samples it until it has so many rounds. If its samples
    /// turn out not to fit its target it is begun again from nothing, with
    /// another thread.
    fn visit(&mut self, cell: &mut CellRun<'a>, rounds: u32) -> Result<(), MeasureError> {
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
            let outcome = self.make_ready(cell, &setup).and_then(|()| {
                cell.spent_ns += self.clock.now_ns() - began_ns;
                self.sample_until(cell, rounds)
            });
            let proof_calls = self.sampler.end_cell();
            match outcome {
                Err(MeasureError::DidNotFit) if cell.drain == DrainChoice::Probe => {
                    cell.restart(DrainChoice::Thread);
                }
                Err(error) => return Err(error),
                Ok(()) => {
                    cell.cell.proof_calls += proof_calls?;
                    return Ok(());
                }
            }
        }
    }

    /// On the first visit, chooses how many calls make a sample: as many as
    /// make the fastest technique's last long enough, the same for all but
    /// those that are far behind.
    fn make_ready(
        &mut self,
        cell: &mut CellRun<'a>,
        setup: &CellSetup,
    ) -> Result<(), MeasureError> {
        if cell.cell.rounds > 0 {
            return Ok(());
        }
        cell.adopt(setup);
        self.sampler.begin_round(0)?;
        let mut own_calls = Vec::new();
        for technique in cell.techniques.clone() {
            let mut calls = 1;
            // Twice: a guess from a single call is coarse.
            for _ in 0..2 {
                if self.stopped() {
                    return Ok(());
                }
                let contender = Contender::Technique(technique);
                let timing = self.sampler.sample(contender, calls)?;
                let call_ns = (timing.elapsed_ns / u64::from(calls)).max(1);
                calls = (SAMPLE_NS / call_ns).clamp(1, u64::from(setup.max_calls)) as u32;
            }
            own_calls.push(calls);
        }
        cell.calls = own_calls.iter().copied().max().unwrap_or(1);
        for (technique, own) in std::iter::zip(&mut cell.cell.techniques, own_calls) {
            let far_behind = f64::from(cell.calls) > FAR_BEHIND * f64::from(own);
            technique.calls_per_sample = if far_behind { own } else { cell.calls };
        }
        Ok(())
    }

    fn sample_until(&mut self, cell: &mut CellRun<'a>, rounds: u32) -> Result<(), MeasureError> {
        while cell.cell.rounds < rounds && !self.stopped() {
            // Beyond the fewest rounds only what fits is begun. Up to them a
            // long call could hold the run for minutes.
            let is_late = self.elapsed_ns() >= self.experiment.budget_ns;
            if is_late && (1..MIN_ROUNDS).contains(&cell.cell.rounds) {
                break;
            }
            let began_ns = self.clock.now_ns();
            self.sample_round(cell)?;
            cell.spent_ns += self.clock.now_ns() - began_ns;
        }
        cell.readmit();
        cell.evidence = weigh_cell(&cell.cell, &self.experiment.rivals);
        Ok(())
    }

    /// One sample of each contender, and of the others when it is their turn.
    /// A round that is stopped in the middle does not count.
    fn sample_round(&mut self, cell: &mut CellRun<'a>) -> Result<(), MeasureError> {
        let round = cell.cell.rounds;
        self.sampler.begin_round(round + 1)?;
        // Two floors, then the techniques in the order of the results.
        let mut samples: Vec<Option<Sample>> = vec![None; 2 + cell.cell.techniques.len()];
        for place in cell.order.next(&mut self.rng) {
            let (contender, calls) = match place {
                0 => (Contender::Floor, cell.calls),
                1 => (Contender::FloorAgain, cell.calls),
                _ => {
                    let technique = &cell.cell.techniques[place - 2];
                    let is_rare = !technique.contender && round >= MIN_ROUNDS;
                    if is_rare && !round.is_multiple_of(RARE) {
                        continue;
                    }
                    let contender = Contender::Technique(technique.name);
                    (contender, technique.calls_per_sample)
                }
            };
            if self.stopped() {
                return Ok(());
            }
            let timing = self.sampler.sample(contender, calls)?;
            samples[place] = Some(Sample::per_call(timing, calls));
        }
        cell.record(&samples);
        Ok(())
    }

    fn conclude(self, cells: Vec<CellRun<'a>>, failed: bool) -> Outcome {
        let reason = if failed {
            "the run failed before its first round"
        } else if self.stopped() {
            "the run was stopped before its first round"
        } else {
            "the budget ended before its first round"
        };
        let has_fewest = |cell: &CellRun<'_>| cell.is_between || cell.cell.rounds >= MIN_ROUNDS;
        let complete = !failed && cells.iter().all(has_fewest);
        let (measured, unmeasured): (Vec<_>, Vec<_>) =
            cells.into_iter().partition(|cell| cell.cell.rounds > 0);
        let asked = measured.iter().filter(|cell| !cell.is_between).count();
        let mut measured: Vec<Cell> = measured.into_iter().map(CellRun::finish).collect();
        // One family: what was measured between was chosen by the figures.
        judge(&mut measured, &self.experiment.rivals);
        let mut refined_cells = measured.split_off(asked);
        refined_cells.sort_by_key(|cell| (cell.target, cell.segment_count, cell.segment_bytes));
        let left_out = unmeasured
            .into_iter()
            .filter(|cell| !cell.is_between)
            .map(|cell| LeftOut {
                target: cell.spec.target,
                path: shown(cell.spec.path.as_deref()),
                segment_sizes: cell.spec.workload.runs(),
                reason: reason.to_owned(),
            })
            .collect();
        Outcome {
            cells: measured,
            refined_cells,
            left_out,
            complete,
            elapsed_ns: self.elapsed_ns(),
        }
    }

    fn report(&mut self, cells: &[CellRun<'_>], index: usize, open: Option<usize>) {
        let sampled = |cell: &&CellRun<'_>| cell.cell.rounds >= MIN_ROUNDS;
        let progress = Progress {
            cells_sampled: cells.iter().filter(sampled).count(),
            cells: cells.len(),
            open,
            elapsed_ns: self.elapsed_ns(),
            budget_ns: self.experiment.budget_ns,
            target: cells[index].spec.target,
        };
        (self.watch.progress)(progress);
    }

    fn stopped(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed)
    }

    fn elapsed_ns(&self) -> u64 {
        self.clock.now_ns() - self.began_ns
    }
}

/// Some rounds of a cell, to know a crossover better.
struct Step<'a> {
    cost_ns: u64,
    cell: StepCell<'a>,
    /// How many it has then.
    rounds: u32,
}

enum StepCell<'a> {
    /// Its index.
    Measured(usize),
    /// A size that was not measured before.
    New(Box<CellRun<'a>>),
}

/// A cell while it is measured.
struct CellRun<'a> {
    spec: CellSpec,
    /// Nobody asked for it: it lies between two that were.
    is_between: bool,
    experiment: &'a Experiment,
    /// Those that work on its target.
    techniques: Vec<Technique>,
    cell: Cell,
    cpu_ns: Vec<Vec<f64>>,
    order: BalancedOrder,
    drain: DrainChoice,
    /// Calls in a sample of the floor and of each contender.
    calls: u32,
    spent_ns: u64,
    evidence: Option<Evidence>,
}

impl<'a> CellRun<'a> {
    fn new(spec: CellSpec, experiment: &'a Experiment, drain: DrainChoice) -> Self {
        let techniques = experiment.techniques_of(&spec);
        let technique = |&name| TechniqueResult {
            name,
            contender: true,
            calls_per_sample: 1,
            median_ns: 0.0,
            min_ns: 0.0,
            cpu_median_ns: 0.0,
            gather_tax: 0.0,
            ratio_to_leader: 1.0,
            ratio_low: None,
            ratio_high: None,
            floor_ratio: None,
            floor_ratio_low: None,
            floor_ratio_high: None,
            samples_ns: Vec::new(),
        };
        let workload = &spec.workload;
        let segment_bytes = workload.uniform_bytes();
        CellRun {
            is_between: false,
            experiment,
            cell: Cell {
                target: spec.target,
                path: shown(spec.path.as_deref()),
                operation: spec.operation,
                segment_count: workload.segment_count(),
                segment_bytes,
                segment_sizes: segment_bytes.is_none().then(|| workload.runs()),
                layout: spec.layout,
                cache: spec.cache,
                page_cache: spec.page_cache,
                iovec_setup: spec.iovec_setup,
                sync: spec.sync,
                file_system: None,
                span_bytes: None,
                queue_depth: None,
                drain: None,
                rounds: 0,
                floor_ns: 0.0,
                floor_samples_ns: Vec::new(),
                aa_samples_ns: Vec::new(),
                verdict: Verdict::Open,
                winner: None,
                leader: None,
                noise_floor: None,
                open_because: None,
                aa_separated: false,
                proof_calls: 0,
                techniques: techniques.iter().map(technique).collect(),
            },
            cpu_ns: vec![Vec::new(); techniques.len()],
            order: BalancedOrder::new(2 + techniques.len()),
            techniques,
            drain,
            calls: 1,
            spent_ns: 0,
            evidence: None,
            spec,
        }
    }

    /// Whether the two differ in their lists only.
    fn is_like(&self, other: &CellRun<'_>) -> bool {
        let state = |spec: &CellSpec| {
            (
                (spec.target, spec.operation, spec.layout, spec.cache),
                (spec.iovec_setup, spec.page_cache, spec.sync),
            )
        };
        state(&self.spec) == state(&other.spec) && self.spec.path == other.spec.path
    }

    /// A cell like this one, with another list.
    fn between(&self, segment_count: usize, segment_bytes: usize) -> Self {
        let spec = CellSpec {
            workload: Workload::uniform(segment_count, segment_bytes),
            ..self.spec.clone()
        };
        CellRun {
            is_between: true,
            ..CellRun::new(spec, self.experiment, self.drain)
        }
    }

    /// Forgets every sample.
    fn restart(&mut self, drain: DrainChoice) {
        *self = CellRun {
            is_between: self.is_between,
            ..CellRun::new(self.spec.clone(), self.experiment, drain)
        };
    }

    fn adopt(&mut self, setup: &CellSetup) {
        self.cell.drain = setup.drain;
        self.cell.file_system = setup.file_system.clone();
        self.cell.span_bytes = setup.span_bytes;
        if let Some(Drain::ReaderThread | Drain::WriterThread) = setup.drain {
            self.drain = DrainChoice::Thread;
        }
    }

    /// Whether samples taken under `setup` can stand beside those there are.
    fn agrees_with(&self, setup: &CellSetup) -> bool {
        let most_calls = self
            .cell
            .techniques
            .iter()
            .map(|t| t.calls_per_sample)
            .max();
        self.cell.rounds == 0
            || (self.cell.drain == setup.drain && most_calls <= Some(setup.max_calls))
    }

    fn record(&mut self, samples: &[Option<Sample>]) {
        let wall = |place: usize| samples[place].map(|sample| sample.wall_ns);
        self.cell.floor_samples_ns.extend(wall(0));
        self.cell.aa_samples_ns.extend(wall(1));
        for (index, technique) in self.cell.techniques.iter_mut().enumerate() {
            technique.samples_ns.push(wall(index + 2));
            self.cpu_ns[index].extend(samples[index + 2].map(|sample| sample.cpu_ns));
        }
        self.cell.rounds += 1;
        if self.cell.rounds == SCREENING_ROUNDS {
            self.screen();
        }
    }

    /// Tells contenders from those that are far behind.
    fn screen(&mut self) {
        let nearby = self.nearby();
        for (technique, is_near) in std::iter::zip(&mut self.cell.techniques, nearby) {
            technique.contender = is_near;
            if is_near {
                technique.calls_per_sample = self.calls;
            }
        }
    }

    /// Lets techniques take part again that only seemed far behind: five
    /// rounds may all have found the machine in an unusual state.
    fn readmit(&mut self) {
        let nearby = self.nearby();
        for (technique, is_near) in std::iter::zip(&mut self.cell.techniques, nearby) {
            if is_near && !technique.contender {
                technique.contender = true;
                technique.calls_per_sample = self.calls;
            }
        }
    }

    /// For each technique, whether its median is near the lowest of the
    /// rivals. What chooses among them always counts as near.
    fn nearby(&self) -> Vec<bool> {
        let typical = |technique: &TechniqueResult| {
            let sampled: Vec<f64> = technique.samples_ns.iter().copied().flatten().collect();
            median(&sampled).unwrap_or(f64::INFINITY)
        };
        let is_rival =
            |technique: &TechniqueResult| self.experiment.rivals.contains(&technique.name);
        let techniques = &self.cell.techniques;
        let fastest = techniques
            .iter()
            .filter(|technique| is_rival(technique))
            .map(typical)
            .fold(f64::INFINITY, f64::min);
        techniques
            .iter()
            .map(|technique| {
                let is_fixed = is_rival(technique) || technique.name.is_pure();
                !is_fixed || typical(technique) <= FAR_BEHIND * fastest
            })
            .collect()
    }

    fn next_look(&self) -> Option<u32> {
        let looks = LOOKS.iter().map(|&look| look as u32);
        looks.filter(|&look| look > self.cell.rounds).min()
    }

    /// What the rounds up to these will probably take.
    fn cost_ns(&self, rounds: u32) -> u64 {
        self.cost_ns_of(rounds.saturating_sub(self.cell.rounds))
    }

    /// What so many rounds will probably take in a cell like this one.
    fn cost_ns_of(&self, rounds: u32) -> u64 {
        self.spent_ns / u64::from(self.cell.rounds.max(1)) * u64::from(rounds)
    }

    fn wants_rounds(&self) -> bool {
        self.evidence.as_ref().is_none_or(Evidence::wants_rounds)
    }

    fn is_open(&self, threshold: f64) -> bool {
        // A cell that was never begun has no evidence, and is left out.
        let undecided = |evidence: &Evidence| !evidence.tie && evidence.p_faster > threshold;
        self.evidence.as_ref().is_some_and(undecided)
    }

    fn finish(mut self) -> Cell {
        for (technique, cpu_ns) in std::iter::zip(&mut self.cell.techniques, &self.cpu_ns) {
            technique.cpu_median_ns = median(cpu_ns).unwrap_or(0.0);
        }
        self.cell
    }
}

/// A path as results have it.
fn shown(path: Option<&Path>) -> Option<String> {
    path.map(|path| path.to_string_lossy().into_owned())
}

/// One sample, per call.
#[derive(Clone, Copy)]
struct Sample {
    wall_ns: f64,
    cpu_ns: f64,
}

impl Sample {
    fn per_call(timing: Timing, calls: u32) -> Self {
        // Hundredths of a nanosecond: finer than any clock, and short in JSON.
        let per_call = |ns: u64| (ns as f64 * 100.0 / f64::from(calls)).round() / 100.0;
        Sample {
            // A coarse clock may see no time at all; a ratio needs some.
            wall_ns: per_call(timing.elapsed_ns).max(0.01),
            cpu_ns: per_call(timing.cpu_ns),
        }
    }
}
