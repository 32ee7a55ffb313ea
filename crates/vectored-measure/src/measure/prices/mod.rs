//! The prices of advice: the cost of one more call in a program, measured in some 150 ms each.
//!
//! A price depends on more than the call. The time of `write(2)` differs by a factor of two or three between states
//! of the machine that a log does not show. Such states are whether the reader of a pipe sleeps and must be woken,
//! the size of the pages that a file's memory consists of, and the load of the host. Each price is therefore sampled
//! in several states. Its value comes from the states that are usual in programs, and its interval covers all of
//! them.

pub(crate) mod arithmetic;
pub(crate) mod movers;
pub(crate) mod peer;
pub(crate) mod probes;

use std::path::Path;
use std::time::Duration;

use vectored::CostModel;
use vectored_machine::Clock;
use vectored_machine::model::{DescriptorKind, Operation, Price};
use vectored_results::stats::target_kind;

use crate::measure::descriptor_sampler::DescriptorSampler;
use crate::measure::model_calibration::calibrate;
use crate::measure::prices::arithmetic::{MIN_NS, Rounds, price};
use crate::measure::prices::movers::mover;
use crate::measure::prices::peer::PeerSampler;
use crate::measure::prices::probes::{Manner, Probe, place, probes};
use crate::measure::sampler::interface::{
    Contender, DrainChoice, MeasureError, Sampler, Timing, is_refusal,
};

/// Approximate time for the probes of one price.
const BUDGET: Duration = Duration::from_millis(100);

/// Rounds that every probe gets, whatever the budget.
const MIN_ROUNDS: usize = 8;

/// Maximum rounds of a probe. More would not make the price more precise.
const MAX_ROUNDS: usize = 400;

/// Target duration of a sample, in ns. The cost of reading the clock, some 50 ns, is negligible.
const SAMPLE_NS: u64 = 40_000;

/// Length of the file that read probes read.
const READ_BYTES: u64 = 1 << 20;

/// System calls in one timed round of [`measure_entry_ns`].
const ENTRIES: u32 = 64;

/// Rounds of [`measure_entry_ns`]; the fastest counts.
const ENTRY_ROUNDS: u32 = 40;

/// Measures the cheapest system call, in ns: `getppid(2)` in a loop, which does little but enter the
/// kernel. Takes at most a millisecond.
pub fn measure_entry_ns(clock: &dyn Clock) -> f64 {
    let round = |_| {
        let began_ns = clock.now_ns();
        for _ in 0..ENTRIES {
            std::hint::black_box(rustix::process::getppid());
        }
        (clock.now_ns() - began_ns) as f64 / f64::from(ENTRIES)
    };
    let fastest = (0..ENTRY_ROUNDS).map(round).fold(f64::INFINITY, f64::min);
    // A coarse clock may measure 0.
    fastest.max(MIN_NS)
}

/// Measures the prices of `wanted`, in that order, in some 150 ms each. [`DescriptorKind::Unknown`] and
/// [`DescriptorKind::Datagram`] have no price and are left out.
///
/// Opens its own pipe, sockets and files. The files are created in `directory` and have no name, so
/// none remains, however the process ends.
///
/// # Errors
///
/// The errors of opening a target, such as
/// [`DirectoryError::NoSpace`](vectored_machine::host::DirectoryError::NoSpace), and of calibration.
pub fn measure_prices(
    directory: &Path,
    wanted: &[(DescriptorKind, Operation)],
    clock: &dyn Clock,
) -> Result<Vec<Price>, MeasureError> {
    let entry_ns = measure_entry_ns(clock);
    let mut models: Vec<(DescriptorKind, CostModel)> = Vec::new();
    let mut prices = Vec::with_capacity(wanted.len());
    for (number, &(target, operation)) in wanted.iter().enumerate() {
        let probes = probes(target, operation);
        let Some(place) = place(target) else {
            continue;
        };
        let model = match models.iter().find(|(measured, _)| *measured == target) {
            Some(&(_, model)) => model,
            None => {
                // By writing: reads use the same costs.
                let calibrated = match calibrate(place, None, directory) {
                    // Without writev(2) here, lists have the costs of another machine.
                    Err(error) if is_refusal(&error) => None,
                    calibrated => {
                        calibrated.map_err(MeasureError::io("cannot calibrate a cost model"))?
                    }
                };
                let model = calibrated.map_or_else(
                    || CostModel::for_target(target_kind(place)),
                    |fitted| fitted.model,
                );
                models.push((target, model));
                model
            }
        };
        let mut rounds = Vec::with_capacity(probes.len());
        for probe in probes {
            let budget_ns = (BUDGET.as_nanos() as f64 * probe.share) as u64;
            let mut sampler = sampler(probe.manner, directory, clock, number as u64);
            rounds.push(sample(&mut *sampler, &probe, clock, budget_ns)?);
        }
        prices.push(price(target, operation, &model, entry_ns, &rounds));
    }
    Ok(prices)
}

