//! Invented runs against each other: no change is reported between equal runs, and a slowdown is reported.

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

/// A run of 51 cells whose figures vary as in ten real runs: the figures of a target and technique vary together, each cell
/// varies by itself, and some cells vary much more.
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
fn runs_of_one_build_rarely_differ() {
    let mut rng = Rng::with_seed(1);
    // 5 % are allowed; 60 comparisons of such a rate exceed 8 once in a hundred.
    for (runs, comparisons, most) in [(1, 20, 0), (3, 60, 8)] {
        let mut side = || -> Vec<Results> { (0..runs).map(|_| run(&mut rng, same)).collect() };
        let differs = |_: &i32| called(&compared(&side(), &side())) > 0;
        let differing = (0..comparisons).filter(differs).count();
        assert!(
            differing <= most,
            "{differing} of {comparisons} of {runs} runs"
        );
    }
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
fn what_is_called_is_large_enough_and_surer_than_the_runs_are() {
    // Between the runs there is no noise: every difference is certain.
    let runs = |count: usize, factor: f64, within: f64| {
        let mut run = run(&mut Rng::with_seed(3), same);
        for technique in run.cells.iter_mut().flat_map(|cell| &mut cell.techniques) {
            let ratio = technique.floor_ratio.unwrap() * factor;
            technique.floor_ratio = Some(ratio);
            technique.floor_ratio_low = Some(ratio / within);
            technique.floor_ratio_high = Some(ratio * within);
        }
        vec![run; count]
    };
    let call = |count, factor, within| {
        let comparison = compared(&runs(count, 1.0, within), &runs(count, factor, within));
        let all = comparison.rows().count();
        let called = comparison
            .rows()
            .filter(|one| one.change != Change::NotFound);
        let changes: Vec<Change> = called.map(|one| one.change).collect();
        assert!([0, all].contains(&changes.len()), "{changes:?}");
        (comparison.called_from, changes.first().copied())
    };
    assert_eq!(call(2, 1.04, 1.005), (0.05, None));
    assert_eq!(call(3, 1.04, 1.005), (0.02, Some(Change::More)));
    assert_eq!(call(3, 1.0 / 1.021, 1.005), (0.02, Some(Change::Less)));
    // Below the tie zone no change is reported, however many runs there are.
    assert_eq!(call(3, 1.015, 1.005), (0.02, None));
    assert_eq!(call(3, 1.0 / 1.019, 1.005), (0.02, None));
    // An interval is at least as wide as the intervals of its runs.
    assert_eq!(call(3, 1.04, 1.5), (0.02, None));
}

#[test]
fn a_slower_machine_is_no_difference_and_what_cannot_be_compared_is_told() {
    let mut rng = Rng::with_seed(4);
    let mut base = run(&mut rng, same);
    let mut new = run(&mut rng, same);
    new.host.kernel = "6.19.0 #2 <script>".to_owned();
    for cell in &mut new.cells {
        cell.floor_ns *= 1.5;
    }
    // The new run lacks one cell, and another cell was measured with a thread. The base lacks one result, and one result of the
    // new run has no interval.
    new.cells.truncate(50);
    new.cells[0].drain = Some(Drain::ReaderThread);
    base.cells[1].techniques.remove(0);
    new.cells[2].techniques[0].floor_ratio_low = None;
    let comparison = compared(&[base], &[new]);
    assert_eq!(
        (called(&comparison), comparison.cells.len()),
        (0, 49 * 4 - 2)
    );
    let text = text(&comparison_document(&comparison), 4000);
    for words in [
        "\n\nDifferent kernel: 6.18.0 #1 SMP in the base runs, 6.19.0 #2 <script> in the new runs.\n",
        "Changes of the floors: file 1.50×",
        "Not compared: 3 cells, not measured under the same conditions in every run.",
        "Not compared: 2 cell results, not",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(compare(&[], &[]), None);
}

#[test]
fn a_run_without_files_has_no_directory_to_differ() {
    let mut rng = Rng::with_seed(1);
    let (base, mut new) = (run(&mut rng, same), run(&mut rng, same));
    let what = |new: &Results| -> Vec<String> {
        let comparison = compared(std::slice::from_ref(&base), std::slice::from_ref(new));
        let environment = comparison.environment.into_iter();
        environment.map(|one| one.what).collect()
    };
    let directory = new.host.directory.as_mut().unwrap();
    directory.file_system = "tmpfs".to_owned();
    assert_eq!(what(&new), ["directory"]);
    new.host.directory = None;
    assert_eq!(what(&new), [] as [&str; 0]);
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
