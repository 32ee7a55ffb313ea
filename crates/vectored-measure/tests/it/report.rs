//! Renderings of fixed results.

use vectored_machine::model::{CpuInfo, DirectoryInfo, Host};
use vectored_report::{TerminalOptions, terminal};
use vectored_report::{csv_of, json, parse};
use vectored_results::model::{
    Cell, Conditions, Drain, Experiments, LeftOut, OpenBecause, Results, SCHEMA, Target,
    TechniqueName, TechniqueResult, Verdict,
};
use vectored_results::report::experiments::document;
use vectored_results::report::measured;

use crate::damage::texts_stay_text;
use crate::experiments;
use crate::shown::{csv, html, markdown, text};
use crate::support::WRITES;

/// A technique with its gather tax, and its ratio to the leader with the
/// interval of that.
pub fn technique(
    name: TechniqueName,
    tax: f64,
    ratio: f64,
    interval: Option<(f64, f64)>,
) -> TechniqueResult {
    TechniqueResult {
        name,
        in_flight: false,
        contender: ratio < 4.0,
        calls_per_sample: 64,
        median_ns: 1000.0 * (1.0 + tax),
        min_ns: 900.0,
        cpu_median_ns: 1000.0,
        gather_tax: tax,
        ratio_to_leader: ratio,
        ratio_low: interval.map(|(low, _)| low),
        ratio_high: interval.map(|(_, high)| high),
        floor_ratio: Some(1.0 + tax),
        floor_ratio_low: interval.map(|_| 0.98 * (1.0 + tax)),
        floor_ratio_high: interval.map(|_| 1.02 * (1.0 + tax)),
        samples_ns: vec![Some(1000.0), None],
        latency: Default::default(),
        writers: None,
        ranks: None,
        zerocopy: None,
    }
}

pub fn cell(
    target: Target,
    bytes: usize,
    verdict: Verdict,
    techniques: Vec<TechniqueResult>,
) -> Cell {
    let leader = techniques
        .iter()
        .filter(|technique| technique.name != TechniqueName::ADAPTIVE)
        .min_by(|a, b| a.median_ns.total_cmp(&b.median_ns))
        .map(|technique| technique.name);
    Cell {
        conditions: Conditions::write(target),
        segment_count: 1000,
        segment_bytes: Some(bytes),
        segment_sizes: None,
        swept_mix: None,
        alignment: None,
        file_system: None,
        span_bytes: None,
        drain: None,
        rounds: 40,
        timed_s: 0.0,
        spent_s: 0.0,
        floor_ns: 1000.0,
        floor_samples_ns: vec![1000.0, 1000.0],
        aa_samples_ns: vec![Some(1000.0), Some(1010.0)],
        verdict,
        winner: leader.filter(|_| verdict == Verdict::Faster),
        leader,
        noise_floor: Some(0.011),
        open_because: None,
        aa_separated: false,
        proof_calls: 12,
        techniques,
        choice: None,
        at_most: None,
        refused: Vec::new(),
    }
}

