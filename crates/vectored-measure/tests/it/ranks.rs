//! Ranks of a cluster, as threads of this process.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, mpsc};

use vectored::CostModel;
use vectored_machine::{FakeClock, MonotonicClock};
use vectored_measure::measure::{
    Contender, DescriptorSampler, DrainChoice, Group, MeasureError, Outcome, RankedSampler,
    RunError, Sampler, SyntheticMachine, agree, follow, run_rounds,
};
use vectored_report::{TerminalOptions, terminal};
use vectored_results::model::{
    Cell, CellSpec, Experiment, Rank, Results, Target, TechniqueName, Workload,
};
use vectored_results::report;

use crate::noise::Noise;
use crate::support::{self, Hooked, Step, WRITES, run_rounds_quietly, unwatched};
use crate::thread_group::ThreadGroup;

fn experiment(cells: Vec<CellSpec>) -> Experiment {
    Experiment {
        unranked: Vec::new(),
        ..support::experiment(cells, &WRITES, u64::MAX)
    }
}

fn on_ranks(ranks: u32, target: Target, workload: Workload) -> CellSpec {
    CellSpec::write(target, workload).with(|asked| asked.ranks = Some(ranks))
}

/// Runs `lead` on rank 0 and, on the other ranks, follows with the samplers that `make` makes.
fn with_ranks<T>(
    size: usize,
    make: impl Fn(u32) -> Box<dyn Sampler> + Send + Sync + 'static + Clone,
    lead: impl FnOnce(&dyn Group) -> T,
) -> T {
    let mut ranks = ThreadGroup::of(size);
    let others: Vec<_> = ranks
        .drain(1..)
        .map(|group| {
            let make = make.clone();
            std::thread::spawn(move || {
                let mut own = make(group.rank());
                follow(&group, &mut *own, &format!("n{}", group.rank()), &|| 0);
            })
        })
        .collect();
    let outcome = lead(&ranks[0]);
    for other in others {
        other.join().unwrap();
    }
    outcome
}

/// A machine on which a call takes `factor` times as long as by the default model, without noise.
fn machine(clock: &FakeClock, factor: f64) -> SyntheticMachine {
    let model = CostModel::default();
    SyntheticMachine::new(clock.clone(), Noise::None, 1, move |cell, contender| {
        let segments = cell.workload.segment_count();
        let bytes = cell.workload.total_bytes() as u64;
        factor
            * match contender {
                Contender::Technique(TechniqueName::COPY_THEN_WRITE) => {
                    model.copy_then_write_ns(segments, bytes)
                }
                Contender::Technique(TechniqueName::WRITEV) => model.writev_ns(segments, bytes),
                Contender::Technique(_) => segments as f64 * model.write_ns(bytes),
                _ => model.write_ns(bytes),
            }
    })
}

fn factor_of(rank: u32) -> f64 {
    [1.0, 1.1, 2.0, 1.0][rank as usize]
}

fn measured(
    group: &dyn Group,
    own: &mut dyn Sampler,
    clock: &dyn vectored_machine::Clock,
    experiment: &Experiment,
) -> Result<Outcome, RunError> {
    let mut sampler = RankedSampler::new(group, own, "n0", &|_| ());
    run_rounds_quietly(experiment, 12, &mut sampler, clock)
}

fn synthetic_run() -> Outcome {
    let workloads = [Workload::uniform(4, 64), Workload::uniform(16, 4096)];
    let cells = workloads.iter().flat_map(|workload| {
        [1, 2, 4].map(|ranks| on_ranks(ranks, Target::File, workload.clone()))
    });
    let experiment = experiment(cells.collect());
    with_ranks(
        4,
        |rank| Box::new(machine(&FakeClock::default(), factor_of(rank))),
        |group| {
            let clock = FakeClock::default();
            let mut own = machine(&clock, factor_of(0));
            measured(group, &mut own, &clock, &experiment).unwrap()
        },
    )
}

