//! Tests of `vectored reproduce`: a short real run of each experiment, and refused requests.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Bench, Tmpfs, case, entries, json, skip, stderr_of, stdout_of};

/// Runs with `--quick`. Returns the output and the saved result.
fn run(bench: &Bench, words: &str) -> (String, Value) {
    let stdout = stdout_of(&mut bench.command(&format!("reproduce --quick {words}")));
    assert!(entries(&bench.work()).is_empty(), "{words}");
    let results = bench.only_result();
    assert_eq!(results["schema"], "vectored-experiments/1");
    assert_eq!(results["complete"], true, "{words}");
    for experiment in list(&results["experiments"]) {
        assert_eq!(experiment["reduced"], true);
        assert_eq!(experiment["complete"], true);
        let finding = experiment["finding"].as_str().unwrap();
        assert!(
            finding.is_empty() || finding.starts_with("At a reduced size, "),
            "{finding}"
        );
        assert!(!list(&experiment["published"]).is_empty());
        for row in list(&experiment["rows"]) {
            let sampled = sampled(row, "clock_s");
            assert_eq!(row["repeats"], sampled.len());
            assert!(sampled.iter().all(|&s| s > 0.0), "{row}");
        }
    }
    (stdout, results)
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn sampled(row: &Value, name: &str) -> Vec<f64> {
    let samples = list(&row["samples"]).iter();
    samples.filter_map(|sample| sample[name].as_f64()).collect()
}

fn only(results: &Value) -> &Value {
    assert_eq!(list(&results["experiments"]).len(), 1);
    &results["experiments"][0]
}

fn techniques(experiment: &Value) -> Vec<&str> {
    let rows = list(&experiment["rows"]).iter();
    rows.map(|row| row["technique"].as_str().unwrap()).collect()
}

#[test]
fn all_experiments_make_one_result() {
    let bench = Bench::new();
    let (printed, results) = run(&bench, "all --seed 7 --format json");
    assert_eq!(json(&printed), results);
    let name = bench.saved().remove(0);
    let name = name.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("reproduce-"), "{name}");
    let [copies, records, elements, passes] = &list(&results["experiments"])[..] else {
        panic!("{results}");
    };
    let of = |experiment: &Value| {
        let counts = ["rows", "ratios"].map(|name| list(&experiment[name]).len());
        (experiment["name"].as_str().unwrap().to_owned(), counts)
    };
    // A base row has no ratio. In `apue-3.5`, the base is the buffer of 16 blocks, usually 64 KiB. With the file in
    // memory, only CPU times are compared. The row of the empty file has no ratio.
    assert_eq!(of(copies), ("apue-3.5".to_owned(), [22, 20]));
    // In `apue-14.28` and `kalinin`, the base is `copy-then-write`, by CPU time and by wall time.
    assert_eq!(of(records), ("apue-14.28".to_owned(), [4, 6]));
    assert_eq!(of(elements), ("kalinin".to_owned(), [20, 20]));
    assert_eq!(passes["name"], "mincer");
    for row in list(&records["rows"]) {
        assert!(row["user_s"].as_f64().unwrap() + row["system_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn cold_copies_fetch_their_bytes_from_the_device() {
    let bench = Bench::new();
    let words = "reproduce apue-3.5 --page-cache cold --min 128KiB --quick";
    let output = bench.command(words).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(2) && stderr.contains("cold page cache") {
        return skip(stderr.trim());
    }
    assert!(output.status.success(), "{stderr}");
    let results = bench.only_result();
    let bytes = only(&results)["setting"]["file_bytes"].as_f64().unwrap();
    let rows = list(&only(&results)["rows"]).iter();
    for row in rows.filter(|row| row["copied_bytes"] != 0) {
        let are = |name: &str, is: &dyn Fn(f64) -> bool| sampled(row, name).into_iter().all(is);
        assert!(
            are("resident_bytes", &|resident| resident * 100.0 <= bytes),
            "{row}"
        );
        assert!(
            are("fetched_bytes", &|fetched| fetched * 100.0 >= bytes * 99.0),
            "{row}"
        );
    }
}

#[test]
fn a_file_system_without_room_or_without_a_device_is_refused() {
    let small = match Tmpfs::mount("size=64m") {
        Ok(small) => small,
        Err(reason) => return skip(&reason),
    };
    let bench = Bench::new();
    let place = small.path().to_str().unwrap();
    // The message names the directory of `--to`.
    let cases = "\
apue-3.5 --dir => 1: not enough free space
all --dir => 1: not enough free space
apue-3.5 --min 64KiB --to => 1: with --to";
    for (words, code, told) in cases.lines().map(case) {
        let stderr = stderr_of(
            &mut bench.command(&format!("reproduce {words} {place}")),
            code,
        );
        assert!(stderr.contains(told), "{words} lacks {told:?}: {stderr}");
        assert!(bench.saved().is_empty());
        assert!(entries(small.path()).is_empty());
    }
}

/// The full run would take many minutes. A signal stops it during the first rows.
#[test]
fn a_signal_ends_the_run_and_keeps_what_was_measured() {
    let bench = Bench::new();
    let mut command = bench.std_vectored();
    // From 32 B on, some rows end soon and other rows take long.
    command.args(["reproduce", "apue-3.5", "--quick", "--max", "8"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The copies are child processes of the run.
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let mut copies = std::collections::HashSet::new();
    while copies.len() < 8 {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        let list = fs::read_to_string(&children).unwrap_or_default();
        copies.extend(list.split_whitespace().map(str::to_owned));
        sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(143), "{stderr}");
    assert!(stderr.contains("note: stopped: 0 of 1"), "{stderr}");
    let results = bench.only_result();
    assert_eq!(results["complete"], false);
    assert_eq!(stderr.lines().last(), bench.saved()[0].to_str());
    assert!(entries(&bench.work()).is_empty());
    for copy in copies {
        let status = fs::read_to_string(format!("/proc/{copy}/stat")).unwrap_or_default();
        assert!(!status.contains("(vectored) R"), "{status}");
    }
}

/// Runs `apue-3.5 --quick` with two buffer sizes, a program beside it, and the options in `words`.
fn beside(bench: &Bench, program: &str, words: &str) -> assert_cmd::Command {
    let mut command = bench.command("reproduce apue-3.5 --quick --min 32KiB --max 64KiB");
    command
        .args(words.split_whitespace())
        .args(["--program", program]);
    command
}

#[test]
fn a_program_is_timed_beside_ours_however_it_names_its_files() {
    for (program, words) in [
        (
            "dd bs={buffer} status=none < {input} > {output}",
            "--to pipe",
        ),
        (
            "dd if={input} of={output} bs={buffer} status=none",
            "--to file",
        ),
    ] {
        let bench = Bench::new();
        let mut command = beside(&bench, program, &format!("--format json {words}"));
        let results = json(&stdout_of(&mut command));
        let experiment = only(&results);
        assert_eq!(experiment["setting"]["program"], program);
        assert_eq!(experiment["complete"], true);
        let [ours, theirs] = ["read-write", "program"];
        let names = [ours, ours, theirs, theirs, ours, theirs];
        assert_eq!(techniques(experiment), names);
        let rows = list(&experiment["rows"]);
        for (ours, theirs) in [(&rows[0], &rows[2]), (&rows[1], &rows[3])] {
            assert_eq!(ours["buffer_bytes"], theirs["buffer_bytes"]);
            // A kernel without I/O accounting does not count reads.
            let loops = [&Value::Null, &ours["loops"]];
            assert!(loops.contains(&&theirs["loops"]), "{theirs}");
        }
        assert_eq!(experiment["notes"], Value::Array(Vec::new()), "{program}");
        assert!(entries(&bench.work()).is_empty());
    }
}

#[test]
fn small_buffers_copy_a_prefix_and_a_program_without_a_buffer_has_one_row() {
    let bench = Bench::new();
    let words =
        "reproduce apue-3.5 --file-size 2000000 --min 8 --max 16 --format json --program cat";
    let results = json(&stdout_of(&mut bench.command(words)));
    let rows = list(&only(&results)["rows"]).iter();
    let copied: Vec<_> = rows.map(|row| row["copied_bytes"].as_u64()).collect();
    assert_eq!(copied, [Some(1_600_000), None, None, Some(0), Some(0)]);
}

#[test]
fn what_a_program_does_wrong_is_said_and_nothing_is_left() {
    // The duration contains the PID, so that a parallel run of this test uses another command line.
    let nap = format!("27182.{}", std::process::id());
    let cases = "\
false => 1: 'false' ended with exit status 1, given 1,049,810 bytes: it wrote nothing to
sh -c 'kill -SEGV $$' => 1: ended with signal 11 (SIGSEGV)
true {buffer} => 1: 'true 32768' wrote nothing, of 1,049,810 bytes
tr A B => 1: wrote wrong bytes: of 1,049,810, byte 
sleep NAP => 1: it still ran after 10 s, and was killed: it must end when read returns 0
sh -c 'cat; sleep NAP &' => 1: it left processes behind that still ran 1.0 s after its end";
    for (program, code, told) in cases.lines().map(case) {
        let bench = Bench::new();
        let program = &*program.replace("NAP", &nap);
        let stderr = stderr_of(&mut beside(&bench, program, ""), code);
        assert!(stderr.contains(told), "{program}: {stderr}");
        assert!(
            bench.saved().is_empty() && entries(&bench.work()).is_empty(),
            "{program}"
        );
        let mut left = Command::new("pgrep");
        let left = left.args(["-f", &format!("^sleep {nap}$")]).output();
        assert_eq!(left.unwrap().stdout, b"", "{program}");
    }
}

#[test]
fn what_is_odd_about_a_program_is_noted() {
    for row in "\
sh -c 'cat; sleep 0.02 &' / --to null / The program ends before all that it has started (1 process): what
tr -d '\\000' / --to null / The program copies text alone, which it was timed with. Bytes of any value: 'tr -d
cp {input} {output} / --to file --sync dsync / --sync dsync holds for vectored copy alone: the program must do that itself."
        .lines()
    {
        let [program, words, told] = row.split(" / ").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let bench = Bench::new();
        let mut command = beside(&bench, program, &format!("--format json {words}"));
        let results = json(&stdout_of(&mut command));
        let note = only(&results)["notes"][0].as_str().unwrap();
        assert!(note.starts_with(told), "{program}: {note}");
    }
}
