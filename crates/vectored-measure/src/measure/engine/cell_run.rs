//! The samples and the state of a cell during a run.

use vectored_results::model::{
    Cell, CellSpec, Drain, Experiment, Refused, Role, TechniqueName, TechniqueResult, Workload,
};
use vectored_results::stats::{Evidence, LOOKS, MIN_ROUNDS, median, rank_figures};

use crate::measure::engine::balanced_order::BalancedOrder;
use crate::measure::sampler::{CellExtras, CellSetup, DrainChoice, Timing};
use crate::measure::techniques::{is_in_flight, techniques_of};
use crate::measure::unsuited::unsuited;

/// After this many rounds, a technique slower than `FAR_BEHIND` times the fastest technique is no longer a contender.
const SCREENING_ROUNDS: u32 = 5;

/// A technique is far behind if its median is more than this many times the median of the fastest rival.
const FAR_BEHIND: f64 = 4.0;

/// After [`MIN_ROUNDS`], a technique that is no contender is sampled in one of this many rounds. Such a technique needs the
/// full [`MIN_ROUNDS`] for a significant result: without it, a clear cell would stay open because of a hopeless technique.
const OUT_EVERY: u32 = 10;

/// A technique that is no contender is not sampled while the samples that it had as a non-contender have taken more than
/// `1 / OUT_DIVISOR` of the cell's time.
const OUT_DIVISOR: u64 = 20;

#[derive(Clone)]
pub(super) struct CellRun<'a> {
    pub spec: CellSpec,
    /// Whether the engine added the cell: the experiment does not list it.
    pub is_refined: bool,
    experiment: &'a Experiment,
    pub techniques: Vec<TechniqueName>,
    pub cell: Cell,
    cpu_ns: Vec<Vec<f64>>,
    pub extras: CellExtras,
    pub order: BalancedOrder,
    pub drain: DrainChoice,
    pub calls: u32,
    /// Why the cell cannot be measured: the kernel refuses the calls of its rivals.
    pub impossible: Option<String>,
    pub spent_ns: u64,
    pub visits: u64,
    pub rounds_ns: u64,
    timed_ns: u64,
    /// For each technique, the time of the samples that it had as a non-contender.
    out_ns: Vec<u64>,
    pub evidence: Option<Evidence>,
}

impl<'a> CellRun<'a> {
    pub fn new(
        spec: CellSpec,
        experiment: &'a Experiment,
        drain: DrainChoice,
        refused: Vec<Refused>,
    ) -> Self {
        let mut techniques = techniques_of(experiment, &spec);
        techniques.retain(|name| refused.iter().all(|one| one.technique != *name));
        let technique = |&name| TechniqueResult {
            name,
            in_flight: is_in_flight(name),
            contender: true,
            calls_per_sample: 1,
            ratio_to_leader: 1.0,
            ..TechniqueResult::default()
        };
        let workload = &spec.workload;
        let segment_bytes = workload.uniform_bytes();
        CellRun {
            is_refined: false,
            experiment,
            cell: Cell {
                conditions: spec.conditions.clone(),
                segment_count: workload.segment_count(),
                segment_bytes,
                segment_sizes: segment_bytes.is_none().then(|| workload.runs()),
                swept_mix: workload.swept_mix().cloned(),
                alignment: spec.alignment,
                techniques: techniques.iter().map(technique).collect(),
                refused,
                ..Cell::default()
            },
            cpu_ns: vec![Vec::new(); techniques.len()],
            out_ns: vec![0; techniques.len()],
            extras: CellExtras::default(),
            order: BalancedOrder::new(2 + techniques.len()),
            techniques,
            drain,
            calls: 1,
            impossible: None,
            spent_ns: 0,
            visits: 0,
            rounds_ns: 0,
            timed_ns: 0,
            evidence: None,
            spec,
        }
    }

    pub fn is_like(&self, other: &CellRun<'_>) -> bool {
        (&self.spec.conditions, self.spec.alignment)
            == (&other.spec.conditions, other.spec.alignment)
    }

    pub fn with_list(&self, workload: Workload) -> Self {
        let spec = CellSpec {
            workload,
            ..self.spec.clone()
        };
        CellRun {
            is_refined: true,
            ..CellRun::new(spec, self.experiment, self.drain, self.cell.refused.clone())
        }
    }

    pub fn restart(&mut self, drain: DrainChoice) {
        let refused = std::mem::take(&mut self.cell.refused);
        *self = CellRun {
            is_refined: self.is_refined,
            // The sampler does not prove its techniques again.
            extras: CellExtras {
                proof_calls: self.extras.proof_calls,
                ..CellExtras::default()
            },
            ..CellRun::new(self.spec.clone(), self.experiment, drain, refused)
        };
    }

