//! Tests of `vectored versus`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Bench, case, entries, make_fifo, needs_strace, one_line, said_by, stderr_of, stdout_of,
};

fn versus(bench: &Bench, rounds: &str, words: &[&str]) -> assert_cmd::Command {
    let mut command = bench.vectored();
    command
        .args(["versus", "--rounds", rounds, "--warmup", "0"])
        .args(words);
    command
}

fn in_shell(bench: &Bench, words: &[&str]) -> assert_cmd::Command {
    versus(bench, "1", &[&["--shell", "sh"], words].concat())
}

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.work().join("in"), [b'x'; 100]).unwrap();
    bench
}

const OLD: &str = "dd if=in bs=1 status=none";
const NEW: &str = "dd if=in bs=100 status=none";

#[test]
fn calls_are_exact_and_the_result_is_saved_and_shown_again() {
    needs_strace!();
    let bench = bench();
    let stdout = stdout_of(&mut versus(&bench, "6", &[OLD, NEW]));
    let told = "1 write instead of 100 and";
    assert!(one_line(&stdout).contains(told), "{stdout}");
    let result = bench.only_result();
    assert_eq!(result["old"]["runs"].as_array().unwrap().len(), 6);
    assert_eq!(result["old_again_runs"].as_array().unwrap().len(), 6);
    assert_eq!(result["old"]["calls"]["kinds"]["write"]["high"], 100);
    let new = &result["new"][0];
    assert_eq!(new["side"]["calls"]["written_bytes"]["low"], 100);
    assert_eq!(new["same_files"], true);
    assert_eq!(new["differences"], serde_json::json!([]));
    let shown = stdout_of(&mut bench.command("report versus --markdown -"));
    assert!(shown.starts_with("# dd if=in bs=1 status=none or dd if=in bs=100 status=none?\n"));
    let listed = stdout_of(&mut bench.command("history"));
    assert!(listed.contains("'dd if=in bs=1 status=none' against 'dd if="));
}

#[test]
fn outputs_that_differ_have_their_own_exit_status_and_are_not_timed() {
    needs_strace!();
    let bench = bench();
    // Each run adds a line to `log`. Both commands print 1 in runs 3 and 5, and 0 in the other
    // runs. Runs 1, 4 and 5 are of the old command.
    let same = "echo 0 >> log; echo run >> runs; n=$(wc -l < runs); echo $((n == 3 || n == 5))";
    let old = format!("{same}; echo a; echo a >&2; echo a > out");
    let new = format!("{same}; echo b; echo b >&2; echo b >> log; exit 1");
    let files = ["--same=out", "--same=log"];
    let all = [&files[..], &[&old, &new]].concat();
    let (stdout, stderr) = said_by(&mut in_shell(&bench, &all), 5);
    let joined = one_line(&stdout);
    for told in [
        "Exit status of new differs: exit status 1 instead of exit status 0",
        "Standard output of new differs: line 2 is 'b' instead of 'a'",
        "Standard error of new differs: line 1 is 'b'",
        "File 'out' of new differs: it does not exist",
        "File 'log' of new differs: line 2 is 'b' instead of missing",
        "differ in line 1 of standard output: not compared",
        "was not timed",
    ] {
        assert!(joined.contains(told), "{told}: {stdout}");
    }
    assert!(stderr.contains("--ignore-output"), "{stderr}");
    fs::remove_file(bench.work().join("runs")).unwrap();
    let options = ["--ignore-output", "--ignore-failure"];
    let (_, stderr) = said_by(
        &mut in_shell(&bench, &[&all[..], &options[..1]].concat()),
        5,
    );
    assert!(stderr.contains("the exit statuses differ"), "{stderr}");
    fs::remove_file(bench.work().join("runs")).unwrap();
    let ignored = stdout_of(&mut in_shell(&bench, &[&all[..], &options].concat()));
    assert!(ignored.contains("no times are"), "{ignored}");
}

