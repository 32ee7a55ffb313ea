//! Runs a command under strace(1). The log comes through a pipe. The command keeps its input, output, signals and
//! exit status.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vectored_strace::x86_64::NOT_TRACED;
use vectored_strace::{Counts, Event, Reader};

use crate::command_signals::{CommandSignals, End, Running};
use crate::failure::Failure;
use crate::notes::Notes;

const STRACE: &str = "strace";

/// Interval at which a wait for the log checks whether a signal has arrived.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Capacity of the pipe for the log, if allowed. With a larger pipe, strace waits less often.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// The options of strace, except `-o` and the options that choose calls.
const OPTIONS: [&str; 8] = [
    // strace becomes a grandchild. So the command is our child, and we see its exit status and signals.
    "-D", "-q", "-f", "-s1", "-v", "-yy", "-ttt", "-T",
];

/// The words before a command that trace it into the file `log`. If `leaves_out` is set, calls that cannot matter to
/// advice are not traced.
pub fn tracer(log: &str, leaves_out: bool) -> Vec<String> {
    // With `?`, strace ignores names that the architecture does not have.
    let without = NOT_TRACED.split_whitespace().map(|call| format!("?{call}"));
    let chosen = format!("trace=!{}", without.collect::<Vec<_>>().join(","));
    let filter = ["--seccomp-bpf", "-e", &chosen];
    let filter = if leaves_out { &filter[..] } else { &[] };
    let words = [&[STRACE], &OPTIONS[..], filter, &["-o", log, "--"]].concat();
    words.into_iter().map(str::to_owned).collect()
}

/// The name under which strace opens a pipe for its log. So the command inherits no descriptor, and no file has to be
/// removed.
pub fn path_of(log: &PipeWriter) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), log.as_raw_fd())
}

/// The words before a command that trace its calls of these names into the file `log`, each call with its stack.
#[cfg(target_os = "linux")]
pub fn stack_tracer(log: &str, calls: &[String]) -> Vec<String> {
    let chosen = format!("trace={}", calls.join(","));
    let options = [
        "-D",
        "-q",
        "-f",
        "-s0",
        "-k",
        "--seccomp-bpf",
        "-e",
        &chosen,
    ];
    let words = [&[STRACE], &options[..], &["-o", log, "--"]].concat();
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
pub fn shows_stacks() -> bool {
    let asked = Command::new(STRACE).arg("-V").stdin(Stdio::null()).output();
    asked.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("stack-trace="))
}

/// Refuses names that strace does not know as calls of this machine. `total`, `reads` and `writes` are accepted: each
/// stands for many calls.
#[cfg(target_os = "linux")]
pub fn check_calls<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    for name in names.filter(|name| !matches!(*name, "total" | "reads" | "writes")) {
        let mut asked = Command::new(STRACE);
        asked.args(["-e", &format!("trace={name}"), "-V"]);
        let asked = asked.stdin(Stdio::null()).output();
        if !asked.context("cannot run strace")?.status.success() {
            return Err(Failure::usage(format!(
                "--fail-if-more-calls {name}: strace knows no such call on this machine; besides its names there are \
                 'total', 'reads' and 'writes'"
            )));
        }
    }
    Ok(())
}

pub fn log_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    // A smaller pipe also works: unprivileged users have a limit.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE_BYTES);
    Ok((reader, writer))
}

/// Finds a command as a shell does.
///
/// # Errors
///
/// Failures have the exit codes of a shell: 127 if the command does not exist, 126 if it cannot be run.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    let is_path = name.as_encoded_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = if is_path {
        vec![PathBuf::from(name)]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path);
        folders.map(|folder| folder.join(name)).collect()
    };
    if let Some(found) = candidates.iter().find(|path| is_executable(path)) {
        return Ok(found.clone());
    }
    let is_there = candidates
        .iter()
        .any(|path| path.is_file() || is_path && path.exists());
    let (code, error) = match (is_there, is_path) {
        (true, _) => (
            126,
            anyhow::anyhow!(
                "cannot run '{shown}': it is not executable; to make a file executable, run chmod +x on it"
            ),
        ),
        (false, true) => (
            127,
            anyhow::anyhow!("command '{shown}' not found: check its path"),
        ),
        (false, false) => (
            127,
            anyhow::anyhow!(
                "command '{shown}' not found in PATH: check its name, or give its path (./{shown})"
            ),
        ),
    };
    Err(Failure { error, code })
}

