//! `vectored advise`: logs that are read, and commands that are run under strace.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json as literal};

use crate::support::{Bench, entries, json, skip, stdout_of};

/// A result of advise that is about nothing, with round prices.
pub fn costs() -> String {
    let targets = ["file", "pipe", "unix", "tcp"];
    let price = |(target, operation): (&str, &str)| {
        literal!({
            "target": target, "operation": operation,
            "call_ns": 1000.0, "call_low_ns": 900.0, "call_high_ns": 1200.0,
            "gather_call_ns": 10.0, "segment_ns": 5.0, "large_segment_ns": 10.0, "iovec_step_ns": 10.0,
            "copy_segment_ns": 1.0, "copy_byte_ns": 0.1
        })
    };
    let all = targets
        .iter()
        .flat_map(|target| [(*target, "write"), (*target, "read")]);
    literal!({
        "schema": "vectored-advice/1", "version": "0", "started_at": "2026-01-01T00:00:00Z",
        "host": {
            "name": "bench", "system": "Linux x86_64", "kernel": "6.18.0",
            "cpu": {"model": "Some CPU", "allowed_cpus": [0, 1], "l1d_bytes": null, "l2_bytes": null,
                    "l3_bytes": null, "governor": null, "mitigations": []},
            "memory_bytes": 8_589_934_592_u64, "virtualization": null, "iov_max": 1024,
            "pipe_bytes": null, "unix_send_buffer_bytes": null,
            "unix_receive_buffer_bytes": null, "tcp_send_buffer_bytes": null,
            "tcp_receive_buffer_bytes": null, "directory": null, "clock_source": null,
            "pinned_cpu": null, "reader_cpu": null, "load_average": null, "steal_share": null,
            "involuntary_switches": null, "warnings": []
        },
        "sources": [], "complete": true, "calls": 0, "transfers": 0, "bytes": 0, "processes": 0,
        "skipped": [], "wall_s": null, "wall_source": null,
        "prices": all.map(price).collect::<Vec<_>>(),
        "findings": [], "uncounted": [], "saving_s": 0.0, "saving_low_s": 0.0, "saving_high_s": 0.0
    })
    .to_string()
}

/// A place with these prices in `costs.json`.
fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.work().join("costs.json"), costs()).unwrap();
    bench
}

/// `vectored advise` with prices that are not measured.
fn advise(bench: &Bench) -> assert_cmd::Command {
    assert_cmd::Command::from_std(std_advise(bench))
}

fn std_advise(bench: &Bench) -> Command {
    let mut command = bench.std_vectored();
    command.args(["advise", "--costs", "costs.json"]);
    command
}

/// The log of a program that writes a thousand records, a header of 8 bytes and a body of 4 KiB.
pub fn records() -> String {
    let mut log = String::from(
        "7 1795315726.000000 execve(\"/usr/bin/store\", [\"store\"], 0x7ffd) = 0 <0.000300>\n\
         7 1795315726.000500 set_tid_address(0x7f0000000a10) = 7 <0.000010>\n\
         7 1795315726.001000 openat(AT_FDCWD</>, \"/tmp/log\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</tmp/log> \
         <0.000020>\n",
    );
    for record in 0..1000 {
        for (call, bytes) in [8, 4096].into_iter().enumerate() {
            let micros = 2000 + record * 100 + call * 50;
            log += &format!(
                "7 1795315726.{micros:06} write(3</tmp/log>, \"x\"..., {bytes}) = {bytes} <0.000010>\n"
            );
        }
    }
    log + "7 1795315726.102100 exit_group(0) = ?\n7 1795315726.102200 +++ exited with 0 +++\n"
}

