//! `vectored versus`: commands that are compared.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::advise::strace_is_missing;
use crate::support::{Bench, VECTORED, entries, said_by, skip, stderr_of, stdout_of};

macro_rules! needs_strace {
    ($test:expr) => {
        if let Some(reason) = strace_is_missing() {
            return skip($test, &reason);
        }
    };
}

/// Compares two commands in so many rounds.
fn versus(bench: &Bench, rounds: &str, words: &[&str]) -> assert_cmd::Command {
    let mut command = bench.vectored();
    command
        .args(["versus", "--rounds", rounds, "--warmup", "0"])
        .args(words);
    command
}

/// A file of 100 bytes.
fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.work().join("in"), [b'x'; 100]).unwrap();
    bench
}

const OLD: &str = "dd if=in bs=1 status=none";
const NEW: &str = "dd if=in bs=100 status=none";

#[test]
fn calls_are_exact_and_the_result_is_saved_and_shown_again() {
    needs_strace!("calls_are_exact_and_the_result_is_saved_and_shown_again");
    let bench = bench();
    let stdout = stdout_of(&mut versus(&bench, "6", &[OLD, NEW]));
    let joined = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains("1 write instead of 100 and"), "{stdout}");
    assert!(joined.contains("run the same files"), "{stdout}");
    let result = bench.only_result();
    assert_eq!(result["old"]["runs"].as_array().unwrap().len(), 6);
    assert_eq!(result["old_again_runs"].as_array().unwrap().len(), 6);
    let calls = |side: &serde_json::Value| side["calls"]["kinds"]["write"]["high"].clone();
    assert_eq!(calls(&result["old"]), 100);
    assert_eq!(calls(&result["new"][0]["side"]), 1);
    assert_eq!(
        result["new"][0]["side"]["calls"]["written_bytes"]["low"],
        100
    );
    assert_eq!(result["new"][0]["differences"].as_array().unwrap().len(), 0);

    assert_eq!(
        stdout_of(&mut bench.command("report versus --markdown -"))
            .lines()
            .next(),
        { Some("# dd if=in bs=1 status=none or dd if=in bs=100 status=none?") }
    );
    let csv = stdout_of(&mut bench.command("report --csv -"));
    assert!(
        csv.contains(",writes,100.0,1.0,0.01,0.01,0.01,less"),
        "{csv}"
    );
    let listed = stdout_of(&mut bench.command("history"));
    assert!(listed.contains("versus: "), "{listed}");
    assert!(
        listed.contains("'dd if=in bs=1 status=none' against 'dd if="),
        "{listed}"
    );
}

#[test]
fn outputs_that_differ_have_their_own_exit_status_and_are_not_timed() {
    needs_strace!("outputs_that_differ_have_their_own_exit_status_and_are_not_timed");
    for (old, new, words) in [
        (
            "echo a",
            "echo b",
            "Standard output of new differs: line 1 is 'b' instead of 'a'",
        ),
        (
            "true",
            "false",
            "Exit status of new differs: exit status 1 instead of exit status 0",
        ),
        (
            "echo a >&2",
            "echo b >&2",
            "Standard error of new differs: line 1 is 'b'",
        ),
        (
            "echo a > out",
            "true",
            "File 'out' of new differs: it is not written",
        ),
        (
            "echo a > out",
            "echo b > out",
            "File 'out' of new differs: line 1 is 'b'",
        ),
        // Each run appends to the file.
        (
            "echo a >> out",
            "echo b >> out",
            "File 'out' of new differs: line 1 is 'b'",
        ),
        (
            "rm -f out",
            "echo > out",
            "File 'out' of new differs: it exists, and does not after",
        ),
    ] {
        let bench = bench();
        let same = if new.contains("out") || old.contains("out") {
            "--same=out"
        } else {
            "--quiet"
        };
        let all = ["--shell", "sh", same, old, new];
        let (stdout, stderr) = said_by(&mut versus(&bench, "1", &all), 5);
        assert!(stdout.contains(words), "{stdout}");
        assert!(stdout.contains("was not timed"), "{stdout}");
        assert!(stderr.contains("--ignore-output"), "{stderr}");
        let ignored = [&all[..], &["--ignore-output"]].concat();
        let ignored = stdout_of(&mut versus(&bench, "1", &ignored));
        assert!(ignored.contains("no times are"), "{ignored}");
    }
}