    /// Leaves out a technique that the kernel refuses, and starts over. If no rival is left, the cell is impossible.
    pub fn refuse(&mut self, technique: TechniqueName, error: &std::io::Error) {
        let error = error.to_string();
        self.cell.refused.push(Refused {
            technique,
            error: error.clone(),
        });
        self.restart(self.drain);
        let is_rival = |name: &TechniqueName| self.experiment.rivals.contains(name);
        let can_go_on = self.techniques.iter().any(is_rival)
            && unsuited(&self.spec, &self.techniques).is_none();
        if !can_go_on {
            self.impossible = Some(format!("{technique} is refused here: {error}"));
        }
    }

    pub fn adopt(&mut self, setup: &CellSetup) {
        self.cell.drain = setup.drain;
        self.cell.file_system = setup.file_system.clone();
        self.cell.span_bytes = setup.span_bytes;
        if setup.drain.is_some_and(Drain::has_thread) {
            self.drain = DrainChoice::Thread;
        }
    }

    /// Whether samples taken under `setup` are comparable with the present samples.
    pub fn agrees_with(&self, setup: &CellSetup) -> bool {
        let most_calls = self
            .cell
            .techniques
            .iter()
            .map(|t| t.calls_per_sample)
            .max();
        self.cell.rounds == 0
            || (self.cell.drain == setup.drain && most_calls <= Some(setup.max_calls))
    }

    pub fn record(&mut self, samples: &[Option<Sample>]) {
        let timed_ns = |sample: &Option<Sample>| sample.map_or(0, |sample| sample.elapsed_ns);
        self.timed_ns += samples.iter().map(timed_ns).sum::<u64>();
        let wall = |place: usize| samples[place].map(|sample| sample.wall_ns);
        self.cell.floor_samples_ns.extend(wall(0));
        self.cell.aa_samples_ns.push(wall(1));
        let is_out: Vec<bool> = (0..self.techniques.len())
            .map(|index| self.is_out(index))
            .collect();
        for (index, technique) in self.cell.techniques.iter_mut().enumerate() {
            technique.samples_ns.push(wall(index + 2));
            self.cpu_ns[index].extend(samples[index + 2].map(|sample| sample.cpu_ns));
            if is_out[index] {
                self.out_ns[index] += timed_ns(&samples[index + 2]);
            }
        }
        self.cell.rounds += 1;
        if self.cell.rounds == SCREENING_ROUNDS {
            self.readmit();
        }
    }

    /// Decides which techniques are contenders: after the screening rounds, and again later, since the machine may have
    /// been in an unusual state during the screening rounds. A rival that is surely behind is no contender. Returns whether
    /// a technique became a contender again.
    pub fn readmit(&mut self) -> bool {
        let nearby = self.nearby();
        let evidence = self.evidence.as_ref();
        let mut is_again = false;
        for (index, technique) in self.cell.techniques.iter_mut().enumerate() {
            if nearby[index] {
                technique.calls_per_sample = self.calls;
            }
            let is_rival = self.experiment.rivals.contains(&technique.name);
            let is_behind = is_rival && evidence.is_some_and(|evidence| evidence.is_behind(index));
            let is_contender = nearby[index] && !is_behind;
            is_again |= is_contender && !technique.contender;
            technique.contender = is_contender;
        }
        is_again
    }

    pub fn choose_calls(&mut self, call_ns: &[u64], setup: &CellSetup) {
        let times: Vec<f64> = call_ns.iter().map(|&ns| ns as f64).collect();
        let near = self.near(&times);
        let near_ns = || std::iter::zip(call_ns, &near).filter(|(_, near)| **near);
        let fastest_ns = near_ns().map(|(ns, _)| *ns).min().unwrap_or(1);
        let slowest_ns = near_ns().map(|(ns, _)| *ns).max().unwrap_or(1);
        // As many calls as the fastest near technique needs to fill a sample, but fewer if the slowest near technique would
        // then take more than `LONGEST` times as long.
        let most = fitting(LONGEST * SAMPLE_NS / slowest_ns, setup);
        self.calls = calls_per_sample(fastest_ns, setup).min(most);
        for (index, technique) in self.cell.techniques.iter_mut().enumerate() {
            let own = calls_per_sample(call_ns[index], setup).min(self.calls);
            technique.calls_per_sample = if near[index] { self.calls } else { own };
        }
    }

    fn nearby(&self) -> Vec<bool> {
        let typical = |technique: &TechniqueResult| {
            let sampled: Vec<f64> = technique.samples_ns.iter().copied().flatten().collect();
            median(&sampled).unwrap_or(f64::INFINITY)
        };
        let times: Vec<f64> = self.cell.techniques.iter().map(typical).collect();
        self.near(&times)
    }

