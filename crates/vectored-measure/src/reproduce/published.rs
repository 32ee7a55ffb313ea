//! The published figures, as rows. `published/README.md` names their sources.

use std::collections::HashMap;
use std::fmt::Debug;
use std::str::FromStr;

use vectored_report::sort;

use vectored_results::model::{ExperimentName, IovecSetup, Operation, PublishedRow};

/// The published rows of an experiment, in their order.
pub fn published(experiment: ExperimentName) -> Vec<PublishedRow> {
    match experiment {
        ExperimentName::Apue35 => copies(),
        ExperimentName::Apue1428 => records(),
        ExperimentName::Kalinin => elements(),
        ExperimentName::Mincer => passes(),
    }
}

/// A line of an embedded CSV file.
struct Line(HashMap<String, String>);

impl Line {
    fn all(file: &str) -> Vec<Self> {
        let mut reader = ::csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(file.as_bytes());
        let lines = reader.deserialize().map(|line| line.map(Line));
        lines.collect::<Result<_, _>>().expect(VALID)
    }

    fn text(&self, column: &str) -> &str {
        self.0.get(column).expect(VALID)
    }

    fn number<N: FromStr<Err: Debug>>(&self, column: &str) -> N {
        self.text(column).parse().expect(VALID)
    }
}

const VALID: &str = "the embedded CSV files are valid: tests parse all of them";

fn copies() -> Vec<PublishedRow> {
    let lines = Line::all(include_str!("published/apue-fig-3.5.csv"));
    let row = |line: Line| PublishedRow {
        source: "2005".to_owned(),
        technique: "read-write".to_owned(),
        buffer_bytes: Some(line.number("buffer_bytes")),
        loops: Some(line.number("loops")),
        user_s: Some(line.number("user_s")),
        system_s: Some(line.number("system_s")),
        cpu_s: Some(line.number::<f64>("user_s") + line.number::<f64>("system_s")),
        clock_s: Some(line.number("clock_s")),
        ..PublishedRow::default()
    };
    lines.into_iter().map(row).collect()
}

fn records() -> Vec<PublishedRow> {
    let editions = [
        ("2005", include_str!("published/apue-fig-14.28.csv")),
        ("2013", include_str!("published/apue-fig-14.23.csv")),
    ];
    let of_edition = |(year, text): (&str, &str)| {
        let row = |line: Line| PublishedRow {
            source: format!("{year}, {}", line.text("system")),
            technique: match line.text("technique") {
                "two writes" => "write-each",
                "buffer copy, then one write" => "copy-then-write",
                "one writev" => "writev",
                _ => panic!("{VALID}"),
            }
            .to_owned(),
            segment_count: Some(2),
            user_s: Some(line.number("user_s")),
            system_s: Some(line.number("system_s")),
            cpu_s: Some(line.number::<f64>("user_s") + line.number::<f64>("system_s")),
            clock_s: Some(line.number("clock_s")),
            ..PublishedRow::default()
        };
        let lines = Line::all(text);
        lines.into_iter().map(row).collect::<Vec<_>>()
    };
    editions.into_iter().flat_map(of_edition).collect()
}

fn elements() -> Vec<PublishedRow> {
    let rows = |line: Line| {
        let techniques = [
            ("writev", "writev_ms"),
            ("copy-then-write", "copy_then_write_ms"),
        ];
        techniques.map(|(technique, column)| PublishedRow {
            source: "2001".to_owned(),
            technique: technique.to_owned(),
            segment_count: Some(1000),
            segment_bytes: Some(line.number("element_bytes")),
            cpu_s: Some(line.number::<f64>(column) / 1e3),
            ..PublishedRow::default()
        })
    };
    let mut lines = Line::all(include_str!("published/kalinin-2001.csv"));
    sort::sort_by_key(&mut lines, |line| line.number::<usize>("element_bytes"));
    lines.into_iter().flat_map(rows).collect()
}

fn passes() -> Vec<PublishedRow> {
    let rows = |line: Line| {
        let names = match line.text("vectored") {
            "0" => ["write-each", "read-each"],
            "1" => ["writev", "readv"],
            _ => panic!("{VALID}"),
        };
        let [write, read] = names;
        let operations = [
            (Operation::Write, write, "write_us"),
            (Operation::Read, read, "read_us"),
        ];
        operations.map(|(operation, technique, column)| PublishedRow {
            source: "lecture notes".to_owned(),
            technique: technique.to_owned(),
            operation: Some(operation),
            iovec_setup: Some(match line.text("iovec_setup") {
                "once" => IovecSetup::Once,
                "timed" => IovecSetup::Timed,
                _ => panic!("{VALID}"),
            }),
            segment_count: Some(line.number("count")),
            segment_bytes: Some(line.number("size_bytes")),
            clock_s: Some(line.number::<f64>(column) / 1e6),
            ..PublishedRow::default()
        })
    };
    let lines = Line::all(include_str!("published/mincer-scatter-gather.csv"));
    lines.into_iter().flat_map(rows).collect()
}
