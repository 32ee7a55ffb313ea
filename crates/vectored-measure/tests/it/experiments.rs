//! Tables of experiments, from fixed samples.

use vectored_machine::model::Host;
use vectored_measure::reproduce::{CopyPlan, conclude, published};
use vectored_report::{Block, Chart, csv_of, json};
use vectored_results::model::{
    EXPERIMENTS_SCHEMA, ExperimentName, ExperimentRow, Experiments, IovecSetup, Operation,
    PUBLISHED_FILE_BYTES, PageCache, Reproduction, Setting, SyncMode,
};
use vectored_results::report::experiments::document;

use crate::shown::text;

/// Factors by which repeats differ, in an order without a trend.
const NOISE: [f64; 7] = [1.01, 0.99, 1.02, 0.98, 1.00, 1.03, 0.97];

/// Seven repeats around this time; other rows have theirs in another order.
fn samples(middle_s: f64, turn: usize) -> Vec<Option<f64>> {
    let turned = NOISE.iter().cycle().skip(turn % 7).take(7);
    turned.map(|noise| Some(noise * middle_s)).collect()
}

fn experiment(name: ExperimentName, setting: Setting, rows: Vec<ExperimentRow>) -> Reproduction {
    let mut made = Reproduction {
        name,
        reduced: false,
        complete: true,
        cache: PageCache::Hot,
        setting: Setting {
            repeats: 7,
            ..setting
        },
        rows,
        published: published(name),
        ratios: Vec::new(),
        crossovers: Vec::new(),
        missing: Vec::new(),
        notes: Vec::new(),
        finding: String::new(),
    };
    conclude(&mut made);
    made
}

fn shown(experiments: Vec<Reproduction>) -> Experiments {
    Experiments {
        schema: EXPERIMENTS_SCHEMA.to_owned(),
        complete: true,
        vectored_version: "0.0.0".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        elapsed_s: 1.0,
        seed: 7,
        host: Host {
            system: "Linux x86_64".to_owned(),
            kernel: "6.18.0".to_owned(),
            ..Host::default()
        },
        timer: Default::default(),
        experiments,
    }
}

/// Copies that cost a microsecond a loop, and then what the bytes take.
fn copies(cache: PageCache) -> Reproduction {
    let cold_s = if cache == PageCache::Cold { 0.2 } else { 0.0 };
    let rows = CopyPlan::published_buffers()
        .into_iter()
        .map(|buffer_bytes| {
            let loops = PUBLISHED_FILE_BYTES.div_ceil(buffer_bytes);
            let cpu_s = loops as f64 * 1e-6 + 0.02;
            let turn = buffer_bytes.ilog2() as usize;
            ExperimentRow {
                technique: "read-write".to_owned(),
                buffer_bytes: Some(buffer_bytes),
                loops: Some(loops),
                user_s_samples: samples(cpu_s / 4.0, turn),
                system_s_samples: samples(cpu_s * 3.0 / 4.0, turn),
                cpu_s_samples: samples(cpu_s, turn),
                clock_s_samples: samples(cpu_s + 0.001 + cold_s, turn),
                resident_bytes_samples: vec![Some(4096); 7],
                fetched_bytes_samples: vec![Some(PUBLISHED_FILE_BYTES); 7],
                ..ExperimentRow::default()
            }
        });
    let setting = Setting {
        file_bytes: Some(PUBLISHED_FILE_BYTES),
        to: Some("null".to_owned()),
        sync: Some(SyncMode::None),
        st_blksize: Some(4096),
        read_ahead_kb: Some(128),
        start_s_samples: samples(0.0015, 0),
        ..Setting::default()
    };
    let mut made = experiment(ExperimentName::Apue35, setting, rows.collect());
    made.cache = cache;
    conclude(&mut made);
    made
}

