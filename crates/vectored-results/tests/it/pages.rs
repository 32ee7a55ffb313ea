//! Pages and drawings of fixed results.

use vectored_results::model::{Target, TechniqueName, Verdict};
use vectored_results::report::machines_document;

use crate::samples::{html, text, with_curves};

/// The page without its style sheet.
fn body(page: &str) -> &str {
    &page[page.find("<body>").unwrap()..]
}

#[test]
fn the_page_of_fixed_results() {
    let page = html(&with_curves());
    insta::assert_snapshot!(body(&page));
}

#[test]
fn machines_stand_beside_each_other() {
    let mut other = with_curves();
    other.host.name = "other".to_owned();
    other
        .cells
        .retain(|cell| cell.conditions.target == Target::Unix);
    other.crossovers.clear();
    // Of the same host and kernel.
    let mut later = with_curves();
    later.started_at = "2026-07-01T11:00:00Z".to_owned();
    let document = machines_document(&[&with_curves(), &other, &later]);
    insta::assert_snapshot!(text(&document, 100));
}

#[test]
fn what_stands_in_place_of_a_crossover() {
    use Verdict::{Faster, Open, Tie};
    for (verdicts, words) in [
        ([Faster, Faster, Faster], "none: copy-then-write"),
        ([Faster, Faster, Open], "not decided"),
        ([Open, Open, Open], "not decided"),
        ([Tie, Tie, Tie], "none: tie"),
    ] {
        let mut run = with_curves();
        run.crossovers.clear();
        run.cells
            .retain(|cell| cell.conditions.target == Target::Unix);
        for (cell, verdict) in std::iter::zip(&mut run.cells, verdicts) {
            cell.verdict = verdict;
            cell.winner = (verdict == Faster).then_some(TechniqueName::COPY_THEN_WRITE);
        }
        let table = text(&machines_document(&[&run]), 100);
        assert!(table.contains(words), "{words}: {table}");
    }
}
