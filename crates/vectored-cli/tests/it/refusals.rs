//! Refused requests, with their exit codes and messages.

use std::fs;
use std::time::Duration;

use crate::support::{Bench, Tmpfs, entries, refused, skip};

#[test]
fn queue_depths_that_cannot_be_measured_are_usage_errors() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| refused(&bench, args, 2, words);
    let uring = ["--technique", "io-uring", "--queue-depth"];
    let with_uring = |args: &[&'static str]| [&uring[..], args].concat();
    check(
        &["--queue-depth", "8"],
        &["--queue-depth above 1", "io-uring, linux-aio"],
    );
    check(&with_uring(&["0"]), &["'0' is zero"]);
    check(
        &with_uring(&["8,4097"]),
        &["4097 transfers", "at most 4096"],
    );
    check(
        &with_uring(&["8", "--target", "pipe,unix"]),
        &[
            "does not keep their order",
            "--target file, null or a directory",
        ],
    );
    check(
        &with_uring(&["8", "--cache", "hot,cold"]),
        &["--cache cold", "omit one"],
    );
    let cold = [
        "8",
        "--operation",
        "read",
        "--target",
        "file",
        "--page-cache",
        "cold",
    ];
    check(&with_uring(&cold), &["--page-cache cold", "omit one"]);
    let long = [
        "64",
        "--target",
        "file",
        "--segments",
        "1",
        "--sizes",
        "4MiB",
    ];
    check(&with_uring(&long), &["128 MiB in flight", "--queue-depth"]);
    check(
        &["--join", "2", "--queue-depth", "8"],
        &["--join", "--queue-depth"],
    );
    check(
        &with_uring(&["1", "--target", "file", "--sync", "fsync"]),
        &["--sync fsync", "io-uring", "--sync dsync"],
    );
    check(
        &with_uring(&["1", "--target", "null", "--iovec-setup", "once"]),
        &["--iovec-setup once", "io-uring", "consumed", "omit one"],
    );
}

#[test]
fn transfers_past_the_page_cache_that_cannot_be_measured_are_usage_errors() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| {
        let on_file = ["--direct", "--target", "file"];
        refused(&bench, &[&on_file, args].concat(), 2, words);
    };
    refused(
        &bench,
        &["--direct"],
        2,
        &["only to files", "--target file"],
    );
    check(&["--target", "pipe"], &["only to files", "omit --direct"]);
    let read = ["--operation", "read", "--page-cache", "hot"];
    check(&read, &["--page-cache", "omit one"]);
    check(&["--cache", "cold"], &["--cache cold", "omit one"]);
    check(&["--writers", "2"], &["--writers", "not aligned"]);
    check(&["--technique", "mmap,writev"], &["mmap", "omit mmap"]);
    check(&["--technique", "stdio"], &["stdio", "not aligned"]);
    check(
        &["--sync", "fsync", "--technique", "io-uring"],
        &["--sync fsync", "io-uring"],
    );
}

#[test]
fn lists_that_are_not_aligned_are_left_out_with_the_reason() {
    let bench = Bench::new();
    let direct = ["--direct", "--target", "file", "--mix", "2x512,1x700"];
    let synthetic = ["--synthetic", "call=200"];
    refused(
        &bench,
        &[&direct[..], &synthetic].concat(),
        2,
        &[
            "nothing to measure",
            "a multiple of 512 bytes",
            "omit --direct",
        ],
    );
    let mut command = bench.synthetic();
    command.args(["--direct", "--target", "file", "--segments", "2"]);
    command.args(["--sizes", "100,512,600,1KiB"]);
    let output = command.assert().success();
    let notes = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    let note = "a multiple of 512 bytes here; use such sizes, or omit --direct): 2 × 100 B on file; 2 × 600 B on file";
    assert!(notes.contains(note), "{notes}");
    let cells = &bench.only_result()["cells"];
    let sizes = cells.as_array().unwrap().iter();
    let sizes: Vec<_> = sizes.map(|cell| cell["segment_bytes"].as_u64()).collect();
    assert_eq!(sizes, [Some(512), Some(1024)]);
}

