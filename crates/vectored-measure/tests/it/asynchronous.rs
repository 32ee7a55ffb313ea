//! Asynchronous techniques: what is said of them, and their bytes on real descriptors.

use std::io;
use std::os::fd::BorrowedFd;

use proptest::prelude::*;
use vectored_machine::MonotonicClock;
use vectored_measure::measure::{
    Contender, DescriptorSampler, DrainChoice, Lists, Meter, Mover, Outcome, ReadMover, RunError,
    Sampler, Timed, Timing, check_available, movers, read_movers,
};
use vectored_report::{json, parse};
use vectored_results::model::{
    Cell, CellSpec, Drain, Experiment, IovecSetup, PageCache, Results, Target, TechniqueName,
    Verdict, Workload,
};
use vectored_results::stats::{
    AsynchronousOutcome, Latencies, asynchronous_pairs, cells_with_too_few_rounds,
};

use crate::faults::assert_caught;
use crate::honest_reads::skip;
use crate::report::{cell, results, technique};
use crate::shown::{sentences, table};
use crate::support::{MINIMUM_NS, directory, experiment, measure_here};

const ASYNCHRONOUS: [&str; 2] = ["io-uring", "linux-aio"];

/// The true outcome in an invented cell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Truth {
    Half,
    Same,
    Double,
    /// A large difference, in rounds that are not independent.
    Drift,
    Unknown,
}

use Truth::{Double, Drift, Half, Same, Unknown};

impl Truth {
    fn outcome(self) -> AsynchronousOutcome {
        match self {
            Half => AsynchronousOutcome::Faster,
            Same => AsynchronousOutcome::Equal,
            Double => AsynchronousOutcome::Slower,
            Drift => AsynchronousOutcome::TooFewRounds,
            Unknown => AsynchronousOutcome::Open,
        }
    }
}

/// A cell of lists of 10 segments in which io-uring takes this share of the time of writev.
fn measured(bytes: usize, queue_depth: u32, truth: Truth) -> Cell {
    let samples = |of: &dyn Fn(usize) -> f64| (0..40).map(|round| Some(of(round))).collect();
    // Independent rounds: no pattern that the serial correlation would see.
    let turn = |round: usize| ((round * 37 + 11) % 101) as f64 / 100.0 - 0.5;
    let mut synchronous = technique(TechniqueName::WRITEV, 0.0, 1.0, None);
    synchronous.samples_ns = samples(&|_| 1000.0);
    let mut asynchronous = technique(TechniqueName::new("io-uring"), 0.0, 1.0, None);
    asynchronous.in_flight = true;
    asynchronous.samples_ns = samples(&|round| match truth {
        Half => 500.0 * (1.0 + 0.1 * turn(round)),
        Same => 1000.0 * (1.0 + 0.001 * turn(round)),
        Double => 2000.0 * (1.0 + 0.1 * turn(round)),
        // One round does not agree.
        Drift if round == 0 => 1000.0,
        Drift => 1000.0 * (1.5 + 0.1 * round as f64),
        Unknown => 1000.0 * (1.0 + turn(round)),
    });
    let techniques = vec![synchronous, asynchronous];
    let mut cell = cell(Target::File, bytes, Verdict::Open, techniques);
    cell.conditions.queue_depth = queue_depth;
    cell.segment_count = 10;
    cell
}

/// The sentences about asynchronous techniques in these cells.
fn said(cells: &[Cell]) -> String {
    let results = Results {
        cells: cells.to_vec(),
        ..results()
    };
    let mut said = sentences(&results);
    said.retain(|sentence| sentence.starts_with("io-uring, "));
    said.join("\n")
}

fn grid(truths: &[(usize, &[(u32, Truth)])]) -> Vec<Cell> {
    let of = |&(bytes, depths): &(usize, &[(u32, Truth)])| -> Vec<Cell> {
        let cells = depths.iter();
        cells
            .map(|&(depth, truth)| measured(bytes, depth, truth))
            .collect()
    };
    truths.iter().flat_map(of).collect()
}