fn records(writev_s: f64) -> Reproduction {
    let techniques = [
        ("write-each", 1.80),
        ("copy-then-write", 1.00),
        ("writev", writev_s),
        ("adaptive", 1.02),
    ];
    let rows = techniques
        .iter()
        .enumerate()
        .map(|(turn, (technique, cpu_s))| ExperimentRow {
            technique: (*technique).to_owned(),
            segment_count: Some(2),
            segment_sizes: Some(vec![(1, 100), (1, 200)]),
            calls: Some(1 << 20),
            user_s_samples: samples(cpu_s * 0.1, turn),
            system_s_samples: samples(cpu_s * 0.9, turn),
            cpu_s_samples: samples(*cpu_s, turn),
            clock_s_samples: samples(cpu_s * 1.01, turn),
            ..ExperimentRow::default()
        });
    let setting = Setting {
        file_bytes: Some(314_572_800),
        ..Setting::default()
    };
    experiment(ExperimentName::Apue1428, setting, rows.collect())
}

/// Copies of a program of the user beside ours. It costs four microseconds a loop, starts in 15 ms, and reads with at most
/// `own_bytes`.
fn beside(buffer: Option<u64>, own_bytes: u64) -> Reproduction {
    let copy = |technique: &str, buffer_bytes: Option<u64>, cost_s: f64| {
        let start_s = if technique == "program" { 0.015 } else { 0.001 };
        let bytes = match buffer_bytes {
            Some(bytes) if bytes < 64 => bytes * 200_000,
            _ => PUBLISHED_FILE_BYTES,
        };
        let read = buffer_bytes.unwrap_or(own_bytes);
        let read = if technique == "program" { read.max(own_bytes) } else { read };
        let loops = bytes.div_ceil(read);
        let share = bytes as f64 / PUBLISHED_FILE_BYTES as f64;
        let cpu_s = loops as f64 * cost_s + 0.02 * share + start_s;
        let turn = read.ilog2() as usize;
        ExperimentRow {
            technique: technique.to_owned(),
            buffer_bytes,
            copied_bytes: (bytes < PUBLISHED_FILE_BYTES).then_some(bytes),
            loops: Some(loops),
            cpu_s_samples: samples(cpu_s, turn),
            clock_s_samples: samples(cpu_s + 0.0005, turn),
            ..ExperimentRow::default()
        }
    };
    let start = |technique: &str, start_s: f64| ExperimentRow {
        technique: technique.to_owned(),
        copied_bytes: Some(0),
        loops: Some(0),
        cpu_s_samples: samples(start_s, 0),
        clock_s_samples: samples(start_s + 0.0005, 0),
        ..ExperimentRow::default()
    };
    let sizes = CopyPlan::published_buffers();
    let ours = sizes
        .iter()
        .map(|&bytes| copy("read-write", Some(bytes), 1e-6));
    let mut rows: Vec<ExperimentRow> = ours.collect();
    match buffer {
        None => rows.push(copy("program", None, 4e-6)),
        Some(least) => {
            let sizes = sizes.iter().filter(|bytes| **bytes >= least);
            rows.extend(sizes.map(|&bytes| copy("program", Some(bytes), 4e-6)));
        }
    }
    rows.extend([start("read-write", 0.001), start("program", 0.015)]);
    let setting = Setting {
        file_bytes: Some(PUBLISHED_FILE_BYTES),
        to: Some("null".to_owned()),
        program: Some("./mycat {buffer} < {input}".to_owned()),
        sync: Some(SyncMode::None),
        st_blksize: Some(4096),
        read_ahead_kb: Some(128),
        ..Setting::default()
    };
    experiment(ExperimentName::Apue35, setting, rows)
}