#[test]
fn what_differs_in_the_old_command_itself_is_not_compared() {
    needs_strace!("what_differs_in_the_old_command_itself_is_not_compared");
    let bench = bench();
    let words = [
        "--shell",
        "sh",
        "echo $$; echo same >&2",
        "echo $$; echo same >&2",
    ];
    let stdout = stdout_of(&mut versus(&bench, "1", &words));
    assert!(
        stdout.contains("differ in standard output, which is not compared"),
        "{stdout}"
    );
    let words = [
        "--shell",
        "sh",
        "echo $$; echo same >&2",
        "echo $$; echo other >&2",
    ];
    stdout_of_code(
        &mut versus(&bench, "1", &words),
        5,
        "Standard error of new differs",
    );
}

#[test]
fn only_the_lines_that_vary_are_not_compared() {
    needs_strace!("only_the_lines_that_vary_are_not_compared");
    let bench = bench();
    // Runs 1 and 4 are of old and equal. Run 3, of new, is not, nor is run 5, of old again: as with a time of day.
    let counted = "echo run >> runs; n=$(wc -l < runs); ";
    let old = format!("{counted} echo $((n == 3 || n == 5)); echo same");
    let words = ["--shell", "sh", &*old, &*old];
    let stdout = stdout_of(&mut versus(&bench, "1", &words));
    let joined = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "differ in line 1 of standard output, which is not compared";
    assert!(joined.contains(note), "{stdout}");
    let other = old.replace("same", "other");
    stdout_of_code(
        &mut versus(&bench, "1", &["--shell", "sh", &*old, &*other]),
        5,
        "Standard output of new differs: line 2 is 'other' instead of 'same'",
    );
}

#[test]
fn an_order_of_lines_that_varies_is_not_compared_but_the_lines_are() {
    needs_strace!("an_order_of_lines_that_varies_is_not_compared_but_the_lines_are");
    let bench = bench();
    // Runs 1 and 2 have one order, runs 3 and 4 the other one.
    let old = "echo run >> runs; if [ $(wc -l < runs) -gt 2 ]; then seq 3; else seq 3 -1 1; fi";
    let stdout = stdout_of(&mut versus(&bench, "1", &["--shell", "sh", old, old]));
    let joined = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "differ in the order of the lines of standard output, which is not compared";
    assert!(joined.contains(note), "{stdout}");
    fs::remove_file(bench.work().join("runs")).unwrap();
    let other = old.replace("seq 3;", "seq 4;");
    stdout_of_code(
        &mut versus(&bench, "1", &["--shell", "sh", old, &other]),
        5,
        "Standard output of new differs: line 4 is '4' instead of missing, of the sorted lines",
    );
}

