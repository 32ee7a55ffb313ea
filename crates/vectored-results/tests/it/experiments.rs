//! Tables, charts and findings of experiments, from fixed samples.

use vectored_machine::model::Host;
use vectored_report::{Block, Chart, csv_of};
use vectored_results::model::{
    EXPERIMENTS_SCHEMA, ExperimentName, ExperimentRow, Experiments, IovecSetup, Operation,
    PUBLISHED_FILE_BYTES, PageCache, Reproduction, RowKey, Sample, Setting, SyncMode, Times,
};
use vectored_results::report::experiments::{conclude, document, published};

use crate::samples::text;

/// Factors between repeats, in an order without a trend.
const NOISE: [f64; 7] = [1.01, 0.99, 1.02, 0.98, 1.00, 1.03, 0.97];

/// A row with seven repeats around these times; other rows have theirs in another order.
fn row(key: RowKey, cpu_s: Option<f64>, clock_s: f64, turn: usize) -> ExperimentRow {
    let turned = NOISE.iter().cycle().skip(turn % 7).take(7);
    let sample = |noise: &f64| Sample {
        times: Times {
            user_s: cpu_s.map(|s| s * noise / 4.0),
            system_s: cpu_s.map(|s| s * noise * 3.0 / 4.0),
            cpu_s: cpu_s.map(|s| s * noise),
            clock_s: Some(clock_s * noise),
        },
        pass_s: vec![clock_s * noise],
        resident_bytes: Some(4096),
        fetched_bytes: Some(PUBLISHED_FILE_BYTES),
        ..Sample::default()
    };
    ExperimentRow {
        calls: Some(10),
        samples: turned.map(sample).map(Some).collect(),
        ..ExperimentRow::here(key)
    }
}