/// Copies that cost `copy_ns` a byte, and elements that cost 20 ns each in a list.
fn elements(copy_ns: f64) -> Reproduction {
    let sizes = [1, 3, 5, 10, 50, 100, 200, 300, 500, 1000];
    let rows = sizes.into_iter().flat_map(|bytes| {
        let common_s = 2e-6 + bytes as f64 * 1e-7;
        let row = |technique: &str, cpu_s: f64, turn| ExperimentRow {
            technique: technique.to_owned(),
            segment_count: Some(1000),
            segment_bytes: Some(bytes),
            calls: Some(100),
            cpu_s_samples: samples(cpu_s, turn),
            clock_s_samples: samples(cpu_s * 1.1, turn),
            ..ExperimentRow::default()
        };
        let copying_s = common_s + 5e-6 + bytes as f64 * copy_ns * 1e-6;
        [
            row("writev", common_s + 20e-6, 0),
            row("copy-then-write", copying_s, 3),
        ]
    });
    experiment(ExperimentName::Kalinin, Setting::default(), rows.collect())
}

fn passes() -> Reproduction {
    let mut rows = Vec::new();
    for (bytes, count) in [(1024, 1000), (102_400, 10)] {
        for (setup, direct) in [
            (IovecSetup::Timed, false),
            (IovecSetup::Once, false),
            (IovecSetup::Timed, true),
        ] {
            for (names, calls) in [
                (["write-each", "read-each"], count as f64),
                (["writev", "readv"], 1.0),
                (["io-uring"; 2], 40.0),
            ] {
                if names[0] == "io-uring" && setup == IovecSetup::Once {
                    continue; // its queue is consumed
                }
                for (operation, technique) in
                    std::iter::zip([Operation::Write, Operation::Read], names)
                {
                    let pass_s = 300e-6 + calls * 1e-6;
                    let clock_s_samples = samples(pass_s, rows.len());
                    rows.push(ExperimentRow {
                        technique: technique.to_owned(),
                        operation: Some(operation),
                        iovec_setup: Some(setup),
                        direct,
                        segment_count: Some(count),
                        segment_bytes: Some(bytes),
                        calls: Some(10),
                        pass_s_samples: clock_s_samples.iter().map(|s| vec![s.unwrap()]).collect(),
                        clock_s_samples,
                        ..ExperimentRow::default()
                    });
                }
            }
        }
    }
    let mut made = experiment(ExperimentName::Mincer, Setting::default(), rows);
    made.missing = vec!["linux-aio (a sandbox forbids it)".to_owned()];
    made
}

pub fn all() -> Experiments {
    shown(vec![
        copies(PageCache::Hot),
        records(1.09),
        elements(0.1),
        passes(),
    ])
}

#[test]
fn the_tables_of_fixed_samples() {
    insta::assert_snapshot!(text(&document(&all()), 100));
}

#[test]
fn the_table_of_a_program_beside_ours() {
    insta::assert_snapshot!(text(&document(&shown(vec![beside(Some(1), 1)])), 110));
}

fn chart(experiment: Reproduction) -> Chart {
    let blocks = document(&shown(vec![experiment])).body.into_iter();
    let mut charts = blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    charts.next().unwrap()
}

#[test]
fn the_chart_of_a_program_has_three_curves_and_marks_the_buffer_of_the_finding() {
    let beside = beside(Some(1), 1);
    let said = "The smallest buffer within 5 % of the fastest is 256 KiB for the program, 128 KiB for vectored copy; \
                with 256 KiB, the program takes ";
    assert!(beside.finding.starts_with(said), "{}", beside.finding);
    let chart = chart(beside);
    let names: Vec<String> = chart
        .curves
        .iter()
        .map(|curve| curve.name.to_string())
        .collect();
    assert_eq!(names, ["the book, 2005", "vectored copy", "program"]);
    assert!(chart.curves.iter().all(|curve| curve.points.len() == 20));
    assert_eq!(chart.marks[0].at, 262_144.0);
}

#[test]
fn a_copy_of_a_prefix_is_scaled_without_the_start() {
    let beside = beside(Some(1), 1);
    let row = &beside.rows[20];
    assert_eq!(
        (row.technique.as_str(), row.copied_bytes),
        ("program", Some(200_000))
    );
    // 4 µs for each byte and 20 ms for all of them, beside the start; the median of the noise is 1.
    let whole_s = PUBLISHED_FILE_BYTES as f64 * 4e-6 + 0.02 + 0.015;
    assert!(
        (row.cpu_s.unwrap() / whole_s - 1.0).abs() < 1e-9,
        "{:?}",
        row.cpu_s
    );
    // A second conclusion changes nothing.
    let mut again = beside.clone();
    conclude(&mut again);
    assert_eq!(again, beside);
}

