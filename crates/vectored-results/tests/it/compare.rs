//! Runs against runs, invented: what is the same is not called, what is slower is.

use fastrand::Rng;
use vectored_report::{Change, Document, Ruling, TerminalOptions, terminal};
use vectored_results::model::{Comparison, Drain, Results, Target, TechniqueName, Verdict};
use vectored_results::report::{comparison_csv, comparison_document};
use vectored_results::stats::compare;

use crate::samples::{cell, results, technique};

const TECHNIQUES: [TechniqueName; 4] = [
    TechniqueName::WRITE_EACH,
    TechniqueName::COPY_THEN_WRITE,
    TechniqueName::WRITEV,
    TechniqueName::ADAPTIVE,
];

/// A run of 51 cells whose figures vary as in ten real runs: a target
/// and technique as a whole, each cell on its own, and some cells much more.
fn run(rng: &mut Rng, slower: impl Fn(Target, TechniqueName) -> f64) -> Results {
    let mut cells = Vec::new();
    for target in [Target::File, Target::Pipe, Target::Unix] {
        let whole = TECHNIQUES.map(|_| 0.015 * normal(rng));
        for index in 0..17 {
            let has_helper = target != Target::File && index >= 12;
            let sd = match (has_helper, index % 6) {
                (true, _) => 0.06,
                (false, 5) => 0.05,
                (false, _) => 0.01,
            };
            let techniques = TECHNIQUES.iter().zip(whole).map(|(&name, whole)| {
                let log = whole + sd * normal(rng) + slower(target, name).ln();
                let ratio = (1.0 + index as f64 / 4.0) * log.exp();
                let mut result = technique(name, ratio - 1.0, 1.0, Some((1.0, 1.0)));
                result.floor_ratio = Some(ratio);
                result.floor_ratio_low = Some(ratio * 0.995);
                result.floor_ratio_high = Some(ratio * 1.005);
                result
            });
            let techniques = techniques.collect();
            let mut cell = cell(target, 16 << index, Verdict::Open, techniques);
            cell.drain = has_helper.then_some(Drain::ReaderThread);
            cells.push(cell);
        }
    }
    Results { cells, ..results() }
}

/// The text of a document on a terminal without its details.
fn text(document: &Document, width: usize) -> String {
    let options = TerminalOptions {
        width,
        ..TerminalOptions::default()
    };
    terminal(document, &options)
}

fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

fn same(_: Target, _: TechniqueName) -> f64 {
    1.0
}

fn compared(base: &[Results], new: &[Results]) -> Comparison {
    let [base, new] = [base, new].map(|runs| runs.iter().collect::<Vec<_>>());
    compare(&base, &new).unwrap()
}

fn called(comparison: &Comparison) -> usize {
    let all = comparison.targets.iter().chain(&comparison.cells);
    all.filter(|one| one.change != Change::NotFound).count()
}

#[test]
fn of_twenty_pairs_of_runs_of_one_build_none_differs() {
    let mut rng = Rng::with_seed(1);
    for pair in 0..20 {
        let (base, new) = (run(&mut rng, same), run(&mut rng, same));
        assert_eq!(called(&compared(&[base], &[new])), 0, "pair {pair}");
    }
}

#[test]
fn three_runs_against_three_of_one_build_rarely_differ() {
    let mut rng = Rng::with_seed(2);
    let mut differing = 0;
    for _ in 0..60 {
        let mut three = || [(); 3].map(|()| run(&mut rng, same));
        let (base, new) = (three(), three());
        differing += usize::from(called(&compared(&base, &new)) > 0);
    }
    println!("{differing} of 60 comparisons call something");
    // 5 % are allowed; 60 comparisons of such a rate exceed 8 once in a hundred.
    assert!(differing <= 8, "{differing} of 60");
}

#[test]
fn a_technique_that_is_ten_percent_slower_is_caught_with_three_runs_a_side() {
    let slower = |target, technique| match (target, technique) {
        (Target::Pipe, TechniqueName::WRITEV) => 1.1,
        _ => 1.0,
    };
    let mut caught = 0;
    for seed in 0..20 {
        let mut rng = Rng::with_seed(100 + seed);
        let base = [(); 3].map(|()| run(&mut rng, same));
        let new = [(); 3].map(|()| run(&mut rng, slower));
        let mut comparison = compared(&base, &new);
        comparison.rule(0.05);
        for row in comparison.rows() {
            let is_beyond = row.change == Change::More && row.ratio >= 1.05;
            assert_eq!(row.ruling == Some(Ruling::Beyond), is_beyond, "{row:?}");
        }
        let is_it =
            |target, technique| target == Target::Pipe && technique == TechniqueName::WRITEV;
        let targets = comparison.targets.iter();
        caught += targets
            .filter(|one| is_it(one.conditions.target, one.technique))
            .filter(|one| one.change == Change::More)
            .count();
    }
    println!("{caught} of 20 are caught");
    assert!(caught >= 18, "{caught} of 20");
}

