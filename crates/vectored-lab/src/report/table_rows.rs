//! Sections, rows and notes of a run as text, for the table, Markdown and HTML.

use crate::model::{
    Cell, Drain, ListShape, Results, Target, TechniqueName, TechniqueResult, Verdict, measured_in,
};
use crate::report::crossover_text::no_crossover;
use crate::report::shape_text::{shape_in_words, swept_list_in_words, swept_run_in_words};
use crate::report::target_names::{self, Titles, has_tax, place};
use crate::stats::TIE_ZONE;
use crate::text::format;

/// The cells of one target, operation, sync mode, and state of caches and lists.
pub(crate) struct Section {
    /// `file`, or `file read hot`, or `pipe, cache cold`.
    pub title: String,
    pub tally: String,
    /// Which lists, and what to do with them.
    pub advice: Vec<(String, String)>,
    /// The text in place of a crossover, shown if there is no advice.
    pub no_crossover: String,
    /// The requested cells in their order, with those of [`Results::refined_cells`] inserted by size.
    pub rows: Vec<Row>,
}

/// One cell in words.
pub(crate) struct Row {
    /// Whether the cell was measured between the requested sizes, to place a crossover.
    pub is_refined: bool,
    /// `1000`, or empty for a mix.
    pub count: String,
    /// `16 KiB`, or the whole mix.
    pub size: String,
    /// Of a list of a swept mix, the swept run: `1 × 4 KiB`.
    pub swept_run: Option<String>,
    /// Mark after the list if a thread at the other end took part.
    pub thread_mark: &'static str,
    pub floor: String,
    /// In the order of [`columns`].
    pub entries: Vec<Entry>,
    pub verdict: Verdict,
    /// With the technique's name in full.
    pub words: String,
    /// With [`short_name`] in its place.
    pub short_words: String,
    pub interval: Option<String>,
}

impl Row {
    /// The marks after the list: [`REFINED_MARK`] and the thread's.
    pub fn marks(&self) -> String {
        let between = if self.is_refined { REFINED_MARK } else { "" };
        format!("{between}{}", self.thread_mark)
    }
}

/// Mark of a cell that was measured between the requested ones.
pub(crate) const REFINED_MARK: &str = "+";

/// One technique in one cell.
pub(crate) struct Entry {
    /// Its gather tax, or its time if [`has_tax`] is false.
    pub tax: String,
    pub mark: Mark,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mark {
    None,
    Winner,
    Tie,
}

impl Mark {
    pub fn sign(self) -> &'static str {
        match self {
            Mark::None => "",
            Mark::Winner => "*",
            Mark::Tie => "=",
        }
    }
}

/// The measured techniques, rivals first.
pub(crate) fn columns(results: &Results) -> Vec<TechniqueName> {
    let mut columns = measured_in(&results.cells);
    columns.sort_by_key(|technique| {
        let mut rivals = results.rivals.iter();
        rivals
            .position(|rival| rival == technique)
            .unwrap_or(usize::MAX)
    });
    columns
}

pub(crate) fn sections(results: &Results) -> Vec<Section> {
    let columns = columns(results);
    let titles = Titles::among(&results.cells);
    target_names::sections(&results.cells)
        .into_iter()
        .map(|kind| {
            let is_here = |cell: &&Cell| cell.conditions == *kind;
            let cells: Vec<&Cell> = results.cells.iter().filter(is_here).collect();
            let refined: Vec<&Cell> = results.refined_cells.iter().filter(is_here).collect();
            Section {
                title: titles.of(kind),
                no_crossover: no_crossovers(&cells),
                tally: tally(&cells, refined.len(), &results.rivals),
                advice: results
                    .advice
                    .iter()
                    .filter(|advice| advice.conditions == *kind)
                    .map(|advice| {
                        let lists = shape_in_words(advice.shape());
                        // A saved text may come from anywhere.
                        (lists, format::escape_control(&advice.text))
                    })
                    .collect(),
                rows: rows(results, &is_here, &columns),
            }
        })
        .collect()
}

