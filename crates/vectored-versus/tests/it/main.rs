//! Documents of invented figures.

use proptest::prelude::*;
use vectored_report::{Document, TerminalOptions, csv_of, html, json, markdown, parse, terminal};
use vectored_versus::judge::{self, CallLimit, Limits};
use vectored_versus::model::{
    Calls, Change, Compared, Comparison, Difference, FailedRun, File, FileUse, Phase, Range, Run,
    Side, VERSUS_SCHEMA, Versus,
};
use vectored_versus::report::{
    answer, compare_versus, document, limits_in_words, versus_comparison_document,
};

#[path = "../../../vectored-results/tests/it/damage.rs"]
mod damage;

/// The wall times scatter by 1 %.
fn runs(wall_ns: u64, seed: u64) -> Vec<Run> {
    let mut random = fastrand::Rng::with_seed(seed);
    let scattered = |_| {
        let ns = wall_ns + wall_ns * random.u64(..100) / 10_000;
        Run {
            wall_ns: ns,
            user_ns: ns / 2,
            system_ns: ns / 4,
            peak_bytes: Some(9 << 20),
            switches: 3,
            faults: 700,
        }
    };
    (0..40).map(scattered).collect()
}

fn calls(writes: u64) -> Calls {
    let one = Range::of;
    let kinds = [
        ("write", one(writes)),
        ("read", one(12)),
        ("futex", Range { low: 3, high: 9 }),
        ("mmap", one(30)),
    ];
    Calls {
        calls: one(writes + 42),
        waits: Range { low: 3, high: 9 },
        reads: one(12),
        read_bytes: one(5000),
        writes: one(writes),
        written_bytes: one(1_280_800),
        kinds: kinds.map(|(name, count)| (name.to_owned(), count)).into(),
        ..Calls::default()
    }
}

fn side(name: &str, command: &str, writes: u64, runs: Vec<Run>) -> Side {
    let file = |path: &str, as_what, sum: &str| File {
        path: path.to_owned(),
        as_what,
        sha256: Some(sum.repeat(64)),
    };
    let program = command.split(' ').next().unwrap();
    let libraries =
        (1..=8).map(|n| file(&format!("/lib/lib{n}.so"), FileUse::Mapped, &n.to_string()));
    let program = file(
        program,
        FileUse::Executed,
        if name == "old" { "a" } else { "b" },
    );
    let shared = file("/bin/sh", FileUse::Executed, "c");
    Side {
        name: name.to_owned(),
        command: command.to_owned(),
        ended: "exit status 0".to_owned(),
        said: String::new(),
        failed: Vec::new(),
        runs,
        calls: Some(calls(writes)),
        files: libraries.chain([program, shared]).collect(),
        left_behind: 0,
    }
}

/// The result for two logs: the old log has 40,025 writes, the new log has 120.
fn result() -> Versus {
    let old = side("old", "./log.old data", 40_025, runs(50_000_000, 1));
    let again = runs(50_000_000, 2);
    let new = side("new", "./log data", 120, runs(40_500_000, 3));
    let mut figures = judge::figures(&old.runs, &again, &new.runs);
    figures.extend(judge::counts(&calls(40_025), &calls(120)));
    Versus {
        schema: VERSUS_SCHEMA.to_owned(),
        complete: true,
        noise: judge::noise(&old.runs, &again),
        old,
        old_again_runs: again,
        new: vec![Comparison {
            side: new,
            figures,
            ..Comparison::default()
        }],
        ..Versus::default()
    }
}

fn screen(document: &Document, details: bool) -> String {
    terminal(
        document,
        &TerminalOptions {
            width: 100,
            details,
            ..TerminalOptions::default()
        },
    )
}

#[test]
fn the_answer_of_an_edit_that_pays() {
    insta::assert_snapshot!(screen(&document(&result()), false));
}

#[test]
fn one_round_has_no_interval() {
    let mut short = result();
    short.old.runs.truncate(1);
    short.old_again_runs.truncate(1);
    short.noise = judge::noise(&short.old.runs, &short.old_again_runs);
    let new = &mut short.new[0];
    new.side.runs = vec![Run {
        wall_ns: 40_000_000,
        ..Run::default()
    }];
    new.figures = judge::figures(&short.old.runs, &short.old_again_runs, &new.side.runs);
    let counts = judge::counts(
        short.old.calls.as_ref().unwrap(),
        new.side.calls.as_ref().unwrap(),
    );
    new.figures.extend(counts);
    let counted = screen(&document(&short), false);
    assert!(
        !counted.contains("CPU time") && counted.contains("One round tells"),
        "{counted}"
    );
    assert!(counted.contains("\nwrites "), "{counted}");
    let new = &mut short.new[0];
    new.figures.retain(|one| !judge::is_count(&one.figure));
    (short.old.calls, new.side.calls) = (None, None);
    short.not_counted = Some("strace is not installed".to_owned());
    insta::assert_snapshot!(screen(&document(&short), false));
}

