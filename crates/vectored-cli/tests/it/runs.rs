//! Tests of short real runs: exit status, results and leftover files.

use std::fs;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use vectored_measure::in_flight::{ListQueue, RingQueue};
use vectored_measure::measure::check_direct;

use crate::support::{Bench, VECTORED, entries, skip, stderr_of, stdout_of};

#[test]
fn real_runs_of_one_cell_prove_their_bytes_and_leave_no_file() {
    // A run with one cell completes a round, even on a slow machine.
    for row in "\
--direct --mix 1x4KiB,2x8KiB --target file-overwrite => O_DIRECT: transfers go between
--direct --mix 1x4KiB,2x8KiB --target file --operation read => O_DIRECT: transfers go between
--technique io-uring --queue-depth 8 --segments 16 --sizes 1KiB --target file => file, queue depth 8
--join 4 --sizes 4KiB --cache cold --target unix => unix, cache cold"
        .lines()
    {
        let (words, title) = row.split_once(" => ").unwrap();
        let bench = Bench::new();
        let lacks = if words.contains("direct") {
            check_direct(&bench.work())
                .err()
                .map(|error| error.to_string())
        } else {
            let missing = RingQueue::with_depth(8).err();
            missing
                .filter(|_| words.contains("io-uring"))
                .map(|missing| missing.to_string())
        };
        if let Some(reason) = lacks {
            skip(&format!("{words}: {reason}"));
            continue;
        }
        let options = format!("measure --details --budget 300ms {words}");
        let table = stdout_of(&mut bench.command(&options));
        assert!(table.contains(title), "{table}");
        assert!(entries(&bench.work()).is_empty());
        let results = bench.only_result();
        assert!(
            results["cells"][0]["proof_calls"].as_u64() > Some(0),
            "{results}"
        );
        // Calibration measures the page cache. Direct I/O therefore has no cost model.
        let is_modelled = results["cost_models"] != json!([]);
        assert!(!is_modelled || !words.contains("direct"), "{results}");
    }
}

#[test]
fn a_budget_that_was_too_short_is_reported() {
    let bench = Bench::new();
    // On the simulated machine, a call takes a second.
    let words =
        "measure --synthetic 9e8 --seed 7 --budget 1s --target pipe --segments 2 --sizes 64";
    let stderr = stderr_of(&mut bench.command(words), 0);
    let short = "note: the budget of 1 s ended before every cell had 20 rounds; 1 of 1 cell has fewer than 20 rounds; use \
                 --budget ";
    assert!(stderr.starts_with(short), "{stderr}");
}

#[test]
fn a_signal_before_any_figures_saves_nothing() {
    let bench = Bench::new();
    let mut command = bench.std_vectored();
    // One call writes 64 MiB into a pipe, so a round takes about a second. A pipe needs no directory.
    command.args([
        "measure", "--budget", "30s", "--target", "pipe", "--dir", "nowhere",
    ]);
    command.args(["--segments", "1", "--sizes", "64MiB"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    // The handler of SIGXFSZ is set last.
    let catches = || -> Option<u64> {
        let status = fs::read_to_string(&status).ok()?;
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    while catches().is_none_or(|mask| mask & (1 << 24) == 0) {
        sleep(Duration::from_millis(1));
    }
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert_eq!(
        stderr,
        "note: stopped before any cell was measured: nothing is saved\n"
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    assert!(bench.saved().is_empty());
}

/// A run with a budget of an hour. SIGHUP is ignored, as under nohup(1).
struct LongRun {
    bench: Bench,
    child: Child,
}

impl LongRun {
    /// Waits until the run has written at least `bytes` bytes.
    fn of(segments: &str, sizes: &str, bytes: u64) -> Self {
        let bench = Bench::new();
        let mut command = bench.program("sh");
        let script = "trap '' HUP; exec \"$0\" \"$@\"";
        command.args(["-c", script, VECTORED]);
        command.args(["measure", "--budget", "1h", "--target", "pipe"]);
        command.args(["--segments", segments, "--sizes", sizes]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let run = LongRun { bench, child };
        run.wait_until_written(bytes);
        run
    }

    /// Reads the number of written bytes from `/proc/PID/io`.
    fn wait_until_written(&self, bytes: u64) {
        let written = || -> Option<u64> {
            let io = fs::read_to_string(format!("/proc/{}/io", self.child.id())).ok()?;
            let line = io.lines().find_map(|line| line.strip_prefix("wchar: "))?;
            line.parse().ok()
        };
        while written() < Some(bytes) {
            sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Returns the exit status, standard error and the bench.
    fn end(self) -> (Option<i32>, String, Bench) {
        let output = self.child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), stderr, self.bench)
    }
}

fn keeps_what_was_measured(signal: Signal, code: i32) {
    // The calibration and the first rounds of some cells write less than 512 MiB. The first rounds of all cells
    // write more than 512 MiB.
    let run = LongRun::of("2..512", "16..64KiB", 512 << 20);
    run.signal(Signal::HUP);
    run.signal(signal);
    let (exit_code, stderr, bench) = run.end();
    assert_eq!(exit_code, Some(code), "{stderr}");
    let results = bench.only_result();
    assert_eq!(results["complete"], false);
    let cells = results["cells"].as_array().unwrap();
    assert!(!cells.is_empty());
    assert!(cells.len() < 35);
    let left_out = results["left_out"].as_array().unwrap();
    assert_eq!(cells.len() + left_out.len(), 35);
    assert!(stderr.contains("note: stopped: "), "{stderr}");
    let saved = bench.saved();
    assert_eq!(stderr.lines().last(), saved[0].to_str());
    assert!(entries(&bench.work()).is_empty());
}

#[test]
fn sigint_and_sigterm_end_the_run_and_keep_what_was_measured() {
    keeps_what_was_measured(Signal::INT, 130);
    keeps_what_was_measured(Signal::TERM, 143);
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    // All bytes of a call fit into the pipe, so the run has no second thread. Each of two threads could take one
    // signal and treat that signal as the first. The run writes more than 64 MiB before all cells are decided.
    let run = LongRun::of("2..64", "16..512", 64 << 20);
    // SIGSTOP keeps the program from running between the two signals.
    run.signal(Signal::STOP);
    run.signal(Signal::INT);
    run.signal(Signal::TERM);
    run.signal(Signal::CONT);
    let (code, stderr, bench) = run.end();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
    assert!(!stderr.contains("stopped"), "{stderr}");
    assert!(bench.saved().is_empty());
    assert!(entries(&bench.work()).is_empty());
}
