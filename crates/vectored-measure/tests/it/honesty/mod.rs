//! Real descriptors: techniques that drop, double or swap bytes are caught on
//! every target, and correct ones are measured.

mod states;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::rc::Rc;
use std::thread::JoinHandle;

use vectored::CostModel;
use vectored_machine::MonotonicClock;
use vectored_measure::measure::{
    Contender, DescriptorSampler, FILE_SPAN_BYTES, Lists, Meter, Mover, Outcome, RunError, Timed,
    Timing, check_fifo, movers, refusal, target_refusal, techniques,
};
use vectored_results::model::{
    Cache, CellSpec, Drain, IovecSetup, Layout, Operation, SyncMode, Target, TechniqueName,
    Workload,
};

use crate::faults::{Fault, Faulty, assert_caught};
use crate::support::{
    MINIMUM_NS, WRITES, directory, experiment, measure_here, run_quietly, run_rounds_quietly,
};

const FAULTS: [Fault; 9] = [
    Fault::ByteDropped,
    Fault::ByteDoubled,
    Fault::SegmentsSwapped,
    Fault::ByteChanged,
    Fault::SegmentDropped,
    Fault::SegmentDoubled,
    Fault::Surplus,
    Fault::OnlyLater,
    Fault::OnlyMuchLater,
];

/// A target, or a function that adds further properties to its cells.
trait Place {
    fn cell(&self, workload: Workload) -> CellSpec;
}

impl Place for Target {
    fn cell(&self, workload: Workload) -> CellSpec {
        CellSpec::write(*self, workload)
    }
}

impl<F: Fn(Workload) -> CellSpec> Place for F {
    fn cell(&self, workload: Workload) -> CellSpec {
        self(workload)
    }
}

/// A FIFO that is removed when this value is dropped.
struct Fifo(PathBuf);

impl Fifo {
    fn make(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("vectored-{name}-{}", std::process::id()));
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, 0o600.into(), 0).unwrap();
        Fifo(path)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Place for &Fifo {
    fn cell(&self, workload: Workload) -> CellSpec {
        CellSpec::write(Target::Fifo, workload)
            .with(|asked| asked.path = self.0.to_str().map(str::to_owned))
    }
}

fn measure(
    target: impl Place,
    workload: Workload,
    make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn Mover> + 'static,
) -> Result<Outcome, RunError> {
    measure_for(MINIMUM_NS, target, workload, make_mover)
}

fn measure_for(
    budget_ns: u64,
    target: impl Place,
    workload: Workload,
    make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn Mover> + 'static,
) -> Result<Outcome, RunError> {
    let experiment = experiment(vec![target.cell(workload)], &WRITES, budget_ns);
    measure_here(&experiment, |sampler| sampler.with_movers(make_mover))
}

fn caught(target: impl Place, workload: &Workload, fault: Fault) {
    // Enough for each fault to occur. Its detection ends the run.
    let budget_ns = 10_000_000_000;
    let name = target.cell(workload.clone()).conditions.place();
    let make = move |contender, model: &CostModel| -> Box<dyn Mover> {
        match contender {
            Contender::Technique(TechniqueName::WRITEV) => Box::new(Faulty::new(fault)),
            _ => movers(contender, model),
        }
    };
    let outcome = measure_for(budget_ns, target, workload.clone(), make);
    assert_caught(
        outcome,
        TechniqueName::WRITEV,
        &format!("{fault:?} on {name}"),
    );
}

#[test]
fn every_fault_is_caught_on_a_fifo() {
    let fifo = Fifo::make("faults");
    for fault in FAULTS {
        caught(&fifo, &Workload::uniform(5, 100), fault);
    }
}

#[test]
fn every_fault_is_caught_if_each_call_is_synced_or_a_thread_reads() {
    // More than 100 synced calls would take seconds.
    let soon = FAULTS
        .into_iter()
        .filter(|fault| !matches!(fault, Fault::OnlyMuchLater));
    for fault in soon {
        for sync in [SyncMode::Dsync, SyncMode::Sync, SyncMode::Fsync] {
            for target in [Target::File, Target::FileOverwrite] {
                let spec =
                    |workload| CellSpec::write(target, workload).with(|asked| asked.sync = sync);
                caught(spec, &Workload::uniform(5, 100), fault);
            }
        }
        // Larger than the target, so a thread reads. A surplus segment of the smaller size fits into the pipe; only the
        // thread can remove one of the larger size.
        for (target, bytes) in [
            (Target::Pipe, 40_000),
            (Target::Pipe, 100_000),
            (Target::Tcp, 400_000),
        ] {
            caught(target, &Workload::uniform(5, bytes), fault);
        }
    }
}

/// The layouts and marks that a mover was given.
#[derive(Default)]
struct Seen {
    addresses: BTreeSet<usize>,
    starts: BTreeSet<usize>,
    longest_file: u64,
    /// Maximum number of samples in one visit that had the mark of an earlier one.
    repeated: usize,
}

