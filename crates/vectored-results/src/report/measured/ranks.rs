//! The tables of the ranks of a cluster.

use vectored_report::sort;
use vectored_report::words::{NONE, grouped, percent, time};
use vectored_report::{Block, Section, Table, by_key};

use crate::model::{Cell, Conditions, Rank, Results};
use crate::report::shape_text::list_of_cell;
use crate::report::target_names::{conditions_in_words, place};

/// The most rows of the table of ranks. If there are more ranks, the table shows the slowest.
const MAX_ROWS: usize = 16;

const MAX_NAMED: usize = 4;

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let of_ranks = results.cells.iter().filter_map(|cell| {
        let mut conditions = cell.conditions.clone();
        conditions.ranks.take()?;
        Some((conditions, cell))
    });
    let groups = by_key(of_ranks);
    let sections = groups.iter().map(|(of, cells)| section(of, cells));
    sections.chain(ranks(&results.ranks)).collect()
}

/// The section of cells under these conditions: `Several ranks: file (ext4) read hot`.
fn section(conditions: &Conditions, cells: &[&Cell]) -> Section {
    let target = place(conditions);
    let words = conditions_in_words(conditions);
    let states = words.strip_prefix(&target).unwrap_or_default();
    let file_system = cells[0].file_system.iter().map(|name| format!(" ({name})"));
    let file_system: String = file_system.collect();
    let names = ["list", "ranks", "technique"];
    let figures = ["fastest rank", "slowest rank", "calls/s", "stragglers"];
    let rows = cells.iter().flat_map(|cell| rows(cell));
    let table = Table::new("", names, figures, rows);
    let title = format!("Several ranks: {target}{file_system}{states}");
    Section::new(title, vec![Block::Table(table)])
}

/// A row for each technique. Only the first row has the list and the number of ranks.
fn rows(cell: &Cell) -> Vec<Vec<String>> {
    let ranks = cell.conditions.ranks.unwrap_or(1);
    let mut names = vec![list_of_cell(cell), ranks.to_string()];
    let rows = cell.techniques.iter().filter_map(|technique| {
        let figures = technique.ranks.as_ref()?;
        let times = || figures.rank_median_ns.iter().copied();
        let mut row = std::mem::replace(&mut names, vec![String::new(); 2]);
        row.extend([
            technique.name.to_string(),
            time(times().fold(f64::INFINITY, f64::min)),
            time(times().fold(0.0, f64::max)),
            grouped(figures.calls_per_s as u64),
            named(&figures.stragglers),
        ]);
        Some(row)
    });
    rows.collect()
}

/// `–`; `3`; `1, 5, 6, 7 and 12 more`.
fn named(stragglers: &[u32]) -> String {
    let names = stragglers.iter().take(MAX_NAMED).map(u32::to_string);
    let names: Vec<String> = names.collect();
    match stragglers.len().saturating_sub(MAX_NAMED) {
        _ if stragglers.is_empty() => NONE.to_owned(),
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn ranks(ranks: &[Rank]) -> Option<Section> {
    if ranks.is_empty() {
        return None;
    }
    let mut shown: Vec<&Rank> = ranks.iter().collect();
    let mut title = "Ranks".to_owned();
    if shown.len() > MAX_ROWS {
        let slowdown = |rank: &Rank| rank.slowdown.unwrap_or(0.0);
        sort::sort_by(&mut shown, |a, b| slowdown(b).total_cmp(&slowdown(a)));
        shown.truncate(MAX_ROWS);
        title += &format!(": the slowest {MAX_ROWS} of {}", ranks.len());
    }
    let names = ["rank", "node"];
    let figures = ["CPU", "time ÷ median rank", "last in", "straggles in"];
    let table = Table::new("", names, figures, shown.into_iter().map(rank_row));
    Some(Section::new(title, vec![Block::Table(table)]))
}

fn rank_row(rank: &Rank) -> Vec<String> {
    let straggles = format!("{} of {}", rank.straggles, rank.figures);
    let figures = [
        rank.pinned_cpu.map(|cpu| cpu.to_string()),
        rank.slowdown.map(|ratio| format!("{ratio:.2}")),
        rank.last_share.map(percent),
        (rank.figures > 0).then_some(straggles),
    ];
    let figures = figures.map(|figure| figure.unwrap_or(NONE.to_owned()));
    [&[rank.rank.to_string(), rank.host.clone()][..], &figures].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RankFigures, TechniqueName, TechniqueResult};

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

    #[test]
    fn only_the_first_row_of_a_cell_has_its_list_and_its_ranks() {
        let figures = RankFigures {
            rank_median_ns: vec![2.0, 1.0],
            rank_min_ns: vec![],
            rank_last_share: vec![],
            calls_per_s: 3.0,
            bytes_per_s: 0.0,
            stragglers: vec![],
        };
        let technique = |name| TechniqueResult {
            name: TechniqueName::new(name),
            ranks: Some(figures.clone()),
            ..TechniqueResult::default()
        };
        let cell = Cell {
            segment_count: 2,
            segment_bytes: Some(16),
            techniques: ["a", "b"].map(technique).into(),
            ..Cell::default()
        };
        let rows = rows(&cell).into_iter().map(|row| row.join("|"));
        let expected = [
            "2 × 16 B|1|a|1.00 ns|2.00 ns|3|–",
            "||b|1.00 ns|2.00 ns|3|–",
        ];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }
}
