//! Runs a command a second time, without strace, to measure its wall time. Its output is discarded. Its
//! standard descriptors are of the same kind as in the first run, because programs depend on that.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use vectored_machine::platform::processes::wait_for;

use crate::command_signals::{CommandSignals, Stage};
use crate::strace::Ended;

/// The second run is stopped after this many times the wall time of the first. strace only makes a
/// program slower, so a run that takes longer without it is waiting for something.
const LIMIT_FACTOR: u32 = 2;

/// Lower bound of that limit.
const MIN_LIMIT: Duration = Duration::from_secs(2);

/// Interval at which a wait for the end checks for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time between `SIGTERM` and `SIGKILL`.
const TERMINATION_GRACE: Duration = Duration::from_secs(1);

/// Standard input before the first run, for use in the second.
pub enum Input {
    /// A file, and the offset at which reading starts.
    File(File, u64),
    /// Bytes that can be read only once: a pipe, a socket or a terminal.
    Once,
    /// Nothing can be read.
    Empty,
}

impl Input {
    /// Examines standard input.
    pub fn of_stdin() -> Self {
        let stdin = io::stdin();
        let copy = || stdin.as_fd().try_clone_to_owned().map(File::from);
        let Ok(mut file) = copy() else {
            // Closed.
            return Input::Empty;
        };
        let Ok(kind) = file.metadata().map(|metadata| metadata.file_type()) else {
            return Input::Once;
        };
        if kind.is_char_device() && !stdin.is_terminal() {
            return Input::Empty;
        }
        let offset = file.stream_position();
        // A separate open file description, so that the offset is not shared.
        match (kind.is_file(), offset, File::open("/proc/self/fd/0")) {
            (true, Ok(offset), Ok(reopened)) => Input::File(reopened, offset),
            _ => Input::Once,
        }
    }

    /// The name of standard input in a log of `strace -y`, if its bytes can be read only once.
    pub fn name(&self) -> Option<Vec<u8>> {
        match self {
            Input::Once => {
                use std::os::unix::ffi::OsStringExt;
                let name = fs::read_link("/proc/self/fd/0").ok()?;
                Some(name.into_os_string().into_vec())
            }
            _ => None,
        }
    }
}

/// The reason why a second run gave no wall time.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRerunTime(pub String);

