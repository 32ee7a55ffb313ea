//! `vectored reproduce`: a tiny real run of each experiment, and refused
//! requests.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Bench, Tmpfs, entries, json, skip, stdout_of};

/// Runs with these arguments, at the reduced sizes; returns what was printed and
/// what was saved.
fn run(bench: &Bench, args: &[&str]) -> (String, Value) {
    let mut command = bench.vectored();
    let stdout = stdout_of(command.args(["reproduce", "--quick"]).args(args));
    assert!(entries(&bench.work()).is_empty(), "{args:?}");
    let results = bench.only_result();
    assert_eq!(results["schema"], "vectored-experiments/1");
    assert_eq!(results["complete"], true, "{args:?}");
    for experiment in results["experiments"].as_array().unwrap() {
        check_experiment(experiment);
    }
    (stdout, results)
}

/// Checks the facts that hold for every experiment.
fn check_experiment(experiment: &Value) {
    assert_eq!(experiment["reduced"], true);
    assert_eq!(experiment["complete"], true);
    let finding = experiment["finding"].as_str().unwrap();
    assert!(
        finding.is_empty() || finding.starts_with("At a reduced size, "),
        "{finding}"
    );
    assert!(!experiment["published"].as_array().unwrap().is_empty());
    let rows = experiment["rows"].as_array().unwrap();
    for row in rows {
        let samples = row["clock_s_samples"].as_array().unwrap();
        assert_eq!(samples.len(), 7);
        let mut sampled: Vec<f64> = samples.iter().filter_map(Value::as_f64).collect();
        assert_eq!(row["repeats"], sampled.len());
        assert!(sampled.iter().all(|&s| s > 0.0), "{row}");
        sampled.sort_by(f64::total_cmp);
        // An odd number of repeats: the median is one of them.
        assert_eq!(row["clock_s"].as_f64(), Some(sampled[sampled.len() / 2]));
    }
    for ratio in experiment["ratios"].as_array().unwrap() {
        let (of, over) = (&rows[index(&ratio["of"])], &rows[index(&ratio["over"])]);
        let name = match ratio["measure"].as_str().unwrap() {
            "cpu" => "cpu_s_samples",
            _ => "clock_s_samples",
        };
        let samples = |row: &Value| row[name].as_array().unwrap().clone();
        let mut ratios: Vec<f64> = std::iter::zip(samples(of), samples(over))
            .filter_map(|(of, over)| Some(of.as_f64()? / over.as_f64()?))
            .collect();
        ratios.sort_by(f64::total_cmp);
        let near = |value: &Value, expected: f64| {
            let value = value.as_f64().unwrap();
            assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
        };
        if ratios.len() == 7 {
            near(&ratio["ratio"], ratios[3]);
            near(&ratio["ratio_low"], ratios[0]);
            near(&ratio["ratio_high"], ratios[6]);
        } else {
            assert!(ratio["ratio_low"].is_null());
        }
    }
}