#[test]
fn the_answer_names_depths_and_sizes_where_asynchronous_calls_are_faster() {
    let faster_deep = grid(&[
        (1024, &[(1, Double), (8, Double), (64, Double)]),
        (100 << 10, &[(1, Double), (8, Half), (64, Half)]),
    ]);
    let everything = grid(&[(64, &[(1, Unknown), (2, Half), (4, Same), (8, Half)])]);
    let everywhere = grid(&[
        (64, &[(1, Half), (8, Half)]),
        (256, &[(1, Half), (2, Half), (4, Half), (8, Half)]),
        (
            1024,
            &[(1, Same), (2, Same), (4, Same), (8, Same), (64, Same)],
        ),
        (4096, &[(1, Double), (8, Unknown)]),
        (16384, &[(1, Double), (8, Same)]),
    ]);
    let same = grid(&[
        (64, &[(1, Same)]),
        (256, &[(1, Same)]),
        (1024, &[(1, Unknown)]),
    ]);
    let texts = [faster_deep, everything, everywhere, same].map(|cells| said(&cells));
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn nothing_is_said_without_an_asynchronous_technique_or_without_its_rival() {
    assert_eq!(said(&[cell(Target::File, 16, Verdict::Open, vec![])]), "");
    let mut alone = measured(64, 8, Half);
    alone
        .techniques
        .retain(|t| t.name == TechniqueName::new("io-uring"));
    assert_eq!(said(&[alone]), "");
}

#[test]
fn differences_below_the_noise_floor_are_open_and_too_few_rounds_are_left_out() {
    let outcome = |cell: &Cell| asynchronous_pairs(&[cell])[0].outcome;
    let sure = measured(64, 8, Half);
    assert_eq!(outcome(&sure), AsynchronousOutcome::Faster);
    let loud = Cell {
        noise_floor: Some(1.2),
        aa_separated: true,
        ..sure.clone()
    };
    assert_eq!(outcome(&loud), AsynchronousOutcome::Open);
    let mut short = sure;
    for technique in &mut short.techniques {
        technique.samples_ns.truncate(19);
    }
    assert!(asynchronous_pairs(&[&short]).is_empty());
    assert_eq!(cells_with_too_few_rounds(&[&short, &loud]), 1);
    let notes = |cell: &Cell| {
        table(&Results {
            cells: vec![cell.clone()],
            ..results()
        })
    };
    let words =
        "No statement on asynchronous calls for 1 cell, with fewer than 20 rounds; raise --budget.";
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat(notes(&short)).contains(words));
    assert!(!flat(notes(&loud)).contains("No statement"));
    let helped = Cell {
        drain: Some(Drain::ReaderThread),
        ..loud.clone()
    };
    let words = "No statement on asynchronous calls for 1 cell, in which a thread or program at the other end worked";
    assert!(flat(notes(&helped)).contains(words));
    assert_eq!(said(&[helped]), "");
    let unsure = said(&[measured(64, 8, Drift), measured(64, 64, Half)]);
    let words = "at queue depth 8 more rounds are needed (so far a ratio of 3.32)";
    assert!(unsure.contains(words), "{unsure}");
    assert_eq!(said(&[short]), "");
}

