//! The lists for which asynchronous techniques are faster, in words.

use vectored_report::sort;
use vectored_report::words;

use crate::model::{Cell, Conditions, ListShape, Operation, Results};
use crate::report::shape_text::{SIZE, list_of_shape};
use crate::report::target_names::{conditions_in_words, file_system_in_words};
use crate::stats::{
    AsynchronousOutcome, AsynchronousPair, MIN_ROUNDS, TIE_ZONE, asynchronous_pairs,
    cells_with_helper, cells_with_too_few_rounds,
};

/// A text for each asynchronous technique and set of conditions other than the queue depth, after both in words
/// (`io-uring, file (ext4)`): from which depth and size it takes less time than the synchronous call, and where it does
/// not. It speaks of measured cells only; sizes between measured ones are included if the outcome is the same on both
/// sides.
pub(crate) fn answers(results: &Results) -> Vec<(String, String)> {
    let cells: Vec<&Cell> = results.cells.iter().collect();
    let mut groups: Vec<(Conditions, Vec<AsynchronousPair<'_>>)> = Vec::new();
    for pair in asynchronous_pairs(&cells) {
        let conditions = Conditions {
            queue_depth: 1,
            ..pair.cell.conditions.clone()
        };
        let is_here = |(other, pairs): &&mut (Conditions, Vec<AsynchronousPair<'_>>)| {
            *other == conditions && pairs[0].technique == pair.technique
        };
        match groups.iter_mut().find(is_here) {
            Some((_, pairs)) => pairs.push(pair),
            None => groups.push((conditions, vec![pair])),
        }
    }
    let said = groups.iter().map(|(conditions, pairs)| {
        let place = conditions_in_words(conditions);
        let file_system = file_system_in_words(pairs[0].cell);
        let subject = format!("{}, {place}{file_system}", pairs[0].technique);
        (subject, text(pairs))
    });
    said.collect()
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
        sort::sort_by_key(&mut list.pairs, |pair| pair.cell.conditions.queue_depth);
    }
    sort::sort_by_key(&mut lists, |list| {
        (list.cell().shape(), list.cell().swept_bytes())
    });
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
            .map(|pair| (pair.cell.conditions.queue_depth, pair.outcome))
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

/// `Lists of 10 × 100 KiB take 0.71 [0.68, 0.74] of the time of writev at queue depth 8; at queue depth 1 they take
/// 1.90 [1.84, 1.97] times as long.` The name of the asynchronous technique stands before the text.
fn sentence(lists: &[ListPairs<'_, '_>]) -> String {
    let all = lists[0].outcomes();
    let synchronous = lists[0].pairs[0].synchronous;
    let is_never_faster = all.iter().all(|(_, outcome)| {
        matches!(
            outcome,
            AsynchronousOutcome::Slower | AsynchronousOutcome::Equal
        )
    });
    let measured: Vec<u32> = all.iter().map(|(depth, _)| *depth).collect();
    // "writev" is in the first part only.
    let (mut subject, mut than) = if is_never_faster {
        (
            format!(" are not faster than with {synchronous}: they"),
            String::new(),
        )
    } else {
        (String::new(), format!(" as with {synchronous}"))
    };
    let mut parts: Vec<String> = Vec::new();
    for outcome in [
        AsynchronousOutcome::Faster,
        AsynchronousOutcome::Slower,
        AsynchronousOutcome::Equal,
        AsynchronousOutcome::TooFewRounds,
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
        let depths = depths_in_words(&here, &measured);
        let what = match outcome {
            AsynchronousOutcome::Faster => {
                let ratios = ratios(lists, outcome);
                format!("{subject} take {ratios} of the time of {synchronous}")
            }
            AsynchronousOutcome::Slower => {
                let ratios = ratios(lists, outcome);
                format!("{subject} take {ratios} times as long{than}")
            }
            AsynchronousOutcome::Equal => {
                let percent = TIE_ZONE * 100.0;
                format!("{subject} take as long{than} (within ±{percent:.0} %)")
            }
            // Without the ratio, 120 and 1.2 would look the same.
            AsynchronousOutcome::TooFewRounds => {
                let ratios = ratios_alone(lists, outcome);
                if parts.is_empty() {
                    format!(
                        ": more rounds are needed to compare them with {synchronous} (so far a ratio of {ratios})"
                    )
                } else {
                    format!(" more rounds are needed (so far a ratio of {ratios})")
                }
            }
            AsynchronousOutcome::Open if parts.is_empty() => {
                format!(": no significant difference from {synchronous}")
            }
            AsynchronousOutcome::Open => " the difference is not significant".to_owned(),
        };
        parts.push(if parts.is_empty() {
            format!("{what} {depths}")
        } else {
            format!(" {depths}{what}")
        });
        (subject, than) = (" they".to_owned(), String::new());
    }
    format!("Lists of {}{}.", lists_in_words(lists), parts.join(";"))
}

/// `0.71 [0.68, 0.74]`; of several cells the least and the greatest ratio, `0.62 to 0.71`.
fn ratios(lists: &[ListPairs<'_, '_>], outcome: AsynchronousOutcome) -> String {
    let pairs = lists.iter().flat_map(|list| &list.pairs);
    let here: Vec<_> = pairs.filter(|pair| pair.outcome == outcome).collect();
    if let [only] = here[..]
        && let Some((low, high)) = only.stats.interval
    {
        let [ratio, low, high] = [only.stats.ratio, low, high].map(words::three_digits);
        return format!("{ratio} [{low}, {high}]");
    }
    ratios_alone(lists, outcome)
}

/// The ratios without an interval: `0.71`, `0.62 to 0.71`.
fn ratios_alone(lists: &[ListPairs<'_, '_>], outcome: AsynchronousOutcome) -> String {
    let pairs = lists.iter().flat_map(|list| &list.pairs);
    let here: Vec<_> = pairs.filter(|pair| pair.outcome == outcome).collect();
    let ratios = || here.iter().map(|pair| pair.stats.ratio);
    let least = words::three_digits(ratios().fold(f64::INFINITY, f64::min));
    let most = words::three_digits(ratios().fold(0.0, f64::max));
    if least == most { least } else { format!("{least} to {most}") }
}

/// `at queue depth 8`; `at queue depths 1, 8 and 64`. All of more than [`FEW_DEPTHS`] measured ones are `at every
/// measured queue depth (1, 2, 4, … 64)`. Never a range, since depths between measured ones were not measured.
fn depths_in_words(depths: &[u32], measured: &[u32]) -> String {
    let words: Vec<String> = depths.iter().map(u32::to_string).collect();
    let (last, others) = words.split_last().expect("at least one");
    if others.is_empty() {
        return format!("at queue depth {last}");
    }
    if depths.len() == measured.len() && depths.len() > FEW_DEPTHS {
        let first = others[..FEW_DEPTHS].join(", ");
        let gap = if others.len() > FEW_DEPTHS { "… " } else { "" };
        return format!("at every measured queue depth ({first}, {gap}{last})");
    }
    format!("at queue depths {} and {last}", others.join(", "))
}

/// Up to this many depths are enumerated.
const FEW_DEPTHS: usize = 3;

/// `10 × 100 KiB`; of several sizes `10 × 1 KiB to 100 KiB`, and of a swept mix `1 × 150 B + 1 × SIZE with SIZE =
/// 1 KiB to 64 KiB`.
fn lists_in_words(lists: &[ListPairs<'_, '_>]) -> String {
    let (first, last) = (lists[0].cell(), lists[lists.len() - 1].cell());
    let shape: ListShape<'_> = first.shape();
    let (Some(least), Some(most)) = (first.swept_bytes(), last.swept_bytes()) else {
        return words::list(first.segment_sizes.as_deref().unwrap_or_default());
    };
    let size = |bytes: usize| words::bytes(bytes as u64);
    let sizes = if least == most {
        size(least)
    } else {
        format!("{} to {}", size(least), size(most))
    };
    match shape.swept_mix {
        None => format!("{} × {sizes}", shape.segment_count),
        Some(_) => format!("{} with {SIZE} = {sizes}", list_of_shape(shape)),
    }
}

/// Explains the queue depth.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    let deep = results
        .cells
        .iter()
        .any(|cell| cell.conditions.queue_depth > 1);
    if deep {
        let mut note = "queue depth: the transfers that asynchronous techniques keep in flight. The floor and \
                        the synchronous techniques have one at a time."
            .to_owned();
        let is_deep_read = |cell: &Cell| {
            cell.conditions.queue_depth > 1 && cell.conditions.operation == Operation::Read
        };
        if results.cells.iter().any(is_deep_read) {
            note += " Asynchronous reads fill as many lists of buffers as are in flight. A synchronous read \
                     fills one list again and again, which stays in the CPU caches if it fits.";
        }
        notes.push(note);
    }
    let cells: Vec<&Cell> = results.cells.iter().collect();
    let short = cells_with_too_few_rounds(&cells);
    if short > 0 {
        notes.push(format!(
            "No statement on asynchronous calls for {}, with fewer than {MIN_ROUNDS} rounds; raise --budget.",
            words::count(short, "cell")
        ));
    }
    let helped = cells_with_helper(&cells);
    if helped > 0 {
        notes.push(format!(
            "No statement on asynchronous calls for {}, in which a thread or program at the other end worked during \
             the timed calls: the times depend on how the two wait for each other.",
            words::count(helped, "cell")
        ));
    }
    notes
}