/// Why no command can be traced here, if so.
fn strace_is_missing() -> Option<String> {
    let tried = Command::new("strace")
        .args(["-o", "/dev/stdout", "-e", "trace=exit_group", "true"])
        .output();
    match tried {
        Err(error) => Some(format!("cannot run strace: {error}")),
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("+++ exited with 0") => None,
        Ok(output) => Some(format!(
            "strace cannot trace: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

macro_rules! needs_strace {
    ($test:expr) => {
        if let Some(reason) = strace_is_missing() {
            return skip($test, &reason);
        }
    };
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_log_becomes_advice() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let printed = stdout_of(advise(&bench).arg("log"));
    insta::assert_snapshot!(printed);
    let saved = bench.only_result();
    assert_eq!(saved["schema"], "vectored-advice/1");
    assert_eq!(saved["findings"][0]["kind"], "adjacent-writes");
    assert_eq!(saved["findings"][0]["path"], "/tmp/log");
    assert_eq!(saved["transfers"], 2000);
    assert_eq!(saved["wall_s"], 0.1022, "the log's own times");
}

#[test]
fn a_log_may_come_through_a_pipe() {
    let bench = bench();
    let mut command = advise(&bench);
    command
        .args(["-", "--format", "json"])
        .write_stdin(records());
    let found = json(&stdout_of(&mut command));
    assert_eq!(found["findings"][0]["calls"], 2000);
    assert_eq!(found["sources"], literal!(["-"]));
}

#[test]
fn every_format_goes_where_it_is_wanted() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let mut command = advise(&bench);
    command.args([
        "log",
        "--html",
        "page.html",
        "--output",
        "a.csv",
        "--format",
        "csv",
    ]);
    assert_eq!(stdout_of(&mut command), "");
    let read = |name: &str| fs::read_to_string(bench.work().join(name)).unwrap();
    assert!(read("page.html").starts_with("<!doctype html>"));
    assert!(read("a.csv").starts_with("counted,reason,"));
    let markdown = stdout_of(advise(&bench).args(["log", "--format", "markdown"]));
    assert!(markdown.starts_with("**"), "{markdown}");
    let output = advise(&bench).args(["log", "--quiet"]).output().unwrap();
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn other_commands_know_what_was_saved() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let mut command = advise(&bench);
    let output = command.arg("log").assert().success().get_output().clone();
    let path = text(&output.stderr).lines().last().unwrap().to_owned();
    assert_eq!(bench.saved(), [std::path::PathBuf::from(&path)]);
    let report = stdout_of(bench.vectored().args(["report", "advice"]));
    assert_eq!(report, text(&output.stdout));
    let page = stdout_of(bench.vectored().args(["report", "advice", "--html", "-"]));
    assert!(page.contains("Where would gathering help?"));
    let lines = stdout_of(
        bench
            .vectored()
            .args(["report", "advice", &path, "--csv", "-"]),
    );
    assert!(
        lines.starts_with("host,started_at,sources,counted,"),
        "{lines}"
    );
    let history = stdout_of(bench.vectored().arg("history"));
    assert!(
        history.contains("advice") && history.contains("log would save"),
        "{history}"
    );
    // There is nothing to draw.
    let mut draw = bench.vectored();
    draw.args(["report", "advice", "--svg", "x.svg"]);
    let refused = text(&draw.assert().code(2).get_output().stderr.clone());
    assert!(refused.contains("write a page with --html"), "{refused}");
    assert!(!bench.work().join("x.svg").exists());
    let mut compare = bench.vectored();
    compare.args(["compare", "advice", "--against", "advice"]);
    let refused = text(&compare.assert().code(2).get_output().stderr.clone());
    let words = "'advice' is of `vectored advise`: name results of `vectored measure`";
    assert!(refused.contains(words), "{refused}");
}

#[test]
fn merged_results_are_those_of_all_logs() {
    let bench = bench();
    fs::write(bench.work().join("one"), records()).unwrap();
    fs::write(
        bench.work().join("two"),
        records().replace("/tmp/log", "/tmp/other"),
    )
    .unwrap();
    let all = |args: &[&str]| {
        json(&stdout_of(
            advise(&bench).args(args).args(["--format", "json"]),
        ))
    };
    let both = all(&["one", "two"]);
    for name in ["one", "two"] {
        let saved = format!("{name}.json");
        advise(&bench)
            .args([name, "--format", "json", "--output", &saved])
            .assert()
            .success();
    }
    let merged = all(&["--merge", "one.json", "two.json"]);
    for field in [
        "findings",
        "uncounted",
        "calls",
        "bytes",
        "sources",
        "saving_s",
    ] {
        assert_eq!(merged[field], both[field], "{field}");
    }
}

#[test]
fn what_is_no_log_is_refused() {
    let bench = bench();
    let refused = |name: &str, word: &str| {
        let mut command = advise(&bench);
        let output = command.arg(name).assert().code(2).get_output().clone();
        let stderr = text(&output.stderr);
        assert!(stderr.contains(word), "{stderr}");
        assert!(bench.saved().is_empty());
    };
    refused("nowhere", "cannot read 'nowhere'");
    let noise: Vec<u8> = (0..100_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    fs::write(bench.work().join("noise"), noise).unwrap();
    refused("noise", "no system call in 'noise'");
    fs::write(bench.work().join("empty"), "").unwrap();
    refused("empty", "no system call in 'empty'");
}

#[test]
fn lines_that_could_not_be_used_name_their_file_if_several_logs_are_read() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    fs::write(bench.work().join("notes"), "one\ntwo\n").unwrap();
    let output = advise(&bench).args(["log", "notes"]).assert().success();
    let stdout = text(&output.get_output().stdout);
    let expected = "Not used: 2 lines, the first is 1 of 'notes': not a line of strace.";
    assert!(stdout.contains(expected), "{stdout}");
}

#[test]
fn findings_without_a_cost_are_listed_and_the_others_counted() {
    let bench = bench();
    let mut few: Value = json(&costs());
    few["prices"].as_array_mut().unwrap().remove(0);
    fs::write(bench.work().join("costs.json"), few.to_string()).unwrap();
    fs::write(bench.work().join("log"), records()).unwrap();
    let output = advise(&bench)
        .arg("log")
        .assert()
        .success()
        .get_output()
        .clone();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        stderr.contains("'costs.json' does not say what it costs to write to a file"),
        "{stderr}"
    );
    assert!(
        stdout.starts_with("No known saving: of 2000 calls"),
        "{stdout}"
    );
    assert!(
        stdout.contains("write 8 B + write 4 KiB: what such a call costs is not known"),
        "{stdout}"
    );
    let saved = bench.only_result();
    let history = stdout_of(bench.vectored().arg("history"));
    assert!(history.contains("log: no certain saving"), "{history}");
    assert_eq!(saved["findings"], literal!([]));
    assert_eq!(saved["uncounted"][0]["calls"], 2000);
    // Merged with a result that has the cost, it is counted.
    let listed = bench.saved().remove(0);
    fs::write(bench.work().join("costs.json"), costs()).unwrap();
    let mut merge = advise(&bench);
    merge
        .args(["--no-save", "--format", "json", "--merge"])
        .arg(listed);
    let merged = json(&stdout_of(&mut merge));
    assert_eq!(merged["findings"][0]["calls"], 2000);
    assert_eq!(merged["uncounted"], literal!([]));
}

#[test]
fn no_output_replaces_what_is_read_or_another_output() {
    let bench = bench();
    let work = bench.work();
    fs::write(work.join("t.log"), records()).unwrap();
    fs::copy(work.join("costs.json"), work.join("a.json")).unwrap();
    fs::create_dir(work.join("folder")).unwrap();
    std::os::unix::fs::symlink("t.log", work.join("symbolic")).unwrap();
    std::os::unix::fs::symlink(".", work.join("here")).unwrap();
    fs::hard_link(work.join("t.log"), work.join("hard")).unwrap();
    let refused = |words: &[&str], expected: &str| {
        let mut command = bench.std_vectored();
        command.arg("advise").args(words);
        if words.contains(&"-") {
            command.stdin(fs::File::open(work.join("t.log")).unwrap());
        }
        let output = command.output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(expected), "{words:?}: {stderr}");
        let names: Vec<_> = entries(&work);
        assert_eq!(names.len(), 7, "{words:?}: {names:?}");
        assert_eq!(fs::read_to_string(work.join("t.log")).unwrap(), records());
        assert_eq!(fs::read_to_string(work.join("a.json")).unwrap(), costs());
        assert!(bench.saved().is_empty());
    };
    let read = "is read here and would be replaced: name another file for the output";
    for name in [
        "t.log",
        "./t.log",
        "here/t.log",
        "folder/../t.log",
        "symbolic",
        "hard",
    ] {
        refused(&["--html", name, "t.log"], read);
        refused(&["--output", name, "t.log"], read);
        refused(&["--output", "t.log", name], read);
    }
    refused(&["--html", "t.log", "-"], read);
    refused(&["--merge", "a.json", "--output", "a.json"], read);
    refused(&["--merge", "a.json", "--html", "./a.json"], read);
    refused(&["--costs", "a.json", "--output", "a.json", "t.log"], read);
    let twice = "is named for two outputs: name another file for one of them";
    refused(&["--html", "x", "--output", "./x", "t.log"], twice);
    // Before a command runs.
    let run = ["--", "touch", "ran"];
    refused(
        &[&["--html", "x", "--output", "here/x"], &run[..]].concat(),
        twice,
    );
    refused(
        &[&["--costs", "a.json", "--output", "a.json"], &run[..]].concat(),
        read,
    );
}

#[test]
fn a_directory_in_which_no_costs_can_be_measured_is_told_before_the_command_runs() {
    let bench = bench();
    let refused = |directory: &str, word: &str| {
        let mut command = bench.vectored();
        command.args(["advise", "--dir", directory, "--", "touch", "ran"]);
        let output = command.assert().code(2).get_output().clone();
        let stderr = text(&output.stderr);
        assert!(stderr.contains(word), "{stderr}");
        assert!(!bench.work().join("ran").exists());
    };
    refused("gone", "'gone': it does not exist");
    refused("costs.json", "'costs.json': it is not a directory");
    refused("/proc", "'/proc'");
}

#[test]
fn costs_are_measured_elsewhere_where_the_working_directory_takes_no_file() {
    needs_strace!("costs_are_measured_elsewhere_where_the_working_directory_takes_no_file");
    let bench = bench();
    let out = bench.work().join("out");
    let script = "for n in 1 2 3 4; do echo $n; done > \"$0\"";
    let mut command = bench.std_vectored();
    command
        .args(["advise", "--", "sh", "-c", script])
        .arg(&out)
        .current_dir("/proc")
        .env("TMPDIR", bench.work());
    let output = command.output().unwrap();
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(
        stderr.contains("since no file can be made in the working directory"),
        "{stderr}"
    );
    let saved = bench.only_result();
    assert_eq!(saved["findings"][0]["calls"], 4, "{saved}");
    assert!(saved["saving_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_a_command_does_to_the_directory_loses_no_findings() {
    needs_strace!("what_a_command_does_to_the_directory_loses_no_findings");
    let bench = bench();
    let script = "rmdir measured; for n in 1 2 3 4; do echo $n; done > out";
    for (temporary, is_counted) in [(bench.work(), true), ("/proc".into(), false)] {
        fs::create_dir(bench.work().join("measured")).unwrap();
        let mut command = bench.std_vectored();
        command
            .args(["advise", "--dir", "measured", "--output", "report"])
            .args(["--format", "markdown", "--", "sh", "-c", script])
            // Where the log of strace goes is not of these.
            .env("TMPDIR", temporary);
        let output = command.output().unwrap();
        let stderr = text(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert!(
            stderr.contains("since they cannot be in 'measured'"),
            "{stderr}"
        );
        let lists = "such calls are listed, and not counted";
        assert_eq!(stderr.contains(lists), !is_counted, "{stderr}");
        let report = fs::read_to_string(bench.work().join("report")).unwrap();
        assert!(report.contains("4 × write 2 B"), "{report}");
        let saved = bench.only_result();
        let found = if is_counted { "findings" } else { "uncounted" };
        assert_eq!(saved[found][0]["calls"], 4, "{saved}");
        fs::remove_file(bench.saved().remove(0)).unwrap();
    }
}

#[test]
fn a_command_keeps_its_output_and_its_exit_code() {
    needs_strace!("a_command_keeps_its_output_and_its_exit_code");
    let bench = bench();
    let mut command = advise(&bench);
    let script = "read line; echo got $line; echo aside >&2; exit 7";
    command
        .args(["--", "sh", "-c", script])
        .write_stdin("this\n");
    let output = command.assert().code(7).get_output().clone();
    assert_eq!(text(&output.stdout), "got this\n");
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("aside\n"), "{stderr}");
    assert!(!stderr.contains("note:"), "{stderr}");
    assert!(stderr.contains("No certain saving: of "), "{stderr}");
    let saved = bench.only_result();
    assert_eq!(
        stderr.lines().last().unwrap(),
        bench.saved()[0].to_str().unwrap()
    );
    assert_eq!(saved["wall_source"], "estimated");
    let time = |field: &str| saved[field].as_f64().unwrap();
    assert!(
        time("wall_s") > 0.0 && time("wall_s") <= time("traced_wall_s"),
        "{saved}"
    );
    assert!(time("cpu_s") > 0.0, "{saved}");
}

#[test]
fn a_command_runs_twice_and_prints_once() {
    needs_strace!("a_command_runs_twice_and_prints_once");
    let bench = bench();
    let script = "echo ran >> runs; echo printed; echo aside >&2";
    let mut twice = advise(&bench);
    let output = twice
        .args(["--twice", "--", "sh", "-c", script])
        .assert()
        .success()
        .get_output()
        .clone();
    assert_eq!(text(&output.stdout), "printed\n");
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("note: the command will be run a second time, without strace"),
        "{stderr}"
    );
    let asides = stderr.lines().filter(|line| *line == "aside").count();
    assert_eq!(asides, 1);
    assert_eq!(lines_of(&bench, "runs"), 2);
    assert_eq!(bench.only_result()["wall_source"], "untraced");
    let mut once = advise(&bench);
    once.args(["--", "sh", "-c", script]).assert().success();
    assert_eq!(lines_of(&bench, "runs"), 3);
}

fn lines_of(bench: &Bench, name: &str) -> usize {
    let text = fs::read_to_string(bench.work().join(name)).unwrap();
    text.lines().count()
}

#[test]
fn a_command_that_fails_is_not_run_again() {
    needs_strace!("a_command_that_fails_is_not_run_again");
    let bench = bench();
    for (end, code) in [("exit 3", 3), ("kill -TERM $$", 143)] {
        let script = format!("echo ran >> runs; {end}");
        let mut command = advise(&bench);
        command.args(["--twice", "--", "sh", "-c", &script]);
        let output = command.assert().code(code).get_output().clone();
        let stderr = text(&output.stderr);
        let words = "note: no wall time of a second run: the command failed";
        assert!(stderr.contains(words), "{stderr}");
        assert!(stderr.contains("Nothing to gain"), "{stderr}");
    }
    assert_eq!(lines_of(&bench, "runs"), 2);
}

#[test]
fn a_file_on_standard_input_is_there_for_both_runs() {
    needs_strace!("a_file_on_standard_input_is_there_for_both_runs");
    let bench = bench();
    fs::write(bench.work().join("input"), "one\n").unwrap();
    let mut command = std_advise(&bench);
    let script = "read line && echo $line >> seen";
    command.args(["--twice", "--", "sh", "-c", script]);
    command.stdin(fs::File::open(bench.work().join("input")).unwrap());
    assert!(command.output().unwrap().status.success());
    let seen = fs::read_to_string(bench.work().join("seen")).unwrap();
    assert_eq!(seen, "one\none\n");
}

#[test]
fn small_writes_of_a_command_are_found() {
    needs_strace!("small_writes_of_a_command_are_found");
    let bench = bench();
    let script = "exec > out; for i in 1 2 3 4 5 6 7 8 9; do echo $i; done";
    let mut command = advise(&bench);
    command.args([
        "--output", "-", "--format", "json", "--", "sh", "-c", script,
    ]);
    let found = json(&stdout_of(&mut command));
    assert_eq!(found["findings"][0]["kind"], "adjacent-writes", "{found}");
    assert_eq!(found["findings"][0]["calls"], 9);
    assert!(
        found["findings"][0]["path"]
            .as_str()
            .unwrap()
            .ends_with("/out")
    );
}

#[test]
fn a_quiet_report_is_still_a_report() {
    let test = "a_quiet_report_is_still_a_report";
    needs_strace!(test);
    let bench = bench();
    let mut command = advise(&bench);
    command.args(["--quiet", "--", "sh", "-c", "echo hi"]);
    let output = command.output().unwrap();
    assert_eq!(text(&output.stdout), "hi\n");
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("Nothing to gain"), "{stderr}");
    assert!(!stderr.contains(".json"), "{stderr}");
}

#[test]
fn a_fifo_of_a_command_is_a_pipe() {
    let test = "a_fifo_of_a_command_is_a_pipe";
    needs_strace!(test);
    let bench = bench();
    let fifo = bench.work().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    // Both ends are ours, so that no end of the command waits.
    let mut both = fs::File::options();
    let _both = both.read(true).write(true).open(&fifo).unwrap();
    let script = "exec 3>fifo; for i in 1 2 3 4 5; do printf x >&3; done";
    let mut command = advise(&bench);
    command.args(["--format", "json", "--", "sh", "-c", script]);
    let output = command.output().unwrap();
    let found = json(
        &text(&output.stderr)
            .lines()
            .rev()
            .skip(1)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
            .join("\n"),
    );
    let all = [&found["findings"], &found["uncounted"]];
    let of_fifo: Vec<_> = all
        .iter()
        .flat_map(|list| list.as_array().unwrap())
        .filter(|finding| {
            finding["path"]
                .as_str()
                .is_some_and(|path| path.ends_with("/fifo"))
        })
        .collect();
    assert_eq!(of_fifo.len(), 1, "{found}");
    assert_eq!(of_fifo[0]["target"], "pipe");
}

#[test]
fn death_by_a_signal_has_the_code_of_a_shell() {
    needs_strace!("death_by_a_signal_has_the_code_of_a_shell");
    let bench = bench();
    for (signal, code) in [("TERM", 143), ("SEGV", 139), ("KILL", 137)] {
        let script = format!("kill -{signal} $$");
        let mut command = advise(&bench);
        command
            .args(["--", "sh", "-c", &script])
            .assert()
            .code(code);
    }
}

/// The same command, to which no signal is ignored that is sent to it here: a shell starts what runs in the
/// background with SIGINT and SIGQUIT ignored, and so would be these tests with all that they start.
fn with_default_signals(command: &Command) -> Command {
    let mut with = Command::new("env");
    with.arg("--default-signal=HUP,INT,QUIT,TERM");
    with.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => with.env(name, value),
            None => with.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        with.current_dir(directory);
    }
    with
}

