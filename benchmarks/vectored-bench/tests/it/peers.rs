//! Every peer moves every byte to every target.

use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use vectored::CostModel;
use vectored_bench::bench_target::BenchTarget;
use vectored_bench::peers::Peers;
use vectored_bench::techniques::{LIBUV, STD_VECTORED, peers_and_c_callers};
use vectored_machine::MonotonicClock;
use vectored_measure::measure::{DescriptorSampler, Watch, run_rounds};
use vectored_results::model::{CellSpec, Experiment, TechniqueName, Workload};
use vectored_results::stats::target_kind;

/// Reports that a test could not run here.
///
/// Not the function of `vectored-conformance`: as a dependency it would turn on a feature of `vectored` in the benches.
fn report_skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
    if let Some(list) = std::env::var_os("VECTORED_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).open(list).unwrap();
        writeln!(file, "{test}: {reason}").unwrap();
    }
}

/// Measuring compares every byte that it can read back, so two rounds are enough.
#[test]
fn every_byte_of_every_peer_arrives() {
    let peers = Rc::new(Peers::find(&peers_and_c_callers()).unwrap());
    let here: Vec<TechniqueName> = peers_and_c_callers()
        .into_iter()
        .filter(|&peer| match peers.missing(peer) {
            None => true,
            Some(reason) => {
                report_skip("peers::every_byte_of_every_peer_arrives", &reason);
                false
            }
        })
        .collect();
    // Small segments, a list larger than a pipe, and more segments than IOV_MAX.
    let lists = [
        Workload::from_sizes(vec![1, 10_000, 7]),
        Workload::from_sizes(vec![5, 200_000, 3]),
        Workload::uniform(1500, 9),
    ];
    let clock = MonotonicClock;
    for target in BenchTarget::ALL {
        if target.path().is_some_and(|path| !Path::new(path).exists()) {
            report_skip(
                "peers::every_byte_of_every_peer_arrives",
                &format!("{target} is missing"),
            );
            continue;
        }
        let cells = lists.iter().map(|list| {
            CellSpec::write(target.measured_target(), list.clone())
                .with(|asked| asked.path = target.path().map(str::to_owned))
        });
        let experiment = Experiment {
            cells: cells.collect(),
            rivals: vec![TechniqueName::WRITEV],
            unranked: here.clone(),
            refine: false,
            budget_ns: 0,
            seed: 1,
        };
        let models = vec![CostModel::for_target(target_kind(target.measured_target()))];
        let all = Rc::clone(&peers);
        let mut sampler = DescriptorSampler::new(&clock, Path::new("."), 1);
        sampler.make_mover = Box::new(move |contender, _| all.mover(contender, &models));
        let watch = Watch {
            progress: &mut |_| (),
            stop: &AtomicBool::new(false),
            save: None,
        };
        let outcome = run_rounds(&experiment, 2, &mut sampler, &clock, watch)
            .unwrap_or_else(|failed| panic!("{target}: {}", failed.error));
        for cell in &outcome.cells {
            assert_eq!(cell.rounds, 2, "{target}");
            assert_eq!(
                cell.proof_calls > 0,
                target != BenchTarget::Null,
                "{target}"
            );
            assert_eq!(cell.techniques.len(), 1 + here.len());
        }
    }
}

#[test]
fn a_missing_peer_is_reported_with_a_remedy() {
    let peers = Peers::find(&[]).unwrap();
    let reason = peers.missing(LIBUV).unwrap();
    assert!(reason.starts_with("libuv: "), "{reason}");
    assert!(reason.contains("cargo xtask bench-peers"), "{reason}");
    assert_eq!(peers.missing(STD_VECTORED), None);
}
