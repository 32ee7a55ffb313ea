//! The published figures, as rows. `published/README.md` names their sources.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::model::{ExperimentName, IovecSetup, Operation, PublishedRow};

/// The published rows of an experiment, in their order.
pub fn published(experiment: ExperimentName) -> Vec<PublishedRow> {
    match experiment {
        ExperimentName::Apue35 => copies(),
        ExperimentName::Apue1428 => records(),
        ExperimentName::Kalinin => elements(),
        ExperimentName::Mincer => passes(),
    }
}

/// Parses the lines of an embedded CSV file.
fn lines<L: DeserializeOwned>(text: &str) -> Vec<L> {
    let mut reader = ::csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let lines = reader.deserialize().collect::<Result<_, _>>();
    lines.expect("the embedded CSV files are valid: tests parse all of them")
}

fn copies() -> Vec<PublishedRow> {
    #[derive(Deserialize)]
    struct Line {
        buffer_bytes: u64,
        user_s: f64,
        system_s: f64,
        clock_s: f64,
        loops: u64,
    }
    let lines: Vec<Line> = lines(include_str!("published/apue-fig-3.5.csv"));
    let row = |line: Line| PublishedRow {
        source: "2005".to_owned(),
        technique: "read-write".to_owned(),
        buffer_bytes: Some(line.buffer_bytes),
        loops: Some(line.loops),
        user_s: Some(line.user_s),
        system_s: Some(line.system_s),
        cpu_s: Some(line.user_s + line.system_s),
        clock_s: Some(line.clock_s),
        ..PublishedRow::default()
    };
    lines.into_iter().map(row).collect()
}

fn records() -> Vec<PublishedRow> {
    #[derive(Deserialize)]
    struct Line {
        system: String,
        technique: String,
        user_s: f64,
        system_s: f64,
        clock_s: f64,
    }
    let editions = [
        ("2005", include_str!("published/apue-fig-14.28.csv")),
        ("2013", include_str!("published/apue-fig-14.23.csv")),
    ];
    let of_edition = |(year, text): (&str, &str)| {
        let row = |line: Line| PublishedRow {
            source: format!("{year}, {}", line.system),
            technique: match line.technique.as_str() {
                "two writes" => "write-each",
                "buffer copy, then one write" => "copy-then-write",
                _ => "writev",
            }
            .to_owned(),
            segment_count: Some(2),
            user_s: Some(line.user_s),
            system_s: Some(line.system_s),
            cpu_s: Some(line.user_s + line.system_s),
            clock_s: Some(line.clock_s),
            ..PublishedRow::default()
        };
        let lines: Vec<Line> = lines(text);
        lines.into_iter().map(row).collect::<Vec<_>>()
    };
    editions.into_iter().flat_map(of_edition).collect()
}

fn elements() -> Vec<PublishedRow> {
    #[derive(Deserialize)]
    struct Line {
        element_bytes: usize,
        writev_ms: f64,
        copy_then_write_ms: f64,
    }
    let rows = |line: Line| {
        let techniques = [
            ("writev", line.writev_ms),
            ("copy-then-write", line.copy_then_write_ms),
        ];
        techniques.map(|(technique, ms)| PublishedRow {
            source: "2001".to_owned(),
            technique: technique.to_owned(),
            segment_count: Some(1000),
            segment_bytes: Some(line.element_bytes),
            cpu_s: Some(ms / 1e3),
            ..PublishedRow::default()
        })
    };
    let mut lines: Vec<Line> = lines(include_str!("published/kalinin-2001.csv"));
    lines.sort_by_key(|line| line.element_bytes);
    lines.into_iter().flat_map(rows).collect()
}

