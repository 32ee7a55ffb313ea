//! The plots of fixed results.

use vectored_lab::model::{Drain, Operation, Results, Target, Technique, Verdict};
use vectored_lab::report::{PlotOptions, plot};

use crate::report::{cell, results, technique};
use Technique::{Adaptive, CopyThenWrite, WriteEach, Writev};

/// Sizes, and the taxes of `write-each`, `copy-then-write`, `writev` and
/// `adaptive`.
type Curve = (usize, [f64; 4]);

const PIPE: [Curve; 4] = [
    (16, [14.0, 0.16, 1.47, 0.23]),
    (256, [7.02, 0.083, 0.82, 0.22]),
    (1024, [2.9, 0.2, 0.2, 0.36]),
    (4096, [1.05, 0.26, 0.062, 0.074]),
];

fn curves(target: Target, count: usize, curves: &[Curve]) -> Results {
    let mut run = results();
    run.cells = curves
        .iter()
        .map(|&(bytes, taxes)| {
            let names = [WriteEach, CopyThenWrite, Writev, Adaptive];
            let entries = std::iter::zip(names, taxes).map(|(n, tax)| technique(n, tax, 1.0, None));
            let verdict = match bytes {
                1024 => Verdict::Tie,
                _ => Verdict::Faster,
            };
            let mut cell = cell(target, bytes, verdict, entries.collect());
            cell.segment_count = count;
            cell
        })
        .collect();
    run
}

/// The cells of several runs as one run.
fn joined(runs: impl IntoIterator<Item = Results>) -> Results {
    let mut all = results();
    all.cells = runs.into_iter().flat_map(|run| run.cells).collect();
    all
}

fn plain(width: usize) -> PlotOptions {
    PlotOptions {
        color: false,
        width,
    }
}

#[test]
fn plots_stand_side_by_side() {
    let mut slow = PIPE;
    for (_, taxes) in &mut slow {
        // 4000 % and more: in the row above the axis.
        taxes[0] += 40.0;
    }
    let mut late = curves(Target::Unix, 1000, &PIPE);
    late.cells[2].drain = Some(Drain::ReaderThread);
    late.cells[2].verdict = Verdict::Open;
    // Some are missing, one is faster than the floor.
    late.cells[1].techniques.remove(2);
    late.cells[3].techniques[2].gather_tax = -0.3;
    let run = joined([
        curves(Target::Pipe, 16, &PIPE),
        curves(Target::Pipe, 1000, &slow),
        late,
    ]);
    insta::assert_snapshot!(plot(&run, plain(100)));
}

#[test]
fn a_lonely_plot_is_no_wider_than_it_needs() {
    let run = curves(Target::Pipe, 16, &PIPE);
    let text = plot(&run, plain(200));
    let plots = text.lines().take_while(|line| !line.is_empty());
    assert!(
        plots.map(|line| line.chars().count()).max() <= Some(48),
        "{text}"
    );
}

#[test]
fn where_not_all_fit_the_largest_count_of_each_target_is_shown() {
    let counts = [2, 16, 1000];
    let runs = [Target::File, Target::Pipe, Target::Unix]
        .into_iter()
        .flat_map(|target| counts.map(|count| curves(target, count, &PIPE)));
    let run = joined(runs);
    let text = plot(&run, plain(100));
    assert_eq!(
        text.matches(" segments ").count() + text.matches(" segments\n").count(),
        3
    );
    for title in ["file, 1000 segments", "pipe, 1000", "unix, 1000"] {
        assert!(text.contains(title), "{title} in\n{text}");
    }
    assert!(text.contains("the largest segment count of each"), "{text}");
    // With more room there is everything, and nothing to tell.
    let text = plot(&run, plain(180));
    assert!(
        text.contains("file, 2 segments") && text.contains("unix, 1000"),
        "{text}"
    );
    assert!(
        !text.contains("the largest segment count of each"),
        "{text}"
    );
}

#[test]
fn what_is_no_curve_is_not_plotted() {
    let nothing = |run: &Results| assert_eq!(plot(run, plain(100)), "");
    nothing(&curves(Target::Pipe, 16, &PIPE[..1]));
    nothing(&curves(Target::Pipe, 16, &[PIPE[0], PIPE[0]]));
    nothing(&curves(Target::Null, 16, &PIPE));
    nothing(&joined([]));
    let mut mixed = curves(Target::Pipe, 16, &PIPE);
    for cell in &mut mixed.cells {
        cell.segment_sizes = cell
            .segment_bytes
            .take()
            .map(|bytes| vec![(9, bytes), (1, 1)]);
    }
    nothing(&mixed);
    let run = curves(Target::Pipe, 16, &PIPE);
    assert_eq!(plot(&run, plain(30)), "");
    assert_ne!(plot(&run, plain(31)), "");
    // Sizes of different counts are no curve either.
    let mut counts = run;
    for (index, cell) in counts.cells.iter_mut().enumerate() {
        cell.segment_count = index;
    }
    nothing(&counts);
}

#[test]
fn techniques_of_reads_have_letters_of_their_own() {
    let mut run = curves(Target::Pipe, 16, &PIPE);
    for cell in &mut run.cells {
        cell.operation = Operation::Read;
        let names = Technique::of(Operation::Read);
        for (technique, name) in std::iter::zip(&mut cell.techniques, names) {
            technique.name = name;
        }
    }
    let text = plot(&run, plain(100));
    assert!(text.contains("pipe read, 16 segments"), "{text}");
    for entry in ["e read-each", "s read-then-split", "v readv", "a adaptive"] {
        assert!(text.contains(entry), "{entry} in\n{text}");
    }
}