#[test]
fn a_run_that_fails_is_named_and_no_times_are_compared() {
    needs_strace!("a_run_that_fails_is_named_and_no_times_are_compared");
    // Each counts its runs; two are counted. Old runs twice in a round.
    let fails = |of: &str, when: &str, how: &str| {
        format!(
            "echo >> {of}; n=$(wc -l < {of}); if [ $n {when} ]; then echo failing >&2; {how}; fi"
        )
    };
    let steady = fails("b", "-lt 0", "exit");
    for (old, new, words) in [
        (
            fails("a", "-ge 4", "exit 2"),
            steady.clone(),
            "old failed in 3 of 4 timed runs (rounds 1 and 2): exit status 2, 'failing'",
        ),
        (
            steady.clone(),
            fails("a", "-eq 4", "kill -9 $$"),
            "new failed in 1 of 2 timed runs (round 2): signal 9 (SIGKILL), 'failing'",
        ),
        (
            fails("a", "-ge 4", "exit 2"),
            fails("b", "-ge 4", "exit 2"),
            "exit status 2, 'failing'; new failed in 1 of 2 timed runs (round 2)",
        ),
        (
            fails("a", "-eq 1", "exit 2"),
            fails("b", "-eq 1", "exit 3"),
            "old failed in 1 counted run: exit status 2, 'failing'; new failed in 1 counted run: exit status 3",
        ),
        (
            "no-such-program".to_owned(),
            "no-such-program".to_owned(),
            "old failed in 2 counted runs: exit status 127, '",
        ),
    ] {
        let bench = bench();
        let all = [
            "--shell",
            "sh",
            "--fail-if-slower",
            "3%",
            "--html",
            "page",
            &*old,
            &*new,
        ];
        let (stdout, stderr) = said_by(&mut versus(&bench, "2", &all), 1);
        assert!(stderr.contains(words), "{words}: {stderr}");
        assert!(
            stderr.contains("give --ignore-failure if that is meant"),
            "{stderr}"
        );
        let first = words.split(&[':', ';'][..]).next().unwrap();
        let first = first.trim_start_matches(&['o', 'n'][..]);
        let [screen, markdown, page] = [
            stdout,
            stdout_of(&mut bench.command("report --markdown -")),
            fs::read_to_string(bench.work().join("page")).unwrap(),
        ]
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        for text in [screen, markdown, page] {
            assert!(text.contains(first), "{first}: {text}");
            assert!(!text.contains(" of the time of old"), "{text}");
        }
        let csv = stdout_of(&mut bench.command("report --csv -"));
        assert!(
            csv.starts_with("outputs_equal,old_command,new_command,old_failed,new_failed,"),
            "{csv}"
        );
        assert!(csv.lines().count() > 1, "{csv}");
        let result = bench.only_result();
        assert_eq!(result["limits"], serde_json::json!([]));
        let figures = result["new"][0]["figures"].to_string();
        assert!(!figures.contains("wall_ns"), "{figures}");
        let failed = [
            &result["old"]["failed"],
            &result["new"][0]["side"]["failed"],
        ];
        assert!(
            failed.iter().any(|runs| runs[0]["said"] != ""),
            "{failed:?}"
        );
    }
    let bench = bench();
    let old = fails("a", "-ge 4", "exit 2");
    let all = ["--shell", "sh", "--ignore-failure", &*old, &*steady];
    stdout_of(&mut versus(&bench, "2", &all));
    // The warm-up is a run, too.
    let old = fails("c", "-eq 1", "exit 2");
    let all = ["versus", "--rounds", "1", "--shell", "sh", &*old, &*steady];
    let (_, stderr) = said_by(bench.vectored().args(all), 1);
    assert!(
        stderr.contains("old failed in 1 warm-up run: exit status 2, 'failing'"),
        "{stderr}"
    );
}

#[test]
fn a_status_that_all_runs_of_both_have_is_no_failure() {
    needs_strace!("a_status_that_all_runs_of_both_have_is_no_failure");
    let bench = bench();
    let stdout = stdout_of(&mut versus(
        &bench,
        "1",
        &["grep nothing in", "grep none in"],
    ));
    assert!(
        stdout.contains("Old and new end with exit status 1\n"),
        "{stdout}"
    );
}

#[test]
fn a_program_that_is_gone_is_named_with_its_round() {
    needs_strace!("a_program_that_is_gone_is_named_with_its_round");
    let bench = bench();
    let path = bench.work().join("once");
    fs::write(
        &path,
        "#!/bin/sh\necho >> c\n[ $(wc -l < c) -lt 3 ] || rm \"$0\"\n",
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let stderr = stderr_of(
        &mut versus(&bench, "1", &["./once", "true", "--ignore-output"]),
        1,
    );
    assert!(
        stderr.contains("old ('./once'), round 1: it cannot be run: No such file"),
        "{stderr}"
    );
}

#[test]
fn no_shell_is_needed() {
    needs_strace!("no_shell_is_needed");
    let bench = bench();
    let programs = bench.work().join("bin");
    fs::create_dir(&programs).unwrap();
    for name in ["true", "strace"] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {name}")])
            .output()
            .unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        let found = if name == "true" { "/bin/true" } else { found.trim() };
        std::os::unix::fs::symlink(found, programs.join(name)).unwrap();
    }
    stdout_of(versus(&bench, "1", &["true", "true"]).env("PATH", &programs));
    for option in ["--setup=exit 9", "--prepare=exit 9", "--cleanup=exit 9"] {
        let mut command = versus(&bench, "1", &[option, "true", "true"]);
        let stderr = stderr_of(command.env("PATH", &programs), 127);
        let words = "('exit 9') by a shell: command 'sh' not found in PATH";
        assert!(stderr.contains(words), "{stderr}");
    }
}

