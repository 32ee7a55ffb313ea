//! Tests of commands that run under strace.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{bench, text, under_strace};
use crate::support::{
    entries, json, make_fifo, needs_strace, one_line, said_by, stderr_of, stdout_of,
};

#[test]
fn a_command_keeps_its_output_and_its_exit_code() {
    needs_strace!();
    let bench = bench();
    let mut command = under_strace(&bench);
    let script = "read line; echo got $line; echo aside >&2; exit 7";
    command
        .args(["--", "sh", "-c", script])
        .write_stdin("this\n");
    let (stdout, stderr) = said_by(&mut command, 7);
    assert_eq!(stdout, "got this\n");
    assert!(stderr.starts_with("aside\n"), "{stderr}");
    let failed = "\n\nThe command failed: exit status 7. ";
    assert!(stderr.contains(failed), "{stderr}");
    assert!(!stderr.contains("note:"), "{stderr}");
    assert!(stderr.contains("Nothing to gain: of "), "{stderr}");
    let saved = bench.only_result();
    assert_eq!(
        stderr.lines().last().unwrap(),
        bench.saved()[0].to_str().unwrap()
    );
    assert_eq!(saved["is_command"], true);
}

#[test]
fn a_quiet_report_is_still_a_report_and_a_signal_is_named() {
    needs_strace!();
    let bench = bench();
    for (script, code, told) in [
        ("echo hi", 0, "\n\nNothing to gain"),
        (
            "echo hi; kill -9 $$",
            137,
            "The command failed: signal 9 (SIGKILL). ",
        ),
    ] {
        let mut command = under_strace(&bench);
        command.args(["--quiet", "--", "sh", "-c", script]);
        let (stdout, stderr) = said_by(&mut command, code);
        assert_eq!(stdout, "hi\n");
        assert!(
            stderr.contains(told) && !stderr.contains(".json"),
            "{stderr}"
        );
    }
}

#[test]
fn a_fifo_of_a_command_is_a_pipe() {
    needs_strace!();
    let bench = bench();
    let fifo = bench.work().join("fifo");
    make_fifo(&fifo);
    // The test opens both ends of the FIFO, so that the command's open(2) does not block.
    let both = fs::File::options().read(true).write(true).open(&fifo);
    let script = "exec 3>fifo; for i in 1 2 3 4 5; do printf x >&3; done";
    let options = [
        "--max-delay",
        "1h",
        "--output",
        "-",
        "--format",
        "json",
        "--",
    ];
    let mut command = under_strace(&bench);
    let found = json(&stdout_of(command.args(options).args(["sh", "-c", script])));
    let listed = ["findings", "uncounted"].map(|list| found[list].as_array().unwrap());
    let is_of_fifo = |one: &&Value| one["path"].to_string().ends_with("/fifo\"");
    let of_fifo: Vec<_> = listed.into_iter().flatten().filter(is_of_fifo).collect();
    assert_eq!(of_fifo.len(), 1, "{found}");
    assert_eq!(of_fifo[0]["target"], "pipe");
    drop(both);
}

#[test]
fn a_command_that_brings_its_client_needs_no_script() {
    needs_strace!();
    let bench = bench();
    let script = "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n\
                  client = socket.create_connection(server.getsockname())\npeer = server.accept()\n\
                  with open('log', 'wb', buffering=0) as log:\n for _ in range(2000): log.write(b'record')";
    fs::write(bench.work().join("own.py"), script).unwrap();
    let words = ["--output", "-", "--", "python3", "own.py"];
    let printed = one_line(&stdout_of(under_strace(&bench).args(words)));
    assert!(printed.contains("cp own.py own.py.old"), "{printed}");
    assert!(!printed.contains("accepts connections"), "{printed}");
}

#[test]
fn a_command_inherits_nothing_and_nothing_is_left() {
    needs_strace!();
    let bench = bench();
    let temporary = bench.work().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut command = under_strace(&bench);
    command
        .args(["--", "sh", "-c", "ls /proc/self/fd"])
        .env("TMPDIR", &temporary);
    // The command also gets the descriptors that the test inherited.
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
fn a_missing_strace_is_reported_with_a_remedy() {
    let bench = bench();
    let mut command = under_strace(&bench);
    command
        .env("PATH", "/proc/nowhere")
        .args(["--", "/bin/sh", "-c", "echo x > ran"]);
    assert!(stderr_of(&mut command, 1).contains("apt install strace"));
    assert!(!bench.work().join("ran").exists() && bench.saved().is_empty());
}

#[test]
fn a_refusal_to_trace_is_reported_with_the_reason() {
    needs_strace!();
    let bench = bench();
    // A traced process cannot be traced by a second strace.
    let traced = "strace -f -o /dev/null \"$0\" advise --source strace --costs costs.json -- sh -c 'echo ran'";
    let (stdout, stderr) = said_by(&mut bench.script(traced), 1);
    let told = "error: strace cannot trace programs here";
    assert!(
        stderr.contains(told) && stderr.contains("SYS_PTRACE"),
        "{stderr}"
    );
    assert_eq!(stdout, "");
}
