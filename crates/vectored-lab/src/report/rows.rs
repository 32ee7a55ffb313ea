//! What the table and the Markdown have in common: the words of each row.

use super::places::{self, Kind, Titles, has_tax, place};
use super::words;
use crate::model::{
    Cache, Cell, Drain, IovecSetup, Layout, Operation, PageCache, Results, Target, Technique,
    Verdict,
};
use crate::stats::{TIE_ZONE, median};

/// The cells of one target, operation, mode of sync, and state of caches and
/// lists.
pub(super) struct Section {
    /// `file`, or `file read hot`, or `pipe, cache cold`.
    pub title: String,
    pub tally: String,
    /// Which lists, and what to do with them.
    pub advice: Vec<(String, String)>,
    pub rows: Vec<Row>,
}

/// One cell in words.
pub(super) struct Row {
    /// `1000`, or empty for a mix.
    pub count: String,
    /// `16 KiB`, or the whole mix.
    pub size: String,
    /// Behind the list, where a thread at the other end took part.
    pub thread_mark: &'static str,
    pub floor: String,
    /// In the order of [`columns`].
    pub entries: Vec<Entry>,
    pub verdict: Verdict,
    pub words: String,
    pub interval: Option<String>,
}

/// One technique in one cell.
pub(super) struct Entry {
    /// Its gather tax, or its time where a tax would say nothing.
    pub tax: String,
    pub mark: Mark,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mark {
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

/// The techniques, those that compete first.
pub(super) fn columns(results: &Results) -> Vec<Technique> {
    let measured = |technique: &Technique| {
        let mut cells = results.cells.iter();
        cells.any(|cell| cell.technique(*technique).is_some())
    };
    let mut columns: Vec<Technique> = Technique::ALL.into_iter().filter(measured).collect();
    columns.sort_by_key(|technique| !results.rivals.contains(technique));
    columns
}

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let columns = columns(results);
    let titles = Titles::among(&results.cells);
    let mut kinds: Vec<Kind<'_>> = results.cells.iter().map(Kind::of).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
        .into_iter()
        .map(|kind| {
            let cells: Vec<&Cell> = results
                .cells
                .iter()
                .filter(|cell| Kind::of(cell) == kind)
                .collect();
            Section {
                title: titles.of(kind),
                tally: tally(&cells, &results.rivals),
                advice: results
                    .advice
                    .iter()
                    .filter(|advice| Kind::of_conditions(&advice.conditions) == kind)
                    .map(|advice| {
                        let lists = words::count(advice.segment_count, "segment");
                        // A saved text may come from anywhere.
                        (lists, words::escape_control(&advice.text))
                    })
                    .collect(),
                rows: cells
                    .iter()
                    .map(|cell| row(cell, &columns, &results.rivals))
                    .collect(),
            }
        })
        .collect()
}

/// The named techniques that some targets cannot be measured with, a sentence
/// each: `mmap is for files only: it was not measured on pipe, unix`.
pub fn unsuited_in_words(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    for technique in &results.rivals {
        let Some(needed) = technique.needs() else {
            continue;
        };
        let mut places: Vec<(Target, Option<&str>)> = results
            .cells
            .iter()
            .filter(|cell| cell.technique(*technique).is_none())
            .map(|cell| (cell.target, cell.path.as_deref()))
            .collect();
        places.sort_unstable();
        places.dedup();
        if !places.is_empty() {
            let names: Vec<String> = places
                .into_iter()
                .map(|(target, path)| place(target, path))
                .collect();
            sentences.push(format!(
                "{technique} is for {needed} only: it was not measured on {}",
                names.join(", ")
            ));
        }
    }
    sentences
}

/// `copy-then-write wins 7 cells, writev 5, tie 3, open 2`.
fn tally(cells: &[&Cell], rivals: &[Technique]) -> String {
    let here: Vec<Technique> = rivals
        .iter()
        .copied()
        .filter(|rival| cells.iter().any(|cell| cell.technique(*rival).is_some()))
        .collect();
    if let [only] = &here[..] {
        return format!(
            "{only} had no rival in {}",
            words::count(cells.len(), "cell")
        );
    }
    let mut wins: Vec<(Technique, usize)> = Technique::ALL
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
            0 => format!("{technique} wins {}", words::count(*count, "cell")),
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

fn row(cell: &Cell, columns: &[Technique], rivals: &[Technique]) -> Row {
    let (count, size) = match (cell.segment_bytes, &cell.segment_sizes) {
        (Some(bytes), _) => (
            cell.segment_count.to_string(),
            words::bytes_in_words(bytes as u64),
        ),
        (None, Some(runs)) => (String::new(), words::list_in_words(runs)),
        (None, None) => (cell.segment_count.to_string(), "mixed".to_owned()),
    };
    let (words, interval) = verdict_in_words(cell, rivals);
    Row {
        count,
        size,
        thread_mark: match cell.drain {
            Some(Drain::ReaderThread) => "r",
            Some(Drain::WriterThread) => "w",
            Some(Drain::BetweenSamples | Drain::Peer) | None => "",
        },
        floor: words::time(cell.floor_ns),
        entries: columns
            .iter()
            .map(|&technique| entry(cell, technique, rivals))
            .collect(),
        verdict: cell.verdict,
        words,
        interval,
    }
}

fn entry(cell: &Cell, technique: Technique, rivals: &[Technique]) -> Entry {
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
            true => words::tax(result.gather_tax),
            false => words::time(result.median_ns),
        },
        mark,
    }
}