#[test]
fn a_file_system_in_memory_has_no_way_past_the_page_cache() {
    let test = "a_file_system_in_memory_has_no_way_past_the_page_cache";
    let mount = match Tmpfs::mount("size=80m") {
        Ok(mount) => mount,
        Err(reason) => return skip(test, &reason),
    };
    let dir = mount.path().to_str().unwrap();
    for (args, option) in [
        (["--target", "file", "--dir", dir], "with --dir"),
        (["--target", dir, "--dir", "."], "with --target"),
    ] {
        let args = [&["--direct"], &args[..]].concat();
        refused(
            &Bench::new(),
            &args,
            2,
            &[dir, "tmpfs", option, "omit --direct"],
        );
    }
    assert!(entries(mount.path()).is_empty());
}

#[test]
fn writers_that_cannot_be_measured_are_usage_errors() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| refused(&bench, args, 2, words);
    check(&["--writers", "0"], &["'0' is zero"]);
    check(&["--writers", "2,257"], &["257 writers", "at most 256"]);
    let with = |args: &[&'static str]| [&["--writers", "2"], args].concat();
    check(&with(&["--operation", "read"]), &["--operation read"]);
    check(&with(&["--cache", "cold"]), &["--cache cold"]);
    check(
        &with(&["--technique", "io-uring"]),
        &["--technique io-uring"],
    );
    check(&with(&["--technique", "mmap"]), &["--technique mmap"]);
    check(
        &with(&["--target", "null"]),
        &["--target file, pipe, unix, tcp"],
    );
    check(
        &with(&["--segments", "2", "--sizes", "7"]),
        &["at least 16 bytes", "longer lists"],
    );
}

#[test]
fn unknown_names_and_bad_values_are_usage_errors() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| refused(&bench, args, 2, words);
    let names = "file, file-overwrite, pipe, unix, tcp, null";
    check(
        &["--target", "tape"],
        &["'tape'", names, "the path of a directory"],
    );
    check(&["--technique", "magic"], &["'magic'", "copy-then-write"]);
    check(
        &["--technique", "readv"],
        &["'readv'", "--operation write", "copy-then-write"],
    );
    let read = ["--operation", "read", "--technique"];
    let names = "to be one of read-each, read-then-split, readv, adaptive";
    check(
        &[&read[..], &["writev"]].concat(),
        &["'writev'", "--operation read", names],
    );
    check(
        &[&read[..], &["magic"]].concat(),
        &["unknown technique 'magic'", names],
    );
    check(
        &["--technique", "write-file-gather"],
        &["write-file-gather", "a call of Windows"],
    );
    check(&["--operation", "copy"], &["'copy'", "write, read"]);
    check(&["--page-cache", "warm"], &["'warm'", "hot, cold"]);
    check(
        &["--page-cache", "cold"],
        &["--page-cache", "--operation read"],
    );
    check(
        &[
            "--operation",
            "read",
            "--target",
            "pipe",
            "--page-cache",
            "hot",
        ],
        &["--page-cache", "--target file"],
    );
    check(&["--cache", "warm"], &["'warm'", "hot, cold"]);
    check(&["--cache", "hot,"], &["hot, cold"]);
    check(&["--layout", "tidy"], &["'tidy'", "scattered, adjacent"]);
    check(&["--iovec-setup", "never"], &["'never'", "timed, once"]);
    check(
        &["--operation", "read", "--cache", "hot,cold"],
        &["--cache cold", "--operation write", "--page-cache cold"],
    );
    check(&["--mix", "9x16,"], &["--mix", "a number is missing"]);
    check(&["--mix", "2x16.."], &["'16..'", "9x16,1x4KiB"]);
    for option in ["--segments", "--sizes"] {
        let whole = "Usage: vectored measure [OPTIONS]\n";
        check(&["--mix", "9x16", option, "2"], &["--mix", option, whole]);
    }
    check(
        &["--technique", "mmap", "--target", "pipe,unix"],
        &[
            "mmap is for files only",
            "--target file or file-overwrite",
            "--technique",
        ],
    );
    check(
        &["--technique", "send-more", "--target", "file,pipe"],
        &["send-more is for sockets only", "--target unix or tcp"],
    );
    check(
        &["--technique", "send-more,mmap", "--target", "pipe"],
        &[
            "sockets only",
            "files only",
            "--target file or file-overwrite or unix or tcp",
        ],
    );
    check(
        &["--operation", "read", "--technique", "stdio"],
        &["'stdio'", "--operation read", "readv"],
    );
    check(&["--format", "xml"], &["'xml'", "markdown"]);
    check(&["--sizes", "0"], &["--sizes", "'0' is zero"]);
    check(&["--segments", "0"], &["--segments", "'0' is zero"]);
    check(&["--sizes", "16.."], &["'16..'", "two ends"]);
    check(&["--sizes", "64..16"], &["'64..16'", "is decreasing"]);
    check(&["--sizes", "1,,2"], &["a number is missing"]);
    check(&["--sizes", "4TB"], &["'TB'", "use B, KiB"]);
    check(&["--segments", "4KiB"], &["whole number"]);
    check(&["--sizes", "99999999999999999999"], &["too large"]);
    check(&["--budget", "soon"], &["18s"]);
    check(
        &["--budget", "0s"],
        &["must be greater than zero, for example 18s"],
    );
    check(&["--pin", "first"], &["'none'"]);
    check(&["--pin", "100000"], &["CPU 100000", "--pin"]);
    check(&["--seed=-1"], &["--seed", "whole number"]);
    check(&["--seed", "abc"], &["--seed", "whole number"]);
    check(&["--sizes", "-5"], &["--sizes", "whole number"]);
    check(
        &["--budget", "-1s"],
        &["--budget", "cannot be negative", "18s"],
    );
    check(&["--nonsense"], &["--nonsense"]);
}

