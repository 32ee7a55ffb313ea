//! Commands that are run under strace.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::{advise, bench, strace_is_missing, text};
use crate::support::{VECTORED, entries, json, said_by, skip, stderr_of, stdout_of};

#[test]
fn a_command_keeps_its_output_and_its_exit_code() {
    needs_strace!("a_command_keeps_its_output_and_its_exit_code");
    let bench = bench();
    let mut command = advise(&bench);
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
    assert!(stderr.contains("No certain saving: of "), "{stderr}");
    let saved = bench.only_result();
    assert_eq!(
        stderr.lines().last().unwrap(),
        bench.saved()[0].to_str().unwrap()
    );
    assert_eq!(saved["is_command"], true);
}

#[test]
fn a_command_that_a_signal_ends_or_that_cannot_start_is_said_to() {
    needs_strace!("a_command_that_a_signal_ends_or_that_cannot_start_is_said_to");
    let bench = bench();
    let mut killed = advise(&bench);
    killed.args(["--", "sh", "-c", "kill -9 $$"]);
    let said = stderr_of(&mut killed, 137);
    assert!(
        said.contains("The command failed: signal 9 (SIGKILL). "),
        "{said}"
    );
    let script = bench.work().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let said = stderr_of(advise(&bench).args(["--", "./script"]), 126);
    assert!(said.contains("cannot run './script': "), "{said}");
    assert!(!said.contains("o gain"), "{said}");
}

#[test]
fn small_writes_of_a_command_are_found() {
    needs_strace!("small_writes_of_a_command_are_found");
    let bench = bench();
    let script = "exec > out; for i in 1 2 3 4 5 6 7 8 9; do echo $i; done";
    let mut command = advise(&bench);
    command.args(["--output", "-", "--format", "json", "--", "sh", "-c"]);
    let found = json(&stdout_of(command.arg(script)));
    let finding = &found["findings"][0];
    assert_eq!(finding["kind"], "adjacent-writes", "{found}");
    assert_eq!(finding["calls"], 9);
    assert!(finding["path"].as_str().unwrap().ends_with("/out"));
}

#[test]
fn a_quiet_report_is_still_a_report() {
    let test = "a_quiet_report_is_still_a_report";
    needs_strace!(test);
    let bench = bench();
    let mut command = advise(&bench);
    command.args(["--quiet", "--", "sh", "-c", "echo hi"]);
    let (stdout, stderr) = said_by(&mut command, 0);
    assert_eq!(stdout, "hi\n");
    assert!(stderr.contains("\n\nNothing to gain"), "{stderr}");
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
    let said = stderr_of(&mut command, 0);
    // The last line is the path of the result.
    let found = json(said.trim_end().rsplit_once('\n').unwrap().0);
    let listed = [&found["findings"], &found["uncounted"]].map(|list| list.as_array().unwrap());
    let is_of_fifo = |path: &str| path.ends_with("/fifo");
    let of_fifo: Vec<_> = listed
        .into_iter()
        .flatten()
        .filter(|finding| finding["path"].as_str().is_some_and(is_of_fifo))
        .collect();
    assert_eq!(of_fifo.len(), 1, "{found}");
    assert_eq!(of_fifo[0]["target"], "pipe");
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
    // Descriptors that the test itself inherited are passed on.
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
    let mut command = advise(&bench);
    command
        .env("PATH", "/proc/nowhere")
        .args(["--", "/bin/sh", "-c", "echo x > ran"]);
    assert!(stderr_of(&mut command, 1).contains("apt install strace"));
    assert!(!bench.work().join("ran").exists() && bench.saved().is_empty());
}

#[test]
fn a_refusal_to_trace_is_reported_with_the_reason() {
    let test = "a_refusal_to_trace_is_reported_with_the_reason";
    needs_strace!(test);
    let bench = bench();
    // A program that is traced already can trace nothing.
    let mut outer = bench.program("strace");
    outer.args(["-f", "-o", "/dev/null", VECTORED, "advise", "--costs"]);
    outer.args(["costs.json", "--", "sh", "-c", "echo ran"]);
    let output = outer.output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("error: strace cannot trace programs here"),
        "{stderr}"
    );
    assert!(stderr.contains("SYS_PTRACE"), "{stderr}");
    assert!(output.stdout.is_empty());
}

/// Two processes take turns, without a call between them: one writes to a file, the other one looks at it in a way that does
/// not name it.
#[test]
fn a_file_that_another_process_looks_at_is_listed() {
    let test = "a_file_that_another_process_looks_at_is_listed";
    needs_strace!(test);
    if Command::new("python3").arg("-V").output().is_err() {
        return skip(test, "python3 is missing");
    }
    for (look, begin, reason) in [
        (
            "os.fstat(got)",
            "got = socket.recv_fds(there, 1, 1)[1][0]",
            "another thread or process reads",
        ),
        (
            "None",
            "libc = ctypes.CDLL(None); assert libc.inotify_add_watch(libc.inotify_init(), b'f', 2) > 0",
            "inotify",
        ),
    ] {
        let bench = bench();
        let script = format!(
            "
import ctypes, mmap, os, socket
fd = os.open('f', os.O_WRONLY | os.O_CREAT)
here, there = socket.socketpair()
turn = mmap.mmap(-1, 1)
def take_turns(own, act):
    while turn[0] < 10:
        if turn[0] % 2 == own:
            act()
            turn[0] += 1
if os.fork() == 0:
    os.close(fd)
    {begin}
    take_turns(0, lambda: {look})
    os._exit(0)
socket.send_fds(here, [b'x'], [fd])
take_turns(1, lambda: os.write(fd, b'0123456789'))
os.wait()
"
        );
        let mut command = advise(&bench);
        command.args(["--", "python3", "-c", &script]);
        command.assert().success();
        let saved = bench.only_result();
        let of_file = |list: &str| {
            let all = saved[list].as_array().unwrap().iter();
            let of_file = all.filter(|one| {
                one["file"]
                    .as_str()
                    .is_some_and(|path| path.ends_with("/f"))
            });
            of_file.cloned().collect::<Vec<_>>()
        };
        assert!(of_file("findings").is_empty(), "{:?}", of_file("findings"));
        let reasons = of_file("uncounted");
        let is_told = |one: &serde_json::Value| one["reason"].as_str().unwrap().starts_with(reason);
        assert!(
            !reasons.is_empty() && reasons.iter().all(is_told),
            "{reasons:?}"
        );
    }
}