/// Changes the samples of rows, by repeat, and concludes anew.
fn changed(
    mut experiment: Reproduction,
    of: fn(&ExperimentRow) -> bool,
    change: fn(usize, f64) -> f64,
) -> Reproduction {
    for row in experiment.rows.iter_mut().filter(|row| of(row)) {
        for samples in [&mut row.cpu_s_samples, &mut row.clock_s_samples] {
            for (repeat, sample) in samples.iter_mut().enumerate() {
                *sample = sample.map(|s| change(repeat, s));
            }
        }
    }
    conclude(&mut experiment);
    experiment
}

#[test]
fn the_start_of_a_program_is_no_part_of_its_finding() {
    let quick = beside(Some(64), 1);
    let is_program = |row: &ExperimentRow| row.technique == "program";
    let slow = changed(quick.clone(), is_program, |_, s| s + 0.07);
    assert_eq!(slow.finding, quick.finding);
    assert_eq!(slow.ratios.len(), 14);
    for (slow, quick) in std::iter::zip(&slow.ratios, &quick.ratios) {
        assert!((slow.ratio / quick.ratio - 1.0).abs() < 1e-9, "{slow:?}");
    }
    let values = |experiment| {
        let chart = chart(experiment);
        let values = chart.curves[2]
            .points
            .iter()
            .map(|point| point.value.round());
        values.collect::<Vec<f64>>()
    };
    assert_eq!(values(slow), values(quick));
}

#[test]
fn copies_within_the_noise_of_the_starts_are_not_resolved() {
    let is_start = |row: &ExperimentRow| row.technique == "program" && row.copied_bytes == Some(0);
    let noisy = changed(beside(Some(1), 1), is_start, |repeat, s| {
        s + 0.004 * repeat as f64
    });
    assert_eq!(
        noisy.finding,
        "The smallest buffer within 5 % of the fastest is not resolved for the program, 128 KiB for vectored copy. Not resolved: \
         copying takes less than twice the spread of the starts of a process: copy more, as with --file-size 1GiB."
    );
    let told = |ratio: &vectored_results::model::Ratio| noisy.rows[ratio.of].buffer_bytes.unwrap();
    assert_eq!(noisy.ratios.iter().map(told).max(), Some(8192));
    assert_eq!(chart(noisy).marks, []);
}

#[test]
fn a_finding_says_that_it_lies_at_an_edge_of_the_sizes() {
    let within = |from: u64, to: u64| {
        let mut beside = beside(Some(1), 1);
        let is_within = |row: &ExperimentRow| {
            let bytes = row.buffer_bytes;
            bytes.is_none_or(|bytes| (from..=to).contains(&bytes))
        };
        beside.rows.retain(is_within);
        conclude(&mut beside);
        beside.finding
    };
    let falling = "is 1 KiB (the largest measured: the time still falls there) for the program, 1 KiB (the largest measured: the \
                   time still falls there) for vectored copy";
    assert!(within(64, 1024).contains(falling), "{}", within(64, 1024));
    let flat = "is 256 KiB (the smallest measured) for the program, 256 KiB (the smallest measured) for vectored copy";
    assert!(
        within(262_144, 1 << 20).contains(flat),
        "{}",
        within(262_144, 1 << 20)
    );
}

#[test]
fn a_run_that_was_stopped_early_has_no_finding() {
    for mut stopped in [beside(Some(1), 1), copies(PageCache::Hot)] {
        let rows = stopped.rows.len();
        for row in &mut stopped.rows[4..] {
            row.cpu_s_samples = vec![None; 7];
            row.clock_s_samples = vec![None; 7];
        }
        conclude(&mut stopped);
        let said = format!("There is no finding: 4 of {rows} rows were measured.");
        assert_eq!(stopped.finding, said);
    }
}

