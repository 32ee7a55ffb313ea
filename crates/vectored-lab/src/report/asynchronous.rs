//! Where asynchronous techniques pay, in words, and the table of latencies.

use crate::model::{AsynchronousAdvice, Cell, Conditions, ListShape, Results};
use crate::report::compare::conditions_in_words;
use crate::report::grid::Grid;
use crate::report::shape_text::{SIZE, list_of_shape};
use crate::report::target_names::{SectionKey, Titles};
use crate::stats::{AsynchronousOutcome, AsynchronousPair, TIE_ZONE, asynchronous_pairs};
use crate::text::format;
use crate::text::format::{bytes_in_words, list_in_words, three_digits};

/// One entry for each asynchronous technique and set of conditions other than the queue depth: from which depth
/// and size it takes less time than the synchronous call, and where it does not. It speaks of measured cells
/// only; sizes between measured ones are included if the outcome is the same on both sides.
pub fn asynchronous_advice(cells: &[&Cell]) -> Vec<AsynchronousAdvice> {
    let mut groups: Vec<(Conditions, Vec<AsynchronousPair<'_>>)> = Vec::new();
    for pair in asynchronous_pairs(cells) {
        let conditions = pair.cell.conditions();
        let is_here = |(other, pairs): &&mut (Conditions, Vec<AsynchronousPair<'_>>)| {
            let as_here = Conditions {
                queue_depth: other.queue_depth,
                ..conditions.clone()
            };
            *other == as_here && pairs[0].technique == pair.technique
        };
        match groups.iter_mut().find(is_here) {
            Some((_, pairs)) => pairs.push(pair),
            None => groups.push((conditions, vec![pair])),
        }
    }
    groups
        .into_iter()
        .map(|(conditions, pairs)| {
            let mut depths: Vec<u32> = pairs.iter().map(|pair| pair.cell.queue_depth).collect();
            depths.sort_unstable();
            depths.dedup();
            AsynchronousAdvice {
                conditions: Conditions {
                    queue_depth: depths[0],
                    ..conditions
                },
                technique: pairs[0].technique,
                synchronous: pairs[0].synchronous,
                text: text(&pairs),
                queue_depths: depths,
            }
        })
        .collect()
}

/// A sentence for each group of neighbouring lists with the same outcome at every depth.
fn text(pairs: &[AsynchronousPair<'_>]) -> String {
    let mut lists: Vec<ListPairs<'_, '_>> = Vec::new();
    for pair in pairs {
        match lists.iter_mut().find(|list| list.is_of(pair.cell)) {
            Some(list) => list.pairs.push(pair),
            None => lists.push(ListPairs { pairs: vec![pair] }),
        }
    }
    for list in &mut lists {
        list.pairs.sort_by_key(|pair| pair.cell.queue_depth);
    }
    lists.sort_by_key(|list| (list.cell().shape(), list.cell().swept_bytes()));
    let groups = lists.chunk_by(ListPairs::is_alike);
    groups.map(sentence).collect::<Vec<_>>().join(" ")
}

/// The comparisons of one list, by ascending depth.
struct ListPairs<'p, 'a> {
    pairs: Vec<&'p AsynchronousPair<'a>>,
}

impl<'a> ListPairs<'_, 'a> {
    fn cell(&self) -> &'a Cell {
        self.pairs[0].cell
    }

    fn is_of(&self, cell: &Cell) -> bool {
        let this = self.cell();
        this.shape() == cell.shape()
            && this.segment_bytes == cell.segment_bytes
            && this.segment_sizes == cell.segment_sizes
    }

    fn outcomes(&self) -> Vec<(u32, AsynchronousOutcome)> {
        let pairs = self.pairs.iter();
        pairs
            .map(|pair| (pair.cell.queue_depth, pair.outcome))
            .collect()
    }

    /// Whether one sentence can be about both: sizes of the same series, with the same outcomes.
    fn is_alike(&self, other: &Self) -> bool {
        let (one, next) = (self.cell(), other.cell());
        one.shape() == next.shape()
            && one.swept_bytes().is_some()
            && next.swept_bytes().is_some()
            && self.outcomes() == other.outcomes()
    }
}

