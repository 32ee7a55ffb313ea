//! `adaptive` against copying: lists of tiny segments, and mixes.

use vectored_results::model::TechniqueName;

use super::known_cell::{ADAPTIVE, KnownCell, select};
use super::ratio::{against_best, geometric_mean};
use super::section::{Row, Section, factor, factor_or_dash};
use crate::bench_target::BenchTarget;
use crate::grid::name_of;
use crate::mix::Mix;

const COPY: TechniqueName = TechniqueName::COPY_THEN_WRITE;

/// The geometric mean for each target and over all real cells, as text; the latter also as a number.
fn by_target(
    cells: &[KnownCell<'_>],
    value: impl Fn(&KnownCell<'_>) -> Option<f64>,
) -> (Vec<String>, Option<f64>) {
    let mean = |set: &[KnownCell<'_>]| geometric_mean(set.iter().filter_map(&value));
    let mut found: Vec<String> = BenchTarget::ALL
        .into_iter()
        .map(|target| mean(&select(cells, |known| known.target == target)))
        .map(factor_or_dash)
        .collect();
    let real = mean(&select(cells, KnownCell::is_real));
    found.push(factor_or_dash(real));
    (found, real)
}

fn target_columns(last: &str) -> Vec<String> {
    let targets = BenchTarget::ALL.iter().map(BenchTarget::to_string);
    targets.chain([last.to_owned()]).collect()
}

/// Segments of at most 50 bytes.
pub fn tiny_segments(cells: &[KnownCell<'_>]) -> Section {
    let is_tiny = |known: &KnownCell<'_>| {
        let bytes = known.uniform().map(|(_, bytes)| bytes);
        known.is_hot() && !known.has_reader() && bytes.is_some_and(|bytes| bytes <= 50)
    };
    let tiny = select(cells, is_tiny);
    let mut rows = Vec::new();
    for (what, counts, limit) in [
        ("counts ≥ 64", 64..=usize::MAX, 0.88),
        ("counts ≤ 8", 0..=8, 1.02),
    ] {
        let set = select(&tiny, |known| {
            known
                .uniform()
                .is_some_and(|(count, _)| counts.contains(&count))
        });
        let (found, real) = by_target(&set, |known| known.adaptive_ratio(COPY));
        if let Some(real) = real {
            rows.push(Row {
                what: what.to_owned(),
                found,
                met: Some(real <= limit),
            });
        }
    }
    Section {
        title:
            "Adaptive ÷ copy-then-write, segments of at most 50 B, geometric mean. Promised over \
                real cells: ≤ 0.88 for counts ≥ 64 with AVX2 or better (≤ 0.92 with SSE2 only), \
                ≤ 1.02 for counts ≤ 8"
                .to_owned(),
        columns: target_columns("real"),
        rows,
        notes: Vec::new(),
    }
}

/// Lists of several sizes.
pub fn mixes(cells: &[KnownCell<'_>]) -> Section {
    let better = |known: &KnownCell<'_>| {
        let pair = against_best(known.cell, ADAPTIVE, &[COPY, TechniqueName::WRITEV])?.pair;
        Some(pair.ratio)
    };
    let mixed = select(cells, |known| known.is_hot() && known.mix().is_some());
    let real = select(&mixed, KnownCell::is_real);
    let mut rows: Vec<Row> = Mix::ALL
        .into_iter()
        .map(|mix| select(&mixed, |known| known.mix() == Some(mix)))
        .filter(|set| !set.is_empty())
        .map(|set| Row::plain(set[0].list.name(), by_target(&set, better).0))
        .collect();
    let promised = |what: &str, set: &[KnownCell<'_>], limit: f64| {
        let (found, mean) = by_target(set, better);
        mean.map(|mean| Row {
            what: what.to_owned(),
            found,
            met: Some(mean <= limit),
        })
    };
    rows.extend(promised(
        "all mixes, without reader threads: ≤ 0.93",
        &real,
        0.93,
    ));
    let small = select(&real, |known| {
        known.target.is_stream() && known.mix().is_some_and(Mix::is_of_small_records)
    });
    rows.extend(promised(
        "log lines, replies, wal-100 on streams: ≤ 0.85",
        &small,
        0.85,
    ));
    let worst = real
        .iter()
        .filter_map(|known| Some((better(known)?, name_of(known.cell))))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    if let Some((worst, name)) = worst {
        rows.push(Row {
            what: format!("the worst: ≤ 1.06: {name}"),
            found: [
                vec![String::new(); BenchTarget::ALL.len()],
                vec![factor(worst)],
            ]
            .concat(),
            met: Some(worst <= 1.06),
        });
    }
    Section {
        title: "Adaptive ÷ the better of copy-then-write and writev, mixes, geometric mean"
            .to_owned(),
        columns: target_columns("real"),
        rows,
        notes: reader_thread_note(&mixed),
    }
}

/// A note that names the mixes with a reader thread. They count for their target, not for real cells.
fn reader_thread_note(mixed: &[KnownCell<'_>]) -> Vec<String> {
    let read: Vec<String> = mixed
        .iter()
        .filter(|known| known.has_reader())
        .map(|known| format!("{} {}", known.target, known.list.name()))
        .collect();
    if read.is_empty() {
        Vec::new()
    } else {
        vec![format!("With a reader thread: {}", read.join(", "))]
    }
}
