//! Renderings of fixed results.

use vectored_results::model::{Cell, Drain, OpenBecause, Results, Target, TechniqueName, Verdict};

use crate::samples::{cell, csv, html, markdown, results, table, technique, with_every_field};

#[test]
fn a_table_has_the_answer_the_figures_and_the_notes() {
    insta::assert_snapshot!(table(&results(), 100));
}

#[test]
fn a_table_shows_every_field_that_may_be_left_out() {
    let mut all = with_every_field();
    insta::assert_snapshot!(table(&all, 100));
    all.host.cpu.allowed_cpus.clear();
    assert!(!table(&all, 100).contains("than CPUs"));
}

#[test]
fn markdown_is_the_same_in_a_document() {
    insta::assert_snapshot!(markdown(&results()));
}

#[test]
fn csv_is_one_line_a_technique() {
    insta::assert_snapshot!(csv(&results()));
}

#[test]
fn a_narrow_table_keeps_winner_and_interval() {
    let wide = table(&results(), 100);
    let narrow = table(&results(), 80);
    assert!(
        wide.contains("copy-then-write by 1.09× [1.07, 1.11]"),
        "{wide}"
    );
    assert!(narrow.contains("copy by 1.09× [1.07, 1.11]\n"), "{narrow}");
    for figure in ["1.13×*", "1.23×", "1.12×=", "1.03× [0.99, 1.08]"] {
        assert!(narrow.contains(figure), "{figure} in\n{narrow}");
    }
    let narrow = table(&results(), 50);
    assert!(narrow.contains("copy by 1.09×"), "{narrow}");
    assert!(narrow.contains("Left out"), "{narrow}");
    // However narrow, it ends.
    for width in 0..50 {
        table(&results(), width);
    }
}

/// Cells of every verdict on every target, with figures as wide as they come, and
/// every fifth of them between the others.
fn results_of_everything(rivals: &[TechniqueName]) -> Results {
    let mut all = results();
    all.cells.clear();
    all.rivals = rivals.to_vec();
    let mut turn = 0;
    let targets = [
        Target::File,
        Target::FileOverwrite,
        Target::Pipe,
        Target::Unix,
        Target::Tcp,
        Target::Socket,
        Target::Null,
    ];
    for target in targets {
        for (count, bytes) in [(2, 16), (16, 1000), (1000, 16384), (1024, 1_048_576)] {
            for verdict in [Verdict::Faster, Verdict::Tie, Verdict::Open] {
                turn += 1;
                let ratios = [1.0, 1.04 + 0.37 * (turn % 4) as f64, 1.5, 4.0, 120.0];
                let techniques = rivals.iter().chain(&[TechniqueName::ADAPTIVE]).enumerate();
                let techniques = techniques
                    .map(|(index, &name)| {
                        let ratio = ratios[(index + turn) % rivals.len()];
                        let interval = (ratio > 1.0).then_some((0.97 * ratio, 1.06 * ratio));
                        let interval = interval.or(Some((1.0, 1.0)));
                        technique(name, 1.3 * ratio - 1.0, ratio, interval)
                    })
                    .collect();
                let is_mix = turn % 7 == 0;
                let runs = vec![(900, 1000), (1000, 16384), (123, 4096)];
                let cell = Cell {
                    segment_count: count,
                    segment_bytes: (!is_mix).then_some(bytes),
                    segment_sizes: is_mix.then_some(runs),
                    drain: (turn % 2 == 0).then_some(Drain::ReaderThread),
                    floor_ns: 1e6,
                    open_because: (verdict == Verdict::Open).then_some(OpenBecause::Budget),
                    ..cell(target, bytes, verdict, techniques)
                };
                match turn % 5 {
                    0 => all.refined_cells.push(cell),
                    _ => all.cells.push(cell),
                }
            }
        }
    }
    all
}

/// Each cell has its verdict in a table as wide as it asks for, in Markdown and on the page, and tallies agree with
/// the cells of the JSON.
#[test]
fn every_cell_has_a_row_with_its_verdict() {
    let many = [
        TechniqueName::WRITE_EACH,
        TechniqueName::COPY_THEN_WRITE,
        TechniqueName::WRITEV,
        TechniqueName::new("mmap"),
        TechniqueName::new("stdio"),
    ];
    for rivals in [&many[..3], &many[..]] {
        let all = results_of_everything(rivals);
        let (asked, between) = (all.cells.len(), all.refined_cells.len());
        let cells = || all.cells.iter().chain(&all.refined_cells);
        let of = |verdict| cells().filter(|cell| cell.verdict == verdict).count();
        for text in [table(&all, 300), markdown(&all)] {
            let headline = format!("{asked} cells and {between} between them in ");
            assert!(text.contains(&headline), "{text}");
            let rows: Vec<&str> = text.lines().filter(|line| line.contains(" × ")).collect();
            let with = |words: &str| rows.iter().filter(|row| row.contains(words)).count();
            for winner in rivals {
                let won = cells().filter(|cell| cell.winner == Some(*winner)).count();
                let leads = cells()
                    .filter(|cell| cell.leader == Some(*winner) && cell.verdict == Verdict::Open);
                assert_eq!(
                    with(&format!(" {winner} by ")),
                    won + leads.count(),
                    "{winner}\n{text}"
                );
            }
            assert_eq!(with("tie (±2 %)"), of(Verdict::Tie), "{text}");
            assert_eq!(with("open (budget): "), of(Verdict::Open), "{text}");
        }
        for width in [80, 100, 120] {
            for line in table(&all, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
        let lines = csv(&all);
        assert_eq!(
            lines.matches(",\"[[900,1000],").count() % (rivals.len() + 1),
            0
        );
        assert_eq!(
            lines.lines().count() - 1,
            (rivals.len() + 1) * (asked + between)
        );
    }
}

#[test]
fn an_open_cell_names_no_leader_that_trails() {
    let mut old = results();
    let open = &mut old.cells[3];
    open.techniques[1].ratio_to_leader = 0.97;
    open.techniques[1].ratio_low = Some(0.95);
    open.techniques[1].ratio_high = Some(0.99);
    for text in [table(&old, 120), markdown(&old), html(&old)] {
        assert!(text.contains("open (budget): no leader"), "{text}");
        assert!(!text.contains("open (budget): writev by 1.03"), "{text}");
    }
}

#[test]
fn figures_that_make_no_sense_are_shown_as_none() {
    let mut broken = results();
    for cell in &mut broken.cells {
        cell.floor_ns = f64::INFINITY;
        cell.segment_count = usize::MAX;
        for technique in &mut cell.techniques {
            technique.gather_tax = f64::NAN;
            technique.ratio_to_leader = f64::NAN;
        }
    }
    assert!(table(&broken, 100).contains('–'));
    markdown(&broken);
    csv(&broken);
    broken.rivals.clear();
    table(&broken, 100);
}

#[test]
fn a_run_without_cells_is_told_as_such() {
    let mut empty = results();
    empty.cells.clear();
    let text = table(&empty, 100);
    assert!(text.contains("0 cells in 15.9 s"), "{text}");
    assert!(text.contains("Incomplete"), "{text}");
    assert!(text.contains("No cell was measured."), "{text}");
    markdown(&empty);
    assert_eq!(csv(&empty), "");
}