#[test]
fn what_the_surroundings_lack_is_named() {
    needs_strace!("what_the_surroundings_lack_is_named");
    let bench = bench();
    let mut without_descriptors = bench.program("sh");
    without_descriptors.args([
        "-c",
        "ulimit -n 6; exec \"$0\" versus --rounds 1 true true",
        VECTORED,
    ]);
    let stderr = stderr_of(&mut assert_cmd::Command::from_std(without_descriptors), 1);
    assert!(stderr.contains("Too many open files"), "{stderr}");
    assert!(
        stderr.contains("raise the limit of open files (ulimit -n)"),
        "{stderr}"
    );
}

#[test]
fn a_file_that_no_run_writes_or_that_is_none_is_an_error() {
    needs_strace!("a_file_that_no_run_writes_or_that_is_none_is_an_error");
    let bench = bench();
    let fifo = bench.work().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for (same, words) in [
        (
            "missing",
            "no counted run wrote the file 'missing' of --same",
        ),
        ("in", "no counted run wrote the file 'in' of --same"),
        ("fifo", "'fifo' cannot be compared: it is no regular file"),
        (".", "'.' cannot be compared: it is no regular file"),
    ] {
        let stderr = stderr_of(
            &mut versus(&bench, "1", &["--same", same, "true", "true"]),
            1,
        );
        assert!(stderr.contains(words), "{stderr}");
    }
}

#[test]
fn a_log_that_grows_by_each_run_is_no_more_calls_of_one_of_them() {
    needs_strace!("a_log_that_grows_by_each_run_is_no_more_calls_of_one_of_them");
    let bench = bench();
    // Each run reads and writes one byte more.
    let grows = "echo >> log; dd if=log of=out bs=1 status=none";
    stdout_of(&mut versus(
        &bench,
        "1",
        &[
            "--shell=sh",
            "--fail-if-more-calls=0",
            "--same=out",
            "--ignore-output",
            grows,
            grows,
        ],
    ));
}

fn stdout_of_code(command: &mut assert_cmd::Command, code: i32, words: &str) {
    let (stdout, _) = said_by(command, code);
    assert!(stdout.contains(words), "{stdout}");
}

#[test]
fn two_results_are_compared_by_their_ratios_and_calls() {
    needs_strace!("two_results_are_compared_by_their_ratios_and_calls");
    let bench = bench();
    for new in [NEW, OLD] {
        stdout_of(&mut versus(&bench, "1", &[OLD, new]));
    }
    let mut saved = bench.saved();
    // A name begins with a time in seconds.
    saved.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    let [earlier, later] = <[_; 2]>::try_from(saved).unwrap();
    let compare = |format: &str| {
        let mut command = bench.vectored();
        command.arg("compare").arg(&earlier).arg("--against");
        command.arg(&later).args(["--format", format]);
        command
    };
    let stdout = stdout_of(&mut compare("table"));
    let joined = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        joined.contains("new makes 100 writes instead of 1 and"),
        "{stdout}"
    );
    assert!(joined.contains("writes 1 100 100"), "{stdout}");
    let csv = stdout_of(&mut compare("csv"));
    assert!(
        csv.contains(",writes,1.0,100.0,100.0,100.0,100.0,more"),
        "{csv}"
    );
    let limit = ["--fail-if-more-calls", "1%"];
    let refused = said_by(compare("json").args(limit), 3).1;
    assert!(
        refused
            .contains("beyond the limit of --fail-if-more-calls 1% against the earlier result: "),
        "{refused}"
    );
    let undecided = said_by(compare("json").args(["--fail-if-slower", "1%"]), 4).1;
    assert!(
        undecided.contains("may be within the limit of --fail-if-slower 1% against the earlier"),
        "{undecided}"
    );
    let one_a_side = said_by(compare("json").arg(&earlier), 2).1;
    assert!(
        one_a_side.contains("only one result of advise or versus"),
        "{one_a_side}"
    );
}