#[test]
fn with_fewer_than_three_runs_nothing_under_five_percent_is_called() {
    // Without any noise every difference is certain.
    let exact = |factor: f64| {
        let mut run = run(&mut Rng::with_seed(3), same);
        for technique in run.cells.iter_mut().flat_map(|cell| &mut cell.techniques) {
            for ratio in [
                &mut technique.floor_ratio,
                &mut technique.floor_ratio_low,
                &mut technique.floor_ratio_high,
            ] {
                *ratio = ratio.map(|ratio| ratio * factor);
            }
        }
        run
    };
    let few = compared(&[exact(1.0), exact(1.0)], &[exact(1.04), exact(1.04)]);
    assert_eq!((few.called_from, called(&few)), (0.05, 0));
    let three = |factor| [exact(factor), exact(factor), exact(factor)];
    let enough = compared(&three(1.0), &three(1.04));
    assert_eq!(enough.called_from, 0.02);
    assert_eq!(called(&enough), enough.targets.len() + enough.cells.len());
    // Below the tie zone nothing is called however many runs there are.
    assert_eq!(called(&compared(&three(1.0), &three(1.015))), 0);
}

#[test]
fn a_slower_machine_is_no_difference_and_its_environment_comes_first() {
    let mut rng = Rng::with_seed(4);
    let base = run(&mut rng, same);
    let mut new = run(&mut rng, same);
    new.host.kernel = "6.19.0 #2 <script>".to_owned();
    for cell in &mut new.cells {
        cell.floor_ns *= 1.5;
    }
    let comparison = compared(&[base], &[new]);
    assert_eq!(called(&comparison), 0);
    let text = text(&comparison_document(&comparison), 100);
    let first = "\n\nDifferent kernel: 6.18.0 #1 SMP in the base runs, 6.19.0 #2 <script> in the new runs.\n";
    assert!(text.contains(first), "{text}");
    assert!(text.contains("Changes of the floors: file 1.50×"), "{text}");
    let markdown = vectored_report::markdown(&comparison_document(&comparison));
    assert!(!markdown.contains(" <script"), "{markdown}");
}

#[test]
fn a_run_without_files_has_no_file_system_to_differ() {
    let mut rng = Rng::with_seed(1);
    let (base, mut new) = (run(&mut rng, same), run(&mut rng, same));
    let what = |new: &Results| -> Vec<String> {
        let comparison = compared(std::slice::from_ref(&base), std::slice::from_ref(new));
        let environment = comparison.environment.into_iter();
        environment.map(|one| one.what).collect()
    };
    let directory = new.host.directory.as_mut().unwrap();
    directory.file_system = "tmpfs".to_owned();
    assert_eq!(what(&new), ["file system"]);
    new.host.directory = None;
    assert_eq!(what(&new), [] as [&str; 0]);
}

#[test]
fn cells_that_not_every_run_has_are_counted_and_not_compared() {
    let mut rng = Rng::with_seed(5);
    let base = run(&mut rng, same);
    let mut new = run(&mut rng, same);
    new.cells.truncate(50);
    new.cells[0].drain = Some(Drain::ReaderThread);
    let comparison = compared(&[base], &[new]);
    // The cell that was changed counts as another cell on each side.
    assert_eq!(comparison.unmatched_cells, 3);
    assert_eq!(comparison.cells.len(), 49 * 4);
    let note = "Not compared: 3 cells, not measured under the same conditions in every run.";
    let text = text(&comparison_document(&comparison), 4000);
    assert!(text.contains(note), "{text}");
    assert_eq!(compare(&[], &[]), None);
}

#[test]
fn techniques_that_not_every_run_has_are_counted() {
    let mut rng = Rng::with_seed(7);
    let base = run(&mut rng, same);
    let mut new = run(&mut rng, same);
    // Whichever side has it: one is gone, one has no interval.
    let mut short = base.clone();
    short.cells[0].techniques.remove(0);
    new.cells[1].techniques[0].floor_ratio_low = None;
    let comparison = compared(&[short], &[new]);
    assert_eq!(comparison.unmatched_techniques, 2);
    let text = text(&comparison_document(&comparison), 100);
    assert!(text.contains("Not compared: 2 cell results"), "{text}");
}

#[test]
fn the_table_and_the_lines_of_a_comparison() {
    let slower = |target, technique| match (target, technique) {
        (Target::Unix, TechniqueName::WRITE_EACH) => 1.6,
        _ => 1.0,
    };
    let mut rng = Rng::with_seed(6);
    let base = [(); 3].map(|()| run(&mut rng, same));
    let new = [(); 3].map(|()| run(&mut rng, slower));
    let comparison = compared(&base, &new);
    insta::assert_snapshot!(text(&comparison_document(&comparison), 100));
    let lines = comparison_csv(&comparison);
    let head: Vec<&str> = lines.lines().take(2).collect();
    insta::assert_snapshot!(head.join("\n"));
}