/// The verdict, and the 95 % interval of the number in it.
fn verdict_in_words(cell: &Cell, rivals: &[Technique]) -> (String, Option<String>) {
    let competing = || cell.techniques.iter().filter(|t| rivals.contains(&t.name));
    let nearest = competing()
        .filter(|technique| Some(technique.name) != cell.leader)
        .min_by(|a, b| a.ratio_to_leader.total_cmp(&b.ratio_to_leader));
    let (Some(leader), Some(nearest)) = (cell.leader, nearest) else {
        return ("no rival".to_owned(), None);
    };
    let (margin, interval) = words::margin(
        nearest.ratio_to_leader,
        nearest.ratio_low.zip(nearest.ratio_high),
    );
    match cell.verdict {
        Verdict::Faster => (format!("{leader} by {margin}"), interval),
        Verdict::Tie => (format!("tie (±{:.0} %)", TIE_ZONE * 100.0), None),
        Verdict::Open if interval.is_none() => (
            format!("open: {} only", words::count(cell.rounds as usize, "round")),
            None,
        ),
        Verdict::Open => {
            // Between medians the leader may lead while it trails in pairs.
            let sign = if margin.starts_with('-') { "" } else { "+" };
            (format!("open: {leader} {sign}{margin}"), interval)
        }
    }
}

/// What was measured, and whether it is all.
pub(super) fn extent(results: &Results) -> String {
    let rounds = results.cells.iter().map(|cell| cell.rounds);
    let fewest = rounds.clone().min().unwrap_or(0);
    let most = rounds.max().unwrap_or(0);
    let rounds = match fewest == most {
        true => words::count(most as usize, "round"),
        false => format!("{fewest} to {most} rounds"),
    };
    let short = if results.complete {
        ""
    } else {
        "; incomplete: it ended before every cell had its fewest rounds"
    };
    format!(
        "{} in {:.1} s, {rounds} each{short}",
        words::count(results.cells.len(), "cell"),
        results.elapsed_s
    )
}

