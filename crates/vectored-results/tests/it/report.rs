//! Renderings of fixed results.

use crate::samples::{csv, html, markdown, results, table, with_every_field};

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