#[test]
fn a_run_that_fails_is_named_and_no_times_are_compared() {
    needs_strace!();
    // A command counts its own runs in `log`. Each command has two counted runs. The old command has two timed runs
    // in a round.
    let fails = |log: &str, when: &str, how: &str| {
        let failing = format!("then echo failing >&2; {how}; fi");
        format!("echo >> {log}; n=$(wc -l < {log}); if [ $n {when} ]; {failing}")
    };
    let flaky = fails("a", "-ge 4", "exit 2");
    for (old, new, options, code, words) in [
        (
            &flaky,
            fails("b", "-eq 4", "kill -9 $$"),
            "--fail-if-slower=3%",
            1,
            "old failed in 3 runs, first in round 1: exit status 2, 'failing'; new failed in 1 run, first in round ",
        ),
        (&flaky, "true".to_owned(), "--ignore-failure", 0, ""),
        (
            &fails("a", "-eq 1", "exit 2"),
            "true".to_owned(),
            "--warmup=1",
            1,
            "old failed in 1 run, first in warm-up run 1: exit status 2, 'failing'",
        ),
    ] {
        let bench = bench();
        let mut command = bench.vectored();
        command.args(["versus", "--rounds", "2", "--shell", "sh"]);
        if !options.starts_with("--warmup") {
            command.args(["--warmup", "0"]);
        }
        let (stdout, stderr) = said_by(command.args([options, old, &new]), code);
        assert!(stderr.contains(words), "{words}: {stderr}");
        let remedy = "give --ignore-failure if that is meant";
        assert_eq!(stderr.contains(remedy), code == 1, "{stderr}");
        assert!(!stdout.contains(" of the time of old"), "{stdout}");
        let result = bench.only_result();
        assert_eq!(result["limits"], serde_json::json!([]));
        assert_eq!(result["old"]["failed"][0]["said"], "failing");
        let is_timed = result["old"]["runs"] != serde_json::json!([]);
        assert_eq!(is_timed, !options.starts_with("--warmup"));
    }
}

