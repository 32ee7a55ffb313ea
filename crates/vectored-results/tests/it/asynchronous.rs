//! Asynchronous techniques: what is said of them, and their bytes on real descriptors.

use proptest::prelude::*;
use vectored_results::model::{Cell, Drain, Results, Target, TechniqueName, Verdict};
use vectored_results::stats::{AsynchronousOutcome, asynchronous_pairs, cells_with_too_few_rounds};

use crate::samples::{cell, results, sentences, table, technique};

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
        let cells = vec![cell.clone()];
        table(&Results { cells, ..results() }, 100)
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
