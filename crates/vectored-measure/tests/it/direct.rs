//! Files past the page cache: the flag and the alignment of each transfer, the bytes that arrive, and what is refused.

use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::OFlags;
use vectored::CostModel;
use vectored_machine::FakeClock;
use vectored_measure::measure::{
    Contender, MeasureError, Mover, Noise, Outcome, ReadMover, RunError, SyntheticMachine,
    check_available, check_direct, movers, read_movers, refusal, techniques,
};
use vectored_report::{json, parse};
use vectored_results::model::{
    Cache, Cell, CellSpec, Conditions, DirectIo, Experiment, Layout, Operation, PageCache, Results,
    Role, Target, TechniqueName, Verdict, Workload,
};
use vectored_results::stats::compare;

use crate::faults::{Fault, Faulty, assert_caught};
use crate::honest_reads::skip;
use crate::report::{cell, results, technique};
use crate::shown::{sentences, table};
use crate::support::{MINIMUM_NS, directory, experiment, measure_here, run_quietly};

/// The alignment of files in the directory of the tests; `None`, and reported, if they have a page cache always.
fn alignment(test: &str) -> Option<DirectIo> {
    match check_direct(&directory()) {
        Ok(direct) => Some(direct),
        Err(error) => {
            skip(test, &error.to_string());
            None
        }
    }
}

/// A cell past the page cache; its segments have these numbers of blocks.
fn spec(direct: DirectIo, target: Target, operation: Operation, blocks: &[usize]) -> CellSpec {
    let sizes = blocks.iter().map(|count| count * direct.step_bytes());
    let asked = Conditions {
        operation,
        direct: true,
        ..Conditions::write(target)
    };
    CellSpec {
        alignment: Some(direct),
        ..CellSpec::new(asked, Workload::from_sizes(sizes.collect()))
    }
}

const CASES: [(Operation, Target); 3] = [
    (Operation::Write, Target::File),
    (Operation::Write, Target::FileOverwrite),
    (Operation::Read, Target::File),
];

fn measure(
    spec: CellSpec,
    rivals: &[TechniqueName],
    make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn Mover> + 'static,
    make_read_mover: impl FnMut(Contender, &CostModel) -> Box<dyn ReadMover> + 'static,
) -> Result<Outcome, RunError> {
    measure_here(&experiment(vec![spec], rivals, MINIMUM_NS), |sampler| {
        let sampler = sampler.read_file_bytes(4 << 20);
        sampler
            .with_movers(make_mover)
            .with_read_movers(make_read_mover)
    })
}

/// All techniques of an operation that this machine offers and that bypass the page cache.
fn offered(test: &str, operation: Operation) -> Vec<TechniqueName> {
    let mut offered = techniques(operation, true);
    offered.retain(|technique| technique.role() != Role::Adaptive);
    let direct = Conditions {
        direct: true,
        ..Conditions::write(Target::File)
    };
    for technique in techniques(operation, false) {
        if refusal(technique, &direct).is_some() {
            continue;
        }
        if let Err(unavailable) = check_available(technique, 8) {
            skip(test, &unavailable.to_string());
            continue;
        }
        offered.push(technique);
    }
    offered
}

#[test]
fn every_technique_moves_the_right_bytes_past_the_page_cache_at_every_depth() {
    let test = "every_technique_moves_the_right_bytes_past_the_page_cache_at_every_depth";
    let Some(direct) = alignment(test) else {
        return;
    };
    for (operation, target) in CASES {
        let rivals = offered(test, operation);
        assert!(rivals.len() >= 3);
        for (blocks, queue_depth) in [
            (vec![1, 3, 2], 1),
            (vec![2; 20], 8),
            // More than one call of `IOV_MAX`.
            (vec![1; 1100], 2),
        ] {
            let spec = spec(direct, target, operation, &blocks)
                .with(|asked| asked.queue_depth = queue_depth);
            let outcome = measure(spec, &rivals, movers, read_movers).unwrap();
            let cell = &outcome.cells[0];
            assert_eq!(cell.alignment, Some(direct));
            assert!(cell.conditions.direct);
            assert_eq!(cell.conditions.page_cache, None);
            assert!(cell.proof_calls > 0);
            for &rival in &rivals {
                assert!(cell.technique(rival).unwrap().median_ns > 0.0, "{rival}");
            }
        }
    }
}

