//! Runs of commands on Linux.

use std::fs::File;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, wait,
};

use super::{Ended, LEFT_BEHIND_LIMIT, RunError};
use crate::sys::session::{end_before_program, in_own_session};
use crate::sys::usage::wait_for;

/// Interval at which a wait checks for signals, and whether the limit has passed.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Runs a command in a session of its own, until the command ends or `is_stopped` returns true. `is_stopped` is called several
/// times a second. This process must have no other children, and must have called
/// [`adopt_orphans`](crate::platform::processes::adopt_orphans).
pub fn run(
    mut command: Command,
    limit: Option<Duration>,
    left_behind_limit: Duration,
    mut is_stopped: impl FnMut() -> bool,
) -> Result<Ended, RunError> {
    // A short run ends before the first call of `is_stopped` in the wait.
    if is_stopped() {
        return Err(RunError::Stopped);
    }
    in_own_session(&mut command);
    let failed = |what: &str| {
        let what = what.to_owned();
        |error| RunError::Io(what, error)
    };
    let began = Instant::now();
    let child = command.spawn().map_err(failed("it cannot be run"))?;
    let process = Pid::from_child(&child);
    // The file is opened while the process runs: after the end of the process, the file belongs to root.
    let counts = File::open(format!("/proc/{}/io", child.id()));
    // Closes this process's copies of the command's pipes.
    drop(command);
    let outcome = end_of(process, began, limit, &mut is_stopped);
    let took = began.elapsed();
    if outcome.is_err() {
        // The process may have ended already.
        let _ = kill_process_group(process, Signal::KILL);
    }
    let reads = counts.ok().and_then(reads_in);
    let waited = wait_for(child.id()).map_err(failed("its end cannot be waited for"));
    let left_behind = match &outcome {
        Ok(()) => left_behind(
            limit.map_or(left_behind_limit, |limit| limit.min(left_behind_limit)),
            &mut is_stopped,
        ),
        Err(_) => Err(RunError::Stopped),
    };
    if left_behind.is_err() {
        kill_all().map_err(failed("its processes cannot be killed"))?;
    }
    outcome?;
    let (status, usage) = waited?;
    Ok(Ended {
        status,
        usage,
        took,
        left_behind: left_behind?,
        reads,
    })
}

/// The peak memory that the kernel counts for a program that does nothing. The count begins with the memory of this process.
pub fn inherited_peak_bytes(is_stopped: impl FnMut() -> bool) -> Result<u64, RunError> {
    let mut command = Command::new("/proc/self/exe");
    // `end_before_program` comes last: the child does all that a child of [`run`] does before its program starts.
    in_own_session(&mut command);
    end_before_program(&mut command);
    let ended = run(command, None, LEFT_BEHIND_LIMIT, is_stopped)?;
    Ok(ended.usage.peak_bytes)
}

/// Waits for the end of the process. The status of the process can be read later.
fn end_of(
    process: Pid,
    began: Instant,
    limit: Option<Duration>,
    mut is_stopped: impl FnMut() -> bool,
) -> Result<(), RunError> {
    // `pidfd_open` exists since Linux 5.3.
    let ended = pidfd_open(process, PidfdFlags::empty()).map_err(io::Error::from);
    let failed = |error| RunError::Io("its end cannot be waited for".to_owned(), error);
    let ended = ended.map_err(failed)?;
    loop {
        let mut events = [PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut events, Some(&POLL_INTERVAL)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(failed(error.into())),
        }
        if is_stopped() {
            return Err(RunError::Stopped);
        }
        if let Some(limit) = limit.filter(|limit| began.elapsed() > *limit) {
            return Err(RunError::TooLong(limit));
        }
    }
}

/// The reads in `proc_pid_io(5)`. `None` if the file cannot be read: not every kernel counts reads.
fn reads_in(counts: File) -> Option<u64> {
    let text = io::read_to_string(counts).ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("syscr: ")?.parse().ok())
}

/// Waits for the processes that a command has left behind. Returns the number of these processes.
fn left_behind(limit: Duration, mut is_stopped: impl FnMut() -> bool) -> Result<u64, RunError> {
    let began = Instant::now();
    let waited = wait_for_all(|| !is_stopped() && began.elapsed() < limit);
    match waited {
        Ok((ended, true)) => Ok(ended),
        Ok((_, false)) if is_stopped() => Err(RunError::Stopped),
        Ok((_, false)) => Err(RunError::LeftBehind(limit)),
        Err(error) => Err(RunError::Io(
            "its processes cannot be waited for".to_owned(),
            error,
        )),
    }
}

/// Waits until all children of this process have ended, or `goes_on` returns false. Returns how many children ended after
/// the first look, and whether all have ended.
fn wait_for_all(mut goes_on: impl FnMut() -> bool) -> io::Result<(u64, bool)> {
    let (mut ended, mut is_first_look) = (0, true);
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => ended += u64::from(!is_first_look),
            Ok(None) if !goes_on() => return Ok((ended, false)),
            Ok(None) => {
                is_first_look = false;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(Errno::CHILD) => return Ok((ended, true)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn kill_all() -> io::Result<()> {
    while !wait_for_all(|| false)?.1 {
        for child in children()? {
            let _ = kill_process(child, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The children of this process, by `proc_pid_stat(5)`.
fn children() -> io::Result<Vec<Pid>> {
    let this = rustix::process::getpid().as_raw_nonzero().to_string();
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // The process may have ended already. The name of the program may have any bytes.
        let stat = std::fs::read(format!("/proc/{number}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after_name.split_whitespace().nth(1) == Some(&*this) {
            children.extend(Pid::from_raw(number));
        }
    }
    Ok(children)
}