#[test]
fn what_keeps_a_command_from_running_is_said() {
    needs_strace!();
    let bench = bench();
    let made = |name: &str, text: &str| {
        let path = bench.work().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    made(
        "once",
        "#!/bin/sh\necho >> c\n[ $(wc -l < c) -lt 3 ] || rm \"$0\"\n",
    );
    make_fifo(&bench.work().join("fifo"));
    let cases = "\
./once true --ignore-output => 1: old ('./once'), round 1: it cannot be run: No such file
true no-such-program-here => 127: command 'no-such-program-here' not found in PATH
./in true => 126: it is not executable
--same in true true => 1: no counted run wrote the file 'in' of --same
--same fifo true true => 1: 'fifo' cannot be compared: it is no regular file
--input fifo cat cat => 2: cannot use --input 'fifo': it is no regular file
--prepare false true true => 1: the command of --prepare ('false') failed with exit status 1";
    for (words, code, told) in cases.lines().map(case) {
        let words: Vec<&str> = words.split(' ').collect();
        let stderr = stderr_of(&mut versus(&bench, "1", &words), code);
        assert!(stderr.contains(told), "{words:?}: {stderr}");
    }
    let script = "ulimit -n 6; exec \"$0\" versus --rounds 1 true true";
    let stderr = stderr_of(&mut bench.script(script), 1);
    let told = "raise the limit of open files (ulimit -n)";
    assert!(
        stderr.contains("Too many open files") && stderr.contains(told),
        "{stderr}"
    );
}

#[test]
fn a_log_that_grows_by_each_run_is_no_more_calls_of_one_of_them() {
    needs_strace!();
    // Each run reads and writes one more byte than the run before.
    let grows = "echo >> log; dd if=log of=out bs=1 status=none";
    let options = ["--fail-if-more-calls=0", "--same=out", "--ignore-output"];
    stdout_of(&mut in_shell(
        &bench(),
        &[&options[..], &[grows, grows]].concat(),
    ));
}

#[test]
fn each_run_finds_the_files_that_it_edits_as_the_first_run_did() {
    needs_strace!();
    let adds = |number: u32| {
        format!("n=$(cat n); echo $((n + {number})) > n; date +%N | tr 0-9 a-j > made")
    };
    for (added, made, options, code, told) in [
        (1, "n", &["--same=n"][..], 0, ""),
        (2, "n", &["--same=n"], 5, "line 1 is '7' instead of '6'"),
        (
            1,
            "made",
            &["--same=n", "--same=made"],
            1,
            "the file 'made' of --same cannot be compared",
        ),
        (1, "made", &["--same=made", "--ignore-output"], 0, ""),
    ] {
        let bench = bench();
        fs::write(bench.work().join("n"), "5\n").unwrap();
        let [old, new] = [1, added].map(adds);
        let words = [options, &[&*old, &new]].concat();
        let said = said_by(&mut in_shell(&bench, &words), code);
        assert!(
            one_line(&format!("{said:?}")).contains(told),
            "{told}: {said:?}"
        );
        assert!(bench.work().join(made).is_file());
        if options.contains(&"--same=n") {
            assert_eq!(fs::read(bench.work().join("n")).unwrap(), b"5\n");
        }
    }
}

#[test]
fn two_results_are_compared_by_their_ratios_and_calls() {
    needs_strace!();
    let bench = bench();
    for (new, name) in [(NEW, "earlier"), (OLD, "later")] {
        let mut command = versus(&bench, "1", &["--format=json", "--no-save", OLD, new]);
        fs::write(bench.work().join(name), stdout_of(&mut command)).unwrap();
    }
    let cases = "\
later => 0: new makes 100 writes instead of 1 and
later --fail-if-more-calls 1% => 3: beyond the limit of --fail-if-more-calls 1% against the earlier result: 
later --fail-if-slower 1% => 4: may be within the limit of --fail-if-slower 1% against the earlier result
later earlier => 2: only one result of versus";
    for (options, code, told) in cases.lines().map(case) {
        let words = format!("compare earlier --against {options}");
        let (stdout, stderr) = said_by(&mut bench.command(&words), code);
        let said = one_line(&(stdout + &stderr));
        assert!(said.contains(told), "{options}: {said}");
    }
}

#[test]
fn a_gate_is_red_on_the_way_back_and_green_on_the_way_there() {
    needs_strace!();
    let bench = bench();
    let limit = "--fail-if-more-calls=1%";
    stdout_of(versus(&bench, "1", &[limit, OLD, NEW]).arg("--no-save"));
    let stderr = stderr_of(&mut versus(&bench, "1", &[limit, NEW, OLD]), 3);
    let told = "new is beyond the limit of --fail-if-more-calls 1% against old: ";
    assert!(stderr.contains(told), "{stderr}");
    let told = " and write (100 instead of 1); ";
    assert!(stderr.contains(told), "{stderr}");
    assert_eq!(bench.only_result()["limits"][2]["ruling"], "beyond");
    // Each limit has the name of a call or of a total. Stacks are known only if strace can unwind them.
    let limits = "--fail-if-more-calls=read=0%,write=10%,total=500%,fsync=0";
    let (stdout, stderr) = said_by(&mut versus(&bench, "1", &[limits, NEW, OLD]), 3);
    for told in [
        "limit of --fail-if-more-calls write=10% against old: 100 instead of 1",
        "limit of --fail-if-more-calls read=0% against old: ",
    ] {
        assert!(stderr.contains(told), "{told}: {stderr}");
    }
    let makers = ["99 of read from dd", "is not known: strace of this machine"];
    assert!(makers.iter().any(|told| stderr.contains(told)), "{stderr}");
    assert!(!stderr.contains("fsync"), "{stderr}");
    let kept = "new is within the limit of --fail-if-more-calls fsync=0% against old";
    assert!(stdout.contains(kept), "{stdout}");
    // The stacks of an interpreter do not show the script.
    let script = format!("for i in 1 2 3; do {NEW}; done >&2");
    fs::write(bench.work().join("s.sh"), script).unwrap();
    let limit = "--fail-if-more-calls=write=0";
    let words = [limit, "--ignore-output", NEW, "sh s.sh"];
    let stderr = stderr_of(&mut versus(&bench, "1", &words), 3);
    for told in ["is not known", " from "] {
        assert!(!stderr.contains(told), "{stderr}");
    }
    // A single round gives no interval.
    let mut command = versus(&bench, "1", &["--fail-if-slower=3%", OLD, NEW]);
    let stderr = stderr_of(&mut command, 4);
    assert!(stderr.contains("give --rounds 6"), "{stderr}");
}

#[test]
fn a_command_that_hangs_or_leaves_processes_is_ended_with_clear_words() {
    needs_strace!();
    let bench = bench();
    // The duration contains the PID, so that a parallel run of this test uses another command line.
    let nap = format!("31415.{}", std::process::id());
    // The process that the last command starts ends only after its parent was waited for. Until then, the parent is a
    // zombie, and `kill -0` succeeds.
    let cases = "\
sleep NAP => 1: it still ran after 1 s, and was killed
sleep NAP => 1: a service does not end: start it and its client in one script
setsid sleep NAP & exit 0 => 1: it left processes behind that still ran 0.3 s after its end
read line < /dev/tty || exit 7 => 0: Old and new end with exit status 7, '
cat => 0: new makes as many system calls as old; no times
p=$$; { while kill -0 $p 2> /dev/null; do :; done; sleep 0.05; } & exit 0 => 0: Old left 1 process running when it ended";
    for (old, code, words) in cases.lines().map(case) {
        // A slow machine must not stop a command that ends by itself.
        let limit = if code == 1 { ["--budget", "300ms"] } else { ["--rounds", "1"] };
        let old = &*old.replace("NAP", &nap);
        let mut command = bench.vectored();
        command.args(["versus", "--shell", "sh"]).args(limit);
        let (stdout, stderr) = said_by(command.args(["--warmup", "0", old, old]), code);
        assert!((stdout + &stderr).contains(words), "{old}: {stderr}");
        let mut left = Command::new("pgrep");
        let left = left.args(["-f", &format!("^sleep {nap}$")]).output();
        assert_eq!(left.unwrap().stdout, b"", "{old}");
    }
}

#[test]
fn a_preparation_runs_before_each_run_and_temporary_files_are_gone() {
    needs_strace!();
    let bench = bench();
    let temporary = bench.work().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = versus(
        &bench,
        "2",
        &["--stdout", "file", "--input", "in", "cat", "cat -u"],
    );
    stdout_of(
        command
            .arg("--prepare=echo >> log")
            .env("TMPDIR", &temporary),
    );
    assert!(entries(&temporary).is_empty());
    let log = fs::read_to_string(bench.work().join("log")).unwrap();
    // Each of two commands has two counted runs. Each of two rounds has three timed runs.
    assert_eq!(log.len(), 10);
    let result = bench.only_result();
    assert_eq!(result["old"]["calls"]["written_bytes"]["high"], 100);
}

#[test]
fn each_command_may_have_a_preparation_of_its_own() {
    needs_strace!();
    let bench = bench();
    // The run of the old command finds the file of the new command, which lacks the last line.
    let own = ["echo a; echo b", "echo a"]
        .map(|lines| format!("--prepare=echo '({lines}) > out' > x.sh"));
    let both = ["--same=out", "sh x.sh", "sh x.sh"];
    let (stdout, _) = said_by(versus(&bench, "1", &both).args(&own), 5);
    let told = "File 'out' of new differs: line 2 is missing instead of 'b'";
    assert!(one_line(&stdout).contains(told), "{stdout}");
    assert_eq!(bench.only_result()["new"][0]["same_files"], false);
    let mut more = versus(&bench, "1", &both);
    let (_, stderr) = said_by(more.args(&own).args(["--prepare", "true"]), 2);
    let told = "--prepare is given 3 times for 2 commands";
    assert!(stderr.contains(told), "{stderr}");
}

#[test]
fn each_timed_run_has_an_environment_of_another_length() {
    needs_strace!();
    let writes = "echo ${#VECTORED_PADDING} >> lengths";
    for (options, are_equal) in [(&[][..], false), (&["--same-layout"], true)] {
        let bench = bench();
        let words = [options, &["--shell=sh", writes, writes]].concat();
        stdout_of(&mut versus(&bench, "4", &words));
        let lengths = fs::read_to_string(bench.work().join("lengths")).unwrap();
        let lengths: Vec<usize> = lengths.lines().map(|line| line.parse().unwrap()).collect();
        // The first four runs are counted. Each round then has three timed runs.
        let (counted, timed) = lengths.split_at(4);
        assert_eq!((counted, timed.len()), (&[0; 4][..], 12));
        let is_unpadded = timed.iter().all(|length| *length == 0);
        assert_eq!(is_unpadded, are_equal, "{timed:?}");
        assert!(timed.iter().all(|length| *length < 4096), "{timed:?}");
        assert_eq!(bench.only_result()["options"]["same_layout"], are_equal);
    }
}

#[test]
fn a_comparison_goes_on_where_a_saved_one_stopped() {
    needs_strace!();
    let bench = bench();
    let script = bench.work().join("new.sh");
    fs::write(&script, NEW).unwrap();
    let commands = [OLD, "sh new.sh"];
    let run = |options: &[&str], commands: &[&str], code| {
        let words = [options, commands].concat();
        let (stdout, stderr) = said_by(&mut versus(&bench, "4", &words), code);
        one_line(&(stdout + &stderr))
    };
    run(&["--output=shown"], &commands, 0);
    let first = bench.only_result();
    fs::write(bench.work().join("first"), first.to_string()).unwrap();
    let told = run(&["--add=first"], &commands, 0);
    assert!(told.contains("8 rounds of 2 sessions; each ran"), "{told}");
    assert!(!told.contains("an interval needs 6"), "{told}");
    let again = ["--add=versus", "--no-save", "--format=json"];
    let json = run(&again, &commands, 0);
    let both: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(both["added"].as_array().unwrap().len(), 2);
    for (side, runs) in [(&both["old"], 12), (&both["new"][0]["side"], 12)] {
        assert_eq!(side["runs"].as_array().unwrap().len(), runs);
    }
    assert_eq!(both["old"]["runs"][0], first["old"]["runs"][0]);
    let said = run(&["--add=first"], &[OLD, OLD], 2);
    assert!(said.contains("it is of other commands"), "{said}");
    let said = run(&["--add=first", "--stdout=file"], &commands, 2);
    assert!(said.contains("with other options"), "{said}");
    fs::write(&script, "dd if=in bs=50 status=none").unwrap();
    let said = run(&["--add=first"], &commands, 1);
    assert!(said.contains("run other files now"), "{said}");
    let mut other = first;
    other["host"]["kernel"] = "1.0".into();
    fs::write(bench.work().join("first"), other.to_string()).unwrap();
    let said = run(&["--add=first"], &commands, 2);
    assert!(said.contains("of another processor or kernel"), "{said}");
}

#[test]
fn the_history_of_a_command_has_its_commits() {
    needs_strace!();
    let bench = bench();
    let commits =
        "git init -q && git config user.name x && git config user.email x@x && git add in";
    bench.script(commits).assert().success();
    for number in [1, 2] {
        let commit = format!("git commit -qm {number} --allow-empty");
        bench.script(&commit).assert().success();
        stdout_of(&mut versus(&bench, "6", &[OLD, NEW]));
    }
    let commits = stdout_of(&mut bench.script("git log --format=%h"));
    let mut command = bench.vectored();
    let shown = stdout_of(command.args(["history", "--of", NEW, "--html", "page.html"]));
    let lines = shown.lines().filter(|line| line.starts_with("versus"));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 2, "{shown}");
    for (line, commit) in lines.iter().zip(commits.lines()) {
        assert!(line.contains(commit), "{commit}: {shown}");
    }
    let page = fs::read_to_string(bench.work().join("page.html")).unwrap();
    assert!(
        commits.lines().all(|commit| page.contains(commit)),
        "{page}"
    );
    let mut command = bench.vectored();
    let refused = stderr_of(command.args(["history", "--of", "nothing"]), 2);
    let told = "no saved result has the new command 'nothing'";
    assert!(refused.contains(told), "{refused}");
}

#[test]
fn ctrl_c_keeps_what_is_measured() {
    needs_strace!();
    let bench = bench();
    let mut command = bench.std_vectored();
    command.args(["versus", "--rounds", "1000000", "--shell", "sh"]);
    command.args(["echo >> log"; 2]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // The bytes are two warm-up runs, four counted runs and 30 timed runs.
    while fs::read(bench.work().join("log")).unwrap_or_default().len() < 2 + 4 + 30 {
        thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let result = bench.only_result();
    assert_eq!(result["complete"], false);
    assert!(result["old"]["runs"].as_array().unwrap().len() >= 9);
}