/// The lists that a technique was given.
#[derive(Default)]
struct Seen {
    calls: usize,
    buffered: usize,
    misaligned: usize,
    starts: Vec<usize>,
}

impl Seen {
    fn look(&mut self, fd: BorrowedFd<'_>, direct: DirectIo, parts: &[(usize, usize)]) {
        self.calls += 1;
        let flags = rustix::fs::fcntl_getfl(fd).unwrap();
        self.buffered += usize::from(!flags.contains(OFlags::DIRECT));
        let is_misaligned = |(address, bytes): &&(usize, usize)| {
            !address.is_multiple_of(direct.memory_bytes)
                || !bytes.is_multiple_of(direct.offset_bytes)
        };
        self.misaligned += parts.iter().filter(is_misaligned).count();
    }
}

struct Looking<M: ?Sized> {
    seen: Rc<RefCell<Seen>>,
    direct: DirectIo,
    inner: Box<M>,
}

impl Mover for Looking<dyn Mover> {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        self.seen.borrow_mut().starts.push(start_bytes);
        self.inner.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let parts: Vec<_> = segments
            .iter()
            .map(|s| (s.as_ptr().addr(), s.len()))
            .collect();
        self.seen.borrow_mut().look(fd, self.direct, &parts);
        self.inner.call(fd, segments)
    }
}

impl ReadMover for Looking<dyn ReadMover> {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        self.seen.borrow_mut().starts.push(start_bytes);
        self.inner.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let parts: Vec<_> = segments
            .iter()
            .map(|s| (s.as_ptr().addr(), s.len()))
            .collect();
        self.seen.borrow_mut().look(fd, self.direct, &parts);
        self.inner.call(fd, segments)
    }
}

#[test]
fn every_call_has_the_flag_and_aligned_segments_in_every_layout() {
    let Some(direct) = alignment("every_call_has_the_flag_and_aligned_segments_in_every_layout")
    else {
        return;
    };
    for (operation, target) in CASES {
        for layout in Layout::ALL {
            let spec =
                spec(direct, target, operation, &[1, 2, 1]).with(|asked| asked.layout = layout);
            let seen = Rc::new(RefCell::new(Seen::default()));
            let (writes, reads) = (Rc::clone(&seen), Rc::clone(&seen));
            let vectored_call = TechniqueName::vectored_call(operation);
            measure(
                spec,
                &[vectored_call],
                move |contender, model| {
                    Box::new(Looking::<dyn Mover> {
                        seen: Rc::clone(&writes),
                        direct,
                        inner: movers(contender, model),
                    })
                },
                move |contender, model| {
                    Box::new(Looking::<dyn ReadMover> {
                        seen: Rc::clone(&reads),
                        direct,
                        inner: read_movers(contender, model),
                    })
                },
            )
            .unwrap();
            let seen = seen.borrow();
            let case = format!("{operation} {target} {layout:?}");
            assert!(seen.calls > 0, "{case}");
            assert_eq!((seen.buffered, seen.misaligned), (0, 0), "{case}");
            let mut starts = seen.starts.iter();
            assert!(starts.all(|start| start.is_multiple_of(direct.memory_bytes)));
        }
    }
}

/// The faults whose transfers are aligned all the same.
const FAULTS: [Fault; 5] = [
    Fault::ByteChanged,
    Fault::SegmentsSwapped,
    Fault::SegmentDropped,
    Fault::SegmentDoubled,
    Fault::OnlyLater,
];

#[test]
fn every_fault_is_caught_past_the_page_cache() {
    let Some(direct) = alignment("every_fault_is_caught_past_the_page_cache") else {
        return;
    };
    for (operation, target) in CASES {
        let vectored_call = TechniqueName::vectored_call(operation);
        for fault in FAULTS {
            let is_wrong = move |contender| {
                contender == Contender::Technique(TechniqueName::vectored_call(operation))
            };
            let outcome = measure(
                spec(direct, target, operation, &[1; 4]),
                &[vectored_call],
                move |contender, model| {
                    if is_wrong(contender) {
                        Box::new(Faulty::new(fault))
                    } else {
                        movers(contender, model)
                    }
                },
                move |contender, model| {
                    if is_wrong(contender) {
                        Box::new(Faulty::new(fault))
                    } else {
                        read_movers(contender, model)
                    }
                },
            );
            let case = format!("{fault:?}, {operation} {target}");
            assert_caught(outcome, vectored_call, &case);
        }
    }
}