/// `Lists of 10 × 100 KiB: io-uring takes 0.71 [0.68, 0.74] of the time of writev at queue depth 8; 1.90 [1.84,
/// 1.97] of it at queue depth 1.`
fn sentence(lists: &[ListPairs<'_, '_>]) -> String {
    let all = lists[0].outcomes();
    let first = lists[0].pairs[0];
    let (technique, synchronous) = (first.technique, first.synchronous);
    let mut parts: Vec<String> = Vec::new();
    for outcome in [
        AsynchronousOutcome::Pays,
        AsynchronousOutcome::Costs,
        AsynchronousOutcome::Equal,
        AsynchronousOutcome::Open,
    ] {
        let here: Vec<u32> = all
            .iter()
            .filter(|(_, other)| *other == outcome)
            .map(|(depth, _)| *depth)
            .collect();
        if here.is_empty() {
            continue;
        }
        let measured: Vec<u32> = all.iter().map(|(depth, _)| *depth).collect();
        let depths = depths_in_words(&here, &measured);
        let ratios = || ratios(lists, outcome);
        parts.push(match (outcome, parts.is_empty()) {
            (AsynchronousOutcome::Pays, _) => {
                format!("{technique} takes {} of the time of {synchronous} {depths}", ratios())
            }
            (AsynchronousOutcome::Costs, true) => format!(
                "{technique} does not pay: it takes {} times as long as {synchronous} {depths}",
                ratios()
            ),
            (AsynchronousOutcome::Costs, false) => {
                format!("{depths} it takes {} times as long", ratios())
            }
            (AsynchronousOutcome::Equal, true) => format!(
                "{technique} does not pay: it takes as long as {synchronous} {depths} (within ±{:.0} %)",
                TIE_ZONE * 100.0
            ),
            (AsynchronousOutcome::Equal, false) => {
                format!("{depths} it takes as long (within ±{:.0} %)", TIE_ZONE * 100.0)
            }
            (AsynchronousOutcome::Open, true) => format!(
                "no significant difference between {technique} and {synchronous} {depths}"
            ),
            (AsynchronousOutcome::Open, false) => {
                format!("{depths} the difference is not significant")
            }
        });
    }
    format!("Lists of {}: {}.", lists_in_words(lists), parts.join("; "))
}

/// `0.71 [0.68, 0.74]`; of several cells the least and the greatest ratio, `0.62 to 0.71`.
fn ratios(lists: &[ListPairs<'_, '_>], outcome: AsynchronousOutcome) -> String {
    let pairs = lists.iter().flat_map(|list| &list.pairs);
    let here: Vec<_> = pairs.filter(|pair| pair.outcome == outcome).collect();
    if let [only] = here[..]
        && let Some((low, high)) = only.stats.interval
    {
        let [ratio, low, high] = [only.stats.ratio, low, high].map(three_digits);
        return format!("{ratio} [{low}, {high}]");
    }
    let ratios = || here.iter().map(|pair| pair.stats.ratio);
    let least = three_digits(ratios().fold(f64::INFINITY, f64::min));
    let most = three_digits(ratios().fold(0.0, f64::max));
    match least == most {
        true => least,
        false => format!("{least} to {most}"),
    }
}

/// `at queue depth 8`; from the first of several measured depths to the last `at every queue depth from 1 to 64`;
/// of the last ones only `from queue depth 8 to 64`; else `at queue depths 1 and 64`. All are among `measured`,
/// ascending.
fn depths_in_words(depths: &[u32], measured: &[u32]) -> String {
    let (first, last) = (depths[0], depths[depths.len() - 1]);
    if depths.len() == 1 {
        return format!("at queue depth {first}");
    }
    if depths.len() == measured.len() {
        return format!("at every queue depth from {first} to {last}");
    }
    let span = measured
        .iter()
        .filter(|depth| (first..=last).contains(depth));
    if span.count() == depths.len() {
        return format!("from queue depth {first} to {last}");
    }
    let words: Vec<String> = depths.iter().map(u32::to_string).collect();
    let (last, others) = words.split_last().expect("at least two");
    format!("at queue depths {} and {last}", others.join(", "))
}

