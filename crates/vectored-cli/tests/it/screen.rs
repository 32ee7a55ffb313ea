//! Output on a terminal: width, colours and characters.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{Bench, MACHINE, stdout_of};

/// The output of a command on a terminal of this width.
fn on_terminal(mut command: Command, columns: u16) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let size = Winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let open = || -> OwnedFd {
        let mut options = fs::File::options();
        let end = options.read(true).write(true).open(name.to_str().unwrap());
        end.unwrap().into()
    };
    command.stdin(Stdio::null()).stdout(open()).stderr(open());
    let mut child = command.spawn().unwrap();
    // Its ends are closed here, so that reading ends with the child.
    drop(command);
    let (mut text, mut reader) = (Vec::new(), fs::File::from(terminal));
    let mut part = [0; 4096];
    // EIO: the other end is closed.
    while let Ok(length @ 1..) = reader.read(&mut part) {
        text.extend_from_slice(&part[..length]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

/// Three runs on the invented machine, on every target.
fn bench_with_runs() -> Bench {
    let bench = Bench::new();
    for seed in ["1", "2", "3"] {
        let mut command = bench.vectored();
        command.args(["measure", "--synthetic", MACHINE, "--seed", seed, "--quiet"]);
        command.assert().success();
    }
    bench
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

const COMPARE: [&str; 4] = ["compare", "latest", "--against", "latest~1"];
const MACHINES: [&str; 4] = ["compare", "--machines", "latest", "latest~1"];

#[test]
fn tables_are_as_wide_as_columns_or_the_terminal() {
    let bench = bench_with_runs();
    for args in [
        &COMPARE[..],
        &MACHINES,
        &["history"],
        &["report"],
        &["host"],
    ] {
        let whole = stdout_of(bench.vectored().args(args).env("COLUMNS", "400"));
        let is_wrapped = args[0] == "compare" || args[0] == "history";
        for columns in [60, 80] {
            // Figures of a run are never left out.
            if args[0] == "report" && columns == 60 {
                continue;
            }
            let mut command = bench.vectored();
            command.args(args).env("COLUMNS", columns.to_string());
            let piped = stdout_of(&mut command);
            let mut command = bench.std_vectored();
            command.args(args).arg("--color=never");
            let shown = on_terminal(command, columns as u16);
            // A path that is longer stands alone.
            let words = whole.split_whitespace().map(|word| word.chars().count());
            let limit = columns.max(words.max().unwrap() + 16);
            for text in [&piped, &shown] {
                assert!(widest(text) <= limit, "{args:?} {columns}:\n{text}");
            }
            if is_wrapped {
                assert_eq!(piped, shown);
                let words = |text: &str| -> Vec<String> {
                    let mut words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
                    words.sort_unstable();
                    words.dedup();
                    words
                };
                assert_eq!(words(&piped), words(&whole), "{args:?} cuts words");
            }
        }
    }
    let file = bench.work().join("table");
    let mut command = bench.vectored();
    command.args(COMPARE).arg("--output").arg(&file);
    stdout_of(command.env("COLUMNS", "60"));
    assert!(widest(&fs::read_to_string(file).unwrap()) <= 60);
}

#[test]
fn a_locale_without_utf_8_gets_the_same_text_in_ascii() {
    let bench = bench_with_runs();
    for args in [
        &COMPARE[..],
        &MACHINES,
        &["history"],
        &["report"],
        &["host"],
    ] {
        let whole = stdout_of(bench.vectored().args(args));
        for (name, value) in [("LC_ALL", "C"), ("LC_ALL", "POSIX"), ("LANG", "C")] {
            let ascii = stdout_of(bench.vectored().args(args).env(name, value));
            assert!(ascii.is_ascii(), "{args:?}:\n{ascii}");
            // No character is without a look of its own.
            let unknown = |text: &str| text.matches('?').count();
            assert_eq!(unknown(&ascii), unknown(&whole), "{args:?}:\n{ascii}");
            assert!(widest(&ascii) <= widest(&whole), "{args:?}:\n{ascii}");
        }
        // Nobody chose this one.
        let mut unset = bench.vectored();
        assert_eq!(
            stdout_of(unset.args(args).env_remove("LANG")).is_ascii(),
            whole.is_ascii()
        );
    }
    let mut run = bench.synthetic();
    let output = run
        .env("LC_ALL", "C")
        .assert()
        .success()
        .get_output()
        .clone();
    assert!(output.stdout.is_ascii());
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(
        notes.contains("1000 x 16 KiB") && notes.is_ascii(),
        "{notes}"
    );
    let mut refused = bench.vectored();
    refused.args([
        "measure",
        "--segments",
        "64",
        "--sizes",
        "2M",
        "--target",
        "pipe",
    ]);
    let output = refused
        .env("LC_ALL", "C")
        .assert()
        .code(2)
        .get_output()
        .clone();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("64 x 2 MiB"), "{message}");
    // Data for programs is the same everywhere.
    for format in ["json", "csv", "markdown"] {
        let of = |locale: &str| {
            let mut command = bench.vectored();
            command.args(COMPARE).args(["--format", format]);
            stdout_of(command.env("LC_ALL", locale))
        };
        assert_eq!(of("C"), of("C.UTF-8"));
    }
}

#[test]
fn every_help_is_ascii_and_narrow() {
    let bench = Bench::new();
    let commands = [
        "measure",
        "host",
        "reproduce",
        "copy",
        "advise",
        "report",
        "compare",
        "history",
    ];
    for command in commands.map(Some).into_iter().chain([None]) {
        let mut help = bench.vectored();
        let help = stdout_of(help.args(command).arg("--help"));
        let odd: Vec<char> = help.chars().filter(|c| !c.is_ascii()).collect();
        assert!(odd.is_empty(), "{command:?}: {odd:?}");
        assert!(widest(&help) <= 100, "{command:?}: {help}");
    }
}

#[test]
fn colours_follow_the_option_and_the_environment() {
    let bench = bench_with_runs();
    let piped = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = bench.vectored();
        command.args(args).envs(variables.iter().copied());
        stdout_of(&mut command).contains('\x1b')
    };
    let shown = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = bench.std_vectored();
        command.args(args).envs(variables.iter().copied());
        on_terminal(command, 80).contains('\x1b')
    };
    assert!(!piped(&["report"], &[]));
    assert!(piped(&["report"], &[("CLICOLOR_FORCE", "1")]));
    assert!(piped(
        &["report", "--color", "always"],
        &[("NO_COLOR", "1")]
    ));
    assert!(piped(&["--color=always", "report"], &[]));
    assert!(shown(&["report"], &[]));
    assert!(shown(&["report"], &[("NO_COLOR", "")]));
    assert!(!shown(&["report"], &[("NO_COLOR", "1")]));
    assert!(!shown(&["report"], &[("CLICOLOR", "0")]));
    assert!(!shown(&["report"], &[("TERM", "dumb")]));
    assert!(!shown(
        &["report", "--color", "never"],
        &[("CLICOLOR_FORCE", "1")]
    ));
    // Messages of clap, too.
    assert!(shown(&["report", "--help"], &[]));
    assert!(!shown(&["report", "--help", "--color=never"], &[]));
    assert!(piped(&["report", "--help", "--color=always"], &[]));
}