#[test]
fn cells_whose_transfers_would_not_be_aligned_or_not_bypass_the_cache_are_refused() {
    let direct = DirectIo {
        memory_bytes: 512,
        offset_bytes: 512,
    };
    let usual = || spec(direct, Target::File, Operation::Write, &[2, 2]);
    let refused = |spec: CellSpec, technique: TechniqueName, words: &str| {
        let error = measure(spec, &[technique], movers, read_movers).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(words), "{text}");
    };
    let with = |change: &dyn Fn(&mut CellSpec)| {
        let mut spec = usual();
        change(&mut spec);
        spec
    };
    let sizes = Workload::from_sizes(vec![512, 700]);
    refused(
        with(&|spec| spec.workload = sizes.clone()),
        TechniqueName::WRITEV,
        "must be a multiple of 512 bytes",
    );
    refused(
        with(&|spec| spec.conditions.target = Target::Pipe),
        TechniqueName::WRITEV,
        "--direct applies only to files",
    );
    refused(
        with(&|spec| spec.conditions.cache = Cache::Cold),
        TechniqueName::WRITEV,
        "not the CPU",
    );
    refused(
        with(&|spec| {
            spec.conditions.writers = Some(2);
        }),
        TechniqueName::WRITEV,
        "lists are not aligned",
    );
    let hot = |spec: &mut CellSpec| {
        spec.conditions.operation = Operation::Read;
        spec.conditions.page_cache = Some(PageCache::Hot);
    };
    refused(
        with(&hot),
        TechniqueName::READV,
        "the page cache is bypassed",
    );
    for technique in ["mmap", "stdio"].map(TechniqueName::new) {
        let reason = refusal(technique, &usual().conditions);
        assert!(
            reason.is_some_and(|reason| reason.contains("omit --direct")),
            "{technique}"
        );
    }
}

#[test]
fn a_file_system_in_memory_is_refused_with_the_remedy() {
    let memory = Path::new("/dev/shm");
    match check_direct(memory) {
        Err(error @ MeasureError::NotDirect { .. }) => {
            let text = error.to_string();
            for words in ["'/dev/shm' (tmpfs)", "with --dir, or omit --direct"] {
                assert!(text.contains(words), "{text}");
            }
        }
        other => skip(
            "a_file_system_in_memory_is_refused_with_the_remedy",
            &format!("/dev/shm is no tmpfs: {other:?}"),
        ),
    }
    let error = check_direct(&directory().join("is-not-there")).unwrap_err();
    assert!(error.to_string().contains("it does not exist"), "{error}");
}

#[test]
fn sizes_between_the_requested_ones_are_aligned_too() {
    let direct = DirectIo {
        memory_bytes: 512,
        offset_bytes: 512,
    };
    let clock = FakeClock::default();
    let cells = [512, 16 << 10, 256 << 10]
        .map(|bytes| spec(direct, Target::File, Operation::Write, &[bytes / 512; 16]));
    let rivals = [TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV];
    let experiment = Experiment {
        unranked: vec![],
        refine: true,
        ..experiment(cells.to_vec(), &rivals, 60_000_000_000)
    };
    let noise = Noise::LogNormal { sigma: 0.01 };
    // Copying is faster below 20,000 bytes a segment.
    let mut machine = SyntheticMachine::new(clock.clone(), noise, 3, |cell, contender| {
        let bytes = cell.workload.total_bytes() as f64 / 16.0;
        match contender {
            Contender::Technique(TechniqueName::COPY_THEN_WRITE) => 1000.0 + 2.0 * bytes,
            Contender::Technique(_) => 21_000.0 + bytes,
            Contender::Floor | Contender::FloorAgain => 900.0,
        }
    });
    let outcome = run_quietly(&experiment, &mut machine, &clock).unwrap();
    let sizes = outcome.refined_cells.iter().map(|cell| cell.segment_bytes);
    let sizes: Vec<usize> = sizes.map(Option::unwrap).collect();
    assert!(!sizes.is_empty());
    assert!(
        sizes.iter().all(|bytes| bytes.is_multiple_of(512)),
        "{sizes:?}"
    );
}