/// `not decided`; where lists of different shapes differ, `2 segments: none: writev; 16 segments: not decided`.
fn no_crossovers(cells: &[&Cell]) -> String {
    let mut shapes: Vec<ListShape<'_>> = cells.iter().map(|cell| cell.shape()).collect();
    shapes.sort_unstable();
    shapes.dedup();
    let words = shapes.iter().map(|&shape| {
        let is_here = |cell: &&&Cell| cell.shape() == shape;
        let cells: Vec<&Cell> = cells.iter().filter(is_here).copied().collect();
        no_crossover(&cells)
    });
    let words: Vec<String> = words.collect();
    match words.iter().all(|one| *one == words[0]) {
        true => words.into_iter().next().unwrap_or_default(),
        false => std::iter::zip(shapes, words)
            .map(|(shape, found)| format!("{}: {found}", shape_in_words(shape)))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

fn rows(
    results: &Results,
    is_here: &dyn Fn(&&Cell) -> bool,
    columns: &[TechniqueName],
) -> Vec<Row> {
    let requested = results.cells.iter().filter(is_here);
    let mut cells: Vec<(bool, &Cell)> = requested.map(|cell| (false, cell)).collect();
    // Those asked for keep their order, and lists of one shape stay together.
    for cell in results.refined_cells.iter().filter(is_here) {
        let list = |cell: &'_ Cell| (cell.segment_count, cell.swept_bytes());
        let is_below = |(_, other): &(bool, &Cell)| list(other) <= list(cell);
        let is_like = |(_, other): &(bool, &Cell)| other.shape() == cell.shape();
        let of_shape = cells
            .iter()
            .rposition(|other| is_like(other) && is_below(other));
        let last = of_shape.or_else(|| cells.iter().rposition(is_below));
        cells.insert(last.map_or(0, |last| last + 1), (true, cell));
    }
    cells
        .into_iter()
        .map(|(is_refined, cell)| row(is_refined, cell, columns, &results.rivals))
        .collect()
}

/// A sentence for each rival that some targets do not support:
/// `mmap does not work on pipe, unix: it was not measured there`.
pub fn unsuited_in_words(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    for technique in &results.rivals {
        let missing = results
            .cells
            .iter()
            .filter(|cell| cell.technique(*technique).is_none());
        let mut places: Vec<(Target, Option<&str>)> = missing
            .map(|cell| (cell.conditions.target, cell.conditions.path.as_deref()))
            .collect();
        places.sort_unstable();
        places.dedup();
        if !places.is_empty() {
            let names: Vec<String> = places
                .into_iter()
                .map(|(target, path)| place(target, path))
                .collect();
            sentences.push(format!(
                "{technique} does not work on {}: it was not measured there",
                names.join(", ")
            ));
        }
    }
    sentences
}

/// `copy-then-write wins 7 cells, writev 5, tie 3, open 2 (and 4 cells between)`.
fn tally(cells: &[&Cell], between: usize, rivals: &[TechniqueName]) -> String {
    let between = match between {
        0 => String::new(),
        count => format!(" (and {} between)", format::count(count, "cell")),
    };
    tally_of(cells, rivals) + &between
}

pub(crate) fn tally_of(cells: &[&Cell], rivals: &[TechniqueName]) -> String {
    let here: Vec<TechniqueName> = rivals
        .iter()
        .copied()
        .filter(|rival| cells.iter().any(|cell| cell.technique(*rival).is_some()))
        .collect();
    if let [only] = &here[..] {
        return format!(
            "{only} had no rival in {}",
            format::count(cells.len(), "cell")
        );
    }
    let mut wins: Vec<(TechniqueName, usize)> = measured_in(cells.iter().copied())
        .into_iter()
        .map(|technique| {
            let won = |cell: &&&Cell| cell.winner == Some(technique);
            (technique, cells.iter().filter(won).count())
        })
        .filter(|&(_, count)| count > 0)
        .collect();
    wins.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut parts: Vec<String> = wins
        .iter()
        .enumerate()
        .map(|(index, (technique, count))| match index {
            0 => format!("{technique} wins {}", format::count(*count, "cell")),
            _ => format!("{technique} {count}"),
        })
        .collect();
    for (verdict, word) in [(Verdict::Tie, "tie"), (Verdict::Open, "open")] {
        let count = cells.iter().filter(|cell| cell.verdict == verdict).count();
        if count > 0 {
            parts.push(format!("{word} {count}"));
        }
    }
    parts.join(", ")
}

fn row(is_refined: bool, cell: &Cell, columns: &[TechniqueName], rivals: &[TechniqueName]) -> Row {
    let (count, size) = match (cell.segment_bytes, &cell.segment_sizes) {
        (Some(bytes), _) => (
            cell.segment_count.to_string(),
            format::bytes_in_words(bytes as u64),
        ),
        (None, Some(runs)) => match &cell.swept_mix {
            Some(mix) => (String::new(), swept_list_in_words(mix, runs)),
            None => (String::new(), format::list_in_words(runs)),
        },
        (None, None) => (cell.segment_count.to_string(), "mixed".to_owned()),
    };
    let (words, interval) = verdict_in_words(cell, rivals, TechniqueName::as_str);
    let (short_words, _) = verdict_in_words(cell, rivals, short_name);
    Row {
        is_refined,
        count,
        size,
        swept_run: cell
            .swept_mix
            .as_ref()
            .zip(cell.swept_bytes())
            .map(|(mix, bytes)| swept_run_in_words(mix, bytes)),
        thread_mark: match cell.drain.filter(|_| cell.conditions.writers.is_none()) {
            Some(Drain::ReaderThread) => "r",
            Some(Drain::WriterThread) => "w",
            Some(Drain::BetweenSamples | Drain::Peer) | None => "",
        },
        floor: format::time(cell.floor_ns),
        entries: columns
            .iter()
            .map(|&technique| entry(cell, technique, rivals))
            .collect(),
        verdict: cell.verdict,
        words,
        short_words,
        interval,
    }
}

fn entry(cell: &Cell, technique: TechniqueName, rivals: &[TechniqueName]) -> Entry {
    let Some(result) = cell.technique(technique) else {
        return Entry {
            tax: "–".to_owned(),
            mark: Mark::None,
        };
    };
    let in_tie_zone = || {
        let rival = rivals.contains(&technique);
        let low = result.ratio_low.is_some_and(|low| low >= 1.0 - TIE_ZONE);
        let high = result.ratio_high.is_some_and(|high| high <= 1.0 + TIE_ZONE);
        cell.leader == Some(technique) || (rival && low && high)
    };
    let mark = match cell.verdict {
        Verdict::Faster if cell.winner == Some(technique) => Mark::Winner,
        Verdict::Tie if in_tie_zone() => Mark::Tie,
        _ => Mark::None,
    };
    Entry {
        tax: match has_tax(cell) {
            // Paired by round, as in verdicts and curves.
            true => format::tax(
                result
                    .floor_ratio
                    .map_or(result.gather_tax, |ratio| ratio - 1.0),
            ),
            false => format::time(result.median_ns),
        },
        mark,
    }
}

/// A name that fits a narrow column.
pub(crate) fn short_name(technique: TechniqueName) -> &'static str {
    match technique {
        TechniqueName::COPY_THEN_WRITE => "copy",
        TechniqueName::READ_THEN_SPLIT => "split",
        TechniqueName::WRITE_EACH | TechniqueName::READ_EACH => "each",
        other => other.as_str(),
    }
}

/// The rival nearest to the leader, of those that compete.
pub(crate) fn nearest_rival<'a>(
    cell: &'a Cell,
    rivals: &[TechniqueName],
) -> Option<&'a TechniqueResult> {
    cell.techniques
        .iter()
        .filter(|technique| rivals.contains(&technique.name))
        .filter(|technique| Some(technique.name) != cell.leader)
        .min_by(|a, b| a.ratio_to_leader.total_cmp(&b.ratio_to_leader))
}