/// A command that says when it is ready, and then waits.
fn waiting(bench: &Bench, script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    waiting_for(std_advise(bench), script)
}

fn waiting_for(command: Command, script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = with_default_signals(&command);
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
fn an_interrupt_of_a_terminal_is_the_commands() {
    needs_strace!("an_interrupt_of_a_terminal_is_the_commands");
    let bench = bench();
    let script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    let (mut child, mut stdout) = waiting(&bench, script);
    // A terminal sends it to all of the group.
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5), "{rest}");
    assert_eq!(rest, "caught\n");
    assert_eq!(bench.saved().len(), 1);
}

#[test]
fn an_interrupted_command_is_not_run_again() {
    needs_strace!("an_interrupted_command_is_not_run_again");
    let bench = bench();
    // It ends as if nothing had happened, too.
    for (trap, code) in [("-", 130), ("'exit 0'", 0)] {
        let script =
            format!("echo ran >> runs; trap {trap} INT; echo ready; while :; do sleep 0.05; done");
        let mut command = std_advise(&bench);
        command.arg("--twice");
        let (mut child, _stdout) = waiting_for(command, &script);
        kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        let words = "note: no wall time of a second run: ";
        assert!(stderr.contains(words), "{stderr}");
    }
    assert_eq!(lines_of(&bench, "runs"), 2);
}

