//! How fast logs of strace are read and analysed, against `wc -l`:
//! `cargo bench -p vectored-advise --bench advise`, with `-- 2000` for 2 GB. With `--test`, a small log,
//! once. The log is a recorded one of Java, again and again.
//!
//! The three take turns on the same file in the page cache. Compare the ratios of the medians.

use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use vectored_advise::advisor::{Analysis, Options};
use vectored_strace::{Counts, Item, read_logs};

fn main() -> io::Result<()> {
    let is_test = std::env::args().any(|argument| argument == "--test");
    let megabytes = std::env::args().find_map(|argument| argument.parse().ok());
    let (megabytes, rounds) = if is_test { (1, 1) } else { (megabytes.unwrap_or(1000), 7) };
    let path = std::env::temp_dir().join(format!("vectored-advise-{}.log", std::process::id()));
    let written = write(&path, megabytes * 1_000_000);
    let measured = written.and_then(|()| measure(&path, rounds));
    std::fs::remove_file(&path)?;
    measured
}

fn write(path: &Path, bytes: usize) -> io::Result<()> {
    let packed = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/testdata/advise/java-records.log.gz"
    );
    let log = Command::new("gzip").args(["-dc", packed]).output()?.stdout;
    let mut out = File::create(path)?;
    (0..=bytes / log.len().max(1)).try_for_each(|_| out.write_all(&log))
}

fn measure(path: &Path, rounds: usize) -> io::Result<()> {
    let mut reading_s = Vec::new();
    let mut analysing_s = Vec::new();
    let mut counting_s = Vec::new();
    let mut counts = Counts::default();
    for _ in 0..rounds {
        reading_s.push(timed(|| read(path).map(drop))?);
        analysing_s.push(timed(|| {
            counts = analyse(path)?;
            Ok(())
        })?);
        counting_s.push(timed(|| count_lines(path))?);
    }
    let [reading_s, analysing_s, counting_s] = [reading_s, analysing_s, counting_s].map(median);
    let report = |what: &str, seconds: f64| {
        println!(
            "{what:24} {:6.2} GB/s {:7.1} ns a line {:6.2} × wc -l",
            counts.bytes as f64 / 1e9 / seconds,
            seconds * 1e9 / counts.lines as f64,
            seconds / counting_s
        );
    };
    println!("{} lines, {} bytes", counts.lines, counts.bytes);
    report("reading", reading_s);
    report("reading and analysing", analysing_s);
    report("wc -l", counting_s);
    println!("peak memory {} KiB", peak_kib().unwrap_or_default());
    Ok(())
}

fn read(path: &Path) -> io::Result<Counts> {
    let mut events = 0_u64;
    let counts = read_logs(&[PathBuf::from(path)], |item| {
        events += u64::from(matches!(item, Item::Event(_)));
        ControlFlow::Continue(())
    });
    let counts = counts.map_err(io::Error::other)?;
    assert!(counts.skipped().is_empty() && events >= counts.calls);
    Ok(counts)
}

fn analyse(path: &Path) -> io::Result<Counts> {
    let mut analysis = Analysis::new(Options::default());
    let counts = analysis.read_logs(&[PathBuf::from(path)]);
    assert!(!analysis.finish().findings.is_empty());
    counts.map_err(io::Error::other)
}

fn count_lines(path: &Path) -> io::Result<()> {
    let counted = Command::new("wc")
        .arg("-l")
        .arg(path)
        .stdout(Stdio::null())
        .status()?;
    assert!(counted.success());
    Ok(())
}

fn timed(mut work: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
