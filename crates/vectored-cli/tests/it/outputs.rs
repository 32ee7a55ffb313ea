//! Destinations of output and results, and files that stay untouched.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Bench, entries, json, skip, stdout_of};

#[test]
fn the_path_of_the_result_is_the_last_line_on_standard_error() {
    let bench = Bench::new();
    let output = bench.synthetic().assert().success().get_output().clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let saved = bench.saved();
    assert_eq!(saved.len(), 1);
    assert_eq!(stderr.lines().last().unwrap(), saved[0].to_str().unwrap());
    let name = saved[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("measure-20000101T000000Z-"), "{name}");
    assert!(name.ends_with(".json"), "{name}");
    let notes =
        "note: not measured (more than 4 MiB in one call): 1000 × 16 KiB on file, pipe, unix";
    assert!(stderr.starts_with(notes), "{stderr}");
}

#[test]
fn results_of_the_same_second_do_not_replace_each_other() {
    let bench = Bench::new();
    for count in 1..=5 {
        bench
            .synthetic()
            .args(["--target", "pipe"])
            .assert()
            .success();
        assert_eq!(bench.saved().len(), count);
    }
}

#[test]
fn quiet_leaves_standard_error_to_errors() {
    let bench = Bench::new();
    let output = bench
        .synthetic()
        .arg("--quiet")
        .assert()
        .success()
        .get_output()
        .clone();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(!output.stdout.is_empty());
    assert_eq!(bench.saved().len(), 1);
    let mut command = bench.vectored();
    let output = command.args(["measure", "--quiet", "--dir", "nowhere"]);
    let output = output.assert().code(2).get_output().clone();
    assert!(output.stderr.starts_with(b"error: "));
}

#[test]
fn a_relative_state_home_is_ignored() {
    let bench = Bench::new();
    let home = bench.work().join("home");
    for state_home in ["relative/state", ""] {
        let mut command = bench.synthetic();
        command.env("XDG_STATE_HOME", state_home).env("HOME", &home);
        command.assert().success();
    }
    assert_eq!(entries(&home.join(".local/state/vectored")).len(), 2);
    assert_eq!(entries(&bench.work()), [home]);
}

#[test]
fn output_goes_to_the_file_and_nowhere_else() {
    let bench = Bench::new();
    let expected = stdout_of(bench.synthetic().args(["--format", "csv"]));
    let out = stdout_of(
        bench
            .synthetic()
            .args(["--format", "csv", "--output", "new.csv"]),
    );
    assert_eq!(out, "");
    assert_eq!(
        fs::read_to_string(bench.work().join("new.csv")).unwrap(),
        expected
    );
    assert_eq!(entries(&bench.work()).len(), 1);
}

#[test]
fn output_replaces_a_file_as_a_whole() {
    let bench = Bench::new();
    let (file, link) = (bench.work().join("old.json"), bench.work().join("link"));
    fs::write(&file, "x".repeat(1 << 22)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("old.json", &link).unwrap();
    let old = fs::File::open(&file).unwrap();
    bench
        .synthetic()
        .args(["--format", "json", "--output", "link"])
        .assert()
        .success();
    // A process that has the old file open can still read all of it.
    assert_eq!(old.metadata().unwrap().len(), 1 << 22);
    json(&fs::read_to_string(&file).unwrap());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(entries(&bench.work()).len(), 2);
}

#[test]
fn a_refusal_leaves_the_output_file_untouched() {
    let bench = Bench::new();
    let file = bench.work().join("old.csv");
    fs::write(&file, "precious").unwrap();
    for args in [
        &["--dir", "nowhere"][..],
        &["--sizes", "0"],
        &["--pin", "100000"],
        &["--sizes", "100MiB"],
    ] {
        let mut command = bench.vectored();
        command.args(["measure", "--output", "old.csv"]).args(args);
        command.assert().code(2);
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious", "{args:?}");
    }
    assert_eq!(entries(&bench.work()), [file]);
}

#[test]
fn an_output_that_cannot_be_written_is_reported_before_measuring() {
    let bench = Bench::new();
    fs::create_dir(bench.work().join("folder")).unwrap();
    for (name, word) in [
        ("folder", "is a directory"),
        ("new/", "not a file name"),
        ("nowhere/out", "no file can be created in its directory"),
    ] {
        let mut command = bench.vectored();
        command.args(["measure", "--budget", "1h", "--output", name]);
        command.timeout(Duration::from_secs(60));
        let output = command.assert().code(2).get_output().clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        for word in [name, word, "--output"] {
            assert!(stderr.contains(word), "{word}: {stderr}");
        }
    }
}

#[test]
fn output_to_a_fifo_is_written_not_replaced() {
    let bench = Bench::new();
    let fifo = bench.work().join("fifo");
    match Command::new("mkfifo").arg(&fifo).status() {
        Ok(status) if status.success() => {}
        other => {
            let reason = format!("mkfifo: {other:?}");
            return skip("output_to_a_fifo_is_written_not_replaced", &reason);
        }
    }
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo).unwrap()
    });
    bench
        .synthetic()
        .args(["--output", "fifo"])
        .assert()
        .success();
    // First of all: a reader of a FIFO that was replaced would wait for ever.
    assert!(fifo.metadata().unwrap().file_type().is_fifo());
    assert!(reader.join().unwrap().contains("Seed 7."));
}

