//! Tables, charts and findings of experiments, from fixed samples.

use vectored_machine::model::Host;
use vectored_report::{Block, Chart, csv_of, each_once};
use vectored_results::model::{
    EXPERIMENTS_SCHEMA, ExperimentName, ExperimentRow, Experiments, PUBLISHED_FILE_BYTES,
    PageCache, Reproduction, RowKey, Sample, Setting, SyncMode, Times,
};
use vectored_results::report::experiments::{conclude, document, published};

use crate::samples::text;

/// Factors between repeats, in an order without a trend.
const NOISE: [f64; 7] = [1.01, 0.99, 1.02, 0.98, 1.00, 1.03, 0.97];

/// A row with seven repeats around these times. The order of the repeats depends on `turn`.
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
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        seed: 7,
        host: Host {
            system: "Linux x86_64".to_owned(),
            kernel: "6.18.0".to_owned(),
            ..Host::default()
        },
        experiments,
        ..Experiments::default()
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

/// Copies of a program of the user beside ours. The program is told no buffer, or buffers of at least `least` bytes. It reads
/// at least `own_bytes` at once.
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

/// The published rows, and a row of another technique, measured here. `of` gives the CPU time of a row, if there is one, the
/// wall time, and the turn of the noise.
fn measured(
    name: ExperimentName,
    file_bytes: Option<u64>,
    other: Option<&str>,
    of: impl Fn(&RowKey, usize) -> (Option<f64>, f64, usize),
) -> Reproduction {
    let mut keys = each_once(published(name).into_iter().map(|row| row.key));
    keys.extend(other.map(|technique| RowKey {
        technique: technique.to_owned(),
        ..keys[0].clone()
    }));
    let rows = keys.into_iter().enumerate().map(|(index, key)| {
        let (cpu_s, clock_s, turn) = of(&key, index);
        row(key, cpu_s, clock_s, turn)
    });
    let setting = Setting {
        file_bytes,
        ..Setting::default()
    };
    experiment(name, setting, rows.collect())
}

fn records(writev_s: f64) -> Reproduction {
    let (name, bytes) = (ExperimentName::Apue1428, Some(314_572_800));
    measured(name, bytes, Some("adaptive"), |_, index| {
        let cpu_s = [1.80, 1.00, writev_s, 1.02][index];
        (Some(cpu_s), cpu_s * 1.01, index)
    })
}

/// Copies that cost `copy_ns` a byte, and elements that cost 20 ns each in a list.
fn elements(copy_ns: f64) -> Reproduction {
    measured(ExperimentName::Kalinin, None, None, |key, _| {
        let bytes = key.segment_bytes.unwrap() as f64;
        let (own_s, turn) = match &*key.technique {
            "writev" => (20e-6, 0),
            _ => (5e-6 + bytes * copy_ns * 1e-6, 3),
        };
        let cpu_s = 2e-6 + bytes * 1e-7 + own_s;
        (Some(cpu_s), cpu_s * 1.1, turn)
    })
}

