//! Tests of output on a terminal: width, colours and characters.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::advise::costs;
use crate::support::{Bench, MACHINE, needs_strace, stdout_of};

fn on_terminal(command: Command, columns: u16) -> String {
    let (text, status) = on_terminal_until(command, columns, None);
    assert!(status.success());
    text
}

/// Sends SIGINT after the command has printed `last`.
fn on_terminal_until(
    mut command: Command,
    columns: u16,
    mut last: Option<&str>,
) -> (String, ExitStatus) {
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
    // `command` holds descriptors of the terminal. Reading ends only after all of them are closed.
    drop(command);
    let (mut text, mut reader) = (Vec::new(), fs::File::from(terminal));
    let mut part = [0; 4096];
    // read(2) fails with EIO after the last descriptor of the terminal is closed.
    while let Ok(length @ 1..) = reader.read(&mut part) {
        text.extend_from_slice(&part[..length]);
        if last.is_some_and(|last| String::from_utf8_lossy(&text).contains(last)) {
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
            last = None;
        }
    }
    let text = String::from_utf8(text).unwrap().replace("\r\n", "\n");
    (text, child.wait().unwrap())
}

/// The bench has two runs on the simulated machine with all targets.
fn bench_with_runs() -> Bench {
    let bench = Bench::new();
    for seed in ["1", "2"] {
        let words = format!("measure --synthetic {MACHINE} --seed {seed} --quiet");
        stdout_of(&mut bench.command(&words));
    }
    bench
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

/// On a screen of 80 × 24, the shell's command line remains visible above the output.
#[test]
fn the_default_run_is_one_screen() {
    let bench = Bench::new();
    let output = bench.synthetic().env("COLUMNS", "80").output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(text.lines().count() <= 22, "{text}");
    assert!(widest(text.lines().next().unwrap()) <= 80, "{text}");
    for target in ["file", "pipe", "unix"] {
        let begin = format!("\n{target}: copy below ");
        assert!(text.contains(&begin), "{text}");
    }
    let (_, last) = text.split_once("\noverall: copy up to ").unwrap();
    assert!(last.contains("never one by one"), "{text}");
    assert!(!last.contains(": "), "{text}");
}

#[test]
fn every_help_is_ascii_and_narrow() {
    let bench = Bench::new();
    let commands =
        "measure host reproduce copy advise versus report compare history completions man";
    for command in commands.split(' ').map(Some).chain([None]) {
        let help = stdout_of(bench.vectored().args(command).arg("--help"));
        assert!(
            help.is_ascii() && widest(&help) <= 100,
            "{command:?}: {help}"
        );
    }
}

#[test]
fn colours_follow_the_option_and_the_environment() {
    let bench = bench_with_runs();
    let piped = |words: &str| stdout_of(&mut bench.command(words)).contains('\x1b');
    let shown = |words: &str, no_color: &str| {
        let mut command = bench.std_vectored();
        command.args(words.split(' ')).env("NO_COLOR", no_color);
        on_terminal(command, 80).contains('\x1b')
    };
    assert!(!piped("report") && piped("--color=always report"));
    assert!(shown("report", "") && !shown("report", "1"));
    // Messages of clap also obey `--color`.
    assert!(shown("report --help", "") && !shown("report --help --color=never", ""));
}

#[test]
fn a_copy_whose_input_is_silent_says_so() {
    let bench = Bench::new();
    let fifo = bench.work().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
    // The open descriptor keeps the FIFO from reaching its end.
    let mut feeder = fs::File::options().read(true).write(true).open(&fifo);
    feeder.as_mut().unwrap().write_all(b"12345").unwrap();
    let mut command = bench.std_vectored();
    command.args(["copy", "fifo", "to"]);
    let (text, status) = on_terminal_until(command, 80, Some("B/s, waiting for input"));
    assert!(text.contains("\r5 B, "), "{text:?}");
    assert_eq!(status.signal(), Some(2), "{text:?}");
    assert!(!bench.work().join("to").exists());
}

#[test]
fn a_report_begins_on_a_line_of_its_own_after_ctrl_c() {
    needs_strace!();
    let bench = Bench::new();
    fs::write(bench.work().join("costs.json"), costs()).unwrap();
    let mut command = bench.std_vectored();
    command.args("advise --source strace --costs costs.json -- sh -c".split(' '));
    command.arg("printf ready; sleep 1");
    let (text, status) = on_terminal_until(command, 80, Some("ready"));
    assert!(text.starts_with("ready\n"), "{text:?}");
    assert_eq!(status.code(), Some(0), "{text}");
}