#[test]
fn a_closed_pipe_is_no_error() {
    for format in ["table", "json", "csv", "markdown"] {
        let bench = Bench::new();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = bench.std_vectored();
        command.args(["measure", "--synthetic", "sigma=0.02", "--quiet"]);
        command
            .args(["--format", format])
            .stdout(writer)
            .stderr(Stdio::piped());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{format}");
        assert_eq!(bench.saved().len(), 1);
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let Ok(full) = fs::File::options().write(true).open("/dev/full") else {
        return skip(
            "a_full_disk_behind_standard_output_is_a_failure",
            "no /dev/full",
        );
    };
    let bench = Bench::new();
    let mut command = bench.std_vectored();
    command
        .args(["measure", "--synthetic", "sigma=0.02"])
        .stdout(full);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("cannot write to standard output"),
        "{stderr}"
    );
    assert_eq!(bench.saved().len(), 1);
}

#[test]
fn there_is_no_colour_without_a_terminal() {
    let bench = Bench::new();
    assert!(!stdout_of(&mut bench.synthetic()).contains('\x1b'));
    let mut command = bench.synthetic();
    command.args(["--output", "table"]).assert().success();
    let table = fs::read_to_string(bench.work().join("table")).unwrap();
    assert!(!table.contains('\x1b'));
}

#[test]
fn colour_on_a_terminal_yields_to_no_color() {
    // script(1) runs a command on a terminal of its own.
    let on_a_terminal = |no_color: Option<&str>| -> Result<String, String> {
        let bench = Bench::new();
        let program = env!("CARGO_BIN_EXE_vectored");
        let mut command = Command::new("script");
        command
            .args([
                "-qec",
                &format!("{program} measure --synthetic sigma=0.02 -q"),
                "/dev/null",
            ])
            .current_dir(bench.work())
            .env("XDG_STATE_HOME", bench.state_home())
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command.envs(no_color.map(|value| ("NO_COLOR", value)));
        let output = command
            .output()
            .map_err(|error| format!("script: {error}"))?;
        assert!(output.status.success(), "{output:?}");
        Ok(String::from_utf8(output.stdout).unwrap())
    };
    match on_a_terminal(None) {
        Ok(coloured) => assert!(coloured.contains("\x1b[32m"), "{coloured}"),
        Err(reason) => return skip("colour_on_a_terminal_yields_to_no_color", &reason),
    }
    assert!(!on_a_terminal(Some("1")).unwrap().contains("\x1b[32m"));
    // https://no-color.org: only a value that is not empty counts.
    assert!(on_a_terminal(Some("")).unwrap().contains("\x1b[32m"));
}

#[test]
fn an_output_that_is_read_only_is_refused_with_chmod_as_the_remedy() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.synthetic().assert().success();
    for (name, shown) in [("kept.txt", "kept.txt"), ("it's kept", "'it'\\''s kept'")] {
        let path = bench.work().join(name);
        fs::write(&path, "to stay").unwrap();
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let saved = bench.saved().remove(0);
        let saved = saved.to_str().unwrap();
        for mode in [0o444, 0o400, 0o555, 0] {
            set(mode);
            for (option, args) in [
                ("--output", &["host", "--output"][..]),
                (
                    "--output",
                    &["measure", "--target", "pipe", "--budget", "1h", "--output"],
                ),
                ("--output", &["reproduce", "all", "--output"]),
                (
                    "--output",
                    &["compare", saved, "--against", saved, "--output"],
                ),
                ("--html", &["compare", saved, "--machines", "--html"]),
                ("--html", &["report", saved, "--html"]),
                ("--markdown", &["report", saved, "--markdown"]),
                ("--csv", &["report", saved, "--csv"]),
                ("--output", &["advise", "trace", "--output"]),
                ("--html", &["advise", "trace", "--html"]),
            ] {
                let mut command = bench.vectored();
                let output = command
                    .args(args)
                    .arg(name)
                    .assert()
                    .code(2)
                    .get_output()
                    .clone();
                let message = String::from_utf8(output.stderr).unwrap();
                let words = format!(
                    "cannot write to '{name}': it is read-only; make it writable with \
                     chmod u+w {shown}, or choose another file with {option}"
                );
                assert!(message.contains(&words), "{args:?}: {message}");
            }
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                mode
            );
        }
        set(0o644);
        assert_eq!(fs::read_to_string(&path).unwrap(), "to stay");
        // The proposed command helps.
        set(0o444);
        let chmod = format!("chmod u+w {shown}");
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", &chmod]).current_dir(bench.work());
        assert!(shell.status().unwrap().success());
        stdout_of(bench.vectored().args(["host", "--output", name]));
        assert_ne!(fs::read_to_string(&path).unwrap(), "to stay");
    }
}
