//! A command under strace(1): its log comes through a pipe, everything else stays the command's.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// The program.
const STRACE: &str = "strace";

/// Calls that cannot matter: they move no bytes of files, pipes or sockets, change no descriptor and
/// cannot notice when bytes arrive. All others are traced, known or not, so that nothing is missed
/// that lies between two writes. `brk` cannot matter either; that it shows tells a reader of the log
/// that waits would show, too.
const WITHOUT: [&str; 44] = [
    // Memory.
    "munmap",
    "mprotect",
    "madvise",
    "mremap",
    "mlock",
    "munlock",
    "mincore",
    "membarrier",
    // Clocks.
    "clock_gettime",
    "clock_getres",
    "gettimeofday",
    "time",
    "times",
    "getrusage",
    // Who and where.
    "getpid",
    "getppid",
    "gettid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getresuid",
    "getresgid",
    "getgroups",
    "getpgrp",
    "getpgid",
    "getsid",
    "getcpu",
    "sched_getaffinity",
    "sysinfo",
    "uname",
    "getrandom",
    "prlimit64",
    "getrlimit",
    // What is only looked up.
    "readlink",
    "readlinkat",
    "access",
    "faccessat",
    "faccessat2",
    "getcwd",
    // Signals that may come, not those that do.
    "rt_sigprocmask",
    "rt_sigaction",
    "sigaltstack",
    "rseq",
];

/// How long to wait for more of the log before looking whether somebody wants no more of it.
const PATIENCE: Duration = Duration::from_millis(100);

/// So much of the log fits into the pipe, where that is allowed: strace waits less often.
const PIPE_BYTES: usize = 1 << 20;

/// The options of strace, but for `-o`.
fn options() -> Vec<String> {
    // A `?` passes over names that an architecture does not have.
    let without: Vec<String> = WITHOUT.iter().map(|call| format!("?{call}")).collect();
    let mut options: Vec<String> = [
        // As a grandchild: the command is our own child, with its exit status and its signals.
        "-D",
        "-q",
        "-f",
        "--seccomp-bpf",
        "-s1",
        "-v",
        "-yy",
        "-ttt",
        "-T",
        "-e",
    ]
    .map(str::to_owned)
    .to_vec();
    options.push(format!("trace=!{}", without.join(",")));
    options
}

/// Finds a command as a shell would.
///
/// # Errors
///
/// With the exit codes of a shell: 127 if there is none, 126 if it cannot be run.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    let is_path = name.as_encoded_bytes().contains(&b'/');
    let places: Vec<PathBuf> = if is_path {
        vec![PathBuf::from(name)]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|place| place.join(name))
            .collect()
    };
    let files: Vec<&PathBuf> = places.iter().filter(|place| place.is_file()).collect();
    let is_runnable = |place: &&&PathBuf| is_executable(place);
    if let Some(found) = files.iter().find(is_runnable) {
        return Ok((*found).clone());
    }
    Err(match (files.first(), is_path && Path::new(name).is_dir()) {
        (None, false) => Failure {
            error: match is_path {
                true => {
                    anyhow::anyhow!("there is no command '{shown}': name a program that is there")
                }
                false => anyhow::anyhow!(
                    "there is no command '{shown}' in PATH: check its name, or give its path \
                     (./{shown})"
                ),
            },
            code: 127,
        },
        (Some(_), _) => Failure {
            error: anyhow::anyhow!("'{shown}' cannot be run: make it executable (chmod +x)"),
            code: 126,
        },
        (None, true) => Failure {
            error: anyhow::anyhow!("'{shown}' cannot be run: it is a directory"),
            code: 126,
        },
    })
}

fn is_executable(place: &Path) -> bool {
    let metadata = place.metadata();
    metadata.is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Finds out, with a program that does nothing, whether strace is there and may trace.
///
/// # Errors
///
/// What strace says, with the likely remedy.
pub fn check() -> Result<(), Failure> {
    let this = std::env::current_exe().context("cannot find this program to try strace with")?;
    let tried = Command::new(STRACE)
        .args(options())
        .args(["-o", "/dev/stdout"])
        .arg(this)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let output = match tried {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::from(anyhow::anyhow!(
                "there is no strace to run the command under: apt install strace (or dnf, apk), or \
                 name a trace that was made elsewhere"
            )));
        }
        Err(error) => return Err(Failure::from(anyhow::anyhow!("cannot run strace: {error}"))),
    };
    // Where it may not trace, strace runs the program all the same, and its status is that one's.
    let log = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && log.contains("+++ exited with 0 +++") {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().next().unwrap_or("it says nothing");
    let remedy = if said.contains("not permitted") || said.contains("Permission denied") {
        "; in a container, allow it with --cap-add SYS_PTRACE (docker, podman); elsewhere see \
         /proc/sys/kernel/yama/ptrace_scope; and nobody else may trace this program (a debugger, \
         strace)"
    } else if said.contains("unrecognized option") || said.contains("invalid") {
        "; strace 5.3 or newer is needed"
    } else {
        ""
    };
    Err(Failure::from(anyhow::anyhow!(
        "strace cannot trace here: {said}{remedy}"
    )))
}