/// A mover that records the samples of one visit of the engine. A cell that starts over uses the same marks again.
struct Watching {
    inner: Box<dyn Mover>,
    seen: Rc<RefCell<Seen>>,
    heads: BTreeSet<Vec<u8>>,
    samples: usize,
}

impl Mover for Watching {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        let mut seen = self.seen.borrow_mut();
        seen.addresses.insert(segments[0].as_ptr().addr());
        seen.starts.insert(start_bytes);
        self.heads.insert(segments[0][..8].to_vec());
        self.samples += 1;
        seen.repeated = seen.repeated.max(self.samples - self.heads.len());
        self.inner.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let outcome = self.inner.call(fd, segments);
        let length = rustix::fs::fstat(fd)?.st_size as u64;
        let mut seen = self.seen.borrow_mut();
        seen.longest_file = seen.longest_file.max(length);
        outcome
    }
}

/// A run of at least three rounds, with the budget that this takes here.
fn watch(target: Target, workload: Workload) -> (Outcome, Rc<RefCell<Seen>>) {
    let mut budget_ns = 300_000_000;
    loop {
        let (outcome, seen) = watch_for(budget_ns, target, workload.clone());
        if outcome.cells[0].rounds >= 3 {
            return (outcome, seen);
        }
        budget_ns *= 4;
        assert!(budget_ns < 60_000_000_000, "fewer than three rounds");
    }
}

fn watch_for(budget_ns: u64, target: Target, workload: Workload) -> (Outcome, Rc<RefCell<Seen>>) {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let shared = Rc::clone(&seen);
    let outcome = measure_for(budget_ns, target, workload, move |contender, model| {
        let inner = movers(contender, model);
        if contender == Contender::Technique(TechniqueName::WRITEV) {
            let seen = Rc::clone(&shared);
            Box::new(Watching {
                inner,
                seen,
                heads: BTreeSet::new(),
                samples: 0,
            })
        } else {
            inner
        }
    });
    (outcome.unwrap(), seen)
}

#[test]
fn every_round_is_laid_out_anew_and_every_sample_marked() {
    for target in [
        Target::File,
        Target::FileOverwrite,
        Target::Pipe,
        Target::Tcp,
    ] {
        let (outcome, seen) = watch(target, Workload::uniform(4, 64));
        let seen = seen.borrow();
        let writev = outcome.cells[0].technique(TechniqueName::WRITEV).unwrap();
        let rounds = writev.samples_ns.iter().flatten().count();
        assert!(
            seen.addresses.len() > rounds / 2,
            "{}",
            seen.addresses.len()
        );
        assert!(seen.starts.len() > rounds / 2, "{}", seen.starts.len());
        // Calls that probe the capacity share one mark.
        assert!(seen.repeated <= 2, "{} of one visit", seen.repeated);
    }
}

#[test]
fn a_file_never_grows_past_its_span() {
    let call_bytes = 4 << 20;
    let (_, seen) = watch(Target::File, Workload::uniform(64, call_bytes / 64));
    let longest = seen.borrow().longest_file;
    assert!(longest > 8 << 20, "{longest}: too short for this test");
    assert!(longest <= FILE_SPAN_BYTES, "{longest}");
}

#[test]
fn small_samples_are_drained_between_samples_and_large_ones_by_a_thread() {
    let drain = |target, count, bytes| {
        let outcome = measure(target, Workload::uniform(count, bytes), movers).unwrap();
        outcome.cells[0].drain
    };
    // Longer lists would fit a pipe, too.
    assert_eq!(drain(Target::Pipe, 3, 4096), Some(Drain::BetweenSamples));
    assert_eq!(drain(Target::Pipe, 1, 12_289), Some(Drain::ReaderThread));
    // One call fits, two do not.
    assert_eq!(drain(Target::Unix, 1, 120_000), Some(Drain::BetweenSamples));
    assert_eq!(drain(Target::Unix, 2, 64), Some(Drain::BetweenSamples));
    // A socket buffer charges a small write with far more than its bytes, so a
    // thousand separate ones do not fit although their bytes would.
    assert_eq!(drain(Target::Unix, 1000, 16), Some(Drain::ReaderThread));
    // The capacity of a TCP socket for small writes depends on how soon their packets are
    // delivered: on a busy machine, small samples may need the thread. So only large ones are
    // tested.
    assert_eq!(drain(Target::Tcp, 16, 65_536), Some(Drain::ReaderThread));
    assert_eq!(drain(Target::File, 2, 64), None);
    assert_eq!(drain(Target::FileOverwrite, 2, 64), None);
}

#[test]
fn each_technique_is_proved_once_however_often_a_cell_is_opened() {
    for (target, bytes) in [(Target::Pipe, 64), (Target::Pipe, 4096), (Target::File, 64)] {
        let cell = CellSpec::write(target, Workload::uniform(16, bytes));
        let experiment = experiment(vec![cell], &WRITES, 0);
        let mut sampler = DescriptorSampler::new(&MonotonicClock, &directory(), 1);
        let outcome = run_rounds_quietly(&experiment, 4, &mut sampler, &MonotonicClock).unwrap();
        // Two floors, three techniques and `adaptive`, in four visits.
        assert_eq!(outcome.cells[0].proof_calls, 6, "{target} {bytes}");
    }
}

