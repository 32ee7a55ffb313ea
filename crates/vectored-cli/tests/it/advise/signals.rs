//! Tests of signals while a command runs, and of processes that outlive the command.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{bench, std_advise};
use crate::support::{Bench, needs_strace, stdout_of};

/// Starts `advise` with a script, and waits until the script prints a line.
fn waiting(bench: &Bench, script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = std_advise(bench);
    command.args(["--source", "strace"]);
    command.args(["--", "sh", "-c", script]);
    command.process_group(0).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

#[test]
fn ctrl_c_reaches_the_command() {
    needs_strace!();
    let bench = bench();
    let script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    let (mut child, mut stdout) = waiting(&bench, script);
    // A terminal sends SIGINT to the whole foreground process group.
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5), "{rest}");
    assert_eq!(rest, "caught\n");
    assert_eq!(bench.saved().len(), 1);
}

#[test]
fn waiting_for_remaining_processes_is_announced_and_a_signal_stops_it() {
    needs_strace!();
    for is_stopped in [false, true] {
        let bench = bench();
        // The loop ends after about 30 seconds if the test fails.
        let script = "{ n=0; until [ -e go ] || [ $n -gt 2000 ]; do sleep 0.01; n=$((n + 1)); done; } & \
                      echo ready";
        let (mut child, _stdout) = waiting(&bench, script);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(
            line.starts_with("note: the command has ended; waiting for processes"),
            "{line}"
        );
        if is_stopped {
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        } else {
            fs::write(bench.work().join("go"), "").unwrap();
        }
        assert!(child.wait().unwrap().success());
        assert_eq!(bench.only_result()["complete"], !is_stopped);
        fs::write(bench.work().join("go"), "").unwrap();
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("(Ctrl-C stops the waiting)"), "{rest}");
        assert_eq!(rest.contains("note: stopped waiting"), is_stopped, "{rest}");
    }
}

/// Reads the signals HUP, INT, QUIT and TERM from a line `SigIgn` of `/proc/PID/status`.
fn mask_of(line: &str) -> u64 {
    let mask = line.trim().rsplit('\t').next().unwrap();
    u64::from_str_radix(mask, 16).unwrap() & 0x4007
}

#[test]
fn ignored_signals_stay_ignored() {
    needs_strace!();
    let bench = bench();
    // nohup(1) ignores SIGHUP. A shell without job control ignores SIGINT and SIGQUIT for a background job.
    let ignored = |trap: &str| {
        let advise = "exec \"$0\" advise --source strace --costs costs.json -- grep SigIgn /proc/self/status";
        mask_of(&stdout_of(&mut bench.script(&format!("{trap} {advise}"))))
    };
    // The caller of the tests may ignore SIGHUP, for example nohup(1).
    let hangup = ignored("");
    assert_eq!(hangup & !1, 0);
    assert_eq!(ignored("trap '' HUP;"), 1);
    assert_eq!(ignored("trap '' INT QUIT;"), hangup | 6);
    assert_eq!(ignored("trap '' TERM;"), hangup | 0x4000);
}

#[test]
fn sigterm_is_passed_on_to_the_command() {
    needs_strace!();
    let bench = bench();
    let script = "trap 'exit 6' TERM; echo ready; while :; do sleep 0.05; done";
    let (mut child, _stdout) = waiting(&bench, script);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(6));
    assert_eq!(bench.saved().len(), 1);
}