/// A command that runs under strace.
pub struct Traced {
    /// What strace writes; it ends with the last process.
    pub log: Log,
    waiter: JoinHandle<io::Result<ExitStatus>>,
}

/// Starts a command under strace.
pub fn start(words: &[OsString]) -> anyhow::Result<Traced> {
    let (reader, writer) = io::pipe().context("cannot make a pipe for the log of strace")?;
    // Less is enough, too: an unprivileged user may have a limit.
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE_BYTES);
    // By this name strace opens the pipe for itself, so the command inherits nothing, and nothing
    // in the file system has to be removed.
    let name = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
    // Before the command is there, so that no signal is lost to it.
    let signals =
        Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP]).context("cannot watch for signals")?;
    let child = Command::new(STRACE)
        .args(options())
        .args(["-o", &name, "--"])
        .args(words)
        .spawn()
        .context("cannot run strace")?;
    let stop = Arc::new(AtomicBool::new(false));
    let over = Arc::new(AtomicBool::new(false));
    pass_on(signals, &child, &stop, &over);
    let waiter = thread::spawn(move || wait(child, writer, &over));
    Ok(Traced {
        log: Log { reader, stop },
        waiter,
    })
}

/// Waits for the command. strace has opened the pipe by then, so this end of it can go: the log
/// ends when strace does.
fn wait(mut child: Child, writer: PipeWriter, over: &AtomicBool) -> io::Result<ExitStatus> {
    let status = child.wait();
    over.store(true, Ordering::Relaxed);
    drop(writer);
    status
}

/// From now on signals are the command's, while it runs; afterwards they end the waiting for
/// processes that it left behind.
fn pass_on(mut signals: Signals, child: &Child, stop: &Arc<AtomicBool>, over: &Arc<AtomicBool>) {
    let (stop, over) = (Arc::clone(stop), Arc::clone(over));
    let command = Pid::from_child(child);
    thread::spawn(move || {
        for signal in signals.forever() {
            if over.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
                continue;
            }
            // A terminal sends ^C and ^\ to the command as well.
            let passed = match signal {
                SIGTERM => Signal::TERM,
                SIGHUP => Signal::HUP,
                _ => continue,
            };
            // It may be gone by now.
            let _ = kill_process(command, passed);
        }
    });
}

impl Traced {
    /// How the command ended, after its log did.
    pub fn status(self) -> anyhow::Result<ExitStatus> {
        let outcome = self.waiter.join().expect("waiting cannot panic");
        outcome.context("cannot wait for the command")
    }
}

/// The exit code of a command as shells have it.
pub fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128 + signal as u8,
        (None, None) => 1,
    }
}

/// The log of strace, while it is written.
pub struct Log {
    reader: PipeReader,
    stop: Arc<AtomicBool>,
}

impl Log {
    /// Whether the end was not waited for.
    pub fn was_left(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Read for Log {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let patience = Timespec::try_from(PATIENCE).expect("a short time");
        loop {
            if self.was_left() {
                return Ok(0);
            }
            let mut polled = [PollFd::new(&self.reader, PollFlags::IN)];
            match poll(&mut polled, Some(&patience)) {
                Ok(0) => {}
                Ok(_) => return self.reader.read(buffer),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_as_a_shell_finds_it() {
        assert!(find("sh".as_ref()).unwrap().ends_with("sh"));
        assert!(find("/bin/sh".as_ref()).is_ok());
        let code = |name: &str| find(name.as_ref()).unwrap_err().code;
        assert_eq!(code("no-such-program-anywhere"), 127);
        assert_eq!(code("/no/such/program"), 127);
        assert_eq!(code("/"), 126);
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().as_os_str();
        assert_eq!(find(path).unwrap_err().code, 126);
        assert_eq!(code(""), 127);
    }

    #[test]
    fn death_by_a_signal_has_the_code_that_shells_give_it() {
        assert_eq!(exit_code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
        assert_eq!(exit_code(ExitStatus::from_raw(11 | 0x80)), 139);
    }
}