fn sampler<'a>(
    manner: Manner,
    directory: &Path,
    clock: &'a dyn Clock,
    seed: u64,
) -> Box<dyn Sampler + 'a> {
    match manner {
        Manner::ToReader | Manner::WorkingToReader | Manner::Answering => {
            Box::new(PeerSampler::new(clock, manner))
        }
        Manner::Alone | Manner::Seeking { .. } => Box::new(
            DescriptorSampler::new(clock, directory, seed)
                .read_file_bytes(READ_BYTES)
                .with_movers(move |contender, model| mover(manner, contender, model)),
        ),
    }
}

/// Samples a probe in rounds of one sample each of the separate calls and of the floor. The order
/// alternates from round to round.
fn sample(
    sampler: &mut dyn Sampler,
    probe: &Probe,
    clock: &dyn Clock,
    budget_ns: u64,
) -> Result<Rounds, MeasureError> {
    let until_ns = clock.now_ns() + budget_ns;
    match attempt(sampler, probe, DrainChoice::Probe, clock, until_ns) {
        // The stream holds less than during its capacity probe, so another thread must empty it.
        Err(MeasureError::DidNotFit) => {
            attempt(sampler, probe, DrainChoice::Thread, clock, until_ns)
        }
        outcome => outcome,
    }
}

fn attempt(
    sampler: &mut dyn Sampler,
    probe: &Probe,
    drain: DrainChoice,
    clock: &dyn Clock,
    until_ns: u64,
) -> Result<Rounds, MeasureError> {
    let each = Contender::Technique(probe.technique);
    let setup = sampler.begin_cell(&probe.spec, &[probe.technique], drain)?;
    sampler.begin_round(0)?;
    let alone_ns = per_call_ns(sampler.sample(each, 1)?, 1).max(1.0);
    let calls = ((SAMPLE_NS as f64 / alone_ns) as u32).clamp(1, setup.max_calls);
    let mut extra_ns = Vec::new();
    while extra_ns.len() < MIN_ROUNDS || (extra_ns.len() < MAX_ROUNDS && clock.now_ns() < until_ns)
    {
        let round = extra_ns.len() as u32 + 1;
        sampler.begin_round(round)?;
        let mut take = |contender| {
            let timing = sampler.sample(contender, calls);
            timing.map(|timing| per_call_ns(timing, calls))
        };
        let (each_ns, floor_ns) = if round.is_multiple_of(2) {
            let each_ns = take(each)?;
            (each_ns, take(Contender::Floor)?)
        } else {
            let floor_ns = take(Contender::Floor)?;
            (take(each)?, floor_ns)
        };
        extra_ns.push((each_ns - floor_ns) / probe.more_calls());
    }
    sampler.end_cell()?;
    Ok(Rounds {
        quantity: probe.quantity,
        bytes_a_call: probe.bytes_a_call(),
        extra_ns,
    })
}

fn per_call_ns(timing: Timing, calls: u32) -> f64 {
    timing.elapsed_ns as f64 / f64::from(calls)
}

#[cfg(test)]
mod tests {
    use vectored_machine::{FakeClock, MonotonicClock};

    use super::*;
    use crate::measure::prices::probes::Quantity;
    use crate::measure::synthetic::{Noise, SyntheticMachine};

    /// A machine on which a call costs 340 ns, a byte 0.2 ns in a call of a page or less and 0.1 ns
    /// in a larger one, and `lseek` 90 ns.
    fn machine(clock: FakeClock, noise: Noise, manner: Manner) -> SyntheticMachine {
        SyntheticMachine::new(clock, noise, 1, move |cell, contender| {
            let pieces = cell.workload.segment_count() as f64;
            let bytes = cell.workload.total_bytes() as f64;
            let byte_ns = if bytes > 4096.0 { 0.1 } else { 0.2 };
            let seeks = if let Manner::Seeking { .. } = manner { 90.0 } else { 0.0 };
            match (contender, manner) {
                (Contender::Technique(_), _) => pieces * (340.0 + seeks) + bytes * 0.2,
                (_, Manner::Seeking { .. }) => pieces * 340.0 + bytes * 0.2,
                _ => 340.0 + bytes * byte_ns,
            }
        })
    }

    fn measured(target: DescriptorKind, operation: Operation, noise: Noise) -> Price {
        let rounds: Vec<Rounds> = probes(target, operation)
            .iter()
            .map(|probe| {
                let clock = FakeClock::default();
                let mut machine = machine(clock.clone(), noise, probe.manner);
                sample(&mut machine, probe, &clock, 10_000_000).unwrap()
            })
            .collect();
        let model = CostModel::default();
        price(target, operation, &model, 0.0, &rounds)
    }