#[test]
fn lists_past_the_limits_are_usage_errors() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| refused(&bench, args, 2, words);
    check(
        &["--target", "pipe", "--segments", "64", "--sizes", "2MiB"],
        &["64 × 2 MiB on pipe", "128 MiB", "64 MiB", "--sizes"],
    );
    check(
        &["--target", "pipe", "--mix", "64x2MiB,1x4"],
        &["64 × 2 MiB + 1 × 4 B on pipe", "64 MiB", "--mix"],
    );
    check(&["--mix", "2000000x1"], &["2,000,000 segments", "--mix"]);
    check(
        &["--target", "pipe", "--mix", "3x8MiB", "--cache", "hot,cold"],
        &["24 MiB", "with --cache cold is 16 MiB", "--mix"],
    );
    check(
        &["--sizes", "32MiB", "--cache", "cold"],
        &["--cache cold is 16 MiB", "--sizes"],
    );
    let most = usize::MAX.to_string();
    check(&["--mix", &format!("{most}x{most}")], &["--mix"]);
    check(&["--sizes", &most], &["64 MiB", "--sizes"]);
    check(&["--segments", &most], &["1,048,576", "--segments"]);
    // Every list passes the usual 4 MiB.
    check(
        &["--sizes", "3MiB"],
        &["nothing to measure", "--segments", "--sizes"],
    );
    check(
        &["--segments", "1000000"],
        &["nothing to measure", "--segments", "--sizes"],
    );
    check(
        &[
            "--target",
            "pipe",
            "--segments",
            "300000..300000",
            "--sizes",
            "512",
        ],
        &["the maximum is 64 MiB"],
    );
}

#[test]
fn a_directory_that_cannot_be_used_is_a_usage_error() {
    let bench = Bench::new();
    fs::write(bench.work().join("plain"), "kept").unwrap();
    let check = |dir: &str, words: &[&str]| refused(&bench, &["--dir", dir], 2, words);
    // The error of the system comes before the remedy.
    let missing = "cannot use the directory 'nowhere': it does not exist (No such file or directory \
                   (os error 2)); name an existing directory with --dir\n";
    check("nowhere", &[missing]);
    check("plain", &["'plain'", "not a directory", "--dir"]);
    check("evil\x1b[2J", &["evil\\u{1b}[2J"]);
    assert_eq!(
        fs::read_to_string(bench.work().join("plain")).unwrap(),
        "kept"
    );
}