fn passes() -> Vec<PublishedRow> {
    #[derive(Deserialize)]
    struct Line {
        iovec_setup: IovecSetup,
        size_bytes: usize,
        count: usize,
        vectored: u8,
        write_us: f64,
        read_us: f64,
    }
    let rows = |line: Line| {
        let names = match line.vectored {
            0 => ["write-each", "read-each"],
            _ => ["writev", "readv"],
        };
        let [write, read] = names;
        let operations = [
            (Operation::Write, write, line.write_us),
            (Operation::Read, read, line.read_us),
        ];
        operations.map(|(operation, technique, us)| PublishedRow {
            source: "lecture notes".to_owned(),
            technique: technique.to_owned(),
            operation: Some(operation),
            iovec_setup: Some(line.iovec_setup),
            segment_count: Some(line.count),
            segment_bytes: Some(line.size_bytes),
            clock_s: Some(us / 1e6),
            ..PublishedRow::default()
        })
    };
    let lines: Vec<Line> = lines(include_str!("published/mincer-scatter-gather.csv"));
    lines.into_iter().flat_map(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(rows: &[PublishedRow], of: impl Fn(&PublishedRow) -> Option<f64>) -> f64 {
        rows.iter().filter_map(of).sum()
    }

    #[test]
    fn the_copies_of_figure_3_5_are_complete() {
        let rows = published(ExperimentName::Apue35);
        let sizes: Vec<u64> = rows.iter().filter_map(|row| row.buffer_bytes).collect();
        let expected: Vec<u64> = (0..20).map(|power| 1 << power).collect();
        assert_eq!(sizes, expected);
        // The sum of every column: a wrong figure changes it.
        assert!((sum(&rows, |row| row.user_s) - 251.25).abs() < 1e-6);
        assert!((sum(&rows, |row| row.system_s) - 325.60).abs() < 1e-6);
        assert!((sum(&rows, |row| row.clock_s) - 670.15).abs() < 1e-6);
        let loops: u64 = rows.iter().filter_map(|row| row.loops).sum();
        assert_eq!(loops, 206_632_501);
        // As printed: whole buffers, except in the last row, where a rest counts.
        let file_bytes = 103_316_352_u64;
        for row in &rows {
            let buffer = row.buffer_bytes.unwrap();
            let expected = match buffer {
                524_288 => file_bytes.div_ceil(buffer),
                _ => file_bytes / buffer,
            };
            assert_eq!(row.loops, Some(expected), "{buffer}");
        }
    }

    #[test]
    fn the_records_of_both_editions_agree_with_the_text() {
        let rows = published(ExperimentName::Apue1428);
        assert_eq!(rows.len(), 12);
        assert!((sum(&rows, |row| row.user_s) - 8.69).abs() < 1e-6);
        assert!((sum(&rows, |row| row.system_s) - 72.84).abs() < 1e-6);
        assert!((sum(&rows, |row| row.clock_s) - 104.24).abs() < 1e-6);
        let of = |source: &str, technique: &str| {
            let found = rows
                .iter()
                .find(|row| row.source == source && row.technique == technique);
            found.unwrap()
        };
        // On all four machines, two writes take nearly twice the system time of
        // one, and writev takes more CPU time than copying.
        for source in [
            "2005, Linux (Intel x86)",
            "2005, Mac OS X (PowerPC)",
            "2013, Linux (Intel x86)",
            "2013, Mac OS X (Intel x86)",
        ] {
            let system = |technique| of(source, technique).system_s.unwrap();
            let two = system("write-each") / system("copy-then-write");
            assert!((1.5..2.0).contains(&two), "{source}: {two}");
            let cpu = |technique| of(source, technique).cpu_s.unwrap();
            let ratio = cpu("writev") / cpu("copy-then-write");
            assert!((1.03..1.20).contains(&ratio), "{source}: {ratio}");
        }
        let cpu = |technique| of("2013, Linux (Intel x86)", technique).cpu_s.unwrap();
        let by = cpu("writev") / cpu("copy-then-write") - 1.0;
        assert_eq!(format!("{:.0} %", 100.0 * by), "8 %");
    }

    #[test]
    fn the_crossover_of_kalinin_is_between_100_and_200_bytes() {
        let rows = published(ExperimentName::Kalinin);
        assert_eq!(rows.len(), 20);
        assert!((sum(&rows, |row| row.cpu_s) - 9.19e-3).abs() < 1e-9);
        for pair in rows.chunks(2) {
            let writev_wins = pair[0].cpu_s < pair[1].cpu_s;
            let bytes = pair[0].segment_bytes.unwrap();
            assert_eq!(writev_wins, bytes >= 200, "{bytes}");
        }
    }

    #[test]
    fn the_passes_of_mincer_gain_a_factor_of_five_for_small_buffers_only() {
        let rows = published(ExperimentName::Mincer);
        assert_eq!(rows.len(), 12);
        assert!((sum(&rows, |row| row.clock_s) - 0.105_942).abs() < 1e-9);
        let time = |setup, count, technique: &str| {
            let found = rows.iter().find(|row| {
                row.iovec_setup == Some(setup)
                    && row.segment_count == Some(count)
                    && row.technique == technique
            });
            found.unwrap().clock_s.unwrap()
        };
        let gain = |setup, count| time(setup, count, "write-each") / time(setup, count, "writev");
        assert_eq!(format!("{:.1}", gain(IovecSetup::Timed, 1000)), "5.0");
        // A loss if the array is filled in the timed region, else a gain.
        assert!(gain(IovecSetup::Timed, 10) < 1.0);
        assert!(gain(IovecSetup::Once, 10) > 1.0);
    }
}
