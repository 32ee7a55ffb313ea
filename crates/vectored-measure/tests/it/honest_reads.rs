//! Real descriptors: techniques that read wrong bytes are caught on every target,
//! and correct ones are measured.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use vectored::CostModel;
use vectored_machine::MonotonicClock;
use vectored_measure::measure::{
    Contender, DescriptorSampler, MeasureError, Outcome, ReadMover, RunError, check_eviction,
    read_movers,
};
use vectored_results::model::{
    Cache, CellSpec, Drain, IovecSetup, Layout, PageCache, Target, TechniqueName, Workload,
};

use crate::faults::{Fault, Faulty, assert_caught};
use crate::support::{MINIMUM_NS, directory, experiment, run_quietly};

const FAULTS: [Fault; 8] = [
    Fault::ByteDropped,
    Fault::ByteDoubled,
    Fault::ByteChanged,
    Fault::BytesSwapped,
    Fault::SegmentsSwapped,
    Fault::SegmentDropped,
    Fault::LastByteDropped,
    Fault::OnlyLater,
];

fn measure(
    spec: CellSpec,
    directory: &Path,
    make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn ReadMover> + 'static,
) -> Result<Outcome, RunError> {
    let rivals = [
        TechniqueName::READ_EACH,
        TechniqueName::READ_THEN_SPLIT,
        TechniqueName::READV,
        TechniqueName::new("mmap"),
    ];
    let experiment = experiment(vec![spec], &rivals, MINIMUM_NS);
    let clock = MonotonicClock;
    let mut sampler =
        DescriptorSampler::new(&clock, directory, experiment.seed).with_read_movers(make_mover);
    run_quietly(&experiment, &mut sampler, &clock)
}

/// Cells in the usual state, and with adjacent segments and one array.
fn states(target: Target, workload: Workload) -> [CellSpec; 2] {
    let usual = CellSpec::read(target, workload, PageCache::Hot);
    let other = usual.clone().with(|asked| {
        asked.layout = Layout::Adjacent;
        asked.iovec_setup = IovecSetup::Once;
    });
    [usual, other]
}

/// Expects that reads with this fault are caught in place of the technique.
fn caught(spec: CellSpec, technique: TechniqueName, fault: Fault) {
    let target = spec.conditions.target;
    let outcome = measure(
        spec,
        &directory(),
        move |contender, model| match contender {
            Contender::Technique(name) if name == technique => Box::new(Faulty::new(fault)),
            _ => read_movers(contender, model),
        },
    );
    assert_caught(outcome, technique, &format!("{fault:?} on {target}"));
}

#[test]
fn every_wrong_read_is_caught_on_every_target() {
    for fault in FAULTS {
        for target in Target::READABLE {
            for spec in states(target, Workload::uniform(5, 100)) {
                caught(spec, TechniqueName::READV, fault);
            }
        }
        let [spec, _] = states(Target::File, Workload::uniform(5, 100));
        caught(spec, TechniqueName::new("mmap"), fault);
    }
}

#[test]
fn wrong_reads_are_caught_if_a_thread_writes() {
    let large = |target, bytes| states(target, Workload::uniform(5, bytes))[0].clone();
    // Larger than a pipe. Faults that read too much or too little are detected
    // by a timeout, so all run at the same time.
    std::thread::scope(|scope| {
        for fault in FAULTS {
            scope.spawn(move || caught(large(Target::Pipe, 40_000), TechniqueName::READV, fault));
        }
        let dropped = Fault::ByteDropped;
        scope.spawn(move || caught(large(Target::Unix, 100_000), TechniqueName::READV, dropped));
    });
}

#[test]
fn right_reads_are_measured_on_every_target() {
    for target in Target::READABLE {
        for sizes in [
            vec![100, 200],
            vec![1; 40],
            vec![3, 5000, 1, 70_000, 9],
            vec![300; 2500],
        ] {
            for spec in states(target, Workload::from_sizes(sizes)) {
                let outcome = measure(spec.clone(), &directory(), read_movers).unwrap();
                let cell = &outcome.cells[0];
                assert!(cell.rounds >= 1 && cell.floor_ns > 0.0 && cell.proof_calls > 0);
                let is_file = target == Target::File;
                assert_eq!(cell.span_bytes.is_some(), is_file);
                assert_eq!(cell.file_system.is_some(), is_file);
                assert_eq!(
                    cell.conditions.page_cache,
                    is_file.then_some(PageCache::Hot)
                );
                assert_eq!(
                    cell.technique(TechniqueName::new("mmap")).is_some(),
                    is_file
                );
                assert_eq!(cell.conditions.iovec_setup, spec.conditions.iovec_setup);
            }
        }
    }
}