#[test]
fn a_fifo_is_measured_and_refused_while_it_is_open_elsewhere() {
    let fifo = Fifo::make("open");
    for bytes in [64, 100_000] {
        let outcome = measure(&fifo, Workload::uniform(3, bytes), movers).unwrap();
        let cell = &outcome.cells[0];
        assert_eq!(cell.conditions.target, Target::Fifo);
        assert_eq!(cell.conditions.path.as_deref(), fifo.0.to_str());
        assert!(cell.proof_calls > 0);
    }
    check_fifo(&fifo.0).unwrap();
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    let reader = rustix::fs::open(&fifo.0, flags, rustix::fs::Mode::empty()).unwrap();
    let error = check_fifo(&fifo.0).unwrap_err().to_string();
    assert!(error.contains("open for reading"), "{error}");
    drop(reader);
    // Open for reading and writing: the check must not take its bytes.
    let flags = rustix::fs::OFlags::RDWR;
    let both = rustix::fs::open(&fifo.0, flags, rustix::fs::Mode::empty()).unwrap();
    check_fifo(&fifo.0).unwrap_err();
    drop(both);
    check_fifo(&fifo.0).unwrap();
}

/// A Unix socket with a thread that serves one connection; the thread returns
/// the number of bytes it has read.
fn listening(name: &str, serve: fn(UnixStream) -> u64) -> (PathBuf, JoinHandle<u64>) {
    let path = std::env::temp_dir().join(format!("vectored-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let thread = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    (path, thread)
}

#[test]
fn a_socket_that_another_program_reads_is_measured_over_one_connection() {
    // The program answers, and unread answers must not block it.
    let (path, peer) = listening("socket", |mut stream| {
        let mut buffer = vec![0; 1 << 16];
        let mut read_bytes = 0;
        loop {
            match stream.read(&mut buffer).unwrap_or(0) {
                0 => return read_bytes,
                count => read_bytes += count as u64,
            }
            stream.write_all(b"answer").unwrap();
        }
    });
    let spec = |workload| {
        CellSpec::write(Target::Socket, workload)
            .with(|asked| asked.path = path.to_str().map(str::to_owned))
    };
    // Several cells, visited more than once.
    let lists = [Workload::uniform(3, 64), Workload::uniform(16, 4096)];
    let experiment = experiment(lists.map(spec).to_vec(), &WRITES, 100_000_000);
    let outcome = measure_here(&experiment, |sampler| sampler).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(peer.join().unwrap() > 0);
    for cell in &outcome.cells {
        assert_eq!(cell.drain, Some(Drain::Peer));
        assert_eq!(cell.proof_calls, 0);
        assert_eq!(cell.conditions.path.as_deref(), path.to_str());
    }
}

#[test]
fn a_peer_that_goes_away_ends_the_run() {
    let (path, peer) = listening("leaver", |mut stream| {
        stream.read(&mut [0; 1 << 10]).unwrap() as u64
    });
    let spec = |workload| {
        CellSpec::write(Target::Socket, workload)
            .with(|asked| asked.path = path.to_str().map(str::to_owned))
    };
    let error = measure(spec, Workload::uniform(3, 64), movers).unwrap_err();
    assert!(error.to_string().contains("socket"), "{error}");
    peer.join().unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn the_descriptor_has_the_flags_of_the_sync_mode() {
    struct Looking(Rc<Cell<bool>>, rustix::fs::OFlags);
    impl Mover for Looking {
        fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

        fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
            let flags = rustix::fs::fcntl_getfl(fd)?;
            self.0.set(self.0.get() && flags.contains(self.1));
            rustix::io::write(fd, &segments.concat())?;
            Ok(())
        }
    }
    for (sync, flag) in [
        (SyncMode::Dsync, rustix::fs::OFlags::DSYNC),
        (SyncMode::Sync, rustix::fs::OFlags::SYNC),
    ] {
        for target in [Target::File, Target::FileOverwrite] {
            let is_set = Rc::new(Cell::new(true));
            let shared = Rc::clone(&is_set);
            let spec = |workload| CellSpec::write(target, workload).with(|asked| asked.sync = sync);
            let make = move |_, _: &CostModel| -> Box<dyn Mover> {
                Box::new(Looking(Rc::clone(&shared), flag))
            };
            measure(spec, Workload::uniform(4, 64), make).unwrap();
            assert!(is_set.get(), "{sync} on {target}");
        }
    }
}

#[test]
fn a_directory_that_does_not_exist_is_refused() {
    let cell = CellSpec::write(Target::File, Workload::uniform(2, 8));
    let experiment = experiment(vec![cell], &WRITES, MINIMUM_NS);
    let clock = MonotonicClock;
    let missing = directory().join("is-not-there");
    let mut sampler = DescriptorSampler::new(&clock, &missing, 1);
    let error = run_quietly(&experiment, &mut sampler, &clock).unwrap_err();
    assert!(error.to_string().contains("--dir"), "{error}");
}