/// The conclusion of a reader for one cell: finds the sentence on the list, and in it the part on the depth.
fn understood(text: &str, bytes: usize, depth: u32, measured: &[u32]) -> Vec<AsynchronousOutcome> {
    let size = |words: &str| -> usize {
        let (number, unit) = words.split_once(' ').unwrap();
        let unit = if unit == "KiB" { 1024 } else { 1 };
        number.parse::<usize>().unwrap() * unit
    };
    let covers = |sizes: &str| {
        let sizes = sizes.strip_prefix("10 × ").unwrap();
        let (least, most) = sizes.split_once(" to ").unwrap_or((sizes, sizes));
        (size(least)..=size(most)).contains(&bytes)
    };
    // Every number in the list of depths, and no other one. A range is no such list.
    let depths = |part: &str| -> bool {
        if let Some((_, list)) = part.split_once("at every measured queue depth (") {
            let list = list.split(')').next().unwrap();
            let named = list.split(", ").map(|word| word.trim_start_matches("… "));
            let named: Vec<u32> = named.map(|word| word.parse().unwrap()).collect();
            let is_measured = |depth| measured.contains(depth);
            assert!(named.iter().all(is_measured), "{part}");
            assert!(list.contains('…') || named == measured, "{part}");
            assert_eq!(
                [named[0], named[named.len() - 1]],
                [measured[0], measured[measured.len() - 1]]
            );
            return true;
        }
        let (_, after) = part.split_once("at queue depth").unwrap();
        let list = after.strip_prefix('s').unwrap_or(after).trim_start();
        let end =
            [" they ", " the difference", " more rounds", " (within"].map(|next| list.find(next));
        let list = &list[..end.into_iter().flatten().min().unwrap_or(list.len())];
        let named = list.split(", ").flat_map(|words| words.split(" and "));
        let named: Vec<u32> = named.map(|word| word.parse().expect(part)).collect();
        assert_eq!(named.len() > 1, after.starts_with('s'), "{part}");
        named.contains(&depth)
    };
    let sentences = text.split("Lists of ").skip(1);
    sentences
        .map(|sentence| {
            let end = [" take", " are", ":"].map(|next| sentence.find(next));
            sentence.split_at(end.into_iter().flatten().min().unwrap())
        })
        .filter(|(sizes, _)| covers(sizes))
        .flat_map(|(_, parts)| {
            let parts: Vec<&str> = parts.trim().trim_end_matches('.').split("; ").collect();
            let is_faster = |part: &&str| part.contains("of the time of");
            let is_open =
                |part: &&str| part.contains("significant") || part.contains("more rounds");
            let never_faster = !parts.iter().any(|part| is_faster(part) || is_open(part));
            assert_eq!(parts[0].contains("are not faster"), never_faster, "{text}");
            parts
        })
        .filter(|part| depths(part))
        .map(|part| match part {
            _ if part.contains("of the time of") => AsynchronousOutcome::Faster,
            _ if part.contains("times as long") => AsynchronousOutcome::Slower,
            _ if part.contains("as long") => AsynchronousOutcome::Equal,
            _ if part.contains("significant") => AsynchronousOutcome::Open,
            _ if part.contains("more rounds") => AsynchronousOutcome::TooFewRounds,
            _ => panic!("{part}"),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every measured cell is in the text exactly once, with its own outcome.
    #[test]
    fn the_text_says_of_each_cell_what_was_measured(
        sizes in prop::sample::subsequence(vec![16_usize, 64, 1 << 10, 4 << 10, 64 << 10], 1..=5),
        depths in prop::sample::subsequence(vec![1_u32, 2, 8, 64, 512], 1..=5),
        truths in prop::collection::vec(prop::sample::select(vec![Half, Same, Double, Drift, Unknown]), 25),
    ) {
        let mut truths = truths.into_iter();
        let mut cells = Vec::new();
        let mut expected = Vec::new();
        for &bytes in &sizes {
            for &depth in &depths {
                let truth = truths.next().unwrap();
                cells.push(measured(bytes, depth, truth));
                expected.push((bytes, depth, truth.outcome()));
            }
        }
        let text = &said(&cells);
        prop_assert_eq!(text.lines().count(), 1);
        for (bytes, depth, outcome) in expected {
            prop_assert_eq!(understood(text, bytes, depth, &depths), vec![outcome], "{} at {} in {}", bytes, depth, text);
        }
        // The order in which cells were measured does not matter.
        cells.reverse();
        prop_assert_eq!(&said(&cells), text);
    }
}

#[test]
fn latencies_are_saved_and_impossible_ones_are_refused() {
    let mut saved = results();
    let mut latencies = Latencies::default();
    latencies.add_many(1000, 990);
    latencies.add_many(5000, 10);
    saved.cells[0].techniques[0].latency = latencies.summary();
    saved.cells[0].conditions.queue_depth = 8;
    let again = parse::<Results>(&json(&saved)).unwrap();
    assert_eq!(again.cells[0].techniques[0].latency, latencies.summary());
    let refused = |change: &dyn Fn(&mut Cell), words: &str| {
        let mut wrong = saved.clone();
        change(&mut wrong.cells[0]);
        let error = parse::<Results>(&json(&wrong)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(
        &|cell| cell.conditions.queue_depth = 0,
        "a queue depth of 0",
    );
    refused(
        &|cell| cell.conditions.queue_depth = 4097,
        "a queue depth of 4097",
    );
    refused(
        &|cell| cell.techniques[0].latency.latency_p50_ns = Some(0.0),
        "whose p50 is not a number",
    );
    refused(
        &|cell| cell.techniques[0].latency.latency_p99_ns = Some(10.0),
        "less than a lower one",
    );
    refused(
        &|cell| cell.techniques[0].latency.latency_transfers = Some(999),
        "p999 is of 999 transfers",
    );
}

/// Measures a cell on real descriptors for a few rounds.
fn measure(
    spec: CellSpec,
    rivals: &[TechniqueName],
    make_mover: impl FnMut(Contender) -> Option<Box<dyn Mover>> + 'static,
    make_read_mover: impl FnMut(Contender) -> Option<Box<dyn ReadMover>> + 'static,
) -> Result<Outcome, RunError> {
    let experiment = Experiment {
        unranked: vec![],
        ..experiment(vec![spec], rivals, MINIMUM_NS)
    };
    let (mut make_mover, mut make_read_mover) = (make_mover, make_read_mover);
    measure_here(&experiment, |sampler| {
        let sampler = sampler.with_movers(move |contender, model| {
            make_mover(contender).unwrap_or_else(|| movers(contender, model))
        });
        sampler.with_read_movers(move |contender, model| {
            make_read_mover(contender).unwrap_or_else(|| read_movers(contender, model))
        })
    })
}

/// The asynchronous techniques that this machine has, with a synchronous one of the operation.
fn offered(test: &str, synchronous: TechniqueName) -> Vec<TechniqueName> {
    let mut offered = vec![synchronous];
    for technique in ASYNCHRONOUS.map(TechniqueName::new) {
        match check_available(technique, 64) {
            Ok(()) => offered.push(technique),
            Err(unavailable) => skip(test, &unavailable.to_string()),
        }
    }
    offered
}

/// Lists, and queue depths.
fn cases() -> [(Workload, u32); 4] {
    let mixed = || Workload::from_sizes(vec![100, 1, 4096, 77]);
    [
        (mixed(), 1),
        (mixed(), 40),
        // More than one call of `IOV_MAX`.
        (Workload::uniform(1100, 9), 2),
        (Workload::uniform(3, 40_000), 3),
    ]
}

#[test]
fn asynchronous_writes_are_measured_at_every_depth() {
    let test = "asynchronous_writes_are_measured_at_every_depth";
    let rivals = offered(test, TechniqueName::WRITEV);
    for target in [Target::File, Target::FileOverwrite, Target::Null] {
        for (workload, queue_depth) in cases() {
            let spec =
                CellSpec::write(target, workload).with(|asked| asked.queue_depth = queue_depth);
            let outcome = measure(spec, &rivals, |_| None, |_| None).unwrap();
            check(&outcome.cells[0], queue_depth, &rivals);
            assert_eq!(outcome.cells[0].proof_calls > 0, target != Target::Null);
        }
    }
}

#[test]
fn asynchronous_reads_are_measured_at_every_depth() {
    let test = "asynchronous_reads_are_measured_at_every_depth";
    let rivals = offered(test, TechniqueName::READV);
    for (workload, queue_depth) in cases() {
        let spec = CellSpec::read(Target::File, workload, PageCache::Hot)
            .with(|asked| asked.queue_depth = queue_depth);
        let outcome = measure(spec, &rivals, |_| None, |_| None).unwrap();
        check(&outcome.cells[0], queue_depth, &rivals);
        assert!(outcome.cells[0].proof_calls > 0);
    }
}

#[test]
fn asynchronous_reads_are_measured_from_streams() {
    let rivals = offered(
        "asynchronous_reads_are_measured_from_streams",
        TechniqueName::READV,
    );
    for target in [Target::Pipe, Target::Unix, Target::Tcp] {
        for sizes in [vec![100, 200], vec![3, 5000, 1, 70_000, 9]] {
            let workload = Workload::from_sizes(sizes);
            let spec = CellSpec::read(target, workload, PageCache::Hot);
            let outcome = measure(spec, &rivals, |_| None, |_| None).unwrap();
            check(&outcome.cells[0], 1, &rivals);
        }
    }
}

fn check(cell: &Cell, queue_depth: u32, rivals: &[TechniqueName]) {
    assert_eq!(cell.conditions.queue_depth, queue_depth);
    for &rival in rivals {
        let result = cell.technique(rival).unwrap();
        assert!(result.median_ns > 0.0);
        assert!(result.calls_per_sample.is_multiple_of(queue_depth));
        assert!(result.latency.latency_transfers > Some(0), "{rival}");
        assert!(result.latency.latency_p50_ns > Some(0.0), "{rival}");
    }
}

#[test]
fn cells_without_an_asynchronous_technique_have_no_latencies() {
    let spec = CellSpec::write(Target::Null, Workload::uniform(2, 8));
    let outcome = measure(spec, &[TechniqueName::WRITEV], |_| None, |_| None).unwrap();
    let result = outcome.cells[0].technique(TechniqueName::WRITEV).unwrap();
    assert_eq!(result.latency, Default::default());
}

/// A mover that leaves the last list of each sample out.
struct OneListShort(Box<dyn Mover>);

impl Mover for OneListShort {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        self.0.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        self.0.call(fd, segments)
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        meter: Meter<'_>,
    ) -> io::Result<Timing> {
        let short = Timed {
            calls: batch.calls - 1,
            ..batch
        };
        let batch = if short.calls == 0 { batch } else { short };
        self.0.sample(fd, lists, batch, meter)
    }
}

/// A mover that changes a byte of one of the lists after they are filled.
struct OneByteWrong(Box<dyn ReadMover>);

impl ReadMover for OneByteWrong {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        self.0.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        self.0.call(fd, segments)
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        meter: Meter<'_>,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let outcome = self.0.sample(fd, lists, batch, meter)?;
        if lists.len() > 2 {
            lists[1][2][0] ^= 1;
        }
        Ok(outcome)
    }
}

#[test]
fn a_list_that_is_missing_among_those_in_flight_is_caught() {
    let rivals = offered(
        "a_list_that_is_missing_among_those_in_flight_is_caught",
        TechniqueName::WRITEV,
    );
    if !rivals.contains(&TechniqueName::new("io-uring")) {
        return;
    }
    let uring = Contender::Technique(TechniqueName::new("io-uring"));
    for target in [Target::File, Target::FileOverwrite] {
        let spec =
            CellSpec::write(target, Workload::uniform(5, 100)).with(|asked| asked.queue_depth = 4);
        let outcome = measure(
            spec,
            &[TechniqueName::WRITEV, TechniqueName::new("io-uring")],
            move |contender| {
                let right = || movers(contender, &vectored::CostModel::default());
                (contender == uring).then(|| Box::new(OneListShort(right())) as Box<dyn Mover>)
            },
            |_| None,
        );
        assert_caught(outcome, TechniqueName::new("io-uring"), "a list is missing");
    }
}

#[test]
fn a_wrong_byte_in_any_list_in_flight_is_caught() {
    let rivals = offered(
        "a_wrong_byte_in_any_list_in_flight_is_caught",
        TechniqueName::READV,
    );
    if !rivals.contains(&TechniqueName::new("io-uring")) {
        return;
    }
    let uring = Contender::Technique(TechniqueName::new("io-uring"));
    let spec = CellSpec::read(Target::File, Workload::uniform(5, 100), PageCache::Hot)
        .with(|asked| asked.queue_depth = 4);
    let outcome = measure(
        spec,
        &[TechniqueName::READV, TechniqueName::new("io-uring")],
        |_| None,
        move |contender| {
            let right = || read_movers(contender, &vectored::CostModel::default());
            (contender == uring).then(|| Box::new(OneByteWrong(right())) as Box<dyn ReadMover>)
        },
    );
    assert_caught(outcome, TechniqueName::new("io-uring"), "a byte is wrong");
}

#[test]
fn asynchronous_transfers_are_refused_with_an_array_that_is_filled_once() {
    let mut sampler = DescriptorSampler::new(&MonotonicClock, &directory(), 1);
    for technique in ASYNCHRONOUS.map(TechniqueName::new) {
        for spec in [
            CellSpec::write(Target::Null, Workload::uniform(2, 8)),
            CellSpec::read(Target::File, Workload::uniform(2, 8), PageCache::Hot),
        ] {
            let spec = spec.with(|asked| asked.iovec_setup = IovecSetup::Once);
            let error = sampler
                .begin_cell(&spec, &[technique], DrainChoice::Probe)
                .unwrap_err();
            let words = format!("{technique} fills the array of each transfer itself");
            assert!(error.to_string().contains(&words), "{error}");
        }
    }
}

#[test]
fn streams_are_refused_with_several_transfers_in_flight() {
    for target in [Target::Pipe, Target::Unix, Target::Tcp] {
        let spec =
            CellSpec::write(target, Workload::uniform(2, 8)).with(|asked| asked.queue_depth = 2);
        let error = measure(spec, &[TechniqueName::WRITEV], |_| None, |_| None).unwrap_err();
        assert!(error.to_string().contains("order"), "{error}");
    }
}