#[test]
fn times_are_those_of_the_slowest_of_the_ranks_of_a_cell() {
    let outcome = synthetic_run();
    for cells in outcome.cells.chunks(3) {
        for technique in 0..3 {
            let median = |cell: &Cell| cell.techniques[technique].median_ns;
            let [one, two, four] = [0, 1, 2].map(|index| median(&cells[index]));
            assert!((two / one - 1.1).abs() < 1e-3, "{two} for {one}");
            assert!((four / one - 2.0).abs() < 1e-3, "{four} for {one}");
            let figures = cells[2].techniques[technique].ranks.as_ref().unwrap();
            assert_eq!(figures.rank_median_ns.len(), 4);
            assert!((figures.rank_median_ns[2] / one - 2.0).abs() < 1e-3);
            assert!((figures.rank_median_ns[3] / one - 1.0).abs() < 1e-3);
            // 2.0 is more than 1.5 times the median of 1, 1, 1.1 and 2.
            assert_eq!(figures.stragglers, [2]);
            assert_eq!(figures.rank_last_share, [0.0, 0.0, 1.0, 0.0]);
            assert!((figures.calls_per_s * four / 4e9 - 1.0).abs() < 1e-3);
            let alone = cells[0].techniques[technique].ranks.as_ref().unwrap();
            assert_eq!(alone.rank_last_share, [1.0]);
        }
        assert_eq!(
            cells
                .iter()
                .filter_map(|cell| cell.conditions.ranks)
                .collect::<Vec<_>>(),
            [1, 2, 4]
        );
    }
}

/// Results of the synthetic run.
fn ranked_results() -> Results {
    let outcome = synthetic_run();
    let rank = |rank| Rank {
        rank,
        host: format!("n{}", rank / 2),
        kernel: "6.1".to_owned(),
        cpu: "invented processor".to_owned(),
        pinned_cpu: Some(rank as usize % 2),
        ..Rank::default()
    };
    let mut results = Results {
        cells: outcome.cells,
        refined_cells: Vec::new(),
        rivals: WRITES.to_vec(),
        ranks: (0..4).map(rank).collect(),
        left_out: Vec::new(),
        ..Results::default()
    };
    results.find(Vec::new());
    results
}

#[test]
fn the_table_of_several_ranks() {
    let options = TerminalOptions {
        width: 100,
        color: false,
        details: true,
    };
    insta::assert_snapshot!(terminal(&report::measured(&ranked_results()), &options));
}

#[test]
fn real_ranks_each_have_their_own_target_and_their_bytes_are_compared() {
    let cells: Vec<CellSpec> = [
        Target::File,
        Target::FileOverwrite,
        Target::Pipe,
        Target::Unix,
    ]
    .into_iter()
    .flat_map(|target| {
        // The second list does not fit a pipe, so a thread reads.
        [Workload::uniform(3, 40), Workload::uniform(2, 100_000)]
            .map(|workload| on_ranks(3, target, workload))
    })
    .collect();
    let experiment = experiment(cells);
    let outcome = with_ranks(
        3,
        |rank| {
            Box::new(DescriptorSampler::new(
                &MonotonicClock,
                &std::env::temp_dir(),
                3 + u64::from(rank),
            ))
        },
        |group| {
            let mut own = DescriptorSampler::new(&MonotonicClock, &std::env::temp_dir(), 3);
            measured(group, &mut own, &MonotonicClock, &experiment).unwrap()
        },
    );
    for cell in &outcome.cells {
        // Each rank proves each technique and both floors when it opens the cell.
        assert!(
            cell.proof_calls >= 3 * 5,
            "{} on {}",
            cell.proof_calls,
            cell.conditions.target
        );
        for technique in &cell.techniques {
            let figures = technique.ranks.as_ref().unwrap();
            assert_eq!(figures.rank_median_ns.len(), 3);
            let slowest = figures.rank_median_ns.iter().copied().fold(0.0, f64::max);
            assert!(
                technique.median_ns >= slowest * 0.999,
                "the slowest is no faster"
            );
            let shares: f64 = figures.rank_last_share.iter().sum();
            assert!((shares - 1.0).abs() < 1e-3, "{shares}");
        }
    }
}