fn experiment(name: ExperimentName, setting: Setting, rows: Vec<ExperimentRow>) -> Reproduction {
    let mut made = Reproduction {
        name,
        complete: true,
        setting,
        rows,
        published: published(name),
        ..Reproduction::default()
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

/// Costs of copies, in seconds: a read and a write, the bytes of the whole file, the start.
struct Costs(f64, f64, f64);

const OURS: Costs = Costs(1e-6, 0.02, 0.001);
const THEIRS: Costs = Costs(4e-6, 0.02, 0.015);

/// A copy with this buffer, which reads `read` bytes at once.
fn copy(technique: &str, buffer_bytes: Option<u64>, (read, bytes): (u64, u64)) -> ExperimentRow {
    let Costs(call_s, bytes_s, start_s) = if technique == "program" { THEIRS } else { OURS };
    let loops = bytes.div_ceil(read);
    let share = bytes as f64 / PUBLISHED_FILE_BYTES as f64;
    let cpu_s = loops as f64 * call_s + bytes_s * share + start_s;
    let key = RowKey {
        technique: technique.to_owned(),
        buffer_bytes: buffer_bytes.filter(|_| bytes > 0),
        ..RowKey::default()
    };
    let mut copy = row(key, Some(cpu_s), cpu_s + 0.0005, read.ilog2() as usize);
    copy.copied_bytes = (bytes < PUBLISHED_FILE_BYTES).then_some(bytes);
    for sample in copy.samples.iter_mut().flatten() {
        sample.loops = Some(loops);
    }
    copy
}

fn sizes() -> impl Iterator<Item = u64> {
    (0..20).map(|power| 1 << power)
}

fn setting_of_copies() -> Setting {
    Setting {
        repeats: 7,
        file_bytes: Some(PUBLISHED_FILE_BYTES),
        to: Some("null".to_owned()),
        sync: Some(SyncMode::None),
        st_blksize: Some(4096),
        read_ahead_kb: Some(128),
        program: None,
    }
}

fn copies(cache: PageCache) -> Reproduction {
    let ours = sizes().map(|size| copy("read-write", Some(size), (size, PUBLISHED_FILE_BYTES)));
    let start = copy("read-write", None, (1, 0));
    let rows = ours.chain([start]).collect();
    let mut made = experiment(ExperimentName::Apue35, setting_of_copies(), rows);
    made.cache = cache;
    conclude(&mut made);
    made
}

/// Copies of a program of the user beside ours. It is told no buffer, or buffers of this size and more, and reads at least
/// `own_bytes` at once.
fn beside(least: Option<u64>, own_bytes: u64) -> Reproduction {
    let prefix = |size: u64| if size < 64 { size * 200_000 } else { PUBLISHED_FILE_BYTES };
    let ours = sizes().map(|size| copy("read-write", Some(size), (size, prefix(size))));
    let told = sizes().filter(|size| Some(*size) >= least && least.is_some());
    let theirs = told.map(|size| copy("program", Some(size), (size.max(own_bytes), prefix(size))));
    let own = copy("program", None, (own_bytes, PUBLISHED_FILE_BYTES));
    let own = least.is_none().then_some(own);
    let starts = ["read-write", "program"].map(|technique| copy(technique, None, (1, 0)));
    let setting = Setting {
        program: Some("./mycat {buffer} < {input}".to_owned()),
        ..setting_of_copies()
    };
    let rows = ours.chain(theirs).chain(own).chain(starts).collect();
    experiment(ExperimentName::Apue35, setting, rows)
}

fn records(writev_s: f64) -> Reproduction {
    let techniques = [
        ("write-each", 1.80),
        ("copy-then-write", 1.00),
        ("writev", writev_s),
        ("adaptive", 1.02),
    ];
    let rows = techniques.iter().enumerate();
    let rows = rows.map(|(turn, (technique, cpu_s))| {
        let key = RowKey {
            technique: (*technique).to_owned(),
            segment_count: Some(2),
            ..RowKey::default()
        };
        row(key, Some(*cpu_s), cpu_s * 1.01, turn)
    });
    let setting = Setting {
        file_bytes: Some(314_572_800),
        ..Setting::default()
    };
    experiment(ExperimentName::Apue1428, setting, rows.collect())
}

/// Copies that cost `copy_ns` a byte, and elements that cost 20 ns each in a list.
fn elements(copy_ns: f64) -> Reproduction {
    let sizes = [1, 3, 5, 10, 50, 100, 200, 300, 500, 1000];
    let rows = sizes.into_iter().flat_map(|bytes| {
        let common_s = 2e-6 + bytes as f64 * 1e-7;
        let copying_s = common_s + 5e-6 + bytes as f64 * copy_ns * 1e-6;
        let both = [
            ("writev", common_s + 20e-6, 0),
            ("copy-then-write", copying_s, 3),
        ];
        both.map(|(technique, cpu_s, turn)| {
            let key = RowKey {
                technique: technique.to_owned(),
                segment_count: Some(1000),
                segment_bytes: Some(bytes),
                ..RowKey::default()
            };
            row(key, Some(cpu_s), cpu_s * 1.1, turn)
        })
    });
    experiment(ExperimentName::Kalinin, Setting::default(), rows.collect())
}

fn passes() -> Reproduction {
    let mut rows = Vec::new();
    for (bytes, count) in [(1024, 1000), (102_400, 10)] {
        for setup in [IovecSetup::Timed, IovecSetup::Once] {
            for (names, calls) in [
                (["write-each", "read-each"], count as f64),
                (["writev", "readv"], 1.0),
            ] {
                let operations = [Operation::Write, Operation::Read];
                for (operation, technique) in std::iter::zip(operations, names) {
                    let key = RowKey {
                        technique: technique.to_owned(),
                        operation: Some(operation),
                        iovec_setup: Some(setup),
                        segment_count: Some(count),
                        segment_bytes: Some(bytes),
                        ..RowKey::default()
                    };
                    rows.push(row(key, None, 300e-6 + calls * 1e-6, rows.len()));
                }
            }
        }
    }
    experiment(ExperimentName::Mincer, Setting::default(), rows)
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

#[test]
fn a_row_of_the_csv_is_a_row_of_an_experiment() {
    let csv = csv_of(&[&shown(vec![records(1.09)])]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].ends_with(
            ",finding,source,technique,operation,iovec_setup,segment_count,segment_bytes,buffer_bytes,calls,loops,\
             repeats,user_s,system_s,cpu_s,clock_s,pass_median_s,bytes_per_s"
        ),
        "{}",
        lines[0]
    );
    let ends = [
        (
            1,
            "here,write-each,,,2,,,10,,7,0.45,1.35,1.8,1.818,1.818,173032343.2343234",
        ),
        (
            5,
            "2005 Linux (Intel x86),write-each,,,2,,,,,0,1.29,3.15,4.4399999999999995,7.39,,",
        ),
    ];
    for (line, end) in ends {
        assert!(lines[line].ends_with(end), "{}", lines[line]);
    }
    assert_eq!(lines.len(), 1 + 4 + 12);
}

fn chart(experiment: Reproduction) -> Chart {
    let blocks = document(&shown(vec![experiment])).body.into_iter();
    let mut charts = blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    charts.next().unwrap()
}

/// The names of the curves and the numbers of their points, by experiment; the names of the bars.
#[test]
fn charts_draw_what_was_measured_beside_what_was_published() {
    let drawn = |experiment| {
        let curves = chart(experiment).curves.into_iter();
        let curves = curves.map(|curve| format!("{} {}", curve.name, curve.points.len()));
        curves.collect::<Vec<String>>()
    };
    let of_copies = ["CPU here 20", "CPU 2005 20", "wall here 20", "wall 2005 20"];
    assert_eq!(drawn(copies(PageCache::Hot)), of_copies);
    let of_elements = ["CPU here 10", "CPU 2001 10", "wall here 10"];
    assert_eq!(drawn(elements(0.1)), of_elements);
    let of_both = ["vectored copy 20", "program 20", "2005 20"];
    assert_eq!(drawn(beside(Some(1), 1)), of_both);
    assert_eq!(drawn(beside(None, 8192)), of_both);
    let bars = |experiment| {
        let mut blocks = document(&shown(vec![experiment])).body.into_iter();
        let found = blocks.find_map(|block| match block {
            Block::Bars(bars) => Some(bars.bars),
            _ => None,
        });
        let bars = found.unwrap().into_iter();
        bars.map(|bar| format!("{}: {}", bar.group, bar.name))
            .collect::<Vec<String>>()
    };
    let of_records = bars(records(1.09));
    assert_eq!(of_records.len(), 3 + 2 * 4);
    assert_eq!(
        of_records[..2],
        [": write-each", ": write-each, 2005 Linux (Intel x86)"]
    );
    let of_passes = bars(passes());
    assert_eq!(
        of_passes[..2],
        [
            "1000 × 1 KiB, write, timed: write-each",
            "1000 × 1 KiB, write, timed: write-each, lecture notes"
        ]
    );
}

#[test]
fn a_copy_of_a_prefix_is_scaled_without_the_start() {
    let beside = beside(Some(1), 1);
    let row = &beside.rows[20];
    let technique = row.key.technique.as_str();
    assert_eq!((technique, row.copied_bytes), ("program", Some(200_000)));
    // 4 µs for each byte and 20 ms for all of them, beside the start; the median of the noise is 1.
    let whole_s = PUBLISHED_FILE_BYTES as f64 * 4e-6 + 0.02 + 0.015;
    let scaled_s = row.times.cpu_s.unwrap();
    assert!((scaled_s / whole_s - 1.0).abs() < 1e-9, "{scaled_s}");
    // A time of less than twice the start is scaled noise.
    let slow = changed(beside.clone(), ExperimentRow::is_start, |_, s| s + 0.15);
    let scaled = [0, 20].map(|row| slow.rows[row].times.cpu_s.is_some());
    assert_eq!(scaled, [false, true]);
    // A second conclusion changes nothing.
    let mut again = beside.clone();
    conclude(&mut again);
    assert_eq!(again, beside);
}

/// Changes the times of samples, by repeat, and concludes anew.
fn changed(
    mut experiment: Reproduction,
    of: fn(&ExperimentRow) -> bool,
    change: fn(usize, f64) -> f64,
) -> Reproduction {
    for row in experiment.rows.iter_mut().filter(|row| of(row)) {
        for (repeat, sample) in row.samples.iter_mut().enumerate() {
            let times = &mut sample.as_mut().unwrap().times;
            for time in [&mut times.cpu_s, &mut times.clock_s] {
                *time = time.map(|s| change(repeat, s));
            }
        }
    }
    conclude(&mut experiment);
    experiment
}

#[test]
fn the_start_of_a_program_is_no_part_of_its_finding() {
    let quick = beside(Some(64), 1);
    assert_eq!(chart(quick.clone()).marks[0].at, 262_144.0);
    let is_program = |row: &ExperimentRow| row.key.technique == "program";
    let slow = changed(quick.clone(), is_program, |_, s| s + 0.07);
    assert_eq!(slow.finding, quick.finding);
    assert_eq!(slow.ratios.len(), 14);
    for (slow, quick) in std::iter::zip(&slow.ratios, &quick.ratios) {
        assert!((slow.ratio / quick.ratio - 1.0).abs() < 1e-9, "{slow:?}");
    }
}

#[test]
fn a_scaled_wall_time_is_at_least_the_cpu_time() {
    let mut waited = beside(Some(1), 1);
    // The start waited 6 ms by chance, copies of a prefix half a millisecond.
    for row in waited.rows.iter_mut().filter(|row| row.is_start()) {
        for sample in row.samples.iter_mut().flatten() {
            sample.times.clock_s = sample.times.clock_s.map(|s| s + 0.006);
        }
    }
    conclude(&mut waited);
    let scaled = waited.rows.iter().filter(|row| row.copied_bytes.is_some());
    let times: Vec<Times> = scaled.map(|row| row.times).collect();
    assert!(times.iter().filter(|times| times.cpu_s.is_some()).count() > 6);
    assert!(
        times.iter().all(|times| times.cpu_s <= times.clock_s),
        "{times:?}"
    );
}

#[test]
fn published_seconds_stand_beside_such_copies_alone() {
    let changes: [fn(&mut Reproduction); 4] = [
        |_| {},
        |experiment| experiment.setting.to = Some("file".to_owned()),
        |experiment| experiment.setting.sync = Some(SyncMode::Sync),
        |experiment| experiment.setting.file_bytes = Some(PUBLISHED_FILE_BYTES / 32),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut experiment = beside(Some(64), 1);
        change(&mut experiment);
        let curves = chart(experiment.clone()).curves.len();
        let text = text(&document(&shown(vec![experiment])), 110);
        let is_shown = index == 0;
        assert_eq!(text.contains("The book copied 103,316,352 B"), !is_shown);
        assert_eq!((curves == 3, text.contains(" 6.76")), (is_shown, is_shown));
    }
}

#[test]
fn a_title_says_that_an_experiment_is_reduced_and_a_note_what_was_left_out() {
    let mut few = copies(PageCache::Cold);
    few.reduced = true;
    few.rows
        .retain(|row| row.key.buffer_bytes.is_none_or(|bytes| bytes > 2));
    conclude(&mut few);
    let text = text(&document(&shown(vec![few])), 2000);
    for words in [
        "REDUCED: smaller than published",
        "At a reduced size, so only an indication. ",
        "Left out: buffers of 1 B, 2 B.\n",
        "fetched",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn only_common_repeats_count_and_few_have_no_interval() {
    let whole = records(1.09);
    assert_eq!(
        (whole.ratios[1].repeats, whole.ratios[1].published.len()),
        (7, 4)
    );
    assert!((whole.ratios[1].published[0].ratio - 3.42 / 3.01).abs() < 1e-9);
    for (left_out, has_interval) in [(1, true), (2, false)] {
        let mut few = records(1.09);
        few.rows[2].samples[..left_out].fill(None);
        conclude(&mut few);
        let ratio = few.ratios.iter().find(|ratio| ratio.of == 2).unwrap();
        assert_eq!(
            (few.rows[2].repeats, ratio.repeats),
            (7 - left_out, 7 - left_out)
        );
        assert_eq!(ratio.ratio_low.is_some(), has_interval);
        assert_eq!(
            few.finding
                .contains("Copying beats writev at 300 B: not decided"),
            !has_interval,
            "{}",
            few.finding
        );
    }
}

/// The rows whose buffers are within these sizes, and the starts.
fn within(mut experiment: Reproduction, from: u64, to: u64) -> Reproduction {
    let is_within = |bytes: u64| (from..=to).contains(&bytes);
    let rows = &mut experiment.rows;
    rows.retain(|row| row.key.buffer_bytes.is_none_or(is_within));
    conclude(&mut experiment);
    experiment
}

#[test]
fn findings_say_only_what_their_intervals_carry() {
    let is_start = |row: &ExperimentRow| row.key.technique == "program" && row.is_start();
    let noisy = |repeat: usize, s: f64| s + 0.004 * repeat as f64;
    let mut early = beside(Some(1), 1);
    for row in &mut early.rows[4..] {
        row.samples = vec![None; 7];
    }
    conclude(&mut early);
    // By hand: the ratios of the noise go from 0.942 to 1.041, their median is 1.020.
    for (experiment, words) in [
        (
            records(1.09),
            "Copying beats writev at 300 B: yes (writev takes 1.11× [1.03, 1.13] the CPU time of copying, 1.14× in 2005 \
             Linux, ",
        ),
        (
            records(0.75),
            "Copying beats writev at 300 B: no (writev takes 0.77× [0.71, 0.78]",
        ),
        (
            records(1.00),
            "Copying beats writev at 300 B: not decided (writev",
        ),
        (
            elements(0.1),
            "Copying beats writev at 1 B an element: yes (writev takes 3.04× ",
        ),
        (
            elements(0.1),
            "from 148 B on writev takes less CPU time than copying",
        ),
        (
            elements(0.1),
            "in 2001 the crossover lay between 100 and 200 B.",
        ),
        (
            elements(0.0),
            "copying beats writev at 1000 B an element: yes",
        ),
        (
            copies(PageCache::Hot),
            "System time is flat from st_blksize on: no (4 KiB takes 2.07× [1.97, 2.15] the CPU time of 64 KiB, 0.90× in \
             2005)",
        ),
        (
            copies(PageCache::Cold),
            "read-ahead has no further effect past 128 KiB: yes (512 KiB",
        ),
        (
            within(copies(PageCache::Hot), 1 << 17, 1 << 20),
            "The book's claims are not tested",
        ),
        (
            beside(Some(1), 1),
            "The smallest buffer within 5 % of the fastest is 256 KiB for the program, 128 KiB for vectored copy; with 256 KiB, \
             the program takes ",
        ),
        (
            within(beside(Some(1), 1), 64, 1024),
            "is 1 KiB (the largest measured: the time still falls there) for the program, 1 KiB (the largest",
        ),
        (
            within(beside(Some(1), 1), 262_144, 1 << 20),
            "is 256 KiB (the smallest measured) for the program, 256 KiB (the smallest measured) for",
        ),
        (
            changed(beside(Some(1), 1), is_start, noisy),
            "is not resolved for the program, 128 KiB for vectored copy. Not resolved: copying takes less than twice the \
             spread of the starts of a process: copy more, as with --file-size 1GiB.",
        ),
        (
            beside(Some(4), 8192),
            "The smallest buffer within 5 % of the fastest is none for the program,",
        ),
        (
            beside(None, 8192),
            "The program, which is not told the size of a buffer, takes 70.4 ms of CPU time for copying",
        ),
        (early, "There is no finding: 4 of 42 rows were measured."),
    ] {
        assert!(
            experiment.finding.contains(words),
            "{words}: {}",
            experiment.finding
        );
    }
    assert!(!copies(PageCache::Hot).finding.contains("ead-ahead"));
    let none = experiment(ExperimentName::Apue35, Setting::default(), Vec::new());
    assert_eq!(none.finding, "");
    assert_eq!(chart(beside(Some(4), 8192)).marks, []);
    assert_eq!(
        chart(changed(beside(Some(1), 1), is_start, noisy)).marks,
        []
    );
}

#[test]
fn a_program_that_does_not_use_its_buffer_is_named() {
    assert!(beside(Some(1), 1).notes.is_empty());
    assert_eq!(
        beside(Some(4), 8192).notes,
        [
            "The program ignores its buffer size: given 4 B, it made 98 reads, of 7.97 KiB each, instead of 200,000 reads. A \
             library in between may have its own buffer."
        ]
    );
    let own = beside(None, 8192);
    let text = text(&document(&shown(vec![own])), 100);
    assert!(text.contains("\nits own "), "{text}");
}