#[test]
fn small_samples_are_written_between_samples_and_large_ones_by_a_thread() {
    let check = |target, count, bytes, drain| {
        let spec = CellSpec::read(target, Workload::uniform(count, bytes), PageCache::Hot);
        let outcome = measure(spec, &directory(), read_movers).unwrap();
        assert_eq!(outcome.cells[0].drain, drain, "{target} {count} × {bytes}");
    };
    check(Target::Pipe, 2, 64, Some(Drain::BetweenSamples));
    // One call fits, two do not.
    check(Target::Pipe, 2, 20_000, Some(Drain::BetweenSamples));
    check(Target::Pipe, 16, 16_384, Some(Drain::WriterThread));
    check(Target::Unix, 2, 64, Some(Drain::BetweenSamples));
    check(Target::Unix, 16, 65_536, Some(Drain::WriterThread));
    // The capacity of a TCP socket for small writes depends on how soon their packets are
    // delivered: on a busy machine, small samples may need the thread. So only large ones are
    // tested.
    check(Target::Tcp, 16, 65_536, Some(Drain::WriterThread));
    check(Target::File, 2, 64, None);
}

#[test]
fn a_cold_file_is_read_from_its_device_or_refused() {
    let test = "a_cold_file_is_read_from_its_device_or_refused";
    let spec = || CellSpec::read(Target::File, Workload::uniform(4, 5000), PageCache::Cold);
    match check_eviction(&directory()) {
        Ok(()) => {
            let outcome = measure(spec(), &directory(), read_movers).unwrap();
            let cell = &outcome.cells[0];
            assert_eq!(cell.conditions.page_cache, Some(PageCache::Cold));
            for technique in &cell.techniques {
                assert_eq!(technique.calls_per_sample, 1);
            }
        }
        Err(MeasureError::NotCold { file_system, .. })
            if ["ext4", "xfs", "btrfs"].contains(&file_system.as_str()) =>
        {
            panic!("pages could not be evicted on {file_system}")
        }
        Err(error) => skip(test, &format!("on a device: {error}")),
    }
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        return skip(test, "in memory: /dev/shm does not exist");
    }
    for error in [
        check_eviction(shm).unwrap_err(),
        measure(spec(), shm, read_movers).unwrap_err().error,
    ] {
        assert!(matches!(error, MeasureError::NotCold { .. }), "{error}");
        for word in ["/dev/shm", "tmpfs", "--dir", "--page-cache hot"] {
            assert!(error.to_string().contains(word), "{word}: {error}");
        }
    }
}

#[test]
fn reads_from_the_null_device_are_refused() {
    let spec = CellSpec::read(Target::Null, Workload::uniform(2, 8), PageCache::Hot);
    let error = measure(spec, &directory(), read_movers).unwrap_err();
    assert!(error.to_string().contains("null"), "{error}");
}

/// Appends to the file that `VECTORED_SKIPS` names that a test could not run here.
pub fn skip(test: &str, reason: &str) {
    eprintln!("skipped {test}: {reason}");
    if let Some(list) = std::env::var_os("VECTORED_SKIPS") {
        let mut list = File::options()
            .append(true)
            .create(true)
            .open(list)
            .unwrap();
        writeln!(list, "{test}: {reason}").unwrap();
    }
}

#[test]
fn cold_segments_to_read_into_are_refused() {
    let spec = CellSpec::read(Target::Pipe, Workload::uniform(2, 8), PageCache::Hot)
        .with(|asked| asked.cache = Cache::Cold);
    let error = measure(spec, &directory(), read_movers).unwrap_err();
    assert!(
        error.to_string().contains("--cache applies only to writes"),
        "{error}"
    );
}
