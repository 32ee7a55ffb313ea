//! Copies between real descriptors: techniques that copy wrong bytes are caught between every two kinds, and correct ones
//! are measured.

use std::io;
use std::os::fd::BorrowedFd;

use vectored_machine::{FakeClock, MonotonicClock};
use vectored_measure::measure::{
    Contender, CopyMover, DescriptorSampler, MeasureError, Noise, Outcome, RunError,
    SyntheticMachine, check_eviction, copy_movers, refusal, techniques,
};
use vectored_results::model::{
    CellSpec, Conditions, Drain, Experiment, Operation, PageCache, Results, Target, TechniqueName,
};

use crate::faults::assert_caught;
use crate::honest_reads::skip;
use crate::support::{Hooked, MINIMUM_NS, Step, directory, run_quietly, run_rounds_quietly};

fn experiment(spec: CellSpec, budget_ns: u64) -> Experiment {
    Experiment {
        cells: vec![spec],
        rivals: techniques(Operation::Copy, true),
        unranked: vec![TechniqueName::ADAPTIVE],
        refine: false,
        budget_ns,
        seed: 11,
    }
}

fn measure(
    spec: CellSpec,
    make_mover: impl FnMut(Contender, &Conditions) -> Box<dyn CopyMover> + 'static,
) -> Result<Outcome, RunError> {
    let experiment = experiment(spec, MINIMUM_NS);
    let clock = MonotonicClock;
    let mut sampler =
        DescriptorSampler::new(&clock, &directory(), experiment.seed).with_copy_movers(make_mover);
    run_quietly(&experiment, &mut sampler, &clock)
}

/// Every pair of a source and a named target.
fn pairs() -> impl Iterator<Item = (Target, Target)> {
    let sources = Target::READABLE.into_iter();
    sources.flat_map(|from| Target::NAMED.map(|to| (from, to)))
}

#[test]
fn right_copies_are_measured_between_every_two_descriptors() {
    for (from, to) in pairs() {
        // The last two have threads at the ends that are streams.
        for bytes in [1, 5000, 20_000, 1_000_000] {
            let experiment = experiment(CellSpec::copy(from, to, bytes), u64::MAX);
            let clock = MonotonicClock;
            let mut sampler = DescriptorSampler::new(&clock, &directory(), experiment.seed);
            let outcome = run_rounds_quietly(&experiment, 4, &mut sampler, &clock);
            let outcome = outcome.unwrap_or_else(|error| panic!("{from} {to} {bytes}: {error}"));
            let cell = &outcome.cells[0];
            assert_eq!(cell.proof_calls > 0, to != Target::Null, "{from} {to}");
            assert_eq!(
                cell.span_bytes.is_some(),
                from == Target::File || to.is_file()
            );
            for rival in &experiment.rivals {
                let is_measured = refusal(*rival, &cell.conditions).is_none();
                assert_eq!(cell.technique(*rival).is_some(), is_measured, "{rival}");
            }
        }
    }
}

/// The fault of a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    ByteChanged,
    BytesSwapped,
    /// It takes all bytes, and hands over one less.
    ByteLost,
    /// It takes one byte less, and hands over those that it has.
    ByteLeft,
    /// It takes one byte too many, and hands over the right ones.
    ByteTaken,
    /// It hands over a byte twice.
    ByteDoubled,
    /// Right in the first call, which is the proof.
    OnlyLater,
}

const FAULTS: [Fault; 7] = [
    Fault::ByteChanged,
    Fault::BytesSwapped,
    Fault::ByteLost,
    Fault::ByteLeft,
    Fault::ByteTaken,
    Fault::ByteDoubled,
    Fault::OnlyLater,
];

struct Faulty {
    fault: Fault,
    calls: u32,
}