#[test]
fn all_of_it_in_markdown() {
    insta::assert_snapshot!(markdown(&document(&result())));
}

fn of_all(share: f64) -> CallLimit {
    CallLimit { name: None, share }
}

fn spoiled() -> Versus {
    let mut spoiled = result();
    spoiled.not_compared = vec!["standard error".to_owned()];
    spoiled.new[0].same_files = true;
    spoiled.new[0].differences = vec![Difference {
        of: "standard output".to_owned(),
        how: "line 3 is 'b' instead of 'a'".to_owned(),
    }];
    spoiled.old.left_behind = 2;
    for side in [&mut spoiled.old, &mut spoiled.new[0].side] {
        side.ended = "exit status 1".to_owned();
        side.said = "no such file".to_owned();
    }
    if let Some(calls) = &mut spoiled.new[0].side.calls {
        calls.writes.high += 1;
        calls.submits = true;
        calls.skipped_lines = 1;
    }
    // A new command with counted calls and without timed runs.
    let mut untimed = spoiled.new[0].clone();
    untimed.side.name = "new 2".to_owned();
    untimed
        .figures
        .retain(|figure| figure.figure.contains("calls"));
    untimed.side.failed = [
        (Phase::Counted, 2),
        (Phase::Timed, 3),
        (Phase::Timed, 3),
        (Phase::Timed, 4),
    ]
    .map(|(phase, number)| FailedRun {
        phase,
        number,
        ended: format!("exit status {number}"),
        said: "failing".to_owned(),
    })
    .into();
    spoiled.new.push(untimed);
    spoiled.limits = judge::rulings(
        &spoiled,
        Limits {
            slower: Some(-0.5),
            calls: &[of_all(0.01)],
            memory: Some(0.0),
        },
    );
    spoiled
}

#[test]
fn what_spoils_a_comparison_comes_before_the_answer() {
    insta::assert_snapshot!(screen(&document(&spoiled()), false));
}

#[test]
fn two_results_are_compared_and_what_one_of_them_lacks_is_said() {
    let compared = |later: &Versus| {
        let comparison = compare_versus(&result(), later);
        screen(&versus_comparison_document(&comparison), false)
    };
    insta::assert_snapshot!(compared(&spoiled()));
    let mut uncounted = result();
    uncounted.new[0].side.calls = None;
    let text = compared(&uncounted);
    assert!(!text.contains("system calls") && !text.contains("neither"));
    uncounted.new[0].figures.clear();
    assert!(compared(&uncounted).contains("was neither timed nor counted"));
    uncounted.old.runs.truncate(1);
    let mut comparison = compare_versus(&result(), &uncounted);
    comparison.rule(Limits {
        slower: Some(0.1),
        ..Limits::default()
    });
    let said = limits_in_words(&comparison.limits, "the earlier result");
    assert!(
        said[0].1.contains("1 round, and an interval needs 6"),
        "{said:?}"
    );
}

#[test]
fn a_ratio_has_changed_if_the_intervals_of_both_results_are_apart() {
    let with = |[low, ratio, high]: [f64; 3]| {
        let mut result = result();
        let mut figures = result.new[0].figures.iter_mut();
        let wall = figures.find(|one| one.figure == "wall_ns").unwrap();
        (wall.low, wall.ratio, wall.high) = (Some(low), Some(ratio), Some(high));
        result
    };
    for (later, ends, change) in [
        ([1.5, 1.6, 2.0], [1.5, 4.0], Change::More),
        ([0.75, 1.0, 2.0], [0.75, 4.0], Change::NotFound),
        ([0.125, 0.2, 0.25], [0.125, 0.5], Change::Less),
    ] {
        let compared = compare_versus(&with([0.5, 0.8, 1.0]), &with(later));
        let wall = &compared.new[0].figures[0];
        assert_eq!([wall.low, wall.high], ends.map(Some));
        assert_eq!((wall.ratio, wall.change), (Some(later[1] / 0.8), change));
    }
}

