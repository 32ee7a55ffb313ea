//! Pages and drawings of fixed results.

use vectored_results::model::{Results, Target, TechniqueName, Verdict};
use vectored_results::report::{experiments, machines_document, measured};

use crate::samples::{html, text, with_curves};

/// A page of a run and of experiments.
fn beside_experiments() -> String {
    let found = experiments::document(&crate::experiments::all());
    vectored_report::html(&[measured(&with_curves()), found])
}

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
    other.crossovers.clear();
    insta::assert_snapshot!(text(&machines_document(&[&with_curves(), &other]), 100));
}

/// Table and chart have one source for what stands in place of a crossover.
#[test]
fn without_a_crossover_the_table_and_the_chart_say_the_same() {
    let crossing = with_curves();
    let verdicts = |verdicts: [Verdict; 3]| {
        let mut run = with_curves();
        run.host.name = "other".to_owned();
        run.crossovers.clear();
        run.cells
            .retain(|cell| cell.conditions.target == Target::Unix);
        for (cell, verdict) in std::iter::zip(&mut run.cells, verdicts) {
            cell.verdict = verdict;
            cell.winner = (verdict == Verdict::Faster).then_some(TechniqueName::COPY_THEN_WRITE);
        }
        run
    };
    use Verdict::{Faster, Open, Tie};
    for (run, words) in [
        (verdicts([Faster, Faster, Faster]), "none: copy-then-write"),
        (verdicts([Faster, Faster, Open]), "not decided"),
        (verdicts([Open, Open, Open]), "not decided"),
        (verdicts([Tie, Tie, Tie]), "none: tie"),
    ] {
        let document = machines_document(&[&crossing, &run]);
        let table = text(&document, 100);
        let row = table
            .lines()
            .find(|line| line.starts_with("unix") && line.contains("other"));
        assert!(
            row.is_some_and(|row| row.contains(words)),
            "{words}: {table}"
        );
        assert!(table.contains("\nfile: not measured by other, "), "{table}");
        let page = vectored_report::html(&[document]);
        let chart = format!("<td class=\"value\">{words}</td>");
        assert!(page.contains(&chart), "{words}");
    }
}

#[test]
fn cells_without_rounds_have_no_curve() {
    let mut all = with_curves();
    for technique in all.cells.iter_mut().flat_map(|cell| &mut cell.techniques) {
        technique.floor_ratio = None;
        technique.floor_ratio_low = None;
        technique.floor_ratio_high = None;
    }
    let page = html(&all);
    assert!(page.contains("writev by 1.09×"), "the map stays");
    assert!(!page.contains("<figure"));
}

/// A column of measured or published figures has a tooltip; a column of names needs none.
#[test]
fn every_figure_of_every_table_is_explained() {
    let page = beside_experiments();
    let heads: Vec<&str> = page
        .split("<th scope=\"col\"")
        .skip(1)
        .map(|rest| rest.split("</th>").next().unwrap())
        .filter(|head| !head.starts_with(" class=\"name\"") && !head.starts_with('>'))
        .collect();
    assert!(heads.len() > 40, "{}", heads.len());
    for head in heads {
        let title = head.split("title=\"").nth(1);
        let sentence = title.and_then(|title| title.split('"').next());
        let is_sentence = |it: &str| it.len() > 20 && it.ends_with('.');
        assert!(sentence.is_some_and(is_sentence), "{head}");
    }
}

/// The chart of crossovers has when each run began, where host and kernel are the same.
#[test]
fn runs_on_one_machine_are_told_apart_in_charts() {
    let first = with_curves();
    let mut later = first.clone();
    later.started_at = "2026-07-01T11:00:00Z".to_owned();
    let names = |runs: [&Results; 2]| -> Vec<bool> {
        let page = vectored_report::html(&[machines_document(&runs)]);
        let name =
            |of: &Results, words: &str| page.contains(&format!(">{}, {words}</th>", of.host.name));
        let release = first.host.kernel.split(' ').next().unwrap();
        vec![
            name(&first, &first.started_at),
            name(&first, "2026-07-01T11:00:00Z"),
            name(&first, release),
        ]
    };
    assert_eq!(names([&first, &later]), [true, true, false]);
    later.host.name = "other".to_owned();
    assert_eq!(names([&first, &later]), [false, false, true]);
}
