//! Shapes of lists, and the lists of a swept mix, in words.

use vectored_report::words;

use crate::model::{Cell, ListShape, SweptMix};

/// The word for the size that is varied.
pub(crate) const SIZE: &str = "SIZE";

/// `16 segments`; of a swept mix `1 × 150 B + 1 × SIZE`.
pub(crate) fn shape_in_words(shape: ListShape<'_>) -> String {
    match shape.swept_mix {
        None => words::count(shape.segment_count, "segment"),
        Some(mix) => mix_in_words(mix),
    }
}

/// The list of a cell: `16 × 4 KiB`, `9 × 16 B + 1 × 4 KiB`; the bytes of a copy: `4 KiB`.
pub(crate) fn list_of_cell(cell: &Cell) -> String {
    match (cell.segment_bytes, &cell.segment_sizes) {
        (Some(bytes), _) if cell.conditions.from.is_some() => words::bytes(bytes as u64),
        (None, Some(runs)) => words::list(runs),
        (Some(bytes), _) => words::list(&[(cell.segment_count, bytes)]),
        (None, None) => format!("{} × mixed", cell.segment_count),
    }
}

fn mix_in_words(mix: &SweptMix) -> String {
    let runs = mix.runs().iter().map(|&(count, bytes)| match bytes {
        Some(bytes) => run(count, bytes),
        None => format!("{count} × {SIZE}"),
    });
    runs.collect::<Vec<_>>().join(" + ")
}

/// The runs of a list of `mix`; if there are more than three, the first, the swept one and dots:
/// `1 × 150 B + … + 1 × 4 KiB`.
pub(crate) fn swept_list_in_words(mix: &SweptMix, runs: &[(usize, usize)]) -> String {
    let swept = mix.swept_run();
    let mut words: Vec<String> = Vec::new();
    for (index, &(count, bytes)) in runs.iter().enumerate() {
        let is_named = runs.len() <= 3 || index == 0 || index == swept;
        let is_after_dots = words.last().is_some_and(|word| word == "…");
        match is_named {
            true => words.push(run(count, bytes)),
            false if is_after_dots => {}
            false => words.push("…".to_owned()),
        }
    }
    words.join(" + ")
}

fn run(count: usize, bytes: usize) -> String {
    format!("{count} × {}", words::bytes(bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_swept_run_of_a_list_is_always_named() {
        let words = |runs: &[(usize, Option<usize>)]| {
            let mix = SweptMix::try_from(runs.to_vec()).unwrap();
            swept_list_in_words(&mix, &mix.at(4096))
        };
        assert_eq!(words(&[(1, Some(150)), (1, None)]), "1 × 150 B + 1 × 4 KiB");
        let fixed = (2, Some(16));
        let run = (1, None);
        assert_eq!(
            words(&[fixed, fixed, run]),
            "2 × 16 B + 2 × 16 B + 1 × 4 KiB"
        );
        assert_eq!(
            words(&[fixed, fixed, fixed, run]),
            "2 × 16 B + … + 1 × 4 KiB"
        );
        assert_eq!(
            words(&[fixed, fixed, run, fixed]),
            "2 × 16 B + … + 1 × 4 KiB + …"
        );
        assert_eq!(words(&[run, fixed, fixed, fixed]), "1 × 4 KiB + …");
    }

    #[test]
    fn a_shape_names_the_size_that_is_varied() {
        let mix = SweptMix::try_from(vec![(1, Some(150)), (3, None)]).unwrap();
        let shape = |swept_mix| ListShape {
            segment_count: 4,
            swept_mix,
        };
        assert_eq!(shape_in_words(shape(None)), "4 segments");
        assert_eq!(shape_in_words(shape(Some(&mix))), "1 × 150 B + 3 × SIZE");
    }
}