/// What a reader needs to know to read the rows, a paragraph each.
pub(super) fn notes(results: &Results) -> Vec<String> {
    let is_read = |cell: &Cell| cell.operation == Operation::Read;
    let reads = !results.cells.is_empty() && results.cells.iter().all(is_read);
    let (floor, example) = match reads {
        false => ("write of the same bytes, already in one piece", "writev"),
        true => ("read of the same bytes into one piece", "readv"),
    };
    let figures = match results.cells.iter().any(has_tax) || results.cells.is_empty() {
        true => {
            "The other figures are the gather tax, time ÷ floor − 1; 12× means twelve times the \
             floor."
        }
        false => "The other figures are times a call.",
    };
    let mut notes = vec![format!("floor: one {floor}. {figures}")];
    if results.rivals.len() > 1 {
        notes.push(format!(
            "* wins: faster than every rival. = ties: within ±2 % of the leader. \
             \"{example} by 9 % [7, 11]\": the nearest rival takes 9 % longer, with its 95 % \
             interval. \"open: {example} +9 % [-2, 20]\": it leads, but not surely within this \
             budget."
        ));
    }
    if !results.crossovers.is_empty() {
        notes.push(
            "\"below 1.40 KiB [1.31, 1.52]\": where each segment is smaller than that; in \
             brackets, the interval in which the border lies."
                .to_owned(),
        );
    }
    for (state, words) in [
        (PageCache::Hot, "hot: the file was in the page cache."),
        (
            PageCache::Cold,
            "cold: the file was evicted from the page cache before each call, and each call was \
             seen to fetch its bytes from the device.",
        ),
    ] {
        if results
            .cells
            .iter()
            .any(|cell| cell.page_cache == Some(state))
        {
            notes.push(words.to_owned());
        }
    }
    let has = |is: &dyn Fn(&Cell) -> bool| results.cells.iter().any(is);
    if has(&|cell| cell.cache == Cache::Cold) {
        notes.push(
            "cache cold: each call's bytes, the floor's as well, come from memory: calls draw them \
             from a pool that exceeds the CPU's caches."
                .to_owned(),
        );
    }
    if has(&|cell| cell.layout == Layout::Adjacent) {
        notes.push(
            "layout adjacent: the segments lie one directly after another in memory.".to_owned(),
        );
    }
    if has(&|cell| cell.iovec_setup == IovecSetup::Once) {
        notes.push(
            "iovec-setup once: the array that a call takes is filled before it is timed."
                .to_owned(),
        );
    }
    let beside: Vec<&str> = columns(results)
        .into_iter()
        .filter(|technique| !results.rivals.contains(technique))
        .map(Technique::name)
        .collect();
    if !beside.is_empty() {
        notes.push(format!(
            "{} is shown beside and takes no part in the verdict.",
            beside.join(", ")
        ));
    }
    for (drain, mark, did) in [
        (Drain::ReaderThread, "r", "read"),
        (Drain::WriterThread, "w", "wrote"),
    ] {
        if results.cells.iter().any(|cell| cell.drain == Some(drain)) {
            notes.push(format!(
                "{mark}: the list does not fit the target, so a thread on another CPU {did} while \
                 the call was timed."
            ));
        }
    }
    notes.extend(places::notes(results));
    notes.extend(noise(results));
    for warning in &results.host.warnings {
        notes.push(format!("Warning: {}.", words::escape_control(warning)));
    }
    for sentence in unsuited_in_words(results) {
        notes.push(format!("{sentence}."));
    }
    for group in words::left_out_in_words(&results.left_out) {
        notes.push(format!("Not measured ({}): {}.", group.reason, group.cells));
    }
    notes.push(format!("Seed {}.", results.seed));
    notes
}

fn noise(results: &Results) -> Option<String> {
    let cells = || results.cells.iter().filter(|cell| has_tax(cell));
    let floors: Vec<f64> = cells().filter_map(|c| c.noise_floor).collect();
    let typical = words::percent(median(&floors)?);
    let apart = cells().filter(|c| c.aa_separated).count();
    let apart = match apart {
        0 => String::new(),
        _ => format!(" (surely in {})", words::count(apart, "cell")),
    };
    Some(format!(
        "Noise: the floor, measured twice under two names, differs by up to {typical} in the \
         median cell{apart}; nothing smaller than a cell's own noise is called."
    ))
}