#[test]
fn a_directory_matters_only_where_files_are_measured() {
    let bench = Bench::new();
    let mut command = bench.vectored();
    command.args(["measure", "--dir", "nowhere", "--target", "pipe"]);
    command.args(["--segments", "2", "--sizes", "64", "--budget", "100ms"]);
    command.assert().success();
}

#[test]
fn a_cold_page_cache_in_memory_is_a_usage_error() {
    let test = "a_cold_page_cache_in_memory_is_a_usage_error";
    let mount = match Tmpfs::mount("size=80m") {
        Ok(mount) => mount,
        Err(reason) => return skip(test, &reason),
    };
    let dir = mount.path().to_str().unwrap();
    refused(
        &Bench::new(),
        &["--operation", "read", "--page-cache", "cold", "--dir", dir],
        2,
        &[dir, "tmpfs", "--dir", "--page-cache hot"],
    );
    assert!(entries(mount.path()).is_empty());
}

#[test]
fn a_read_only_mount_is_a_usage_error() {
    let test = "a_read_only_mount_is_a_usage_error";
    let mount = match Tmpfs::mount("ro") {
        Ok(mount) => mount,
        Err(reason) => return skip(test, &reason),
    };
    let dir = mount.path().to_str().unwrap();
    for (target, option) in [
        ("file", "--dir"),
        ("file-overwrite", "--dir"),
        (dir, "--target"),
    ] {
        refused(
            &Bench::new(),
            &["--dir", dir, "--target", target],
            2,
            &[dir, "read-only", option],
        );
    }
}

#[test]
fn too_little_free_space_is_a_failure_and_fills_nothing() {
    let test = "too_little_free_space_is_a_failure_and_fills_nothing";
    let mount = match Tmpfs::mount("size=4m") {
        Ok(mount) => mount,
        Err(reason) => return skip(test, &reason),
    };
    let dir = mount.path().to_str().unwrap();
    refused(
        &Bench::new(),
        &["--dir", dir],
        1,
        &["free space", dir, "--dir"],
    );
    assert!(entries(mount.path()).is_empty());
}

#[test]
fn too_little_free_space_for_the_span_is_a_failure_and_fills_nothing() {
    let test = "too_little_free_space_for_the_span_is_a_failure_and_fills_nothing";
    // Enough for a file that is appended to.
    let mount = match Tmpfs::mount("size=64m") {
        Ok(mount) => mount,
        Err(reason) => return skip(test, &reason),
    };
    let dir = mount.path().to_str().unwrap();
    let bench = Bench::new();
    refused(
        &bench,
        &["--target", "file-overwrite", "--dir", dir],
        1,
        &["free space", dir, "--dir"],
    );
    assert!(entries(mount.path()).is_empty());
    let mut command = bench.vectored();
    command.args(["measure", "--target", dir, "--budget", "100ms"]);
    command.args(["--segments", "2", "--sizes", "64"]);
    command.assert().success();
    assert!(entries(mount.path()).is_empty());
}

#[test]
fn an_unwritable_state_directory_is_reported_before_measuring() {
    let bench = Bench::new();
    fs::write(bench.state_home(), "a file is in the way").unwrap();
    let mut command = bench.vectored();
    // A budget longer than the timeout.
    command.args(["measure", "--target", "pipe", "--budget", "1h"]);
    let output = command
        .timeout(Duration::from_secs(60))
        .assert()
        .code(1)
        .get_output()
        .clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let state = bench.state_home().display().to_string();
    for word in [
        "error: cannot save results",
        &state,
        "XDG_STATE_HOME",
        "--no-save",
    ] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    let mut command = bench.synthetic();
    command.arg("--no-save").assert().success();
}