#[test]
fn a_signal_in_the_second_run_ends_it() {
    needs_strace!("a_signal_in_the_second_run_ends_it");
    let bench = bench();
    // Only the second run waits.
    let script =
        "if [ -e first ]; then echo $$ > second; exec sleep 600; fi; touch first; echo ready";
    let mut command = std_advise(&bench);
    command.arg("--twice");
    let (mut child, _stdout) = waiting_for(command, script);
    let second = bench.work().join("second");
    let process = until(|| {
        fs::read_to_string(&second)
            .ok()
            .filter(|text| text.ends_with('\n'))
    });
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    until(|| (!is_running(process.trim())).then_some(()));
    assert_eq!(bench.only_result()["wall_source"], "estimated");
}

#[test]
fn who_waits_for_processes_left_behind_is_told() {
    needs_strace!("who_waits_for_processes_left_behind_is_told");
    let bench = bench();
    // At most for half a minute or so.
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
    fs::write(bench.work().join("go"), "").unwrap();
    assert!(child.wait().unwrap().success());
    // It was said once.
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("note:"), "{rest}");
    assert_eq!(bench.only_result()["complete"], true);
}

/// Waits until something is there.
fn until<T>(look: impl Fn() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen within a minute");
}

/// Whether a process has not ended.
fn is_running(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim().starts_with('Z'))
}