/// The technique that a report names as the leader. `None` if a rival takes less time in the median
/// round, which is possible since median ratios are not transitive.
pub(crate) fn named_leader(cell: &Cell, rivals: &[TechniqueName]) -> Option<TechniqueName> {
    let nearest = nearest_rival(cell, rivals).map(|rival| rival.ratio_to_leader);
    let trails = cell.verdict == Verdict::Open && nearest.is_some_and(|ratio| ratio < 1.0);
    cell.winner.or(cell.leader).filter(|_| !trails)
}

/// The verdict, and the 95 % interval of the number in it.
pub(crate) fn verdict_in_words(
    cell: &Cell,
    rivals: &[TechniqueName],
    name: fn(TechniqueName) -> &'static str,
) -> (String, Option<String>) {
    let Some(nearest) = nearest_rival(cell, rivals).filter(|_| cell.leader.is_some()) else {
        return ("no rival".to_owned(), None);
    };
    let (margin, interval) = format::margin(
        nearest.ratio_to_leader,
        nearest.ratio_low.zip(nearest.ratio_high),
    );
    let open = match cell.open_because {
        Some(why) => format!("open ({})", why.name()),
        None => "open".to_owned(),
    };
    match (cell.verdict, named_leader(cell, rivals)) {
        (Verdict::Tie, _) => (format!("tie (±{:.0} %)", TIE_ZONE * 100.0), None),
        (Verdict::Faster, Some(winner)) => (format!("{} by {margin}", name(winner)), interval),
        (Verdict::Open, _) if interval.is_none() => {
            let rounds = format::count(cell.rounds as usize, "round");
            (format!("{open}: {rounds}"), None)
        }
        (Verdict::Open, Some(leader)) => (format!("{open}: {} +{margin}", name(leader)), interval),
        (Verdict::Faster | Verdict::Open, None) => (format!("{open}: no leader"), None),
    }
}

/// How many cells and rounds were measured, and whether the run is complete.
pub(crate) fn extent(results: &Results) -> String {
    let between = match results.refined_cells.len() {
        0 => String::new(),
        count => format!(" and {count} between them"),
    };
    let rounds = results.cells.iter().map(|cell| cell.rounds);
    let fewest = rounds.clone().min().unwrap_or(0);
    let most = rounds.max().unwrap_or(0);
    let rounds = match fewest == most {
        true => format::count(most as usize, "round"),
        false => format!("{fewest} to {most} rounds"),
    };
    let short = if results.complete {
        ""
    } else {
        "; incomplete: the run ended before every cell had the minimum of 20 rounds"
    };
    format!(
        "{}{between} in {:.1} s, {rounds} each{short}",
        format::count(results.cells.len(), "cell"),
        results.elapsed_s
    )
}
