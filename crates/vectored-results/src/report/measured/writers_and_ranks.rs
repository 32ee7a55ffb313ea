//! The tables of several writers, or of the ranks of a cluster.

use vectored_report::sort;
use vectored_report::words::{grouped, percent, time};
use vectored_report::{Block, Cell as Entry, Column, Section, Table};

use crate::model::{Cell, Conditions, Rank, Results, TechniqueResult};
use crate::report::shape_text::list_of_cell;
use crate::report::target_names::{conditions_in_words, file_system_in_words, place};

/// The most rows of the table of ranks. With more ranks it shows the slowest.
const MAX_ROWS: usize = 16;

/// The most stragglers that a row names.
const MAX_NAMED: usize = 4;

/// The writers or ranks that work at the same time.
struct Crowd {
    noun: &'static str,
    /// The number of them in conditions, if these have any.
    count_in: fn(&mut Conditions) -> &mut Option<u32>,
    /// The heads of their figures.
    figures: [&'static str; 4],
    rows: fn(&Cell) -> Vec<Vec<String>>,
}

const WRITERS: Crowd = Crowd {
    noun: "writers",
    count_in: |conditions| &mut conditions.writers,
    figures: ["fastest writer", "slowest writer", "records/s", "fairness"],
    rows: writer_rows,
};

const RANKS: Crowd = Crowd {
    noun: "ranks",
    count_in: |conditions| &mut conditions.ranks,
    figures: ["fastest rank", "slowest rank", "calls/s", "stragglers"],
    rows: rank_rows,
};

impl Crowd {
    /// A section for each set of conditions other than their number.
    fn sections(&self, cells: &[Cell]) -> Vec<Section> {
        let mut groups: Vec<(Conditions, Vec<&Cell>)> = Vec::new();
        for cell in cells {
            let mut conditions = cell.conditions.clone();
            if (self.count_in)(&mut conditions).take().is_none() {
                continue;
            }
            match groups.iter_mut().find(|(other, _)| *other == conditions) {
                Some((_, group)) => group.push(cell),
                None => groups.push((conditions, vec![cell])),
            }
        }
        let groups = groups.into_iter();
        groups
            .map(|(conditions, cells)| self.section(&conditions, &cells))
            .collect()
    }