/// `10 × 100 KiB`; of several sizes `10 × 1 KiB to 100 KiB`, and of a swept mix `1 × 150 B + 1 × SIZE with SIZE =
/// 1 KiB to 64 KiB`.
fn lists_in_words(lists: &[ListPairs<'_, '_>]) -> String {
    let (first, last) = (lists[0].cell(), lists[lists.len() - 1].cell());
    let shape: ListShape<'_> = first.shape();
    let (Some(least), Some(most)) = (first.swept_bytes(), last.swept_bytes()) else {
        return list_in_words(first.segment_sizes.as_deref().unwrap_or_default());
    };
    let size = |bytes: usize| bytes_in_words(bytes as u64);
    let sizes = match least == most {
        true => size(least),
        false => format!("{} to {}", size(least), size(most)),
    };
    match shape.swept_mix {
        None => format!("{} × {sizes}", shape.segment_count),
        Some(_) => format!("{} with {SIZE} = {sizes}", list_of_shape(shape)),
    }
}

/// Each entry of [`Results::asynchronous`] with the place that it is about: `io-uring, file (ext4)`.
pub(crate) fn answers(results: &Results) -> Vec<(String, String)> {
    let entries = results.asynchronous.iter();
    entries
        .map(|advice| {
            let place = conditions_in_words(&Conditions {
                queue_depth: 1,
                ..advice.conditions.clone()
            });
            let is_here = |cell: &&Cell| cell.conditions() == advice.conditions;
            let cell = results.cells.iter().find(is_here);
            let file_system = cell.and_then(|cell| cell.file_system.as_deref());
            let file_system = file_system
                .map(|name| format!(" ({})", format::escape_control(name)))
                .unwrap_or_default();
            (
                format!("{}, {place}{file_system}", advice.technique),
                // A saved text may come from anywhere.
                format::escape_control(&advice.text),
            )
        })
        .collect()
}

/// A table for each section with latencies.
pub(crate) fn latencies(results: &Results) -> Vec<Grid> {
    let titles = Titles::among(&results.cells);
    let has_latency = |cell: &&Cell| {
        let mut techniques = cell.techniques.iter();
        techniques.any(|technique| technique.latency.latency_transfers.is_some())
    };
    let mut kinds: Vec<SectionKey<'_>> = results
        .cells
        .iter()
        .filter(has_latency)
        .map(SectionKey::of)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
        .into_iter()
        .map(|kind| {
            let is_here = |cell: &&Cell| SectionKey::of(cell) == kind && has_latency(cell);
            Grid {
                title: format!("Latency of a transfer: {}", titles.of(kind)),
                heads: LATENCY_HEADS.map(str::to_owned).to_vec(),
                names: 2,
                rows: results
                    .cells
                    .iter()
                    .filter(is_here)
                    .flat_map(latency_rows)
                    .collect(),
            }
        })
        .collect()
}

const LATENCY_HEADS: [&str; 6] = ["list", "technique", "median", "99 %", "99.9 %", "transfers"];

/// A row for each technique; only the first one has the list.
fn latency_rows(cell: &Cell) -> Vec<Vec<String>> {
    let mut list = list_of(cell);
    let time = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), format::time);
    let techniques = cell.techniques.iter();
    techniques
        .filter_map(|technique| {
            let latency = &technique.latency;
            let transfers = latency.latency_transfers?;
            Some(vec![
                std::mem::take(&mut list),
                technique.name.to_string(),
                time(latency.latency_p50_ns),
                time(latency.latency_p99_ns),
                time(latency.latency_p999_ns),
                format::grouped(transfers),
            ])
        })
        .collect()
}

fn list_of(cell: &Cell) -> String {
    match (cell.segment_bytes, &cell.segment_sizes) {
        (None, Some(runs)) => list_in_words(runs),
        (bytes, _) => list_in_words(&[(cell.segment_count, bytes.unwrap_or(0))]),
    }
}

/// What the queue depth and the latencies are.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    let deep = results.cells.iter().any(|cell| cell.queue_depth > 1);
    if deep {
        notes.push(
            "queue depth: the transfers that asynchronous techniques keep in flight. The floor and \
             the synchronous techniques have one at a time."
                .to_owned(),
        );
    }
    if !latencies(results).is_empty() {
        notes.push(
            "Latency: the time of a transfer from submission to completion; of synchronous techniques, \
             from call to return. 99 % and 99.9 % of the transfers take no longer than the times in these \
             columns, which need 100 and 1000 transfers. The transfers were made apart from the timed \
             samples."
                .to_owned(),
        );
    }
    notes
}