fn with_failing_ranks(
    fails: impl Fn(u32, DrainChoice) -> Option<MeasureError> + Send + Sync + 'static,
) -> Result<Outcome, RunError> {
    let workload = Workload::uniform(4, 64);
    let cells = vec![on_ranks(3, Target::File, workload)];
    let experiment = experiment(cells);
    let fails = Arc::new(fails);
    with_ranks(
        3,
        move |rank| {
            let fails = Arc::clone(&fails);
            let (mut drain, mut round) = (DrainChoice::Probe, 0);
            let hook = move |step: Step<'_>| {
                match step {
                    Step::Begin(_, choice) => drain = choice,
                    Step::Round(number) => round = number,
                    // The rank fails in its second round.
                    Step::Sample(_) if round == 2 => {
                        return fails(rank, drain).map_or(Ok(None), Err);
                    }
                    _ => {}
                }
                Ok(None)
            };
            let inner = machine(&FakeClock::default(), 1.0);
            Box::new(Hooked { inner, hook })
        },
        |group| {
            let clock = FakeClock::default();
            let mut own = machine(&clock, 1.0);
            measured(group, &mut own, &clock, &experiment)
        },
    )
}

fn full() -> MeasureError {
    MeasureError::Io {
        what: "cannot write to a file".to_owned(),
        source: std::io::Error::from_raw_os_error(28),
    }
}

#[test]
fn a_rank_that_fails_is_named_with_its_node_and_what_was_measured_stays() {
    // A rank whose list did not fit in the same sample has not failed: the list is measured again.
    let failed = with_failing_ranks(|rank, _| match rank {
        1 => Some(MeasureError::DidNotFit),
        2 => Some(full()),
        _ => None,
    });
    let failed = failed.unwrap_err();
    assert_eq!(
        failed.error.to_string(),
        "rank 2 on n2: cannot write to a file: No space left on device (os error 28)"
    );
    assert!(!failed.error.is_wrong_bytes() && !failed.outcome.complete);
    assert_eq!(failed.outcome.cells[0].rounds, 1);
    let wrong = with_failing_ranks(|rank, _| {
        (rank == 2).then(|| MeasureError::WrongBytes {
            contender: "writev".to_owned(),
            cell: "file".to_owned(),
            difference: "byte 3".to_owned(),
        })
    });
    assert!(wrong.unwrap_err().error.is_wrong_bytes());
}

#[test]
fn a_technique_that_the_kernel_of_one_rank_refuses_is_left_out_on_all() {
    let is_first = AtomicBool::new(true);
    let refused = move |rank, _| {
        let refuses = rank == 2 && is_first.swap(false, Ordering::Relaxed);
        refuses.then(|| MeasureError::Refused {
            technique: TechniqueName::WRITEV,
            source: std::io::Error::from_raw_os_error(1),
        })
    };
    let outcome = with_failing_ranks(refused).unwrap();
    let cell = &outcome.cells[0];
    let [refused] = &cell.refused[..] else {
        panic!("{:?}", cell.refused)
    };
    assert_eq!(refused.technique, TechniqueName::WRITEV);
    assert_eq!(
        refused.error,
        "Operation not permitted (os error 1), rank 2 on n2"
    );
    assert!(cell.technique(TechniqueName::WRITEV).is_none() && cell.rounds == 12);
}

#[test]
fn if_a_sample_does_not_fit_on_one_rank_all_start_the_cell_over() {
    let outcome = with_failing_ranks(|rank, drain| {
        (rank == 2 && drain == DrainChoice::Probe).then_some(MeasureError::DidNotFit)
    });
    let cell = &outcome.unwrap().cells[0];
    assert_eq!(cell.rounds, 12);
    // The samples from before the start are forgotten on all ranks.
    let medians = &cell.techniques[0].ranks.as_ref().unwrap().rank_median_ns;
    assert_eq!(medians.len(), 3);
}