const BLOCKS: DirectIo = DirectIo {
    memory_bytes: 4,
    offset_bytes: 512,
};

/// The cell, with this alignment past the page cache.
fn past_cache(alignment: Option<DirectIo>, mut cell: Cell) -> Cell {
    cell.conditions.direct = alignment.is_some();
    Cell { alignment, ..cell }
}

/// A run with one cell of a file.
fn of_file(direct: Option<DirectIo>) -> Results {
    let techniques = vec![
        technique(TechniqueName::COPY_THEN_WRITE, 0.1, 1.0, Some((1.0, 1.0))),
        technique(TechniqueName::WRITEV, 0.2, 1.1, Some((1.0, 1.2))),
    ];
    let cell = past_cache(direct, cell(Target::File, 1024, Verdict::Open, techniques));
    Results {
        cells: vec![cell],
        refined_cells: vec![],
        ..results()
    }
}

#[test]
fn results_keep_the_alignment() {
    let text = json(&of_file(Some(BLOCKS)));
    let fields = "\"alignment\":{\"memory_bytes\":4,\"offset_bytes\":512},";
    assert!(text.contains("\"direct\":true,"), "{text}");
    assert!(text.contains(fields), "{text}");
    assert_eq!(
        parse::<Results>(&text).unwrap().cells[0].alignment,
        Some(BLOCKS)
    );
    let buffered = json(&of_file(None));
    assert!(buffered.contains("\"direct\":false,"), "{buffered}");
    assert!(!buffered.contains("alignment"), "{buffered}");
    for wrong in ["0", "24"] {
        let wrong = text.replace("\"memory_bytes\":4,", &format!("\"memory_bytes\":{wrong},"));
        let error = parse::<Results>(&wrong).unwrap_err().to_string();
        assert!(error.contains("not both powers of two"), "{error}");
    }
}

#[test]
fn transfers_past_the_page_cache_are_compared_with_their_like_only() {
    let (direct, buffered) = (of_file(Some(BLOCKS)), of_file(None));
    let compared = |base: &Results, new: &Results| compare(&[base], &[new]).unwrap();
    let alike = compared(&direct, &direct.clone());
    assert_eq!((alike.unmatched_cells, alike.cells.len()), (0, 2));
    assert!(alike.cells[0].conditions.direct);
    let unlike = compared(&direct, &buffered);
    assert!(unlike.cells.is_empty());
    assert!(unlike.unmatched_cells > 0);
    // Another alignment of another machine is no other condition.
    let other = of_file(Some(DirectIo {
        memory_bytes: 4096,
        offset_bytes: 4096,
    }));
    assert_eq!(compared(&direct, &other).cells.len(), 2);
}

#[test]
fn sections_and_sentences_say_that_the_page_cache_is_bypassed() {
    let text = |results: &Results| {
        let text = table(results);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let direct = text(&of_file(Some(BLOCKS)));
    assert!(direct.contains("file O_DIRECT"), "{direct}");
    let note = "offsets and sizes are multiples of 512 B, and segments begin at multiples of 4 B";
    assert!(direct.contains(note), "{direct}");
    assert!(!text(&of_file(None)).contains("O_DIRECT"));
    // Cells past the page cache and through it have sentences of their own.
    let mut cells: Vec<Cell> = Vec::new();
    for direct in [None, Some(BLOCKS)] {
        let samples = |ns: f64| vec![Some(ns); 40];
        let mut pair = vec![
            technique(TechniqueName::WRITEV, 0.0, 1.0, None),
            technique(TechniqueName::new("io-uring"), 0.0, 1.0, None),
        ];
        pair[0].samples_ns = samples(1000.0);
        pair[1].in_flight = true;
        pair[1].samples_ns = samples(if direct.is_some() { 500.0 } else { 2000.0 });
        let cell = cell(Target::File, 1024, Verdict::Open, pair);
        cells.push(past_cache(direct, cell));
    }
    let mut said = sentences(&Results { cells, ..results() });
    said.retain(|sentence| sentence.starts_with("io-uring, "));
    let said: Vec<_> = said
        .iter()
        .map(|one| (one.contains("O_DIRECT"), one.contains("of the time of")))
        .collect();
    assert_eq!(said, [(false, false), (true, true)]);
}