#[test]
fn a_remedy_names_the_option_that_was_typed() {
    let bench = Bench::new();
    let run = |args: &[&str]| {
        let output = bench.vectored().args(args).assert().code(2);
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    let target = run(&["measure", "--target", "/proc"]);
    assert!(target.ends_with("directory with --target\n"), "{target}");
    let dir = run(&["measure", "--target", "file", "--dir", "/proc"]);
    assert!(dir.ends_with("directory with --dir\n"), "{dir}");
    let args = ["measure", "--target", "/dev/urandom", "--operation", "read"];
    let device = run(&args);
    assert!(
        device.contains("cannot read from device: reads are measured from files and streams"),
        "{device}"
    );
    assert!(!device.contains("written"), "{device}");
    let none = run(&["report", "latest"]);
    assert!(none.contains("run `vectored measure` first"), "{none}");
}

#[test]
fn a_relative_state_home_is_ignored_with_a_note() {
    let bench = Bench::new();
    let home = tempfile::tempdir().unwrap();
    for args in [&["measure", "--synthetic", "call=200"][..], &["history"]] {
        let mut command = bench.vectored();
        command.args(args).env("XDG_STATE_HOME", "relative");
        command.env("HOME", home.path());
        let output = command.assert().success().get_output().clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let place = home.path().join(".local/state/vectored");
        let note = format!(
            "note: XDG_STATE_HOME is ignored, because 'relative' is not an absolute path; results \
             are saved in '{}'",
            place.display()
        );
        assert_eq!(stderr.lines().next(), Some(&note[..]), "{stderr}");
    }
    assert!(!bench.work().join("relative").exists());
}

#[test]
fn measuring_works_without_a_home_directory() {
    let bench = Bench::new();
    // Not even root can make a directory there.
    for home in [None, Some(""), Some("relative"), Some("/proc/nowhere")] {
        let run = |args: &[&str], code: i32| {
            let mut command = bench.vectored();
            command.args(args).env_remove("XDG_STATE_HOME");
            match home {
                Some(home) => command.env("HOME", home),
                None => command.env_remove("HOME"),
            };
            let output = command.assert().code(code).get_output().clone();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (text(output.stdout), text(output.stderr))
        };
        let (table, notes) = run(&["measure", "--synthetic", "call=200"], 0);
        assert!(table.contains("copy-then-write"), "{table}");
        let note = notes.lines().last().unwrap();
        for word in [
            "note: the result is not saved",
            "XDG_STATE_HOME",
            "--output",
        ] {
            assert!(note.contains(word), "{home:?} lacks {word}: {notes}");
        }
        let args = [
            "measure",
            "--synthetic",
            "call=200",
            "--no-save",
            "--output",
            "out.json",
        ];
        let (table, notes) = run(&args, 0);
        assert!(table.is_empty() && !notes.contains("not saved"), "{notes}");
        run(&["host"], 0);
        let (list, _) = run(&["history"], 0);
        assert!(list.starts_with("no saved results"), "{list}");
        assert_eq!(run(&["history", "--format", "json"], 0).0, "[]\n");
        let (_, none) = run(&["report"], 2);
        assert!(none.contains("no saved result 'latest'"), "{none}");
        assert!(entries(&bench.work()).len() == 1, "{home:?}");
    }
}

#[test]
fn no_save_saves_nothing() {
    let bench = Bench::new();
    let saves = bench.synthetic().assert().success().get_output().clone();
    let mut command = bench.synthetic();
    let output = command
        .arg("--no-save")
        .assert()
        .success()
        .get_output()
        .clone();
    assert_eq!(output.stdout, saves.stdout);
    assert_eq!(bench.saved().len(), 1);
    // The last line of the other run is the path.
    let lines = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().lines().count();
    assert_eq!(lines(&output.stderr) + 1, lines(&saves.stderr));
    let mut command = bench.vectored();
    command.args(["reproduce", "mincer", "--quick", "--no-save"]);
    command.args(["--size", "64", "--count", "2", "--repeats", "1"]);
    command.assert().success();
    fs::write(bench.work().join("log"), "1 write(1, \"x\", 1) = 1\n").unwrap();
    let mut command = bench.vectored();
    command.args(["advise", "--no-save", "log"]);
    command.assert().success();
    assert_eq!(bench.saved().len(), 1);
}
