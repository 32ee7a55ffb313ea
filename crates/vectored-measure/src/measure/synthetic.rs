//! A simulated machine: timings computed from costs and noise, for tests of the
//! engine, the statistics and the command line tool.

use fastrand::Rng;
use vectored_machine::FakeClock;
use vectored_results::model::{CellSpec, Operation, Role, TechniqueName};

use crate::measure::sampler::{
    CellExtras, CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing,
};
use crate::measure::techniques::{Costs, depth_of, listed};

/// Draws the factor of a sample.
pub type Noise = Box<dyn FnMut(&mut Rng, Contender) -> f64>;

/// Independent log-normal factors.
pub fn log_normal(sigma: f64) -> Noise {
    Box::new(move |rng, _| (sigma * normal(rng)).exp())
}

/// A standard normal deviate (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * cosine_of_turns(rng.f64())
}

type Cost = Box<dyn Fn(&CellSpec, Contender) -> f64>;

pub struct SyntheticMachine {
    clock: FakeClock,
    cost_ns: Cost,
    noise: Noise,
    rng: Rng,
    cell: Option<CellSpec>,
}

impl SyntheticMachine {
    pub fn new(
        clock: FakeClock,
        noise: impl Into<Noise>,
        seed: u64,
        cost_ns: impl Fn(&CellSpec, Contender) -> f64 + 'static,
    ) -> Self {
        SyntheticMachine {
            clock,
            cost_ns: Box::new(cost_ns),
            noise: noise.into(),
            rng: Rng::with_seed(seed),
            cell: None,
        }
    }

    pub fn with_model(
        clock: FakeClock,
        noise: impl Into<Noise>,
        seed: u64,
        model: vectored::CostModel,
    ) -> Self {
        Self::new(clock, noise, seed, move |cell, contender| {
            let segments = cell.workload.segment_count();
            let bytes = cell.workload.total_bytes() as u64;
            let is_copy = cell.conditions.operation == Operation::Copy;
            let written = model.write_ns(bytes);
            let each = segments as f64 * model.call_ns + bytes as f64 * model.byte_ns;
            let costs = Costs {
                call_ns: model.call_ns,
                each_ns: each,
                copied_ns: model.copy_then_write_ns(segments, bytes),
                referenced_ns: model.writev_ns(segments, bytes),
                queue_depth: f64::from(cell.conditions.queue_depth),
            };
            let waited = direct_ns(cell, contender, model.call_ns);
            let called = match contender {
                Contender::Floor | Contender::FloorAgain if !is_copy => written,
                contender => (listed(contender, Operation::Copy).cost_ns)(&costs),
            };
            called + waited
        })
    }
}

/// The cosine of a part of a turn, from 0 to 1. `f64::cos` would add 23 KB to the static tool: glibc has a version for each
/// of four kinds of processors.
fn cosine_of_turns(turns: f64) -> f64 {
    // The sine of an angle within a quarter of a turn, by its series, whose next term is below 1e-17.
    let angle = std::f64::consts::TAU * (0.25 - (turns - 0.5).abs());
    let terms = (1..=11).rev().map(|term| f64::from(2 * term));
    -angle * terms.fold(1.0, |sum, n| 1.0 - angle * angle / (n * (n + 1.0)) * sum)
}

/// With `O_DIRECT`, the wait for a device that serves up to 16 transfers at a time. A transfer takes as long as 100 calls.
fn direct_ns(cell: &CellSpec, contender: Contender, call_ns: f64) -> f64 {
    if !cell.conditions.direct {
        return 0.0;
    }
    let transfer_ns = 100.0 * call_ns;
    let at_once = f64::from(depth_of(contender, cell.conditions.queue_depth).clamp(1, 16));
    let transfers = match contender {
        Contender::Technique(name) if name.role() == Role::Each => {
            cell.workload.segment_count() as f64
        }
        _ => 1.0,
    };
    transfers * transfer_ns / at_once
}

impl Sampler for SyntheticMachine {
    fn begin_cell(
        &mut self,
        cell: &CellSpec,
        _techniques: &[TechniqueName],
        _drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        self.cell = Some(cell.clone());
        Ok(CellSetup {
            max_calls: 1 << 16,
            calls_multiple: cell.conditions.queue_depth,
            ..CellSetup::default()
        })
    }

    fn begin_round(&mut self, _round: u32) -> Result<(), MeasureError> {
        Ok(())
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        let factor = (self.noise)(&mut self.rng, contender);
        let cell = self.cell.as_ref().expect("begin_cell comes first");
        let elapsed_ns = ((self.cost_ns)(cell, contender) * f64::from(calls) * factor) as u64;
        // A sample of 0 ns would never use up a budget.
        let elapsed_ns = elapsed_ns.max(1);
        self.clock.advance(elapsed_ns);
        Ok(Timing {
            elapsed_ns,
            cpu_ns: elapsed_ns,
        })
    }

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError> {
        self.cell = None;
        Ok(CellExtras::default())
    }
}

#[cfg(test)]
mod tests {
    use super::cosine_of_turns;

    #[test]
    fn the_cosine_is_that_of_the_standard_library() {
        for step in 0..=1000 {
            let turns = f64::from(step) / 1000.0;
            let expected = (std::f64::consts::TAU * turns).cos();
            assert!((cosine_of_turns(turns) - expected).abs() < 1e-15, "{turns}");
        }
    }
}