/// Processes whose command line has this in it.
fn processes_with(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap()) {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(word) {
            found.push(process.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_command_outlives_this_program_and_nobody_complains() {
    needs_strace!("a_command_outlives_this_program_and_nobody_complains");
    let bench = bench();
    let go = bench.work().join("go");
    // Named so that its processes are known.
    let mark = format!("outlives-{}", std::process::id());
    let script = format!(
        ": {mark}; echo ready; until [ -e go ]; do sleep 0.01; done; \
         n=0; while [ $n -lt 20000 ]; do echo x; n=$((n + 1)); done > lines; echo done >&2"
    );
    let (mut child, mut stdout) = waiting(&bench, &script);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    fs::write(go, "").unwrap();
    // Until all who hold it have ended.
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(stderr, "done\n");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(lines_of(&bench, "lines"), 20_000);
    until(|| processes_with(&mark).is_empty().then_some(()));
}

#[test]
fn ignored_signals_stay_ignored() {
    needs_strace!("ignored_signals_stay_ignored");
    let bench = bench();
    // As nohup does, and a shell for a job in the background.
    let inner = std_advise(&bench);
    let script = "grep SigIgn /proc/self/status";
    let ignored = |trap: &str| {
        let mut outer = Command::new("sh");
        let line = format!("{trap} exec \"$0\" \"$@\"");
        outer
            .args(["-c", &line])
            .arg(inner.get_program())
            .args(inner.get_args());
        outer.args(["--", "sh", "-c", script]);
        outer
            .current_dir(bench.work())
            .env("XDG_STATE_HOME", bench.state_home());
        let printed = text(&outer.output().unwrap().stdout);
        let mask = printed.trim().rsplit('\t').next().unwrap().to_owned();
        u64::from_str_radix(&mask, 16).unwrap() & 0x4007
    };
    assert_eq!(ignored(""), 0);
    assert_eq!(ignored("trap '' HUP;"), 1);
    assert_eq!(ignored("trap '' INT QUIT;"), 6);
    assert_eq!(ignored("trap '' TERM;"), 0x4000);
}

#[test]
fn a_forgotten_separator_is_told() {
    let bench = bench();
    let told = |words: &[&str], expected: &str| {
        let output = advise(&bench)
            .args(words)
            .assert()
            .code(2)
            .get_output()
            .clone();
        let stderr = text(&output.stderr);
        assert!(stderr.contains(expected), "{stderr}");
    };
    fs::write(bench.work().join("x.sh"), "echo hi\n").unwrap();
    told(&["sh", "x.sh"], "vectored advise -- sh x.sh");
    told(&["sh"], "cannot read 'sh'");
    told(
        &["sh"],
        "to run it, put -- before it: vectored advise -- sh",
    );
    told(&["/bin/sh"], "vectored advise -- /bin/sh");
    // What is no log may be no program either.
    told(&["gone.log"], "name a file that strace -o wrote");
    told(&["x.sh"], "name what `strace -f");
    let mut options = bench.vectored();
    let refused = options
        .args(["advise", "sh", "-c", "echo hi"])
        .assert()
        .code(2);
    let stderr = text(&refused.get_output().stderr);
    assert!(
        stderr.contains("vectored advise -- sh -c 'echo hi'"),
        "{stderr}"
    );
}

#[test]
fn logs_are_read_compressed() {
    let test = "logs_are_read_compressed";
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let plain = json(&stdout_of(advise(&bench).args(["log", "--format", "json"])));
    for (program, suffix) in [
        ("xz", "xz"),
        ("zstd", "zst"),
        ("bzip2", "bz2"),
        ("gzip", "gz"),
    ] {
        let packed = Command::new(program)
            .args(["-c", "log"])
            .current_dir(bench.work())
            .output();
        let packed = match packed {
            Ok(output) if output.status.success() => output.stdout,
            other => {
                skip(test, &format!("{program} does not work: {other:?}"));
                continue;
            }
        };
        let name = format!("log.{suffix}");
        fs::write(bench.work().join(&name), &packed).unwrap();
        let read = json(&stdout_of(advise(&bench).args([&name, "--format", "json"])));
        assert_eq!(read["findings"], plain["findings"], "{name}");
        let mut piped = advise(&bench);
        piped
            .args(["-", "--format", "json"])
            .write_stdin(packed.clone());
        assert_eq!(
            json(&stdout_of(&mut piped))["calls"],
            plain["calls"],
            "{name}"
        );
        // A log that is cut is read as far as it goes; one that is spoilt is refused.
        let mut spoilt = packed.clone();
        let middle = spoilt.len() / 2;
        spoilt[middle..middle + 64].fill(0);
        fs::write(bench.work().join("spoilt"), spoilt).unwrap();
        let refused = advise(&bench)
            .arg("spoilt")
            .assert()
            .code(1)
            .get_output()
            .clone();
        let stderr = text(&refused.stderr);
        assert!(stderr.contains("cannot read 'spoilt'"), "{name}: {stderr}");
    }
    // Where the program is missing.
    let xz = b"\xfd7zXZ\0and so on";
    fs::write(bench.work().join("log.xz"), xz).unwrap();
    let mut command = advise(&bench);
    let output = command
        .arg("log.xz")
        .env("PATH", "/nowhere")
        .assert()
        .code(1)
        .get_output()
        .clone();
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("compressed by xz, which is not installed: install xz-utils"),
        "{stderr}"
    );
    assert!(!stderr.contains("strace -o wrote"), "{stderr}");
}

#[test]
fn what_another_program_wrote_is_named() {
    let bench = bench();
    let summary = "% time     seconds  usecs/call     calls    errors syscall\n\
                   ------ ----------- ----------- --------- --------- ----------------\n\
                   40.18    0.000317           9        34        13 openat\n";
    let perf = "     1.791 ( 0.023 ms): ls/14521 brk()          = 0x558e5ef8d000\n";
    for (wrote, words) in [(summary, "`strace -c`"), (perf, "`perf trace`")] {
        fs::write(bench.work().join("wrote"), wrote).unwrap();
        let from_file = advise(&bench)
            .arg("wrote")
            .assert()
            .code(2)
            .get_output()
            .clone();
        let piped = advise(&bench)
            .arg("-")
            .write_stdin(wrote)
            .assert()
            .code(2)
            .get_output()
            .clone();
        for stderr in [from_file.stderr, piped.stderr].map(|stderr| text(&stderr)) {
            assert!(stderr.contains(words), "{stderr}");
            assert!(
                stderr.contains("strace -f -s1 -v -yy -ttt -T -o FILE COMMAND"),
                "{stderr}"
            );
            assert!(bench.saved().is_empty());
        }
    }
}

#[test]
fn a_signal_to_end_is_passed_on() {
    needs_strace!("a_signal_to_end_is_passed_on");
    let bench = bench();
    let script = "trap 'exit 6' TERM; echo ready; while :; do sleep 0.05; done";
    let (mut child, _stdout) = waiting(&bench, script);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(6));
    assert_eq!(bench.saved().len(), 1);
}

#[test]
fn a_command_inherits_nothing_and_nothing_is_left() {
    needs_strace!("a_command_inherits_nothing_and_nothing_is_left");
    let bench = bench();
    let temporary = bench.work().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut command = advise(&bench);
    command
        .args(["--", "sh", "-c", "ls /proc/self/fd"])
        .env("TMPDIR", &temporary);
    // What the test inherited itself, it passes on.
    let mut alone = Command::new("sh");
    let alone = alone.args(["-c", "ls /proc/self/fd"]).stdin(Stdio::null());
    assert_eq!(
        stdout_of(&mut command),
        text(&alone.output().unwrap().stdout)
    );
    assert!(entries(&temporary).is_empty());
    assert_eq!(entries(&bench.work()).len(), 2, "costs.json and the folder");
}

#[test]
fn a_missing_strace_or_command_is_told_with_a_remedy() {
    let bench = bench();
    let refused = |command: &[&str], path: Option<&str>, code: i32, word: &str| {
        let mut advise = advise(&bench);
        if let Some(path) = path {
            advise.env("PATH", path);
        }
        let output = advise
            .arg("--")
            .args(command)
            .assert()
            .code(code)
            .get_output()
            .clone();
        let stderr = text(&output.stderr);
        assert!(stderr.contains(word), "{stderr}");
        assert!(output.stdout.is_empty() && bench.saved().is_empty());
    };
    refused(
        &["/bin/sh", "-c", "echo x"],
        Some("/nowhere"),
        1,
        "apt install strace",
    );
    refused(
        &["no-such-program-anywhere"],
        None,
        127,
        "in PATH: check its name, or give its path (./no-such-program-anywhere)",
    );
    refused(
        &["./gone"],
        None,
        127,
        "'./gone': name a program that is there",
    );
    refused(&["/"], None, 126, "it is a directory");
    let mut file = fs::File::create(bench.work().join("plain")).unwrap();
    writeln!(file, "text").unwrap();
    refused(&["./plain"], None, 126, "make it executable");
}

#[test]
fn where_strace_may_not_trace_it_says_why() {
    let test = "where_strace_may_not_trace_it_says_why";
    needs_strace!(test);
    let bench = bench();
    // A program that is traced already can trace nothing.
    let inner = std_advise(&bench);
    let mut outer = Command::new("strace");
    outer
        .args(["-f", "-o", "/dev/null"])
        .arg(inner.get_program())
        .args(inner.get_args());
    outer.args(["--", "sh", "-c", "echo ran"]);
    outer
        .current_dir(bench.work())
        .env("XDG_STATE_HOME", bench.state_home());
    let output = outer.output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("error: strace cannot trace here"),
        "{stderr}"
    );
    assert!(stderr.contains("SYS_PTRACE"), "{stderr}");
    assert!(output.stdout.is_empty());
}
