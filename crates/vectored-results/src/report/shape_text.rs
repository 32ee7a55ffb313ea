//! Shapes of lists, and the lists of a cell, in words.

use vectored_report::words;

use crate::model::{Cell, ListShape};

pub(crate) const SIZE: &str = "SIZE";

/// `16 segments`; of a swept mix `1 × 150 B + 1 × SIZE`.
pub(crate) fn shape_in_words(shape: ListShape<'_>) -> String {
    match shape.swept_mix {
        None => words::count(shape.segment_count, "segment"),
        Some(mix) => in_words(mix.runs().iter().copied()),
    }
}

/// The list of a cell: `16 × 4 KiB`, `9 × 16 B + 1 × 4 KiB`; the bytes of a copy: `4 KiB`.
pub(crate) fn list_of_cell(cell: &Cell) -> String {
    match (cell.segment_bytes, &cell.segment_sizes) {
        (Some(bytes), _) if cell.conditions.from.is_some() => words::bytes(bytes as u64),
        (Some(bytes), _) => words::list(&[(cell.segment_count, bytes)]),
        // Lists of one swept mix may differ in any run, so no run is left out.
        (None, Some(runs)) if cell.swept_mix.is_some() => {
            in_words(runs.iter().map(|&(count, bytes)| (count, Some(bytes))))
        }
        (None, Some(runs)) => words::list(runs),
        (None, None) => format!("{} × mixed", cell.segment_count),
    }
}

fn in_words(runs: impl Iterator<Item = (usize, Option<usize>)>) -> String {
    let size = |bytes: usize| words::bytes(bytes as u64);
    let run = |(count, bytes): (usize, Option<usize>)| {
        format!("{count} × {}", bytes.map_or(SIZE.to_owned(), size))
    };
    runs.map(run).collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SweptMix;

    #[test]
    fn the_list_of_a_sweep_has_every_run() {
        let runs = vec![(1, 16), (1, 32), (1, 64), (1, 4096)];
        let mix = runs
            .iter()
            .map(|&(count, bytes)| (count, Some(bytes).filter(|&size| size < 4096)));
        let mix = SweptMix::try_from(mix.collect::<Vec<_>>()).ok();
        let mut cell = Cell {
            segment_sizes: Some(runs),
            ..Cell::default()
        };
        assert!(list_of_cell(&cell).ends_with(" + …"));
        cell.swept_mix = mix;
        assert!(list_of_cell(&cell).ends_with("64 B + 1 × 4 KiB"));
    }
}
