//! Pages and drawings of fixed results, and of hostile ones.

use proptest::prelude::*;
use serde_json::Value;
use vectored_report::{Document, SavedResult, csv_of, json, parse};
use vectored_results::model::{Crossover, Experiments, Results, Target, TechniqueName, Verdict};
use vectored_results::report::{experiments, machines_document, measured};

use crate::damage::{changed, changes, cut};
use crate::report::{cell, results, technique};
use crate::shown::{html, markdown, table, text};

/// The results of the tables, and a series of sizes with a crossover.
fn with_curves() -> Results {
    let mut all = results();
    for (bytes, copying, gathering) in [(64, 0.05, 0.4), (1024, 0.1, 0.2), (4096, 0.5, 0.1)] {
        let ratio =
            f64::max(copying + 1.0, gathering + 1.0) / f64::min(copying + 1.0, gathering + 1.0);
        let (copy, gather) = if copying < gathering {
            (
                (1.0, Some((1.0, 1.0))),
                (ratio, Some((ratio - 0.01, ratio + 0.01))),
            )
        } else {
            (
                (ratio, Some((ratio - 0.01, ratio + 0.01))),
                (1.0, Some((1.0, 1.0))),
            )
        };
        let mut cell = cell(
            Target::Unix,
            bytes,
            Verdict::Faster,
            vec![
                technique(TechniqueName::WRITE_EACH, 5.0, 5.5, Some((5.4, 5.6))),
                technique(TechniqueName::COPY_THEN_WRITE, copying, copy.0, copy.1),
                technique(TechniqueName::WRITEV, gathering, gather.0, gather.1),
                technique(TechniqueName::ADAPTIVE, 0.1, 1.0, Some((1.0, 1.0))),
            ],
        );
        cell.segment_count = 16;
        all.cells.push(cell);
    }
    let conditions = all.cells[all.cells.len() - 1].conditions.clone();
    all.crossovers.push(Crossover {
        conditions,
        segment_count: 16,
        swept_mix: None,
        below: TechniqueName::COPY_THEN_WRITE,
        above: TechniqueName::WRITEV,
        at_bytes: 1400.0,
        low_bytes: 1300.0,
        high_bytes: 1600.0,
        tie_low_bytes: 1380.0,
        tie_high_bytes: 1420.0,
    });
    all
}

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
fn foreign_texts_are_only_text() {
    let hostile = "</script><script>alert(1)</script><!-- <b>\"'&\u{1b}[2J|`[x](y)";
    let mut all = with_curves();
    all.host.name = hostile.to_owned();
    all.host.kernel = hostile.to_owned();
    all.host.cpu.model = hostile.to_owned();
    all.host.warnings = vec![hostile.to_owned()];
    all.host.directory.as_mut().unwrap().path = hostile.to_owned();
    all.started_at = hostile.to_owned();
    for cell in &mut all.cells {
        cell.conditions.path = Some(hostile.to_owned());
    }
    let page = vectored_report::html(&[measured(&all), measured(&all)]);
    assert!(!page.contains("<script") && !page.contains("</script"));
    assert!(!page.contains("<b>\""));
    assert!(!page.contains('\u{1b}'));
    assert!(page.contains("&lt;/script&gt;"));
}

#[test]
fn a_saved_text_can_do_nothing_to_terminals_documents_and_spreadsheets() {
    let mut all = with_curves();
    all.host.warnings = vec!["\u{1b}[2J\n# heading \u{61c}\u{e0041}\u{ffff}".to_owned()];
    all.host.name = "=HYPERLINK(\"x\")\u{1b}[2J".to_owned();
    all.cells[0].conditions.path = Some("@SUM(1)\u{1b}".to_owned());
    let lines = csv_of(&[&all, &all]);
    assert!(lines.contains("'=HYPERLINK"), "{lines}");
    assert!(lines.contains(",'@SUM(1)"), "{lines}");
    for text in [table(&all), markdown(&all), html(&all), lines] {
        assert!(!text.contains(['\u{1b}', '\u{61c}', '\u{e0041}', '\u{ffff}']));
        assert!(!text.lines().any(|line| line.starts_with("# heading")));
    }
}