fn is_executable(path: &Path) -> bool {
    let found = path.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Checks with a trivial program that strace is installed and may trace.
pub fn check() -> Result<(), Failure> {
    if !cfg!(target_os = "linux") {
        return Err(Failure::from(anyhow::anyhow!(
            "cannot run the command under strace, which traces programs of Linux alone: name a log from a machine \
             with Linux"
        )));
    }
    let this = std::env::current_exe().context("cannot find this program to try strace with")?;
    let tracer = tracer("/dev/stdout", true);
    let tried = Command::new(&tracer[0])
        .args(&tracer[1..])
        .arg(this)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let output = match tried {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::from(anyhow::anyhow!(
                "cannot run the command under strace, which is not installed: install it (apt \
                 install strace; or with dnf or apk)"
            )));
        }
        Err(error) => return Err(Failure::from(anyhow::anyhow!("cannot run strace: {error}"))),
    };
    // Without the right to trace, strace runs the program all the same and returns the program's exit status.
    let log = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && log.contains("+++ exited with 0 +++") {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().next().unwrap_or("it printed no error");
    let remedy = if said.contains("not permitted") || said.contains("Permission denied") {
        "; in a container, add --cap-add SYS_PTRACE (docker, podman); elsewhere, check \
         /proc/sys/kernel/yama/ptrace_scope, and that no debugger or other strace traces this \
         program"
    } else {
        ""
    };
    Err(Failure::from(anyhow::anyhow!(
        "strace cannot trace programs here: {said}{remedy}"
    )))
}

pub fn run(
    words: &[OsString],
    signals: &CommandSignals,
    notes: Notes,
    follow: &mut dyn FnMut(&Event<'_>),
) -> anyhow::Result<(Counts, End)> {
    let (pipe, writer) = log_pipe().context("cannot make a pipe for the log of strace")?;
    let tracer = tracer(&path_of(&writer), true);
    let mut command = Command::new(&tracer[0]);
    command.args(&tracer[1..]).args(words);
    let child = command.spawn().context("cannot run strace")?;
    // When the command ends, strace has opened the pipe, and `writer` is dropped. So the log ends when strace ends.
    let running = signals.follow(child.id(), writer)?;
    let mut log = Log {
        pipe,
        running: &running,
        notes,
    };
    let mut reader = Reader::new(&mut log);
    while let Some(event) = reader.next().context("cannot read the log of strace")? {
        follow(&event);
    }
    let counts = reader.counts();
    Ok((counts, running.ended(|text| notes.note(text))?))
}

/// A log. It ends with the last traced process, or when a signal stops the wait for this process.
struct Log<'a> {
    pipe: PipeReader,
    running: &'a Running,
    notes: Notes,
}

impl Read for Log<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let patience = Timespec::try_from(POLL_INTERVAL).expect("a short time");
        while self.running.goes_on(|text| self.notes.note(text)) {
            let mut polled = [PollFd::new(&self.pipe, PollFlags::IN)];
            match poll(&mut polled, Some(&patience)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.pipe.read(buffer),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(0)
    }
}

/// The exit code of a command, as in a shell.
pub fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128 + signal as u8,
        (None, None) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn death_by_a_signal_has_the_code_that_shells_give_it() {
        assert_eq!(exit_code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
        assert_eq!(exit_code(ExitStatus::from_raw(11 | 0x80)), 139);
    }
}