fn index(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn only(results: &Value) -> &Value {
    let experiments = results["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 1);
    &experiments[0]
}

#[test]
fn copies_are_measured_with_all_their_bytes_and_loops() {
    let bench = Bench::new();
    let (table, results) = run(&bench, &["apue-3.5", "--min", "32", "--max", "1MiB"]);
    assert!(table.contains("REDUCED"), "{table}");
    let experiment = only(&results);
    assert_eq!(experiment["cache"], "hot");
    let file_bytes = experiment["setting"]["file_bytes"].as_u64().unwrap();
    let rows = experiment["rows"].as_array().unwrap();
    // 32 B to 1 MiB, past the book, and stdio.
    assert_eq!(rows.len(), 17);
    for row in rows {
        let Some(buffer) = row["buffer_bytes"].as_u64() else {
            assert_eq!(row["technique"], "stdio");
            assert!(row["loops"].is_null());
            continue;
        };
        assert_eq!(row["loops"], file_bytes.div_ceil(buffer));
        assert_eq!(row["repeats"], if buffer < 64 { 3 } else { 7 });
        // The kernel may reclaim pages of the file at any time, so no sample must have all of them.
        for resident in row["resident_bytes_samples"].as_array().unwrap() {
            assert!(
                resident.is_null() || resident.as_u64() <= Some(file_bytes),
                "{row}"
            );
        }
    }
    let start_s = experiment["setting"]["start_s"].as_f64().unwrap();
    assert!(start_s > 0.0);
}

#[test]
fn copies_to_files_and_pipes_and_the_device_are_measured() {
    for args in [
        &["--to", "pipe"][..],
        &["--to", "file"],
        &["--to", "file", "--sync", "fsync"],
        &[
            "--to", ".", "--sync", "dsync", "--min", "1MiB", "--max", "1MiB",
        ],
    ] {
        let bench = Bench::new();
        let range = ["apue-3.5", "--min", "128KiB"];
        let range = if args.contains(&"--min") {
            &range[..1]
        } else {
            &range
        };
        let (_, results) = run(&bench, &[range, args].concat());
        let setting = &only(&results)["setting"];
        let to = if args[1] == "pipe" { "pipe" } else { "file" };
        assert_eq!(setting["to"], to);
    }
}

#[test]
fn cold_copies_fetch_their_bytes_from_the_device() {
    let bench = Bench::new();
    let mut command = bench.vectored();
    let args = ["--page-cache", "cold", "--min", "128KiB", "--quick"];
    let output = command.args(["reproduce", "apue-3.5"]).args(args).output();
    let output = output.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(2) && stderr.contains("cold page cache") {
        skip(
            "cold_copies_fetch_their_bytes_from_the_device",
            stderr.trim(),
        );
        return;
    }
    assert!(output.status.success(), "{stderr}");
    let results = bench.only_result();
    let experiment = only(&results);
    assert_eq!(experiment["cache"], "cold");
    let file_bytes = experiment["setting"]["file_bytes"].as_u64().unwrap();
    for row in experiment["rows"].as_array().unwrap() {
        for resident in row["resident_bytes_samples"].as_array().unwrap() {
            assert!(resident.as_u64().unwrap() * 100 <= file_bytes, "{row}");
        }
        for fetched in row["fetched_bytes_samples"].as_array().unwrap() {
            assert!(fetched.as_u64().unwrap() * 100 >= file_bytes * 99, "{row}");
        }
    }
    let finding = experiment["finding"].as_str().unwrap();
    assert!(finding.contains("128 KiB"), "{finding}");
}

#[test]
fn records_are_written_by_every_technique() {
    let bench = Bench::new();
    let (table, results) = run(&bench, &["apue-14.28"]);
    assert!(table.contains("REDUCED"), "{table}");
    let experiment = only(&results);
    let rows = experiment["rows"].as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["technique"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["write-each", "copy-then-write", "writev", "adaptive"]
    );
    for row in rows {
        let sum = row["user_s"].as_f64().unwrap() + row["system_s"].as_f64().unwrap();
        assert!(sum > 0.0);
    }
    // Three over copying, by CPU and by wall time.
    assert_eq!(experiment["ratios"].as_array().unwrap().len(), 6);
}

#[test]
fn elements_are_written_in_turn() {
    let bench = Bench::new();
    let (table, results) = run(&bench, &["kalinin"]);
    assert!(table.contains("REDUCED"), "{table}");
    let experiment = only(&results);
    assert_eq!(experiment["rows"].as_array().unwrap().len(), 20);
    assert_eq!(experiment["ratios"].as_array().unwrap().len(), 20);
}

#[test]
fn buffers_are_written_and_read_back() {
    let bench = Bench::new();
    let args = ["--size", "100", "--count", "2000", "--repeats", "3"];
    let (table, results) = run(
        &bench,
        &[&["mincer", "--iovec-setup", "once"], &args[..]].concat(),
    );
    assert!(table.contains("REDUCED"), "{table}");
    let experiment = only(&results);
    let rows = experiment["rows"].as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["technique"].as_str().unwrap())
        .collect();
    assert_eq!(names[..4], ["write-each", "read-each", "writev", "readv"]);
    // It is written and read, or the table says why it is not.
    let count = names.iter().filter(|name| **name == "linux-aio").count();
    let says_why = table.contains("linux-aio (cannot make a queue");
    assert_eq!(count, if says_why { 0 } else { 2 }, "{table}");
    // It has no array that could be filled once.
    assert!(!names.contains(&"io-uring"), "{names:?}");
    for row in rows {
        assert_eq!(row["iovec_setup"], "once");
        for passes in row["pass_s_samples"].as_array().unwrap() {
            assert_eq!(passes.as_array().unwrap().len(), 3);
        }
    }
}

#[test]
fn all_experiments_make_one_result_in_every_format() {
    let bench = Bench::new();
    let args = ["all", "--min", "64KiB", "--seed", "7", "--format", "json"];
    let (printed, results) = run(&bench, &args);
    assert_eq!(json(&printed), results);
    let names: Vec<_> = results["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|experiment| experiment["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["apue-3.5", "apue-14.28", "kalinin", "mincer"]);
    let saved = bench.saved();
    let name = saved[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("reproduce-"), "{name}");
}

#[test]
fn wrong_usage_of_reproduce_is_refused_before_the_work_starts() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| {
        let mut command = bench.vectored();
        let output = command.arg("reproduce").args(args).assert().code(2);
        let output = output.get_output().clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with("error: "), "{args:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{args:?} lacks {word:?}: {stderr}");
        }
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(bench.saved().is_empty(), "{args:?}");
    };
    check(
        &["apue-9.9"],
        &["'apue-9.9'", "apue-3.5, apue-14.28, kalinin, mincer, all"],
    );
    check(&[], &["EXPERIMENT"]);
    check(&["apue-3.5", "--min", "0"], &["--min", "'0' is zero"]);
    check(&["apue-3.5", "--max", "16EiB"], &["--max", "KiB"]);
    check(
        &["apue-3.5", "--max", "2GiB"],
        &["too large", "at most 1GiB"],
    );
    check(
        &["apue-3.5", "--min", "70", "--max", "100"],
        &["no buffer", "--min 70", "--max 100", "powers of two"],
    );
    check(&["apue-3.5", "--sync", "dsync"], &["--sync", "--to file"]);
    check(
        &["apue-3.5", "--to", "nowhere/x"],
        &["--to", "null, file or pipe"],
    );
    // The remedy names the option that gave the directory.
    check(
        &["apue-3.5", "--to", "/proc"],
        &["'/proc'", "; name another directory with --to\n"],
    );
    let precious = bench.work().join("precious");
    fs::write(&precious, "precious").unwrap();
    check(
        &["apue-3.5", "--to", "precious"],
        &["overwrites no file", "its directory"],
    );
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    check(
        &["apue-3.5", "--dir", "precious"],
        &["not a directory", "--dir"],
    );
    check(
        &["kalinin", "--dir", "nowhere"],
        &["'nowhere'", "does not exist", "--dir"],
    );
    check(&["kalinin", "--min", "64"], &["--min", "apue-3.5"]);
    check(&["apue-3.5", "--size", "64"], &["--size", "mincer"]);
    check(
        &["mincer", "--size", "64"],
        &["--size and --count must be given together"],
    );
    check(
        &["mincer", "--size", "1MiB", "--count", "2000"],
        &["1 GiB", "--size"],
    );
    // Little in them, but very many.
    check(
        &["mincer", "--size", "1", "--count", "99999999"],
        &["1 GiB", "64 bytes of bookkeeping each", "--count"],
    );
    check(&["mincer", "--repeats", "0"], &["--repeats", "'0' is zero"]);
    check(
        &["mincer", "--iovec-setup", "never"],
        &["'never'", "timed, once"],
    );
    check(
        &["all", "--output", "nowhere/x"],
        &["'nowhere/x'", "--output"],
    );
}

