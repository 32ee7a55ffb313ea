//! Renderings of fixed results.

use vectored_report::csv_of;
use vectored_results::model::{Cell, Conditions, Refused, Target, TechniqueName};
use vectored_results::report::{refused_in_words, unsuited_in_words};

use crate::samples::{csv, results, table, with_every_field};

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
    let both = csv_of(&[&results(), &results()]);
    let first = "\nstand,6.18.0 #1 SMP,2000-01-01T00:00:00Z,";
    assert!(
        both.starts_with("host,kernel,started_at,") && both.contains(first),
        "{both}"
    );
}

#[test]
fn a_narrow_table_keeps_winner_and_interval() {
    for (width, words) in [
        (80, "copy by 1.09× [1.07, 1.11]\n"),
        (80, "1.13×*"),
        (80, "1.12×="),
        (50, "copy by 1.09×"),
        (50, "Left out"),
    ] {
        let narrow = table(&results(), width);
        assert!(narrow.contains(words), "{words} in\n{narrow}");
    }
}

#[test]
fn an_open_cell_names_no_leader_that_trails() {
    let mut old = results();
    let open = &mut old.cells[3];
    open.techniques[1].ratio_to_leader = 0.97;
    open.techniques[1].ratio_low = Some(0.95);
    open.techniques[1].ratio_high = Some(0.99);
    let text = table(&old, 120);
    assert!(text.contains("open (budget): no leader"), "{text}");
}

#[test]
fn what_was_not_measured_is_said_of_its_places() {
    let splice = TechniqueName::new("splice");
    let mut run = results();
    let cell = |from| Cell {
        conditions: Conditions::copy(from, Target::Pipe),
        ..Cell::default()
    };
    (run.cells, run.rivals) = ([Target::File, Target::Pipe].map(cell).into(), vec![splice]);
    run.cells[0].refused.push(Refused {
        technique: splice,
        error: "EPERM".to_owned(),
    });
    let lacks = "splice does not work from pipe to pipe: it was not measured there";
    assert_eq!(unsuited_in_words(&run), [lacks]);
    let refused =
        "splice was not measured from file to pipe: the kernel refuses its calls here: EPERM";
    assert_eq!(refused_in_words(&run), [refused]);
}

#[test]
fn a_run_without_cells_is_told_as_such() {
    let mut empty = results();
    empty.cells.clear();
    let text = table(&empty, 100);
    assert!(text.contains("0 cells in 15.9 s"), "{text}");
    assert!(text.contains("Incomplete"), "{text}");
    assert!(text.contains("No cell was measured."), "{text}");
    assert_eq!(csv(&empty), "");
}
