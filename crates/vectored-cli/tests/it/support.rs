//! Temporary directories for the tests, and functions that run the program there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use tempfile::TempDir;

pub const MACHINE: &str = "200";

pub const VECTORED: &str = env!("CARGO_BIN_EXE_vectored");

/// Two empty directories: for measured files, and for saved results.
pub struct Bench {
    root: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        Bench { root }
    }

    /// The working directory of the program, where files are measured.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub fn state_home(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub fn vectored(&self) -> assert_cmd::Command {
        assert_cmd::Command::from_std(self.std_vectored())
    }

    pub fn std_vectored(&self) -> Command {
        self.program(VECTORED)
    }

    /// Returns a command for any program. The command inherits only the variables that locate programs and files.
    /// Ignored signals get their default action. SIGHUP stays ignored, so that the tests run under nohup(1).
    pub fn program(&self, name: &str) -> Command {
        let kept = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"];
        let kept = kept.map(|name| Some((name, std::env::var_os(name)?)));
        let mut command = Command::new("/usr/bin/env");
        command
            .arg("--default-signal=INT,QUIT,PIPE,ALRM,TERM,USR1,USR2,CHLD,CONT,TSTP,XCPU,XFSZ")
            .arg(name)
            .env_clear()
            .envs(kept.into_iter().flatten())
            .env("XDG_STATE_HOME", self.state_home())
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm")
            .current_dir(self.work());
        command
    }

    /// Runs a script by sh(1). In the script, `$0` is `vectored`.
    pub fn script(&self, script: &str) -> assert_cmd::Command {
        let mut shell = self.program("sh");
        shell.args(["-c", script, VECTORED]);
        assert_cmd::Command::from_std(shell)
    }

    /// Splits `words` at blanks.
    pub fn command(&self, words: &str) -> assert_cmd::Command {
        let mut command = self.vectored();
        command.args(words.split(' '));
        command
    }

    pub fn synthetic_with(&self, words: &str) -> assert_cmd::Command {
        let mut command = self.synthetic();
        command.args(words.split(' '));
        command
    }

    pub fn synthetic(&self) -> assert_cmd::Command {
        let mut command = self.vectored();
        command.args(["measure", "--synthetic", MACHINE, "--seed", "7"]);
        command
    }

    pub fn saved(&self) -> Vec<PathBuf> {
        entries(&self.state_home().join("vectored"))
    }

    pub fn only_result(&self) -> Value {
        let saved = self.saved();
        assert_eq!(saved.len(), 1, "{saved:?}");
        json(&fs::read_to_string(&saved[0]).unwrap())
    }
}

/// Returns an empty list if the directory does not exist.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect()
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns standard output and standard error, and checks the exit status.
pub fn said_by(command: &mut assert_cmd::Command, code: i32) -> (String, String) {
    let output = command.assert().code(code).get_output().clone();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    assert!(!stderr.contains("panicked"), "{stderr}");
    (stdout, stderr)
}

/// Parses a line `WORDS => STATUS: MESSAGE`.
pub fn case(line: &str) -> (&str, i32, &str) {
    let (words, rest) = line.split_once(" => ").unwrap();
    let (code, told) = rest.split_once(": ").unwrap();
    (words, code.parse().unwrap(), told)
}

pub fn stdout_of(command: &mut assert_cmd::Command) -> String {
    said_by(command, 0).0
}

pub fn stderr_of(command: &mut assert_cmd::Command, code: i32) -> String {
    said_by(command, code).1
}

/// Checks that `measure` fails before measuring, saves nothing, and prints all of `words` on standard error.
pub fn refused(bench: &Bench, args: &[&str], code: i32, words: &[&str]) {
    let mut command = bench.vectored();
    command.arg("measure").args(args);
    let (stdout, stderr) = said_by(&mut command, code);
    assert!(stderr.starts_with("error: "), "{args:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{args:?} lacks {word:?}: {stderr}");
    }
    assert_eq!(stdout, "", "{args:?}");
    assert_eq!(bench.saved(), Vec::<PathBuf>::new());
}

/// Appends the test and the reason to the file that `VECTORED_SKIPS` names.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let line = format!("{}: {reason}", test.rsplit("::").next().unwrap());
    eprintln!("skipped {line}");
    if let Some(list) = std::env::var_os("VECTORED_SKIPS") {
        let list = fs::File::options().append(true).create(true).open(list);
        writeln!(list.unwrap(), "{line}").unwrap();
    }
}

/// Skips the test if strace cannot trace a command.
macro_rules! needs_strace {
    () => {
        if let Some(reason) = crate::support::strace_is_missing() {
            return crate::support::skip(&reason);
        }
    };
}
pub(crate) use needs_strace;

pub fn strace_is_missing() -> Option<String> {
    let mut strace = Command::new("strace");
    strace.args(["-o", "/dev/stdout", "-e", "trace=exit_group", "true"]);
    match strace.output() {
        Err(error) => Some(format!("cannot run strace: {error}")),
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("+++ exited with 0") => None,
        Ok(output) => Some(format!("strace cannot trace: {output:?}")),
    }
}

pub fn make_fifo(path: &Path) {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, path, FileType::Fifo, mode, 0).unwrap();
}

/// Joins the lines of a wrapped text.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Dropping the value unmounts the file system.
pub struct Tmpfs(TempDir);

impl Tmpfs {
    /// Returns the reason if mounting fails.
    pub fn mount(options: &str) -> Result<Self, String> {
        let place = tempfile::tempdir().unwrap();
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "vectored-test"])
            .arg(place.path())
            .output()
            .map_err(|error| format!("cannot run mount: {error}"))?;
        if output.status.success() {
            Ok(Tmpfs(place))
        } else {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(format!("cannot mount a tmpfs: {said}"))
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}