#[test]
fn a_file_system_without_room_or_without_a_device_is_refused() {
    let name = "a_file_system_without_room_or_without_a_device_is_refused";
    let small = match Tmpfs::mount("size=64m") {
        Ok(small) => small,
        Err(reason) => return skip(name, &reason),
    };
    let bench = Bench::new();
    let check = |experiment: &[&str], code: i32, word: &str| {
        let mut command = bench.vectored();
        command
            .arg("reproduce")
            .args(experiment)
            .arg("--dir")
            .arg(small.path());
        let output = command.assert().code(code).get_output().clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.contains(word),
            "{experiment:?} lacks {word:?}: {stderr}"
        );
        assert!(bench.saved().is_empty());
        assert!(entries(small.path()).is_empty());
    };
    for experiment in ["apue-3.5", "apue-14.28", "kalinin", "all"] {
        check(&[experiment], 1, "not enough free space");
    }
    // The folder of --to is named as such.
    let mut command = bench.vectored();
    let args = ["reproduce", "apue-3.5", "--min", "64KiB", "--to"];
    let output = command.args(args).arg(small.path()).assert().code(1);
    let stderr = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("not enough free space"), "{stderr}");
    assert!(stderr.contains("with --to"), "{stderr}");
    let cold = [
        "apue-3.5",
        "--quick",
        "--min",
        "256KiB",
        "--page-cache",
        "cold",
    ];
    check(&cold, 2, "cannot read from a cold page cache");
}