#[test]
fn a_scaled_wall_time_is_at_least_the_cpu_time() {
    let is_start = |row: &ExperimentRow| row.copied_bytes == Some(0);
    let mut waited = beside(Some(1), 1);
    // The start waited 6 ms by chance, copies of a prefix half a millisecond.
    for row in waited.rows.iter_mut().filter(|row| is_start(row)) {
        for sample in row.clock_s_samples.iter_mut().flatten() {
            *sample += 0.006;
        }
    }
    conclude(&mut waited);
    let mut scaled = 0;
    for row in &waited.rows {
        if let (Some(_), Some(cpu_s), Some(clock_s)) = (row.copied_bytes, row.cpu_s, row.clock_s) {
            assert!(cpu_s <= clock_s, "{row:?}");
            scaled += 1;
        }
    }
    assert!(scaled > 6, "{scaled}");
}

#[test]
fn published_seconds_stand_beside_such_copies_alone() {
    let published = |change: fn(&mut Reproduction)| {
        let mut experiment = beside(Some(64), 1);
        change(&mut experiment);
        let is_in_chart = chart(experiment.clone()).curves.len() == 3;
        let text = text(&document(&shown(vec![experiment])), 110);
        assert_eq!(text.contains("The book copied 103,316,352 B"), !is_in_chart);
        (is_in_chart, text.contains("4.59    6.76"))
    };
    assert_eq!(published(|_| {}), (true, true));
    let others: [fn(&mut Reproduction); 3] = [
        |experiment| experiment.setting.to = Some("file".to_owned()),
        |experiment| experiment.setting.sync = Some(SyncMode::Sync),
        |experiment| experiment.setting.file_bytes = Some(PUBLISHED_FILE_BYTES / 32),
    ];
    for other in others {
        assert_eq!(published(other), (false, false));
    }
    let mut cold = beside(Some(64), 1);
    cold.cache = PageCache::Cold;
    assert!(!text(&document(&shown(vec![cold])), 110).contains("fetched"));
}

#[test]
fn a_program_that_does_not_use_its_buffer_is_named() {
    let note = |experiment| {
        let text = text(&document(&shown(vec![experiment])), 2000);
        let note = text
            .lines()
            .find(|line| line.starts_with("The program does not read with the buffer"));
        note.map(str::to_owned)
    };
    assert_eq!(note(beside(Some(1), 1)), None);
    let other = beside(Some(4), 8192);
    assert!(
        other.finding.starts_with(
            "The smallest buffer within 5 % of the fastest is none for the program, 128 KiB for"
        ),
        "{}",
        other.finding
    );
    assert_eq!(chart(other.clone()).marks, []);
    let blocks = document(&shown(vec![other.clone()])).body;
    let first = blocks.iter().find_map(|block| match block {
        Block::Note(note) => Some(note.to_string()),
        _ => None,
    });
    assert_eq!(first, note(other.clone()));
    // In the CSV it is a column.
    assert_eq!(other.notes.len(), 1);
    assert_eq!(
        note(other).unwrap(),
        "The program does not read with the buffer that it is told: told 4 B, it made 98 reads, of 7.97 KiB each, instead of \
         200,000 reads. A library between may have a buffer of its own."
    );
    let own = beside(None, 8192);
    assert!(
        own.finding.starts_with(
            "The program, which is not told the size of a buffer, takes 70.4 ms of CPU time for copying"
        ),
        "{}",
        own.finding
    );
    assert!(
        text(&document(&shown(vec![own.clone()])), 100).contains("\nits own "),
        "{own:?}"
    );
}

#[test]
fn the_markdown_of_fixed_samples() {
    insta::assert_snapshot!(vectored_report::markdown(&document(&shown(vec![records(
        1.09
    )]))));
}

