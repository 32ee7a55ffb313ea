//! Cells past the page cache stand for themselves in comparisons, sections and sentences.

use vectored_results::model::{Cell, DirectIo, Results, Target, TechniqueName, Verdict};
use vectored_results::stats::compare;

use crate::samples::{cell, results, table, technique};

const BLOCKS: DirectIo = DirectIo {
    memory_bytes: 4,
    offset_bytes: 512,
};

/// The cell, with this alignment past the page cache.
fn past_cache(alignment: Option<DirectIo>, mut cell: Cell) -> Cell {
    cell.conditions.direct = alignment.is_some();
    Cell { alignment, ..cell }
}

/// A run with one cell of a file.
fn of_file(direct: Option<DirectIo>) -> Results {
    let techniques = vec![
        technique(TechniqueName::COPY_THEN_WRITE, 0.1, 1.0, Some((1.0, 1.0))),
        technique(TechniqueName::WRITEV, 0.2, 1.1, Some((1.0, 1.2))),
    ];
    let cell = past_cache(direct, cell(Target::File, 1024, Verdict::Open, techniques));
    Results {
        cells: vec![cell],
        refined_cells: vec![],
        ..results()
    }
}

#[test]
fn transfers_past_the_page_cache_are_compared_with_their_like_only() {
    let (direct, buffered) = (of_file(Some(BLOCKS)), of_file(None));
    let compared = |base: &Results, new: &Results| compare(&[base], &[new]).unwrap();
    let alike = compared(&direct, &direct.clone());
    assert_eq!((alike.unmatched_cells, alike.cells.len()), (0, 2));
    assert!(alike.cells[0].conditions.direct);
    let unlike = compared(&direct, &buffered);
    assert!(unlike.cells.is_empty());
    assert!(unlike.unmatched_cells > 0);
    // Another alignment of another machine is no other condition.
    let other = of_file(Some(DirectIo {
        memory_bytes: 4096,
        offset_bytes: 4096,
    }));
    assert_eq!(compared(&direct, &other).cells.len(), 2);
}

#[test]
fn sections_and_sentences_say_that_the_page_cache_is_bypassed() {
    let text = |results: &Results| {
        let text = table(results, 100);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let direct = text(&of_file(Some(BLOCKS)));
    assert!(direct.contains("file O_DIRECT"), "{direct}");
    let note = "offsets and sizes are multiples of 512 B, and segments begin at multiples of 4 B";
    assert!(direct.contains(note), "{direct}");
    assert!(!text(&of_file(None)).contains("O_DIRECT"));
}
