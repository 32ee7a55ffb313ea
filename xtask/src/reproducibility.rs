//! `cargo xtask reproducibility`: checks that repeated runs of `vectored measure` agree.

mod crossovers;
mod evaluation;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use vectored_measure::model::Results;

use crate::commands::{cargo_words, run as run_command};
use crate::packages::metadata;
use crate::root;
use crossovers::agreement;
use evaluation::evaluate;

/// Interval between two looks at the memory of a running process.
const MEMORY_EVERY: Duration = Duration::from_millis(50);

/// One run of the tool.
struct Run {
    elapsed: Duration,
    /// `VmHWM`, the peak of its resident memory.
    peak_kib: Option<u64>,
    results: Results,
}

/// The options of the comparison.
#[derive(clap::Args)]
pub struct Options {
    /// How often the tool runs
    #[arg(long, default_value_t = 10)]
    runs: usize,
}

/// Runs the tool; false if runs contradict each other or decide too few of their cells.
pub fn run(options: &Options) -> Result<bool> {
    let metadata = metadata()?;
    let target = metadata["target_directory"].as_str();
    let target = Path::new(target.context("cargo metadata names no target folder")?);
    let words = "build --release --locked --package vectored-cli";
    run_command(&mut cargo_words(words))?;

    let program = target.join("release/vectored");
    let folder = target.join("reproducibility");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make '{}'", folder.display()))?;
    let mut results = Vec::new();
    println!("run    time   cells  decided  complete   peak memory");
    for index in 1..=options.runs {
        let run = measure(&program, &folder, index)?;
        let cells = run.results.cells.len();
        let decided = 100.0 * evaluation::decided_share(&run.results);
        let complete = if run.results.complete { "yes" } else { "no" };
        let peak = run.peak_kib.map_or("unknown".to_owned(), |kib| {
            format!("{:.1} MiB", kib as f64 / 1024.0)
        });
        println!(
            "{index:>3}  {:>4.1} s  {cells:>6}  {decided:>5.1} %  {complete:>8}  {peak:>12}",
            run.elapsed.as_secs_f64(),
        );
        results.push(run.results);
    }
    let evaluation = evaluate(&results);
    println!("\n{evaluation}");
    let agreement = agreement(&results);
    println!("\n{agreement}");
    Ok(evaluation.passes() && agreement.passes())
}

fn measure(program: &Path, folder: &Path, index: usize) -> Result<Run> {
    let path = folder.join(format!("run-{index}.json"));
    let output =
        File::create(&path).with_context(|| format!("cannot make '{}'", path.display()))?;
    let mut command = Command::new(program);
    command
        .args(["measure", "--format", "json", "--quiet"])
        .env("XDG_STATE_HOME", folder.join("state"))
        .current_dir(root())
        .stdout(output)
        .stderr(Stdio::inherit());
    let began = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot run {command:?}"))?;
    let peak_kib = watch_memory(&mut child)?;
    let elapsed = began.elapsed();
    let status = child.wait().context("cannot wait for vectored")?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read '{}'", path.display()))?;
    let results = serde_json::from_str(&text)
        .with_context(|| format!("'{}' holds no results", path.display()))?;
    Ok(Run {
        elapsed,
        peak_kib,
        results,
    })
}

/// Waits until the process ends, and returns its peak memory. The peak is read while the process
/// runs, so the last [`MEMORY_EVERY`] may be missed.
fn watch_memory(child: &mut Child) -> Result<Option<u64>> {
    let mut peak_kib = None;
    let status_file = format!("/proc/{}/status", child.id());
    loop {
        let status = fs::read_to_string(&status_file).unwrap_or_default();
        peak_kib = peak_kib.max(peak_of(&status));
        if child
            .try_wait()
            .context("cannot wait for vectored")?
            .is_some()
        {
            return Ok(peak_kib);
        }
        sleep(MEMORY_EVERY);
    }
}

/// `VmHWM`, in KiB, see proc_pid_status(5).
fn peak_of(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_status() {
        let status = "VmSize:\t  9000 kB\nVmHWM:\t    5120 kB\nVmRSS:\t  4000 kB\n";
        assert_eq!(peak_of(status), Some(5120));
        assert_eq!(peak_of("Name:\tzombie\n"), None);
    }
}