/// Runs the command again, and returns its wall and CPU time.
///
/// # Errors
///
/// If the command could not be run, ended with another exit status, was still running after
/// `LIMIT_FACTOR` times its wall time under strace, or if a signal arrived.
pub fn run(
    words: &[OsString],
    input: Input,
    first: Ended,
    signals: &CommandSignals,
) -> Result<Ended, NoRerunTime> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let no = |what: &str, error: io::Error| NoRerunTime(format!("{what}: {error}"));
    command.stdin(match input {
        Input::File(mut file, offset) => {
            file.seek(SeekFrom::Start(offset))
                .map_err(|error| no("standard input cannot be read again", error))?;
            Stdio::from(file)
        }
        Input::Once | Input::Empty => Stdio::null(),
    });
    command.stdout(same_kind(io::stdout().as_fd()));
    command.stderr(same_kind(io::stderr().as_fd()));
    let began = Instant::now();
    let child = command
        .spawn()
        .map_err(|error| no("the command could not be run", error))?;
    // Closes the command's ends of pipes and terminals.
    drop(command);
    signals.enter(Stage::Rerun, child.id());
    let process = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let outcome = wait_for(child.id());
        // After a timeout there is no receiver.
        let _ = sender.send((outcome, began.elapsed()));
    });
    let limit = (first.took * LIMIT_FACTOR).max(MIN_LIMIT);
    let outcome = loop {
        match receiver.recv_timeout(POLL_INTERVAL) {
            Ok(outcome) => break Ok(outcome),
            Err(RecvTimeoutError::Disconnected) => {
                break Err(String::from("its exit status is unknown"));
            }
            Err(RecvTimeoutError::Timeout) if signals.stopped_by().is_some() => {
                break Err(String::from("a signal stopped it"));
            }
            Err(RecvTimeoutError::Timeout) if began.elapsed() > limit => {
                break Err(format!(
                    "it took longer than under strace, and was stopped after {:.0} s",
                    limit.as_secs_f64()
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    if outcome.is_err() {
        // The process may have ended already.
        let _ = kill_process(process, Signal::TERM);
        if receiver.recv_timeout(TERMINATION_GRACE).is_err() {
            let _ = kill_process(process, Signal::KILL);
            let _ = receiver.recv_timeout(TERMINATION_GRACE);
        }
    }
    match outcome.map_err(NoRerunTime)? {
        (Ok((status, usage)), took) if status == first.status => Ok(Ended {
            status,
            usage,
            took,
        }),
        (Ok((status, _)), _) if status.signal().is_some() => {
            // `signal: 2 (SIGINT)`.
            let words = status.to_string();
            let name = words.split(['(', ')']).nth(1).unwrap_or("a signal");
            Err(NoRerunTime(format!("{name} stopped it")))
        }
        (Ok((status, _)), _) => Err(NoRerunTime(format!(
            "its exit status differs from that under strace ({status}, not {})",
            first.status
        ))),
        (Err(error), _) => Err(no("cannot wait for the command", error)),
    }
}

/// A descriptor of the same kind whose bytes are discarded.
fn same_kind(descriptor: BorrowedFd<'_>) -> Stdio {
    let Ok(copy) = descriptor.try_clone_to_owned().map(File::from) else {
        return Stdio::null();
    };
    let Ok(kind) = copy.metadata().map(|metadata| metadata.file_type()) else {
        return Stdio::null();
    };
    let made = if copy.is_terminal() {
        terminal(descriptor).map(Stdio::from)
    } else if kind.is_file() {
        file_beside(descriptor).map(Stdio::from)
    } else if kind.is_fifo() || kind.is_socket() {
        io::pipe().map(|(reader, writer)| {
            drain(reader);
            Stdio::from(writer)
        })
    } else {
        Ok(Stdio::null())
    };
    made.unwrap_or_else(|_| Stdio::null())
}

/// An unnamed file, on the same file system if possible.
fn file_beside(descriptor: BorrowedFd<'_>) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    let name = fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))?;
    let beside = name.parent().unwrap_or(Path::new("/"));
    tempfile::tempfile_in(beside).or_else(|_| tempfile::tempfile())
}

/// A pseudoterminal of the same size.
fn terminal(original: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(
        name.as_c_str(),
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    // Without the size, only line breaks may differ.
    let _ = rustix::termios::tcgetwinsize(original)
        .and_then(|size| rustix::termios::tcsetwinsize(&theirs, size));
    drain(File::from(ours));
    Ok(theirs)
}

/// Reads and discards everything until the writers are gone.
fn drain(mut from: impl Read + Send + 'static) {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        // A pseudoterminal ends with an error.
        while from.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
    });
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use vectored_machine::platform::processes::Usage;

    use super::*;

    fn first(code: i32, took: Duration) -> Ended {
        Ended {
            status: ExitStatus::from_raw(code << 8),
            usage: Usage::default(),
            took,
        }
    }

    fn again(script: &str, input: Input, first: Ended) -> Result<Ended, NoRerunTime> {
        let words: Vec<OsString> = ["sh", "-c", script].map(OsString::from).to_vec();
        let signals = CommandSignals::watch().unwrap();
        run(&words, input, first, &signals)
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_second_run_has_to_end_as_the_first_did() {
        assert!(again("exit 3", Input::Empty, first(3, HOUR)).is_ok());
        let NoRerunTime(why) = again("exit 4", Input::Empty, first(3, HOUR)).unwrap_err();
        assert!(why.contains("exit status differs"), "{why}");
        let outcome = again("kill -TERM $$", Input::Empty, first(0, HOUR));
        assert_eq!(
            outcome.unwrap_err(),
            NoRerunTime("SIGTERM stopped it".to_owned())
        );
    }

    #[test]
    fn a_second_run_that_waits_for_ever_is_ended() {
        let outcome = again("exec sleep 3600", Input::Empty, first(0, Duration::ZERO));
        let NoRerunTime(why) = outcome.unwrap_err();
        assert!(why.contains("longer than under strace"), "{why}");
    }

    #[test]
    fn a_file_is_read_again_from_where_it_was() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, b"seen before\nyes\n").unwrap();
        let script = "read word; test $word = yes";
        let outcome = again(script, Input::File(file, 12), first(0, HOUR));
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}