/// A run of many minutes, stopped while its first rows are measured.
fn stopped_by(signal: Signal, code: i32) {
    let bench = Bench::new();
    let mut command = bench.std_vectored();
    // Of 32 B upwards, so that some rows are done soon and others take long.
    command.args(["reproduce", "apue-3.5", "--quick", "--max", "8"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    // Until the copies are under way, which are children of it.
    let began = Instant::now();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let mut copies = std::collections::HashSet::new();
    while copies.len() < 8 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it does not begin"
        );
        let list = fs::read_to_string(&children).unwrap_or_default();
        copies.extend(list.split_whitespace().map(str::to_owned));
        sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains("note: stopped: 0 of 1"), "{stderr}");
    let results = bench.only_result();
    assert_eq!(results["complete"], false);
    assert_eq!(stderr.lines().last(), bench.saved()[0].to_str());
    assert!(entries(&bench.work()).is_empty());
    // No copy goes on behind its back.
    for copy in copies {
        let status = fs::read_to_string(format!("/proc/{copy}/stat")).unwrap_or_default();
        assert!(!status.contains("(vectored) R"), "{status}");
    }
}

/// A copy process that is killed on its own makes the run fail.
#[test]
fn a_copy_that_is_ended_alone_fails_the_run() {
    let bench = Bench::new();
    let mut command = bench.std_vectored();
    command.args(["reproduce", "apue-3.5", "--quick", "--max", "8"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    while child.try_wait().unwrap().is_none() {
        let list = fs::read_to_string(&children).unwrap_or_default();
        for copy in list.split_whitespace() {
            let copy = Pid::from_raw(copy.parse().unwrap()).unwrap();
            // Until one is hit that was still at work.
            let _ = kill_process(copy, Signal::TERM);
        }
        sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("SIGTERM"), "{stderr}");
    assert!(entries(&bench.work()).is_empty());
}

#[test]
fn sigint_and_sigterm_end_the_run_and_keep_what_was_measured() {
    stopped_by(Signal::INT, 130);
    stopped_by(Signal::TERM, 143);
}

#[test]
fn the_help_of_reproduce() {
    let bench = Bench::new();
    let help = stdout_of(bench.vectored().args(["reproduce", "--help"]));
    // Trailing blanks are clap's.
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn one_of_several_processes_is_refused_and_the_first_says_so() {
    let bench = Bench::new();
    let run = |rank: &str, args: &[&str]| {
        let mut command = bench.vectored();
        command.args(["reproduce", "--quick"]).args(args);
        command.env("OMPI_COMM_WORLD_SIZE", "4");
        command.env("OMPI_COMM_WORLD_RANK", rank);
        let output = command.assert().code(2).get_output().clone();
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    let message = run("0", &["mincer"]);
    for words in ["one of 4 processes (OMPI_COMM_WORLD_SIZE)", "start it once"] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(run("3", &["mincer"]), "");
    assert_eq!(run("3", &["--no-such-option"]), "");
    assert!(bench.saved().is_empty());
}

#[test]
fn each_of_several_processes_that_work_for_themselves_says_why_it_failed() {
    let bench = Bench::new();
    for words in [&["report", "none.json"][..], &["report", "--no-such"]] {
        let mut command = bench.vectored();
        command
            .args(words)
            .env("PMI_SIZE", "4")
            .env("PMI_RANK", "3");
        let output = command.assert().failure().get_output().clone();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(words[1]), "{message:?}");
    }
}
