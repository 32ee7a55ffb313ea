//! The cells of each target, prepared for maps and charts.

use crate::model::{
    Cell, Conditions, Crossover, ListShape, Results, TechniqueName, Verdict, measured_in,
};
use crate::report::shape_text::swept_list_in_words;
use crate::report::table_rows::{named_leader, nearest_rival, verdict_in_words};
use crate::report::target_names::{Titles, has_tax, sections};
use crate::text::format::{bytes_in_words, margin};

/// One section: a decision map, and a chart for each shape of lists.
pub(crate) struct Panel<'a> {
    /// The title, as in the table.
    pub title: String,
    /// Whether figures are gather taxes; otherwise they are times.
    pub has_tax: bool,
    pub map: Map<'a>,
    pub curves: Vec<Curves<'a>>,
}

/// Winners by shape and size.
pub(crate) struct Map<'a> {
    pub shapes: Vec<ListShape<'a>>,
    pub sizes: Vec<usize>,
    /// By shape, then by size; `None` if the cell was not measured.
    pub squares: Vec<Vec<Option<Square<'a>>>>,
}

/// One cell on the map.
pub(crate) struct Square<'a> {
    pub cell: &'a Cell,
    /// The winner; if there is none, the leader.
    pub technique: Option<TechniqueName>,
    /// The nearest rival's time ÷ the winner's, and its interval.
    pub ratio: Option<f64>,
    pub margin: String,
    /// As in the tables: `writev by 9 % [7, 11]`, `open (noise): writev +3 % [-1, 7]`.
    pub words: String,
}

impl Square<'_> {
    /// The strength of its colour, from 0 at the tie zone to 1 at twice the time.
    pub fn strength(&self) -> f64 {
        match (self.cell.verdict, self.ratio) {
            (Verdict::Faster, Some(ratio)) if ratio.is_finite() && ratio > 1.0 => {
                (ratio.log2()).clamp(0.0, 1.0).sqrt()
            }
            _ => 0.0,
        }
    }
}

/// The cells of one shape by size, requested and refined ones.
pub(crate) struct Curves<'a> {
    pub shape: ListShape<'a>,
    pub cells: Vec<&'a Cell>,
    pub techniques: Vec<TechniqueName>,
    pub crossovers: Vec<&'a Crossover>,
}

/// In the order of the tables.
pub(crate) fn panels(results: &Results) -> Vec<Panel<'_>> {
    let titles = Titles::among(&results.cells);
    sections(&results.cells)
        .into_iter()
        .map(|kind| {
            let is_here = |cell: &&Cell| cell.conditions == *kind;
            let cells: Vec<&Cell> = results.cells.iter().filter(is_here).collect();
            let map = map(&cells, &results.rivals);
            Panel {
                title: titles.of(kind),
                has_tax: cells.iter().all(|cell| has_tax(cell)),
                curves: curves(results, kind, &map.shapes),
                map,
            }
        })
        .collect()
}

fn map<'a>(cells: &[&'a Cell], rivals: &[TechniqueName]) -> Map<'a> {
    let placed = || cells.iter().filter(|cell| cell.swept_bytes().is_some());
    let mut shapes: Vec<ListShape<'_>> = placed().map(|cell| cell.shape()).collect();
    shapes.sort_unstable();
    shapes.dedup();
    let mut sizes: Vec<usize> = cells.iter().filter_map(|cell| cell.swept_bytes()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let squares = shapes
        .iter()
        .map(|&shape| {
            let at = |&bytes: &usize| {
                let is_here =
                    |cell: &Cell| cell.shape() == shape && cell.swept_bytes() == Some(bytes);
                let found = cells.iter().find(|cell| is_here(cell));
                found.map(|cell| square(cell, rivals))
            };
            sizes.iter().map(at).collect()
        })
        .collect();
    Map {
        shapes,
        sizes,
        squares,
    }
}

fn square<'a>(cell: &'a Cell, rivals: &[TechniqueName]) -> Square<'a> {
    let nearest = nearest_rival(cell, rivals);
    let (margin, interval) = match nearest {
        Some(rival) => margin(rival.ratio_to_leader, rival.ratio_low.zip(rival.ratio_high)),
        None => ("no rival".to_owned(), None),
    };
    let (words, words_interval) = verdict_in_words(cell, rivals, TechniqueName::as_str);
    let words = match (cell.verdict, &interval) {
        (Verdict::Tie, Some(interval)) => format!("{words} {interval}"),
        _ => format!("{words} {}", words_interval.unwrap_or_default()),
    };
    Square {
        cell,
        technique: named_leader(cell, rivals),
        words: words.trim_end().to_owned(),
        ratio: nearest.map(|rival| rival.ratio_to_leader),
        margin,
    }
}

fn curves<'a>(
    results: &'a Results,
    kind: &Conditions,
    shapes: &[ListShape<'a>],
) -> Vec<Curves<'a>> {
    shapes
        .iter()
        .filter_map(|&shape| {
            let mut cells: Vec<&Cell> = results
                .cells
                .iter()
                .chain(&results.refined_cells)
                .filter(|cell| {
                    cell.conditions == *kind
                        && cell.shape() == shape
                        && cell.swept_bytes().is_some()
                })
                .collect();
            cells.sort_by_key(|cell| cell.swept_bytes());
            // A malformed file may contain a size twice.
            cells.dedup_by_key(|cell| cell.swept_bytes());
            if cells.len() < 2 {
                return None;
            }
            Some(Curves {
                shape,
                techniques: measured_in(cells.iter().copied()),
                crossovers: results
                    .crossovers
                    .iter()
                    .filter(|crossover| crossover.shape() == shape && crossover.conditions == *kind)
                    .collect(),
                cells,
            })
        })
        .collect()
}

impl Square<'_> {
    /// `16 segments of 4 KiB`, `1 × 150 B + 1 × 4 KiB`.
    pub fn list(&self) -> String {
        if let (Some(mix), Some(runs)) = (&self.cell.swept_mix, &self.cell.segment_sizes) {
            return swept_list_in_words(mix, runs);
        }
        let bytes = self.cell.segment_bytes.unwrap_or(0) as u64;
        format!(
            "{} segments of {}",
            self.cell.segment_count,
            bytes_in_words(bytes)
        )
    }
}