/// Each case gives the interval of the time, of the CPU time, and of the old command against itself.
#[test]
fn a_sentence_says_what_its_interval_supports() {
    let shape = |word: &str| match word {
        "narrow" => ([0.99, 1.012], Change::NotFound),
        "wide" => ([0.002, 173.0], Change::NotFound),
        "above" => ([1.02, 1.3], Change::NotFound),
        _ => ([0.99, 1.012], Change::Less),
    };
    let mut said = String::new();
    for figures in [
        "narrow narrow narrow",
        "wide narrow narrow",
        "narrow narrow wide",
        "above wide wide",
        "wide less narrow",
        "narrow less narrow",
        "less narrow narrow",
        "less wide narrow",
    ] {
        let mut result = result();
        let mut shapes = figures.split(' ').map(shape);
        let mut set = |figures: &mut [Compared], name: &str| {
            let ([low, high], change) = shapes.next().unwrap();
            let one = figures.iter_mut().find(|one| one.figure == name).unwrap();
            (one.low, one.high, one.change) = (Some(low), Some(high), change);
            one.ratio = Some((low * high).sqrt().min(1.0));
        };
        set(&mut result.new[0].figures, "wall_ns");
        set(&mut result.new[0].figures, "cpu_ns");
        set(&mut result.noise, "wall_ns");
        let later = versus_comparison_document(&compare_versus(&result, &result));
        let later = screen(&later, false);
        let compared = later.lines().find(|line| line.starts_with("new")).unwrap();
        said += &format!(
            "{figures}: {}\n  later: {compared}\n",
            answer(&result, &result.new[0])
        );
    }
    for [old, new] in [
        [[49, 49], [49, 49]],
        [[49, 49], [1, 1]],
        [[49, 52], [50, 51]],
        [[49, 52], [49, 52]],
        [[49, 52], [9, 12]],
    ] {
        let mut result = result();
        let figures = &mut result.new[0].figures;
        figures.retain(|one| judge::is_count(&one.figure));
        for (side, [low, high]) in [(&mut result.old, old), (&mut result.new[0].side, new)] {
            side.calls = Some(Calls {
                calls: Range { low, high },
                ..Calls::default()
            });
        }
        said += &format!("{old:?} {new:?}: {}\n", answer(&result, &result.new[0]));
    }
    let mut result = result();
    result.new[0]
        .figures
        .retain(|one| judge::is_count(&one.figure));
    for (side, [low, high]) in [
        (&mut result.old, [10, 20]),
        (&mut result.new[0].side, [5, 12]),
    ] {
        side.calls = Some(Calls {
            writes: Range { low, high },
            ..calls(0)
        });
    }
    said += &answer(&result, &result.new[0]);
    insta::assert_snapshot!(said);
}

#[test]
fn an_undecided_limit_has_its_own_reason() {
    let share = Some(0.1);
    let calls = [of_all(0.1)];
    let (mut time, mut memory, mut count) =
        (Limits::default(), Limits::default(), Limits::default());
    (time.slower, memory.memory, count.calls) = (share, share, &calls);
    let all = [(2, time), (2, memory), (6, memory), (40, count), (39, time)];
    let said = all.map(|(rounds, limits)| {
        let mut result = result();
        let new = &mut result.new[0];
        for runs in [
            &mut result.old.runs,
            &mut result.old_again_runs,
            &mut new.side.runs,
        ] {
            runs.truncate(rounds);
            runs.iter_mut().for_each(|run| run.peak_bytes = None);
        }
        new.figures = judge::figures(&result.old.runs, &result.old_again_runs, &new.side.runs);
        new.side.calls = None;
        if rounds == 39 {
            (new.figures[0].low, new.figures[0].high) = (Some(0.5), Some(2.0));
        }
        let limits = judge::rulings(&result, limits);
        let [(ruling, said)] = &limits_in_words(&limits, "old")[..] else {
            panic!("{limits:?}");
        };
        format!("{ruling:?}: {said}\n")
    });
    insta::assert_snapshot!(said.concat());
}

#[test]
fn each_figure_has_a_row() {
    let mut spoiled = spoiled();
    for new in &mut spoiled.new {
        new.figures.truncate(2);
    }
    insta::assert_snapshot!(csv_of(&[&spoiled]));
    let compared = compare_versus(&result(), &spoiled).csv();
    assert!(compared.contains("wall_ns"), "{compared}");
}

#[test]
fn what_is_saved_is_read_again_and_checked() {
    let saved = json(&result());
    assert_eq!(parse::<Versus>(&saved).unwrap(), result());
    let damage = |from: &str, to: &str| {
        let text = saved.replacen(from, to, 1);
        assert_ne!(text, saved);
        parse::<Versus>(&text).unwrap_err().to_string()
    };
    assert!(damage("\"low\":3,", "\"low\":10,").contains("a range ends before it begins"));
    assert!(damage("\"ratio\":", "\"ratio\":-").contains("negative"));
    let mut fewer = result();
    fewer.old.runs.pop();
    let error = parse::<Versus>(&json(&fewer)).unwrap_err();
    assert!(error.to_string().contains("different numbers of runs"));
}

proptest! {
    #[test]
    fn a_hostile_file_is_an_error_or_shown_and_no_panic(changes in damage::changes()) {
        if let Ok(found) = parse::<Versus>(&damage::changed(&json(&spoiled()), &changes)) {
            let document = document(&found);
            html(std::slice::from_ref(&document));
            screen(&document, true);
            html(&[versus_comparison_document(&compare_versus(&result(), &found))]);
            csv_of(&[&found, &found]);
        }
    }
}
