//! What several writers at once achieve, in words and as tables.

use crate::model::{
    Cell, Conditions, RecordCounts, Results, Target, Technique, Verdict, WriterAdvice,
    WriterFigures, WriterTargets, Writers,
};
use crate::report::compare::conditions_in_words;
use crate::report::grid::Grid;
use crate::report::target_names::place;
use crate::text::format;
use crate::text::format::{escape_control, list_in_words, three_digits};

/// One entry for each set of conditions other than the number of writers: which technique is fastest with how many
/// writers, and how the total throughput changes.
pub fn writer_advice(cells: &[&Cell], rivals: &[Technique]) -> Vec<WriterAdvice> {
    groups(cells)
        .into_iter()
        .map(|(conditions, cells)| {
            let mut counts: Vec<u32> = cells.iter().filter_map(|cell| writers(cell)).collect();
            counts.sort_unstable();
            counts.dedup();
            let mut lists: Vec<ListCells<'_>> = Vec::new();
            for cell in cells {
                match lists.iter_mut().find(|list| list.is_of(cell)) {
                    Some(list) => list.cells.push(cell),
                    None => lists.push(ListCells { cells: vec![cell] }),
                }
            }
            for list in &mut lists {
                list.cells.sort_by_key(|cell| writers(cell));
            }
            let mut alike: Vec<Vec<ListCells<'_>>> = Vec::new();
            for list in lists {
                let outcomes = list.outcomes(rivals);
                match alike
                    .iter_mut()
                    .find(|others| others[0].outcomes(rivals) == outcomes)
                {
                    Some(others) => others.push(list),
                    None => alike.push(vec![list]),
                }
            }
            let sentences: Vec<String> =
                alike.iter().map(|lists| sentence(lists, rivals)).collect();
            WriterAdvice {
                conditions: with_count(&conditions, counts[0]),
                writer_counts: counts,
                text: sentences.join(" "),
            }
        })
        .collect()
}

/// Cells with writers by their conditions, with a number of writers of 1.
fn groups<'a>(cells: &[&'a Cell]) -> Vec<(Conditions, Vec<&'a Cell>)> {
    let mut groups: Vec<(Conditions, Vec<&'a Cell>)> = Vec::new();
    for &cell in cells.iter().filter(|cell| cell.writers.is_some()) {
        let conditions = with_count(&cell.conditions(), 1);
        match groups.iter_mut().find(|(other, _)| *other == conditions) {
            Some((_, group)) => group.push(cell),
            None => groups.push((conditions, vec![cell])),
        }
    }
    groups
}

fn with_count(conditions: &Conditions, count: u32) -> Conditions {
    let writers = conditions
        .writers
        .map(|writers| Writers { count, ..writers });
    Conditions {
        writers,
        ..conditions.clone()
    }
}

fn writers(cell: &Cell) -> Option<u32> {
    cell.writers.map(|writers| writers.count)
}

/// The cells of one list, by ascending number of writers.
struct ListCells<'a> {
    cells: Vec<&'a Cell>,
}

/// What is said of the fastest technique.
#[derive(PartialEq)]
enum Fastest {
    One(Technique),
    Tie(Vec<Technique>),
    Open,
}

impl ListCells<'_> {
    fn is_of(&self, cell: &Cell) -> bool {
        let this = self.cells[0];
        this.segment_count == cell.segment_count
            && this.segment_bytes == cell.segment_bytes
            && this.segment_sizes == cell.segment_sizes
    }

    /// The fastest techniques, each with the numbers of writers for which it is the fastest.
    fn outcomes(&self, rivals: &[Technique]) -> Vec<(Fastest, Vec<u32>)> {
        let mut outcomes: Vec<(Fastest, Vec<u32>)> = Vec::new();
        for cell in &self.cells {
            let count = writers(cell).unwrap_or(1);
            let fastest = fastest(cell, rivals);
            match outcomes.iter_mut().find(|(other, _)| *other == fastest) {
                Some((_, counts)) => counts.push(count),
                None => outcomes.push((fastest, vec![count])),
            }
        }
        outcomes
    }

    /// Records of all of the most writers in a second ÷ those of the fewest, each by the leader there.
    fn scaling(&self) -> Option<f64> {
        let rate = |cell: &Cell| {
            let leader = cell.technique(cell.leader?)?;
            Some(leader.writers.as_ref()?.records_per_s)
        };
        let (first, others) = self.cells.split_first()?;
        Some(rate(others.last()?)? / rate(first)?)
    }

    fn counts(&self) -> (u32, u32) {
        let count = |cell: Option<&&Cell>| cell.and_then(|cell| writers(cell)).unwrap_or(1);
        (count(self.cells.first()), count(self.cells.last()))
    }
}