    fn price_of_writes(entry_ns: f64, rounds: Rounds) -> Price {
        let (target, operation) = (DescriptorKind::File, Operation::Write);
        price(
            target,
            operation,
            &CostModel::default(),
            entry_ns,
            &[rounds],
        )
    }

    fn within(got: f64, expected: f64, share: f64) {
        assert!(
            (got / expected - 1.0).abs() < share,
            "{got}, not {expected}"
        );
    }

    #[test]
    fn the_price_of_a_call_excludes_its_bytes() {
        for target in [
            DescriptorKind::File,
            DescriptorKind::Pipe,
            DescriptorKind::Unix,
            DescriptorKind::Tcp,
        ] {
            for operation in Operation::ALL {
                let price = measured(target, operation, Noise::None);
                within(price.call_ns, 340.0, 0.001);
                assert_eq!((price.target, price.operation), (target, operation));
            }
        }
    }

    #[test]
    fn files_have_prices_of_large_calls_and_of_seeking() {
        let price = measured(DescriptorKind::File, Operation::Write, Noise::None);
        within(price.batch_byte_ns, 0.1, 0.01);
        within(price.medium_call_ns, 340.0, 0.001);
        assert!(price.medium_call_ns >= price.call_ns, "{price:?}");
        within(price.seek_ns, 90.0, 0.001);
        let reads = measured(DescriptorKind::File, Operation::Read, Noise::None);
        within(reads.seek_ns, 90.0, 0.001);
        let pipe = measured(DescriptorKind::Pipe, Operation::Write, Noise::None);
        assert_eq!((pipe.batch_byte_ns, pipe.seek_ns), (0.0, 0.0));
    }

    #[test]
    fn an_interval_contains_the_price_and_most_rounds() {
        let quiet = measured(DescriptorKind::File, Operation::Read, Noise::None);
        within(quiet.call_low_ns, 340.0 * 0.9, 0.001);
        within(quiet.call_high_ns, 340.0 * 1.1, 0.001);
        let noise = Noise::LogNormal { sigma: 0.2 };
        let noisy = measured(DescriptorKind::File, Operation::Read, noise);
        within(noisy.call_ns, 340.0, 0.1);
        assert!(noisy.call_low_ns < 0.8 * noisy.call_ns, "{noisy:?}");
        assert!(noisy.call_high_ns > 1.2 * noisy.call_ns, "{noisy:?}");
    }

    #[test]
    fn a_stall_does_not_widen_the_interval() {
        let rounds = Rounds {
            quantity: Quantity::Usual,
            bytes_a_call: 64.0,
            extra_ns: [[400.0; 7].as_slice(), &[1e6]].concat(),
        };
        let price = price_of_writes(0.0, rounds);
        assert_eq!((price.call_ns, price.call_high_ns), (400.0, 1600.0));
    }

    #[test]
    fn no_call_costs_less_than_its_entry_to_the_kernel() {
        let rounds = |extra_ns: f64| Rounds {
            quantity: Quantity::Usual,
            bytes_a_call: 64.0,
            extra_ns: vec![extra_ns; 8],
        };
        let price = |extra_ns| price_of_writes(200.0, rounds(extra_ns));
        let negative = price(-50.0);
        assert_eq!((negative.call_low_ns, negative.call_ns), (200.0, 200.0));
        let usual = price(210.0);
        assert_eq!((usual.call_low_ns, usual.call_ns), (200.0, 210.0));
        assert_eq!(usual.entry_ns, 200.0);
    }

    #[test]
    fn real_prices_are_positive_and_in_order_and_no_file_remains() {
        let directory = std::env::temp_dir().join(format!("prices-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let all = [
            DescriptorKind::File,
            DescriptorKind::Pipe,
            DescriptorKind::Unix,
            DescriptorKind::Tcp,
        ]
        .map(|target| Operation::ALL.map(|operation| (target, operation)))
        .concat();
        let prices = measure_prices(&directory, &all, &MonotonicClock).unwrap();
        let left = std::fs::read_dir(&directory).unwrap().count();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(left, 0, "files are left");
        let named: Vec<_> = prices.iter().map(|p| (p.target, p.operation)).collect();
        assert_eq!(named, all);
        for price in prices {
            let ends = [price.call_low_ns, price.call_ns, price.call_high_ns];
            assert!(
                ends.iter().all(|ns| ns.is_finite() && *ns > 0.0),
                "{price:?}"
            );
            assert!(ends.is_sorted(), "{price:?}");
            assert!(price.batch_byte_ns.is_finite(), "{price:?}");
            assert!(
                price.seek_ns.is_finite() && price.seek_ns >= 0.0,
                "{price:?}"
            );
        }
    }
}