/// A run in which everything occurs that the renderings tell apart.
pub fn results() -> Results {
    /// A tax, a ratio to the leader and the interval of that.
    type Figures = (f64, f64, Option<(f64, f64)>);
    /// The techniques of a cell.
    fn four(figures: [Figures; 4]) -> Vec<TechniqueResult> {
        let names = [
            TechniqueName::WRITE_EACH,
            TechniqueName::COPY_THEN_WRITE,
            TechniqueName::WRITEV,
            TechniqueName::ADAPTIVE,
        ];
        let all = std::iter::zip(names, figures);
        all.map(|(name, (tax, ratio, interval))| technique(name, tax, ratio, interval))
            .collect()
    }
    let techniques = four([
        (85.0, 76.0, Some((75.0, 77.0))),
        (0.13, 1.0, Some((1.0, 1.0))),
        (0.232, 1.09, Some((1.07, 1.11))),
        (0.126, 0.997, Some((0.99, 1.002))),
    ]);
    let faster = cell(Target::File, 16, Verdict::Faster, techniques);
    let techniques = four([
        (4.2, 4.6, Some((4.5, 4.7))),
        (0.12, 1.0, Some((1.0, 1.0))),
        (0.125, 1.004, Some((0.998, 1.012))),
        (0.125, 1.004, Some((0.998, 1.012))),
    ]);
    let tie = cell(Target::File, 1000, Verdict::Tie, techniques);
    let techniques = four([
        (0.5, 1.48, Some((1.2, 1.6))),
        (0.04, 1.03, Some((0.988, 1.08))),
        (-0.003, 1.0, Some((1.0, 1.0))),
        (0.0, 1.002, Some((0.97, 1.04))),
    ]);
    let open = Cell {
        open_because: Some(OpenBecause::Budget),
        drain: Some(Drain::ReaderThread),
        floor_ns: 2_340_000.0,
        ..cell(Target::Pipe, 4096, Verdict::Open, techniques)
    };
    let techniques = four([
        (4.2, 4.6, Some((4.5, 4.7))),
        (0.13, 1.01, Some((0.995, 1.031))),
        (0.12, 1.0, Some((1.0, 1.0))),
        (0.125, 1.004, Some((0.998, 1.012))),
    ]);
    let close = Cell {
        open_because: Some(OpenBecause::Budget),
        choice: Some(TechniqueName::COPY_THEN_WRITE),
        at_most: Some(0.031),
        ..cell(Target::File, 4096, Verdict::Close, techniques)
    };
    let techniques = four([
        (3.0, 3.9, None),
        (0.02, 1.0, None),
        (0.2, 1.2, None),
        (0.01, 0.99, None),
    ]);
    let mixed = Cell {
        segment_count: 10,
        segment_bytes: None,
        segment_sizes: Some(vec![(9, 16), (1, 4096)]),
        rounds: 3,
        noise_floor: None,
        open_because: Some(OpenBecause::Rounds),
        ..cell(Target::Pipe, 0, Verdict::Open, techniques)
    };
    Results {
        schema: SCHEMA.to_owned(),
        complete: false,
        vectored_version: "0.0.0".to_owned(),
        started_at: "2000-01-01T00:00:00Z".to_owned(),
        elapsed_s: 15.94,
        budget_s: 16.0,
        seed: 42,
        rivals: WRITES.to_vec(),
        host: Host {
            name: "stand".to_owned(),
            system: "Linux x86_64".to_owned(),
            kernel: "6.18.0 #1 SMP".to_owned(),
            cpu: CpuInfo {
                model: "Some Processor 3".to_owned(),
                allowed_cpus: vec![0, 1],
                ..CpuInfo::default()
            },
            memory_bytes: 8_400_000_000,
            virtualization: Some("virtual machine".to_owned()),
            directory: Some(DirectoryInfo {
                path: "/srv/data".to_owned(),
                file_system: "ext4".to_owned(),
                ..DirectoryInfo::default()
            }),
            warnings: vec!["the machine is busy".to_owned()],
            ..Host::default()
        },
        cells: vec![faster, tie, close, open, mixed],
        left_out: [Target::File, Target::Pipe]
            .map(|target| LeftOut {
                conditions: Conditions::write(target),
                segment_sizes: vec![(1000, 16384)],
                reason: "more than 4 MiB in one call".to_owned(),
            })
            .into(),
        ..Results::default()
    }
}

fn table(results: &Results, width: usize) -> String {
    text(&measured(results), width)
}

#[test]
fn a_table_has_the_answer_the_figures_and_the_notes() {
    insta::assert_snapshot!(table(&results(), 100));
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
        Target::Fifo,
        Target::Unix,
        Target::Tcp,
        Target::Socket,
        Target::Device,
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
        TechniqueName::new("pwritev2"),
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
fn colour_changes_nothing_but_colour() {
    let options = TerminalOptions {
        color: true,
        details: true,
        width: 100,
    };
    let coloured = terminal(&measured(&results()), &options);
    assert!(coloured.contains("\x1b[32m"));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        stripped += before;
        rest = after.split_once('m').unwrap().1;
    }
    stripped += rest;
    // A tie has a coloured square of blanks.
    let stripped: String = stripped
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    assert_eq!(stripped, table(&results(), 100));
}

