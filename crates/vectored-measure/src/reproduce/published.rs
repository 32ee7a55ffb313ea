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