#[test]
fn a_gate_is_red_on_the_way_back_and_green_on_the_way_there() {
    needs_strace!("a_gate_is_red_on_the_way_back_and_green_on_the_way_there");
    let bench = bench();
    let limit = "--fail-if-more-calls=1%";
    stdout_of(versus(&bench, "1", &[limit, OLD, NEW]).arg("--no-save"));
    let stderr = stderr_of(&mut versus(&bench, "1", &[limit, NEW, OLD]), 3);
    assert!(
        stderr.contains("new is beyond the limit of --fail-if-more-calls 1% against old: ")
            && stderr.contains(" and 100 times the writes"),
        "{stderr}"
    );
    // The limit stands in every form.
    let limit = &bench.only_result()["limits"][2];
    assert_eq!(
        (&limit["figure"], &limit["ruling"]),
        (&"writes".into(), &"beyond".into())
    );
    for format in ["report --markdown -", "report --html -", "report"] {
        let text = stdout_of(&mut bench.command(format));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("beyond the limit of --fail-if-more-calls 1%"),
            "{text}"
        );
    }
    // One round has no interval.
    let stderr = stderr_of(
        &mut versus(&bench, "1", &["--fail-if-slower=3%", OLD, NEW]),
        4,
    );
    assert!(
        stderr.contains("1 round, and an interval needs 6: raise --budget, or give --rounds 6"),
        "{stderr}"
    );
    // Where both are read together, the message does not repeat the answer.
    let mut together = bench.program("sh");
    together.args([
        "-c",
        "exec \"$0\" \"$@\" 2>&1",
        VECTORED,
        "versus",
        "--rounds",
        "1",
    ]);
    together.args(["--fail-if-more-calls=1%", NEW, OLD]);
    let (text, _) = said_by(&mut assert_cmd::Command::from_std(together), 3);
    assert_eq!(text.matches("beyond the limit").count(), 1, "{text}");
    assert!(text.contains("\nerror: a limit is exceeded\n"), "{text}");
}

#[test]
fn an_input_that_no_run_could_read_again_is_refused_at_once() {
    needs_strace!("an_input_that_no_run_could_read_again_is_refused_at_once");
    let bench = bench();
    let made = Command::new("mkfifo")
        .arg(bench.work().join("fifo"))
        .status();
    assert!(made.unwrap().success());
    for (input, words) in [
        ("fifo", "cannot use --input 'fifo': it is no regular file"),
        (".", "copy what it gives into a file"),
        ("/dev/ptmx", "it is no regular file"),
        ("missing", "cannot use --input 'missing': No such file"),
    ] {
        let stderr = stderr_of(
            &mut versus(&bench, "1", &["--input", input, "cat", "cat"]),
            2,
        );
        assert!(stderr.contains(words), "{stderr}");
    }
    for input in ["in", "/dev/null", "/dev/zero"] {
        let read = "head -c 3";
        stdout_of(&mut versus(&bench, "1", &["--input", input, read, read]));
    }
}

#[test]
fn a_copy_that_was_not_built_anew_is_noticed_and_another_script_is_named() {
    needs_strace!("a_copy_that_was_not_built_anew_is_noticed_and_another_script_is_named");
    let bench = bench();
    let write = |name: &str, text: &str| fs::write(bench.work().join(name), text).unwrap();
    write("new.sh.old", "echo a\n");
    write("new.sh", "echo a\n");
    let words = ["sh new.sh.old", "sh new.sh"];
    let stdout = stdout_of(&mut versus(&bench, "1", &words));
    assert!(
        stdout.contains("\n\nold and new run the same files"),
        "{stdout}"
    );
    write("new.sh", "echo a # faster\n");
    let stdout = stdout_of(&mut versus(&bench, "1", &words));
    assert!(!stdout.contains("same files"), "{stdout}");
    let joined = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains("new.sh.old; only new ran"), "{stdout}");
}

#[test]
fn a_command_that_crashes_or_hangs_or_leaves_processes_is_ended_with_clear_words() {
    needs_strace!("a_command_that_crashes_or_hangs_or_leaves_processes_is_ended_with_clear_words");
    let bench = bench();
    for (old, code, words) in [
        (
            "kill -SEGV $$",
            1,
            "old failed in 2 counted runs: signal 11 (SIGSEGV); new failed in 2 counted runs",
        ),
        ("sleep 31415", 1, "it still ran after 1 s, and was killed"),
        (
            "setsid sleep 31415 & exit 0",
            1,
            "it left processes behind that still ran 0.3 s after its end",
        ),
        (
            "read line < /dev/tty || exit 7",
            0,
            "Old and new end with exit status 7, '",
        ),
        ("cat", 0, "new makes as many system calls as old; no times"),
    ] {
        // Of this test alone: another one may run on this machine.
        let nap = format!("31415.{}", std::process::id());
        let old = &*old.replace("31415", &nap);
        // A slow machine must not end what does not hang.
        let hangs = old.contains("31415");
        let limit = if hangs { ["--budget", "300ms"] } else { ["--rounds", "1"] };
        let mut command = bench.vectored();
        command.args(["versus", "--shell", "sh"]).args(limit);
        let (stdout, stderr) = said_by(command.args(["--warmup", "0", old, old]), code);
        let said = stdout + &stderr;
        assert!(said.contains(words), "{old}: {said}");
        let left = Command::new("pgrep")
            .args(["-f", &format!("^sleep {nap}$")])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "{old}");
    }
}