impl CopyMover for Faulty {
    fn prepare(&mut self, _start_bytes: usize) -> io::Result<()> {
        Ok(())
    }

    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        self.calls += 1;
        let wanted = match self.fault {
            Fault::ByteLeft => bytes - 1,
            Fault::ByteTaken => bytes + 1,
            _ => bytes,
        };
        let mut buffer = vec![0; wanted];
        let mut filled = 0;
        while filled < wanted {
            match rustix::io::read(from, &mut buffer[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        match self.fault {
            Fault::ByteChanged => buffer[bytes / 2] ^= 1,
            // Two random bytes may be equal, fifty are not.
            Fault::BytesSwapped => buffer[..50].reverse(),
            Fault::ByteLost | Fault::ByteTaken => drop(buffer.pop()),
            Fault::ByteDoubled => buffer.push(buffer[bytes - 1]),
            Fault::OnlyLater if self.calls > 1 => buffer[bytes / 2] ^= 1,
            Fault::OnlyLater | Fault::ByteLeft => {}
        }
        let mut rest = &buffer[..];
        while !rest.is_empty() {
            rest = &rest[rustix::io::write(to, rest)?..];
        }
        Ok(())
    }
}

/// Expects that a copy with this fault is caught in place of `read-write`.
fn caught((from, to): (Target, Target), bytes: usize, fault: Fault) {
    let outcome = measure(
        CellSpec::copy(from, to, bytes),
        move |contender, conditions| match contender {
            Contender::Technique(TechniqueName::READ_WRITE) => Box::new(Faulty { fault, calls: 0 }),
            _ => copy_movers(contender, conditions),
        },
    );
    let case = format!("{fault:?} from {from} to {to}, {bytes} B");
    assert_caught(outcome, TechniqueName::READ_WRITE, &case);
}

#[test]
fn every_wrong_copy_is_caught_between_every_two_descriptors() {
    // What takes too little or too much is found by a timeout, so the faults are tried at the same time.
    std::thread::scope(|scope| {
        for pair in pairs() {
            scope.spawn(move || caught(pair, 500, Fault::ByteTaken));
        }
        for fault in FAULTS {
            scope.spawn(move || {
                for pair in pairs().filter(|_| fault != Fault::ByteTaken) {
                    // The null device keeps no bytes.
                    if pair.1 != Target::Null || fault == Fault::ByteLeft {
                        caught(pair, 500, fault);
                    }
                }
                // With threads at both ends.
                caught((Target::Pipe, Target::Unix), 50_000, fault);
                caught((Target::File, Target::Pipe), 50_000, fault);
            });
        }
    });
}

#[test]
fn streams_have_threads_beside_longer_copies() {
    let drain = |spec: CellSpec| measure(spec, copy_movers).unwrap().cells[0].drain;
    let (file, pipe, unix) = (Target::File, Target::Pipe, Target::Unix);
    assert_eq!(drain(CellSpec::copy(file, file, 300_000)), None);
    let small = CellSpec::copy(file, pipe, 10_000);
    assert_eq!(drain(small.clone()), Some(Drain::BetweenSamples));
    if cfg!(target_os = "linux") {
        let small_pipe = small.with(|asked| asked.pipe_bytes = Some(4096));
        assert_eq!(drain(small_pipe), Some(Drain::ReaderThread));
    }
    // They would fit.
    let large = CellSpec::copy(file, pipe, 20_000);
    assert_eq!(drain(large), Some(Drain::ReaderThread));
    let filled = CellSpec::copy(unix, file, 20_000);
    assert_eq!(drain(filled), Some(Drain::WriterThread));
    let both = CellSpec::copy(pipe, unix, 20_000);
    assert_eq!(drain(both), Some(Drain::BothThreads));
}

#[test]
fn a_cold_file_is_copied_from_its_device() {
    let spec = CellSpec::copy(Target::File, Target::Pipe, 5000)
        .with(|asked| asked.page_cache = Some(PageCache::Cold));
    match check_eviction(&directory()) {
        Ok(()) => {
            let outcome = measure(spec, copy_movers).unwrap();
            for technique in &outcome.cells[0].techniques {
                assert_eq!(technique.calls_per_sample, 1);
            }
        }
        Err(error) => skip("a_cold_file_is_copied_from_its_device", &error.to_string()),
    }
}

#[test]
fn what_only_lists_have_is_refused() {
    let copy = || CellSpec::copy(Target::Pipe, Target::File, 5000);
    let refused = |change: fn(&mut Conditions), word: &str| {
        let error = measure(copy().with(change), copy_movers).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(matches!(error.error, MeasureError::Io { .. }), "{error:?}");
    };
    refused(|asked| asked.direct = true, "--direct");
    refused(|asked| asked.queue_depth = 8, "--queue-depth");
    refused(|asked| asked.writers = Some(2), "--writers");
    refused(
        |asked| asked.page_cache = Some(PageCache::Cold),
        "--from file",
    );
    refused(|asked| asked.from = Some(Target::Null), "--from");
    refused(|asked| asked.from = None, "--from");
}

/// Copies of so many bytes on a machine on which `splice` pays for more calls and not for bytes.
fn crossovers_at(spec: CellSpec, drain: Option<Drain>) -> Results {
    let sizes = [4, 16, 64, 256].map(|kib| spec.workload.with_bytes(kib << 10).unwrap());
    let cells = sizes.map(|workload| CellSpec {
        workload,
        ..spec.clone()
    });
    let clock = FakeClock::default();
    let cost_ns = |cell: &CellSpec, contender| {
        let bytes = cell.workload.total_bytes() as f64;
        match contender {
            Contender::Technique(name) if name == TechniqueName::new("splice") => 3000.0,
            _ => 1000.0 + bytes / 10.0,
        }
    };
    let inner = SyntheticMachine::new(clock.clone(), Noise::LogNormal { sigma: 0.01 }, 3, cost_ns);
    let hook = |_step: Step<'_>| Ok(drain);
    let experiment = Experiment {
        cells: cells.to_vec(),
        rivals: vec![TechniqueName::READ_WRITE, TechniqueName::new("splice")],
        refine: true,
        ..experiment(spec, 10_000_000_000)
    };
    let outcome = run_quietly(&experiment, &mut Hooked { inner, hook }, &clock).unwrap();
    let mut results = Results {
        rivals: experiment.rivals,
        cells: outcome.cells,
        refined_cells: outcome.refined_cells,
        ..Results::default()
    };
    results.find(Vec::new());
    results
}

#[test]
fn copies_have_a_crossover_with_and_without_threads_and_no_cost_model() {
    for (to, drain) in [
        (Target::File, None),
        (Target::Null, None),
        (Target::Pipe, Some(Drain::ReaderThread)),
    ] {
        let results = crossovers_at(CellSpec::copy(Target::File, to, 1), drain);
        let [crossover] = &results.crossovers[..] else {
            panic!("{to}: {:?}", results.crossovers);
        };
        let range = crossover.low_bytes..crossover.high_bytes;
        assert!(range.contains(&20_000.0), "{to}: {crossover:?}");
        assert_eq!(crossover.below, TechniqueName::READ_WRITE);
        assert_eq!(crossover.conditions.from, Some(Target::File));
        assert!(results.cost_models.is_empty());
    }
}
