//! Tests of requests that fail because of the state of the machine: file systems and directories of results.

use std::fs;
use std::time::Duration;

use crate::support::{Bench, Tmpfs, entries, refused, said_by, skip, stderr_of, stdout_of};

#[test]
fn what_does_not_go_together_is_left_out_once_for_each_list_and_target() {
    let bench = Bench::new();
    let words = "--sync none,fsync --cache hot,cold --segments 2 --sizes 64";
    let notes = stderr_of(&mut bench.synthetic_with(words), 0);
    let note = "not measured (--sync fsync applies only to files that are written: use --target file or \
                file-overwrite, or omit --sync): 2 × 64 B on pipe, unix";
    assert!(notes.contains(note), "{notes}");
    let results = bench.only_result();
    assert_eq!(results["left_out"].as_array().unwrap().len(), 2);
    let cells = results["cells"].as_array().unwrap().iter();
    let on = |name: &str| cells.clone().filter(|cell| cell["target"] == name).count();
    assert_eq!(["file", "pipe", "unix"].map(on), [4, 2, 2]);
}

#[test]
fn file_systems_that_cannot_be_measured_are_refused_and_nothing_is_left_there() {
    // 64 MiB are enough for a file that is appended to.
    for row in [
        "size=80m / --direct --target file --dir MOUNT / 2 / tmpfs / with --dir",
        "size=80m / --direct --target MOUNT --dir . / 2 / with --target / omit --direct",
        "size=80m / --operation read --page-cache cold --dir MOUNT / 2 / tmpfs / --page-cache hot",
        "ro / --target file --dir MOUNT / 2 / read-only / --dir",
        "ro / --target MOUNT / 2 / read-only / --target",
        "size=4m / --dir MOUNT / 1 / free space / --dir",
        "size=64m / --target file-overwrite --dir MOUNT / 1 / free space / --dir",
    ] {
        let [options, args, code, words @ ..] = &row.split(" / ").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let mount = match Tmpfs::mount(options) {
            Ok(mount) => mount,
            Err(reason) => return skip(&reason),
        };
        let dir = mount.path().to_str().unwrap();
        let args = args.replace("MOUNT", dir);
        let args: Vec<&str> = args.split(' ').collect();
        let words = [&[dir], words].concat();
        refused(&Bench::new(), &args, code.parse().unwrap(), &words);
        assert!(entries(mount.path()).is_empty());
        if *options == "size=64m" {
            let fits = format!("measure --target {dir} --budget 100ms --segments 2 --sizes 64");
            Bench::new().command(&fits).assert().success();
            assert!(entries(mount.path()).is_empty());
        }
    }
}

#[test]
fn an_unwritable_state_directory_is_reported_before_measuring() {
    let bench = Bench::new();
    fs::write(bench.state_home(), "a file is in the way").unwrap();
    // The budget is longer than the timeout.
    let mut command = bench.command("measure --target pipe --budget 1h");
    let stderr = stderr_of(command.timeout(Duration::from_secs(600)), 1);
    let state = bench.state_home().display().to_string();
    for word in [
        &state,
        "error: cannot save results",
        "XDG_STATE_HOME",
        "--no-save",
    ] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    bench.synthetic_with("--no-save").assert().success();
}

#[test]
fn a_relative_state_home_is_ignored() {
    let bench = Bench::new();
    let home = tempfile::tempdir().unwrap();
    for state_home in ["relative", ""] {
        let mut command = bench.command("measure --synthetic 200");
        command.env("XDG_STATE_HOME", state_home);
        stdout_of(command.env("HOME", home.path()));
    }
    assert_eq!(entries(&home.path().join(".local/state/vectored")).len(), 2);
    assert!(!bench.work().join("relative").exists());
}

#[test]
fn measuring_works_without_a_home_directory() {
    let bench = Bench::new();
    // Even root cannot create a directory below /proc.
    for home in [None, Some(""), Some("relative"), Some("/proc/nowhere")] {
        let run = |words: &str, code: i32| {
            let mut command = bench.command(words);
            command.env_remove("XDG_STATE_HOME");
            match home {
                Some(home) => command.env("HOME", home),
                None => command.env_remove("HOME"),
            };
            said_by(&mut command, code)
        };
        let (table, notes) = run("measure --synthetic 200", 0);
        assert!(table.contains("G gather"), "{table}");
        let note = notes.lines().last().unwrap();
        for word in [
            "note: the result is not saved",
            "XDG_STATE_HOME",
            "--output",
        ] {
            assert!(note.contains(word), "{home:?} lacks {word}: {notes}");
        }
        let (_, notes) = run("measure --synthetic 200 --no-save", 0);
        assert!(!notes.contains("not saved"), "{notes}");
        run("host", 0);
        let (list, _) = run("history", 0);
        assert!(list.starts_with("no saved results"), "{list}");
        let (_, none) = run("report", 2);
        assert!(none.contains("no saved result 'latest'"), "{none}");
        assert!(entries(&bench.work()).is_empty(), "{home:?}");
    }
}

#[test]
fn no_save_saves_nothing() {
    let bench = Bench::new();
    let saving = said_by(&mut bench.synthetic(), 0);
    let not_saving = said_by(&mut bench.synthetic_with("--no-save"), 0);
    assert_eq!(not_saving.0, saving.0);
    assert_eq!(bench.saved().len(), 1);
    assert_eq!(not_saving.1.lines().count() + 1, saving.1.lines().count());
    let words = "reproduce mincer --quick --no-save --size 64 --count 2 --repeats 1";
    stdout_of(&mut bench.command(words));
    fs::write(bench.work().join("log"), "1 write(1, \"x\", 1) = 1\n").unwrap();
    stdout_of(&mut bench.command("advise --no-save log"));
    assert_eq!(bench.saved().len(), 1);
}