#[test]
fn processes_that_outlive_a_command_are_waited_for_and_counted() {
    needs_strace!("processes_that_outlive_a_command_are_waited_for_and_counted");
    let bench = bench();
    // It ends only after its parent has been waited for.
    let old = "p=$$; { while kill -0 $p 2> /dev/null; do :; done; sleep 0.05; } & exit 0";
    let stdout = stdout_of(&mut versus(&bench, "1", &["--shell", "sh", old, "true"]));
    assert!(
        stdout.contains("Old left 1 process running when it ended"),
        "{stdout}"
    );
}

#[test]
fn helpers_run_when_they_should_and_temporary_files_are_gone() {
    needs_strace!("helpers_run_when_they_should_and_temporary_files_are_gone");
    let bench = bench();
    let temporary = bench.work().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let words = [
        "--setup",
        "echo setup >> log",
        "--prepare",
        "echo prepare >> log",
        "--cleanup",
        "echo cleanup >> log",
        "--stdout",
        "file",
        "--input",
        "in",
        "cat",
        "cat -u",
    ];
    stdout_of(versus(&bench, "2", &words).env("TMPDIR", &temporary));
    assert_eq!(entries(&temporary), [] as [std::path::PathBuf; 0]);
    let log = fs::read_to_string(bench.work().join("log")).unwrap();
    // Two counted runs of each command, and two rounds of three runs.
    let expected = format!("setup\n{}cleanup\n", "prepare\n".repeat(10));
    assert_eq!(log, expected);
    let result = bench.only_result();
    assert_eq!(result["old"]["calls"]["written_bytes"]["high"], 100);

    let (_, stderr) = said_by(
        &mut versus(&bench, "1", &["--prepare", "exit 9", "true", "true"]),
        1,
    );
    assert!(
        stderr.contains("the command of --prepare ('exit 9') failed with exit status 9"),
        "{stderr}"
    );
}

#[test]
fn ctrl_c_keeps_what_is_measured() {
    needs_strace!("ctrl_c_keeps_what_is_measured");
    let bench = bench();
    let mut command = bench.std_vectored();
    command.args([
        "versus",
        "--rounds",
        "1000000",
        "--shell",
        "sh",
        "echo >> log",
        "echo >> log",
    ]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Warm-up, counted runs and some rounds.
    while fs::read(bench.work().join("log")).unwrap_or_default().len() < 2 + 4 + 30 {
        thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let result = bench.only_result();
    assert_eq!(result["complete"], false);
    assert!(result["old"]["runs"].as_array().unwrap().len() >= 9);
}

#[test]
fn a_command_that_cannot_run_has_the_exit_status_of_a_shell() {
    needs_strace!("a_command_that_cannot_run_has_the_exit_status_of_a_shell");
    let bench = bench();
    let stderr = stderr_of(
        &mut versus(&bench, "1", &["true", "no-such-program-here"]),
        127,
    );
    assert!(
        stderr.contains("command 'no-such-program-here' not found in PATH"),
        "{stderr}"
    );
    let stderr = stderr_of(&mut versus(&bench, "1", &["./in", "true"]), 126);
    assert!(stderr.contains("it is not executable"), "{stderr}");
    for (script, words) in [
        (
            "echo a\n",
            "a script without a first line that names its interpreter: add one such as #!/bin/sh",
        ),
        ("", "a script without a first line"),
        (
            "#!/no/such/sh\n",
            "names the interpreter '/no/such/sh', which does not exist",
        ),
        (
            "#! /bin/sh\r\necho a\r\n",
            "names the interpreter '/bin/sh\\r', which does not exist",
        ),
    ] {
        let path = bench.work().join("script");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        for words_before in [["./script", "true"], ["true", "./script"]] {
            let stderr = stderr_of(&mut versus(&bench, "1", &words_before), 126);
            assert!(stderr.contains(words), "{stderr}");
        }
        let stderr = stderr_of(&mut bench.command("advise -- ./script"), 126);
        assert!(stderr.contains(words), "{stderr}");
    }
}