#[test]
fn the_csv_of_fixed_samples() {
    insta::assert_snapshot!(csv_of(&[&shown(vec![records(1.09), passes()])]));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut reduced = copies(PageCache::Cold);
    reduced.reduced = true;
    let experiments = shown(vec![reduced, records(1.09), elements(0.1), passes()]);
    for width in [60, 72, 80, 97, 100, 160] {
        let text = text(&document(&experiments), width);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn what_is_too_wide_is_broken_between_groups_and_keeps_its_names() {
    let width = 80;
    let text = text(&document(&shown(vec![elements(0.1)])), width);
    let lines: Vec<&str> = text.lines().collect();
    let heads: Vec<usize> = (0..lines.len())
        .filter(|&line| lines[line].starts_with("element "))
        .collect();
    assert_eq!(heads.len(), 2, "{text}");
    assert!(lines[heads[0] - 1].contains("CPU time:"), "{text}");
    assert!(lines[heads[0] - 1].contains("wall time:"), "{text}");
    assert!(lines[heads[1] - 1].contains("2001, CPU:"), "{text}");
    assert!(lines[heads[1] + 1].contains("1 B"), "{text}");
}

#[test]
fn the_json_is_read_back_as_it_was() {
    let experiments = all();
    let again: Experiments = serde_json::from_str(&json(&experiments)).unwrap();
    assert_eq!(again, experiments);
}

#[test]
fn every_table_says_that_it_is_reduced() {
    let mut experiments = all();
    for experiment in &mut experiments.experiments {
        experiment.reduced = true;
        conclude(experiment);
    }
    for text in [
        text(&document(&experiments), 100),
        vectored_report::markdown(&document(&experiments)),
    ] {
        // Lines are broken between words.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let marks = text.matches("REDUCED: smaller than published").count();
        assert_eq!(marks, 4, "{text}");
        let hints = text
            .matches("At a reduced size, so only an indication.")
            .count();
        assert_eq!(hints, 4, "{text}");
    }
}

#[test]
fn a_table_says_which_rows_were_left_out() {
    let mut few = copies(PageCache::Hot);
    few.rows.retain(|row| row.buffer_bytes > Some(2));
    conclude(&mut few);
    let table = text(&document(&shown(vec![few, records(1.09)])), 100);
    assert!(
        table.contains("Left out: buffers of 1 B, 2 B.\n"),
        "{table}"
    );
    assert!(!text(&document(&all()), 100).contains("Left out"));
}

#[test]
fn findings_say_only_what_their_intervals_carry() {
    // By hand: the ratios of the noise go from 0.942 to 1.041, their median is 1.020.
    for (experiment, words) in [
        (
            records(1.09),
            "Copying still beats writev at 300 B: writev takes 1.11× [1.03, 1.13] the CPU time",
        ),
        (records(1.09), "1.14× in 2005, 1.08× in 2013"),
        (
            records(0.75),
            "writev beats copying at 300 B, unlike in the book: copying takes 1.31× [1.28, 1.42] the CPU time",
        ),
        (records(1.00), "is not decided"),
        (
            elements(0.1),
            "2001 the crossover lay between 100 and 200 B",
        ),
        (elements(0.1), "Copying takes less CPU time below 1"),
        (
            elements(0.0),
            "Copying takes less CPU time than writev at every size",
        ),
        (
            copies(PageCache::Hot),
            "does not flatten at st_blksize: 4 KiB takes",
        ),
        (
            copies(PageCache::Cold),
            "past 128 KiB read-ahead has no further effect",
        ),
    ] {
        assert!(experiment.finding.contains(words), "{}", experiment.finding);
    }
    assert!(!copies(PageCache::Hot).finding.contains("read-ahead"));
    let mut few = copies(PageCache::Hot);
    few.rows.retain(|row| row.buffer_bytes > Some(1 << 16));
    conclude(&mut few);
    assert!(few.finding.contains("are not tested"), "{}", few.finding);
    let none = experiment(ExperimentName::Apue35, Setting::default(), Vec::new());
    assert_eq!(none.finding, "");
}