#[test]
fn the_bar_counts_from_the_start_of_the_run_and_obeys_the_terminal() {
    let run = |variables: &[(&str, &str)]| {
        let bench = Bench::new();
        let mut command = bench.std_vectored();
        command.args([
            "measure",
            "--budget",
            "300ms",
            "--segments",
            "2",
            "--sizes",
            "64",
        ]);
        on_terminal(
            {
                command.envs(variables.iter().copied());
                command
            },
            80,
        )
    };
    let shown = run(&[]);
    let place = |word: &str| {
        shown
            .find(word)
            .unwrap_or_else(|| panic!("{word}: {shown:?}"))
    };
    // Steps before the first round are shown, with the budget of the whole run.
    assert!(place("checking the machine  0/0 s") < place("calibrating file  0/0 s"));
    assert!(place("calibrating file") < place("calibrating pipe"));
    assert!(place("calibrating pipe") < place("calibrating unix"));
    assert!(place("calibrating unix") < place(" cells"));
    let dumb = run(&[("TERM", "dumb")]);
    let redraws = ['\x1b', '\r', '━'];
    assert!(
        !dumb.contains(redraws) && !dumb.contains("calibrating"),
        "{dumb:?}"
    );
    let ascii = run(&[("LC_ALL", "C")]);
    assert!(
        ascii.is_ascii() && ascii.contains("calibrating file"),
        "{ascii:?}"
    );
}