    /// For each technique, whether its time is at most [`FAR_BEHIND`] times the shortest time of a rival. A technique that
    /// chooses among others, such as `adaptive`, always counts as near.
    fn near(&self, times: &[f64]) -> Vec<bool> {
        let is_rival = |name: &TechniqueName| self.experiment.rivals.contains(name);
        let timed = || std::iter::zip(&self.techniques, times);
        let fastest = timed()
            .filter(|(name, _)| is_rival(name))
            .fold(f64::INFINITY, |least, (_, &time)| least.min(time));
        timed()
            .map(|(name, &time)| {
                let is_fixed = is_rival(name) || name.role() != Role::Adaptive;
                !is_fixed || time <= FAR_BEHIND * fastest
            })
            .collect()
    }

    pub fn is_due(&self, technique: usize) -> bool {
        let is_cheap = self.out_ns[technique] <= self.timed_ns / OUT_DIVISOR;
        !self.is_out(technique) || (is_cheap && self.cell.rounds.is_multiple_of(OUT_EVERY))
    }

    fn is_out(&self, technique: usize) -> bool {
        !self.cell.techniques[technique].contender && self.cell.rounds >= MIN_ROUNDS as u32
    }

    pub fn next_look(&self) -> Option<u32> {
        let looks = LOOKS.iter().map(|&look| look as u32);
        looks.filter(|&look| look > self.cell.rounds).min()
    }

    pub fn cost_to_minimum_ns(&self) -> u64 {
        match self.cost_ns(MIN_ROUNDS as u32) {
            0 => 0,
            rounds_ns => self.opening_ns() + rounds_ns,
        }
    }

    pub fn opening_ns(&self) -> u64 {
        (self.spent_ns - self.rounds_ns) / self.visits.max(1)
    }

    pub fn cost_ns(&self, rounds: u32) -> u64 {
        self.cost_ns_of(rounds.saturating_sub(self.cell.rounds))
    }

    pub fn cost_ns_of(&self, rounds: u32) -> u64 {
        self.rounds_ns / u64::from(self.cell.rounds.max(1)) * u64::from(rounds)
    }

    pub fn cost_to_decide_ns(&self) -> f64 {
        let multiple = self
            .evidence
            .as_ref()
            .map_or(1.0, |evidence| evidence.rounds_to_decide);
        // Even a cell that should be decided by now needs a few more rounds.
        self.rounds_ns as f64 * (multiple - 1.0).max(0.1)
    }

    pub fn wants_rounds(&self) -> bool {
        self.evidence.as_ref().is_none_or(Evidence::wants_rounds)
    }

    pub fn finish(mut self) -> Cell {
        self.cell.timed_s = self.timed_ns as f64 / 1e9;
        self.cell.spent_s = self.spent_ns as f64 / 1e9;
        for (technique, cpu_ns) in std::iter::zip(&mut self.cell.techniques, &self.cpu_ns) {
            technique.cpu_median_ns = median(cpu_ns).unwrap_or(0.0);
        }
        let extras = &self.extras;
        let call_bytes = self.spec.workload.total_bytes() as u64;
        self.cell.proof_calls = extras.proof_calls;
        for technique in &mut self.cell.techniques {
            let name = technique.name;
            let samples_ns: Vec<f64> = technique.samples_ns.iter().copied().flatten().collect();
            let ranks = extras.ranks.iter().find(|(of, _)| *of == name);
            technique.ranks = ranks
                .zip(median(&samples_ns))
                .and_then(|((_, ranks), slowest_ns)| rank_figures(ranks, slowest_ns, call_bytes));
        }
        self.cell
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sample {
    elapsed_ns: u64,
    wall_ns: f64,
    cpu_ns: f64,
}

impl Sample {
    pub fn per_call(timing: Timing, calls: u32) -> Self {
        // Hundredths of a nanosecond are finer than any clock and short in JSON.
        let per_call = |ns: u64| (ns as f64 * 100.0 / f64::from(calls)).round() / 100.0;
        Sample {
            elapsed_ns: timing.elapsed_ns,
            // A coarse clock may measure 0; ratios need a positive value.
            wall_ns: per_call(timing.elapsed_ns).max(0.01),
            cpu_ns: per_call(timing.cpu_ns),
        }
    }
}

/// Target duration of a sample. Samples of 50–600 µs are equally precise per round, so short samples give more precision per
/// second. The lower end leaves the cost of reading the clock negligible.
const SAMPLE_NS: u64 = 75_000;

/// A sample of the slowest technique lasts at most this many times [`SAMPLE_NS`], unless the sample is one call.
const LONGEST: u64 = 2;

pub(super) fn calls_per_sample(call_ns: u64, setup: &CellSetup) -> u32 {
    fitting(SAMPLE_NS.div_ceil(call_ns), setup)
}

fn fitting(wanted: u64, setup: &CellSetup) -> u32 {
    let multiple = u64::from(setup.calls_multiple.max(1));
    let most = (u64::from(setup.max_calls) / multiple).max(1);
    (multiple * wanted.div_ceil(multiple).clamp(1, most)) as u32
}