fn passes() -> Reproduction {
    measured(ExperimentName::Mincer, None, None, |key, index| {
        let is_each = key.technique.ends_with("-each");
        let calls = if is_each { key.segment_count.unwrap() } else { 1 };
        (None, 300e-6 + calls as f64 * 1e-6, index)
    })
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
fn a_row_of_the_csv_is_a_measured_or_a_published_row() {
    let csv = csv_of(&[&shown(vec![records(1.09)])]);
    let lines: Vec<&str> = csv.lines().collect();
    for (line, end) in [
        (0, ",pass_median_s,bytes_per_s"),
        (
            1,
            "here,write-each,,,2,,,10,,7,0.45,1.35,1.8,1.818,1.818,173032343.2343234",
        ),
        (
            5,
            "2005 Linux (Intel x86),write-each,,,2,,,,,0,1.29,3.15,4.4399999999999995,7.39,,",
        ),
    ] {
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
    charts.next().unwrap_or_default()
}

#[test]
fn charts_draw_what_was_measured_beside_what_was_published() {
    assert!(chart(elements(0.1)).is_ratio);
    let of_both = "vectored copy 20; program 20; 2005 20";
    for (experiment, names) in [
        (
            copies(PageCache::Hot),
            "CPU here 20; CPU 2005 20; wall here 20; wall 2005 20",
        ),
        (elements(0.1), "CPU here 10; CPU 2001 10; wall here 10"),
        (beside(Some(1), 1), of_both),
        (beside(None, 8192), of_both),
        (records(1.09), ""),
    ] {
        let curves = chart(experiment).curves.into_iter();
        let drawn = curves.map(|curve| format!("{} {}", curve.name, curve.points.len()));
        assert_eq!(drawn.collect::<Vec<_>>().join("; "), names);
    }
}

#[test]
fn a_copy_of_a_prefix_is_scaled_without_the_start() {
    let beside = beside(Some(1), 1);
    let row = &beside.rows[20];
    let technique = row.key.technique.as_str();
    assert_eq!((technique, row.copied_bytes), ("program", Some(200_000)));
    // 4 µs for each byte, 20 ms for all bytes, and the start. The median of the noise is 1.
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
    let starts = waited.rows.iter_mut().filter(|row| row.is_start());
    for sample in starts.flat_map(|row| row.samples.iter_mut().flatten()) {
        sample.times.clock_s = sample.times.clock_s.map(|s| s + 0.006);
    }
    conclude(&mut waited);
    let scaled = waited.rows.iter().filter(|row| row.copied_bytes.is_some());
    let times: Vec<Times> = scaled.map(|row| row.times).collect();
    assert!(times.iter().filter(|times| times.cpu_s.is_some()).count() > 6);
    let mut times = times.iter();
    assert!(times.all(|times| times.cpu_s <= times.clock_s));
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

/// Parts of findings. Computed by hand: the ratios of the noise go from 0.942 to 1.041, their median is 1.020.
const FINDINGS: &str = "\
records => Copying beats writev at 300 B: yes (writev takes 1.11× [1.03, 1.13] the CPU time of copying, 1.14× in 2005 Linux,
fast writev => Copying beats writev at 300 B: no (writev takes 0.77× [0.71, 0.78]
equal => Copying beats writev at 300 B: not decided (writev
elements => Copying beats writev at 1 B an element: yes (writev takes 3.04×
elements => from 148 B on writev takes less CPU time than copying (the crossover lies between 100 and 200 B)
elements => in 2001 the crossover lay between 100 and 200 B.
free copies => copying beats writev at 1000 B an element: yes
hot => System time is flat from st_blksize on: no (4 KiB takes 2.07× [1.97, 2.15] the CPU time of 64 KiB, 0.90× in 2005)
cold => read-ahead has no further effect past 128 KiB: yes (512 KiB
large => The book's claims are not tested
beside => The smallest buffer within 5 % of the fastest is 256 KiB for the program, 128 KiB for vectored copy; with 256 KiB, the \
          program takes
beside, small => is 1 KiB (the largest measured: the time still falls there) for the program, 1 KiB (the largest
beside, large => is 256 KiB (the smallest measured) for the program, 256 KiB (the smallest measured) for
noisy starts => is not resolved for the program, 128 KiB for vectored copy. Not resolved: copying takes less than twice the \
                spread of the starts of a process: copy more, as with --file-size 1GiB.
ignored => The smallest buffer within 5 % of the fastest is none for the program,
untold => The program, which is not told the size of a buffer, takes 70.4 ms of CPU time for copying
early => There is no finding: 4 of 42 rows were measured.";

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
    let of = |name: &str| match name {
        "records" => records(1.09),
        "fast writev" => records(0.75),
        "equal" => records(1.00),
        "elements" => elements(0.1),
        "free copies" => elements(0.0),
        "hot" => copies(PageCache::Hot),
        "cold" => copies(PageCache::Cold),
        "large" => within(copies(PageCache::Hot), 1 << 17, 1 << 20),
        "beside" => beside(Some(1), 1),
        "beside, small" => within(beside(Some(1), 1), 64, 1024),
        "beside, large" => within(beside(Some(1), 1), 262_144, 1 << 20),
        "noisy starts" => changed(beside(Some(1), 1), is_start, noisy),
        "ignored" => beside(Some(4), 8192),
        "untold" => beside(None, 8192),
        _ => early.clone(),
    };
    for line in FINDINGS.lines() {
        let (name, words) = line.split_once(" => ").unwrap();
        let finding = of(name).finding;
        assert!(finding.contains(words), "{line}: {finding}");
    }
    assert!(!copies(PageCache::Hot).finding.contains("ead-ahead"));
    let mut alone = elements(0.1);
    alone.rows.retain(|row| row.key.technique == "writev");
    conclude(&mut alone);
    assert_eq!(alone.finding, "");
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