#[test]
fn a_page_of_machines_draws_their_crossovers() {
    let mut other = with_curves();
    other.host.name = "<other>".to_owned();
    let crossover = &mut other.crossovers[0];
    (
        crossover.at_bytes,
        crossover.low_bytes,
        crossover.high_bytes,
    ) = (2800.0, 2600.0, 3200.0);
    let mut none = with_curves();
    none.crossovers.clear();
    let page = vectored_report::html(&[machines_document(&[&with_curves(), &other, &none])]);
    let begin = page.find("<table class=\"bars\">").unwrap();
    let chart = &page[begin..begin + page[begin..].find("</table>").unwrap()];
    insta::assert_snapshot!(chart);
}

#[test]
fn a_page_loads_nothing() {
    let page = html(&with_curves());
    assert!(page.contains("default-src 'none'"));
    for loading in ["src=", "@import", "url(", "<link", "<iframe"] {
        assert!(!page.contains(loading), "{loading}");
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

#[test]
fn what_no_run_can_have_found_is_refused() {
    let check = |pointer: &str, value: Value, word: &str| {
        let mut damaged: Value = serde_json::from_str(&json(&with_curves())).unwrap();
        *damaged.pointer_mut(pointer).unwrap() = value;
        let refused = parse::<Results>(&damaged.to_string())
            .unwrap_err()
            .to_string();
        assert!(refused.contains("damaged"), "{refused}");
        assert!(refused.contains(word), "{refused}");
    };
    check("/cells/0/floor_samples_ns/0", (-1.0).into(), "time");
    check("/cells/0/floor_ns", (-1.0).into(), "time");
    check("/cells/0/techniques/0/median_ns", 0.0.into(), "time");
    check("/cells/0/rounds", 0.into(), "in 0 rounds");
    let many = Value::Array(vec![1.0.into(); 41]);
    for series in ["floor_samples_ns", "aa_samples_ns"] {
        check(&format!("/cells/0/{series}"), many.clone(), "in 40 rounds");
    }
    check("/cells/0/techniques/1/samples_ns", many, "in 40 rounds");
    check(
        "/cells/0/leader",
        "pwritev2".into(),
        "names pwritev2 as leader or winner",
    );
    check(
        "/cells/0/winner",
        "pwritev2".into(),
        "names pwritev2 as leader or winner",
    );
    check("/cells/0/segment_bytes", 0.into(), "segments of 0 bytes");
    check("/cells/0/techniques/1/name", "writev".into(), "twice");
    check("/crossovers/0/at_bytes", 0.into(), "crossover");
    check("/cells", 3.into(), "invalid type");
}

/// Everything that takes saved results, so that a panic in any of it is seen.
fn render_all<T: SavedResult>(json: &str, document: impl Fn(&T) -> Document) {
    let Ok(found) = parse::<T>(json) else {
        return;
    };
    let document = document(&found);
    vectored_report::html(&[document.clone(), document.clone()]);
    text(&document, 100);
    vectored_report::markdown(&document);
    csv_of(&[&found, &found]);
}

#[test]
fn experiments_are_on_the_page_beside_runs() {
    let page = beside_experiments();
    assert!(page.contains("Published experiments, run here"));
    assert_eq!(
        page.matches("an element: below 1× writev wins</figcaption>")
            .count(),
        1
    );
    assert!(page.contains("Seconds a copy, by the size of the buffer"));
}

proptest! {
    #[test]
    fn a_truncated_file_is_an_error_and_no_panic(share in 0.0..1.0f64) {
        let (run, experiments) = (json(&with_curves()), json(&crate::experiments::all()));
        prop_assert!(cut(&run, share).is_none_or(|cut| parse::<Results>(cut).is_err()));
        prop_assert!(cut(&experiments, share).is_none_or(|cut| parse::<Experiments>(cut).is_err()));
    }

    #[test]
    fn a_hostile_file_is_an_error_or_shown_and_no_panic(changes in changes()) {
        let run = changed(&json(&with_curves()), &changes);
        render_all(&run, measured);
        if let Ok(results) = &parse::<Results>(&run) {
            text(&machines_document(&[results]), 100);
            vectored_results::stats::compare(&[results], &[results, results]);
        }
        render_all(&changed(&json(&crate::experiments::all()), &changes), experiments::document);
    }
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