#[test]
fn json_is_read_back_as_it_was_written() {
    let text = json(&results());
    assert_eq!(parse::<Results>(&text).unwrap(), results());
    // A later version may know more.
    let extended = text.replacen('{', "{\"novelty\":[1,{}],", 1);
    assert_eq!(parse::<Results>(&extended).unwrap(), results());
}

#[test]
fn another_schema_is_refused_by_name() {
    let check = |text: &str, words: &str| {
        let message = parse::<Results>(text).unwrap_err().to_string();
        assert!(message.contains(words), "{words}: {message}");
        assert!(
            !message.contains('\x1b') && message.len() < 300,
            "{message}"
        );
    };
    let good = json(&results());
    check(
        &good.replace("results/1", "results/2"),
        "unknown schema \"vectored-results/2\"",
    );
    check(
        "{\"schema\":\"\\u001b[2J\"}",
        "unknown schema \"\\u{1b}[2J\"",
    );
    check(
        &format!("{{\"schema\":{:?}}}", "x".repeat(10_000)),
        "unknown schema",
    );
    check("{}", "no field \"schema\"");
    check("[]", "no field \"schema\"");
    check("{\"schema\":1}", "no field \"schema\"");
    check("", "not JSON");
    check("vectored", "not JSON");
    check(&"[".repeat(100_000), "no field \"schema\"");
    check(
        &good.replace("\"seed\":42", "\"seed\":-1"),
        "damaged results",
    );
    check(
        &good.replace("\"floor_ns\":1000.0", "\"floor_ns\":1e999"),
        "damaged results",
    );
}

#[test]
fn damaged_text_is_an_error_and_never_a_panic() {
    let good = json(&results());
    for end in 0..good.len() - 1 {
        if let Some(cut) = good.get(..end) {
            assert!(parse::<Results>(cut).is_err(), "{end}");
        }
    }
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..2000 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..=rng.usize(..3) {
            let at = rng.usize(..bytes.len());
            bytes[at] = rng.u8(b' '..=b'~');
        }
        // Bytes that can still be loaded can also be shown.
        if let Ok(results) = parse::<Results>(&String::from_utf8_lossy(&bytes)) {
            table(&results, 100);
            markdown(&results);
            csv(&results);
        }
    }
}

#[test]
fn foreign_text_stays_text() {
    let mut hostile = results();
    let evil = "\x1b]0;owned\x07 | `rm` <b> [x](y)\n| 1 \u{202e}";
    hostile.host.cpu.model = evil.to_owned();
    hostile.host.kernel = evil.to_owned();
    hostile.host.directory.as_mut().unwrap().path = evil.to_owned();
    hostile.host.warnings = vec![evil.to_owned()];
    hostile.left_out[0].reason = evil.to_owned();
    let lines = |text: &str| text.lines().count();
    let table = table(&hostile, 1000);
    let shown = markdown(&hostile);
    let plain_markdown = markdown(&results());
    let markdown = shown;
    for text in [&table, &markdown] {
        assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text}");
        assert!(text.contains("\\u{1b}"), "{text}");
    }
    // The two lists that were left out now have a reason each: one line more.
    assert_eq!(lines(&markdown), lines(&plain_markdown) + 1);
    assert!(!markdown.contains(" <b>") && markdown.contains("\\<b>"));
    assert!(!markdown.contains(" [x]") && markdown.contains("\\[x\\]"));
    assert!(!markdown.contains(" | `rm`") && markdown.contains("\\| \\`rm\\`"));
}

#[test]
fn every_text_of_a_result_stays_text() {
    let count = texts_stay_text(&json(&results()), |text| {
        let results = parse::<Results>(text).ok()?;
        Some((measured(&results), csv(&results)))
    });
    assert!(count > 10, "{count}");
    let count = texts_stay_text(&json(&experiments::all()), |text| {
        let found = parse::<Experiments>(text).ok()?;
        Some((document(&found), csv_of(&[&found])))
    });
    assert!(count > 10, "{count}");
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