    /// The section of cells under these conditions: `Several writers: file (ext4) read hot`.
    fn section(&self, conditions: &Conditions, cells: &[&Cell]) -> Section {
        let target = place(conditions);
        let words = conditions_in_words(conditions);
        let states = words.strip_prefix(&target).unwrap_or_default();
        let file_system = file_system_in_words(cells[0]);
        let names = ["list", self.noun, "technique"].map(Column::words);
        let figures = self.figures.map(Column::figures);
        let rows = cells.iter().flat_map(|cell| (self.rows)(cell));
        Section {
            title: format!("Several {}: {target}{file_system}{states}", self.noun).into(),
            blocks: vec![Block::Table(Table {
                columns: names.into_iter().chain(figures).collect(),
                rows: rows
                    .map(|row| row.into_iter().map(Entry::from).collect())
                    .collect(),
                ..Table::default()
            })],
        }
    }
}

/// A section for each set of conditions other than the number of writers or of ranks, and one of the ranks.
pub(super) fn sections(results: &Results) -> Vec<Section> {
    let mut sections = WRITERS.sections(&results.cells);
    sections.extend(RANKS.sections(&results.cells));
    sections.extend(ranks(&results.ranks));
    sections
}

fn writer_rows(cell: &Cell) -> Vec<Vec<String>> {
    rows(cell, cell.conditions.writers, |technique| {
        let figures = technique.writers.as_ref()?;
        let rest = vec![
            grouped(figures.records_per_s as u64),
            format!("{:.2}", figures.fairness),
        ];
        Some((&figures.writer_median_ns, rest))
    })
}

fn rank_rows(cell: &Cell) -> Vec<Vec<String>> {
    rows(cell, cell.conditions.ranks, |technique| {
        let figures = technique.ranks.as_ref()?;
        let rest = vec![
            grouped(figures.calls_per_s as u64),
            named(&figures.stragglers),
        ];
        Some((&figures.rank_median_ns, rest))
    })
}

/// A row for each technique that has figures: the times of its writers or ranks, and the cells after the fastest and the
/// slowest time. Only the first row has the list and the number of writers or ranks.
fn rows(
    cell: &Cell,
    count: Option<u32>,
    figures: impl Fn(&TechniqueResult) -> Option<(&Vec<f64>, Vec<String>)>,
) -> Vec<Vec<String>> {
    let mut names = [list_of_cell(cell), count.unwrap_or(1).to_string()];
    let rows = cell.techniques.iter().filter_map(|technique| {
        let (times_ns, rest) = figures(technique)?;
        let [list, count] = std::mem::take(&mut names);
        let [fastest, slowest] = extremes(times_ns);
        let mut row = vec![list, count, technique.name.to_string(), fastest, slowest];
        row.extend(rest);
        Some(row)
    });
    rows.collect()
}

/// The times of the fastest and of the slowest of them.
fn extremes(times_ns: &[f64]) -> [String; 2] {
    let times = || times_ns.iter().copied();
    [
        time(times().fold(f64::INFINITY, f64::min)),
        time(times().fold(0.0, f64::max)),
    ]
}

/// `–`; `3`; `1, 5, 6, 7 and 12 more`.
fn named(stragglers: &[u32]) -> String {
    let names: Vec<String> = stragglers
        .iter()
        .take(MAX_NAMED)
        .map(u32::to_string)
        .collect();
    match stragglers.len().saturating_sub(MAX_NAMED) {
        _ if stragglers.is_empty() => "–".to_owned(),
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// The ranks, or the slowest if there are many.
fn ranks(ranks: &[Rank]) -> Option<Section> {
    if ranks.is_empty() {
        return None;
    }
    let mut shown: Vec<&Rank> = ranks.iter().collect();
    if shown.len() > MAX_ROWS {
        let slowdown = |rank: &Rank| rank.slowdown.unwrap_or(0.0);
        sort::sort_by(&mut shown, |a, b| {
            slowdown(b)
                .total_cmp(&slowdown(a))
                .then(a.rank.cmp(&b.rank))
        });
        shown.truncate(MAX_ROWS);
    }
    let title = if shown.len() == ranks.len() {
        "Ranks".to_owned()
    } else {
        format!("Ranks: the slowest {MAX_ROWS} of {}", ranks.len())
    };
    let names = ["rank", "node"].map(Column::words);
    let figures = ["CPU", "time ÷ median rank", "last in", "straggles in"].map(Column::figures);
    Some(Section {
        title: title.into(),
        blocks: vec![Block::Table(Table {
            columns: names.into_iter().chain(figures).collect(),
            rows: shown.into_iter().map(rank_row).collect(),
            ..Table::default()
        })],
    })
}

fn rank_row(rank: &Rank) -> Vec<Entry> {
    let unknown = || "–".to_owned();
    let texts = [
        rank.rank.to_string(),
        rank.host.clone(),
        rank.pinned_cpu.map_or_else(unknown, |cpu| cpu.to_string()),
        rank.slowdown
            .map_or_else(unknown, |ratio| format!("{ratio:.2}")),
        rank.last_share.map_or_else(unknown, percent),
        match rank.figures {
            0 => unknown(),
            all => format!("{} of {all}", rank.straggles),
        },
    ];
    texts.map(Entry::from).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_stragglers_are_counted_and_many_ranks_shown_by_slowness() {
        assert_eq!(named(&[]), "–");
        assert_eq!(named(&[1, 2, 3, 4]), "1, 2, 3, 4");
        assert_eq!(named(&[1, 2, 3, 4, 7, 9]), "1, 2, 3, 4 and 2 more");
        let many: Vec<Rank> = (0..1000)
            .map(|rank| Rank {
                rank,
                slowdown: Some(f64::from(rank)),
                ..Rank::default()
            })
            .collect();
        let shown = |ranks: &[Rank]| {
            let section = super::ranks(ranks).unwrap();
            let Block::Table(table) = &section.blocks[0] else {
                panic!("a table");
            };
            (
                table.rows[0][0].text.to_string(),
                table.rows.len(),
                section.title.to_string(),
            )
        };
        assert_eq!(shown(&many[..16]), ("0".to_owned(), 16, "Ranks".to_owned()));
        let title = "Ranks: the slowest 16 of 1000".to_owned();
        assert_eq!(shown(&many), ("999".to_owned(), 16, title));
    }
}