/// `2 × 64 B and 2 × 1 KiB: writev is fastest with 1 and 2 writers; copy-then-write is fastest with 4 writers; 4 writers
/// together write 2.10 to 2.35 times as many records a second as 1.`
fn sentence(lists: &[ListCells<'_>], rivals: &[Technique]) -> String {
    let parts: Vec<String> = lists[0]
        .outcomes(rivals)
        .iter()
        .map(|(fastest, counts)| {
            let with = counts_in_words(counts);
            match fastest {
                Fastest::One(technique) => format!("{technique} is fastest {with}"),
                Fastest::Tie(techniques) => {
                    let names = techniques.iter().map(Technique::to_string);
                    format!(
                        "{} are equally fast {with}",
                        enumerated(&names.collect::<Vec<_>>())
                    )
                }
                Fastest::Open => format!("no technique is significantly the fastest {with}"),
            }
        })
        .collect();
    let names: Vec<String> = lists.iter().map(|list| list_of(list.cells[0])).collect();
    let mut text = format!("{}: {}", enumerated(&names), parts.join("; "));
    let ratios: Vec<f64> = lists.iter().filter_map(ListCells::scaling).collect();
    if !ratios.is_empty() {
        let least = three_digits(ratios.iter().copied().fold(f64::INFINITY, f64::min));
        let most = three_digits(ratios.iter().copied().fold(0.0, f64::max));
        let ratio = match least == most {
            true => least,
            false => format!("{least} to {most}"),
        };
        let (fewest, count) = lists[0].counts();
        text += &format!(
            "; {count} writers together write {ratio} times as many records a second as {fewest}"
        );
    }
    text + "."
}

fn fastest(cell: &Cell, rivals: &[Technique]) -> Fastest {
    match (cell.verdict, cell.winner, cell.leader) {
        (Verdict::Faster, Some(winner), _) => Fastest::One(winner),
        (Verdict::Tie, _, Some(_)) => {
            let tied = cell.techniques.iter().filter(|one| {
                rivals.contains(&one.name)
                    && one
                        .ratio_high
                        .is_some_and(|high| high <= 1.0 + crate::stats::TIE_ZONE)
            });
            match tied.map(|one| one.name).collect::<Vec<_>>() {
                names if names.len() >= 2 => Fastest::Tie(names),
                _ => Fastest::Open,
            }
        }
        _ => Fastest::Open,
    }
}

/// `with 1 writer`, `with 1, 2 and 4 writers`.
fn counts_in_words(counts: &[u32]) -> String {
    let words: Vec<String> = counts.iter().map(u32::to_string).collect();
    let noun = if counts == [1] { "writer" } else { "writers" };
    format!("with {} {noun}", enumerated(&words))
}

/// `a`, `a and b`, `a, b and c`.
fn enumerated(words: &[String]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Each entry of [`Results::writer_advice`] with the place that it is about: `file (ext4), threads, shared target`.
pub(crate) fn answers(results: &Results) -> Vec<(String, String)> {
    let entries = results.writer_advice.iter();
    entries
        .map(|advice| {
            let is_here = |cell: &&Cell| cell.conditions() == advice.conditions;
            let cell = results.cells.iter().find(is_here);
            // A saved text may come from anywhere.
            (
                title(&advice.conditions, cell),
                escape_control(&advice.text),
            )
        })
        .collect()
}

fn title(conditions: &Conditions, cell: Option<&Cell>) -> String {
    let others = Conditions {
        writers: None,
        drain: None,
        ..conditions.clone()
    };
    let file_system = cell.and_then(|cell| cell.file_system.as_deref());
    let file_system = file_system
        .map(|name| format!(" ({})", escape_control(name)))
        .unwrap_or_default();
    let target = place(conditions.target, conditions.path.as_deref());
    let words = conditions_in_words(&others);
    let states = words.strip_prefix(&target).unwrap_or_default();
    let writers = conditions.writers.map(|writers| {
        let targets = match writers.targets {
            WriterTargets::Shared => "shared target",
            WriterTargets::Own => "a target each",
        };
        format!(", {}, {targets}", writers.kind.name())
    });
    format!(
        "{target}{file_system}{states}{}",
        writers.unwrap_or_default()
    )
}

/// A table for each set of conditions with writers.
pub(crate) fn tables(results: &Results) -> Vec<Grid> {
    let cells: Vec<&Cell> = results.cells.iter().collect();
    groups(&cells)
        .into_iter()
        .map(|(conditions, cells)| Grid {
            title: format!(
                "Several writers: {}",
                title(&conditions, cells.first().copied())
            ),
            heads: HEADS.map(str::to_owned).to_vec(),
            names: 3,
            rows: cells.into_iter().flat_map(rows).collect(),
        })
        .collect()
}

const HEADS: [&str; 8] = [
    "list",
    "writers",
    "technique",
    "fastest writer",
    "slowest writer",
    "records/s",
    "fairness",
    "not whole",
];

/// A row for each technique; only the first one has the list and the number of writers.
fn rows(cell: &Cell) -> Vec<Vec<String>> {
    let (mut list, mut count) = (list_of(cell), writers(cell).unwrap_or(1).to_string());
    let techniques = cell.techniques.iter();
    techniques
        .filter_map(|technique| {
            let figures = technique.writers.as_ref()?;
            let times = || figures.writer_median_ns.iter().copied();
            Some(vec![
                std::mem::take(&mut list),
                std::mem::take(&mut count),
                technique.name.to_string(),
                format::time(times().fold(f64::INFINITY, f64::min)),
                format::time(times().fold(0.0, f64::max)),
                format::grouped(figures.records_per_s as u64),
                format!("{:.2}", figures.fairness),
                not_whole(figures),
            ])
        })
        .collect()
}

/// `0`; `3.1 % torn`, with a `?` if the kernel does not promise whole records.
fn not_whole(figures: &WriterFigures) -> String {
    let sign = if figures.whole_records_promised {
        ""
    } else {
        "?"
    };
    if figures.records.is_sound() {
        return format!("0{sign}");
    }
    let all = figures.records.records.max(1) as f64;
    let parts = kinds(&figures.records);
    let parts = parts.filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| match count as f64 / all {
            share if share < 0.001 => format!("<0.1 % {what}"),
            share => format!("{} {what}", format::percent(share)),
        })
        .collect();
    format!("{}{sign}", parts.join(", "))
}

fn kinds(counts: &RecordCounts) -> impl Iterator<Item = (u64, &'static str)> {
    [
        (counts.torn, "torn"),
        (counts.lost, "lost"),
        (counts.doubled, "doubled"),
        (counts.out_of_order, "out of order"),
    ]
    .into_iter()
}

fn list_of(cell: &Cell) -> String {
    match (cell.segment_bytes, &cell.segment_sizes) {
        (None, Some(runs)) => list_in_words(runs),
        (bytes, _) => list_in_words(&[(cell.segment_count, bytes.unwrap_or(0))]),
    }
}

/// What the figures of several writers are.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let cells = || results.cells.iter().filter(|cell| cell.writers.is_some());
    if cells().next().is_none() {
        return Vec::new();
    }
    let mut notes = vec![
        "Writers start each sample together. Each list is a record with the numbers of its writer and of itself in \
         its first 16 bytes. The times above, the floor's too, are those in which every writer writes one record: \
         from the common start to the end of the last writer."
            .to_owned(),
        "Several writers: the times are those of one record for the fastest and for the slowest writer, from the \
         common start to the end of that writer, medians over the rounds. Records per \
         second are those of all writers together. Fairness is Jain's index of the writers' rates: 1 if all are \
         equal, 1/n if one of n writers has everything."
            .to_owned(),
    ];
    let any = |is: &dyn Fn(&WriterFigures) -> bool| {
        let mut all = cells().flat_map(|cell| &cell.techniques);
        all.any(|technique| technique.writers.as_ref().is_some_and(is))
    };
    let mut whole =
        "Every record was read back and looked for. \"Not whole\" are records that are torn \
                     (bytes of others stand between their own), lost, doubled or out of order."
            .to_owned();
    if any(&|figures| !figures.whole_records_promised) {
        whole += " ?: the kernel does not promise whole records there, so this is what was observed: several calls \
                  for a record, more than PIPE_BUF (4 KiB) to a shared pipe, a shared socket, or a file system \
                  whose appends are not known to be in one piece.";
    }
    notes.push(whole);
    let most = cells().filter_map(writers).max().unwrap_or(1);
    let cpus = results.host.cpu.allowed_cpus.len();
    if cpus > 0 && most as usize > cpus {
        notes.push(format!(
            "With more writers than CPUs (up to {most} on {cpus}) some start when others have ended or are interrupted."
        ));
    }
    if cells().any(|cell| cell.target != Target::File) {
        notes.push(
            "Pipes and sockets of several writers are read by a thread during the samples, so no crossover is located \
             there."
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_writers_are_enumerated() {
        assert_eq!(counts_in_words(&[1]), "with 1 writer");
        assert_eq!(counts_in_words(&[4]), "with 4 writers");
        assert_eq!(counts_in_words(&[1, 2, 4]), "with 1, 2 and 4 writers");
    }

    #[test]
    fn an_observation_without_a_promise_is_marked() {
        let figures = |torn, whole_records_promised| WriterFigures {
            writer_median_ns: vec![1.0],
            records_per_s: 1.0,
            bytes_per_s: 1.0,
            fairness: 1.0,
            fairness_min: 1.0,
            whole_records_promised,
            records: RecordCounts {
                records: 1000,
                torn,
                ..RecordCounts::default()
            },
        };
        assert_eq!(not_whole(&figures(0, true)), "0");
        assert_eq!(not_whole(&figures(0, false)), "0?");
        assert_eq!(not_whole(&figures(31, false)), "3.1 % torn?");
    }
}
