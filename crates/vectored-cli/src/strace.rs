//! Runs a command under strace(1), and reads the log from a pipe. The command keeps its input, output, signals and
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

/// The interval between checks for signals while the log is silent.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The capacity of the pipe for the log. With a larger pipe, strace blocks less often.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// The options `-o` and `-e` are added for each run.
const OPTIONS: [&str; 8] = [
    // With `-D`, strace is a grandchild. The command is then a child of this process, which gets its exit status and
    // signals.
    "-D", "-q", "-f", "-s1", "-v", "-yy", "-ttt", "-T",
];

/// Returns the words that trace a command into `log`. With `leaves_out`, calls that advice does not need are not
/// traced.
pub fn tracer(log: &str, leaves_out: bool) -> Vec<String> {
    // The prefix `?` makes strace ignore a name that the architecture lacks.
    let without = NOT_TRACED.split_whitespace().map(|call| format!("?{call}"));
    let chosen = format!("trace=!{}", without.collect::<Vec<_>>().join(","));
    let filter = ["--seccomp-bpf", "-e", &chosen];
    let filter = if leaves_out { &filter[..] } else { &[] };
    let words = [&[STRACE], &OPTIONS[..], filter, &["-o", log, "--"]].concat();
    words.into_iter().map(str::to_owned).collect()
}

/// Returns a path of the pipe that strace opens. The command then inherits no descriptor, and no file remains.
pub fn path_of(log: &PipeWriter) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), log.as_raw_fd())
}

/// Returns the words that trace the named calls of a command into `log`, with the stack of each call.
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

/// Refuses names that strace does not know on this architecture. `total`, `reads` and `writes` are accepted as names
/// of groups.
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
    // Unprivileged users have a limit. The default capacity also works.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE_BYTES);
    Ok((reader, writer))
}

/// Searches `PATH` as a shell does.
///
/// # Errors
///
/// The exit status follows the shell: 127 if the command does not exist, and 126 if the command is not executable.
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

/// Checks by a trivial program that strace is installed and can trace.
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
    // Without permission to trace, strace runs the program untraced and returns the exit status of the program.
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
    // strace opens the pipe before the command ends. Dropping `writer` at the end of the command lets the log end
    // with strace.
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

/// The log ends after the last traced process, or when a signal stops the wait for that process.
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

/// Returns the exit status that a shell reports.
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