#[test]
fn a_cell_that_one_rank_cannot_open_is_closed_on_all_others() {
    let open = Arc::new(AtomicI32::new(0));
    let of_others = Arc::clone(&open);
    let cells = vec![on_ranks(3, Target::File, Workload::uniform(4, 64))];
    let experiment = experiment(cells);
    // Counts the cells that are begun and not ended.
    let counting = move |open: &Arc<AtomicI32>, fails: bool| {
        let open = Arc::clone(open);
        let hook = move |step: Step<'_>| {
            match step {
                Step::Begin(..) if fails => return Err(full()),
                Step::Begin(..) => open.fetch_add(1, Ordering::Relaxed),
                Step::End => open.fetch_sub(1, Ordering::Relaxed),
                _ => 0,
            };
            Ok(None)
        };
        let inner = machine(&FakeClock::default(), 1.0);
        Hooked { inner, hook }
    };
    // The last rank has no part in the cell.
    let failed = with_ranks(
        4,
        move |rank| Box::new(counting(&of_others, rank == 2)),
        |group| {
            let mut own = counting(&open, false);
            measured(group, &mut own, &FakeClock::default(), &experiment).unwrap_err()
        },
    );
    assert!(matches!(failed.error, MeasureError::Ranks(_)), "{failed:?}");
    assert_eq!(open.load(Ordering::Relaxed), 0);
}

#[test]
fn a_signal_to_another_rank_ends_the_run_after_the_sample() {
    const SIGTERM: u64 = 15;
    let cells = vec![on_ranks(3, Target::File, Workload::uniform(4, 64))];
    let experiment = experiment(cells);
    let mut ranks = ThreadGroup::of(3);
    let samples = Arc::new(AtomicI32::new(0));
    let others: Vec<_> = ranks
        .drain(1..)
        .map(|group| {
            let samples = Arc::clone(&samples);
            std::thread::spawn(move || {
                let mut own = machine(&FakeClock::default(), 1.0);
                // The signal arrives at rank 2 in its 41st sample.
                let signal = || {
                    let is_second = group.rank() == 2;
                    let count = samples.fetch_add(i32::from(is_second), Ordering::Relaxed);
                    u64::from(is_second && count >= 40) * SIGTERM
                };
                follow(&group, &mut own, "n", &signal);
            })
        })
        .collect();
    let heard = RefCell::new(Vec::new());
    let stop = AtomicBool::new(false);
    let hear = |signal| {
        heard.borrow_mut().push(signal);
        stop.store(true, Ordering::Relaxed);
    };
    let clock = FakeClock::default();
    let mut own = machine(&clock, 1.0);
    let outcome = {
        let mut sampler = RankedSampler::new(&ranks[0], &mut own, "n0", &hear);
        let mut ignored = |_| ();
        let watch = unwatched(&mut ignored, &stop);
        run_rounds(&experiment, 1000, &mut sampler, &clock, watch).unwrap()
    };
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(heard.into_inner(), [SIGTERM]);
    // Six samples before the first round, and five in each.
    assert_eq!(outcome.cells[0].rounds, (41 - 6) / 5);
}

#[test]
fn ranks_agree_that_all_succeeded_or_learn_which_did_not() {
    let (sender, receiver) = mpsc::channel();
    let ranks = ThreadGroup::of(6).into_iter().map(|group| {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let rank = group.rank();
            let host = format!("n{rank}");
            assert_eq!(agree::<_, String>(&group, &host, Ok(rank)).unwrap(), rank);
            let outcome = match rank {
                0 => Ok(()),
                1 | 2 => Err("no disk".to_owned()),
                _ => Err(format!("no disk {rank}")),
            };
            let error = agree(&group, &host, outcome).unwrap_err();
            sender.send((rank, error.to_string())).unwrap();
        })
    });
    for rank in ranks.collect::<Vec<_>>() {
        rank.join().unwrap();
    }
    drop(sender);
    for (rank, error) in receiver {
        let expected = match rank {
            0 => {
                "rank 1 on n1, rank 2 on n2: no disk; rank 3 on n3: no disk 3; rank 4 on n4: no disk 4; and 1 more \
                 errors"
            }
            _ => "another rank failed",
        };
        assert_eq!(error, expected);
    }
}
