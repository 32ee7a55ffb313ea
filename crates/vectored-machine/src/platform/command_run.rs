//! One run of a command, to the end of all its processes.

use std::fmt;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::Duration;
#[cfg(target_os = "linux")]
use std::time::Instant;

#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal, kill_process_group};

use crate::platform::processes::Usage;
#[cfg(target_os = "linux")]
use crate::platform::processes::{
    ChildEnd, end_before_program, in_own_session, kill_all, wait_for, wait_for_all,
};

/// Interval at which a wait looks for signals and the limit.
#[cfg(target_os = "linux")]
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How long processes may run on that a command leaves behind, if its user chooses no other time.
pub const LEFT_BEHIND_LIMIT: Duration = Duration::from_secs(10);

/// How a run ended.
pub struct Ended {
    /// How the command itself ended.
    pub status: ExitStatus,
    /// CPU time, memory and faults of the command and of the children that it waited for.
    pub usage: Usage,
    /// The wall time, to the end of the command itself.
    pub took: Duration,
    /// Processes that ended later than the command.
    pub left_behind: u64,
    /// Calls that read, of the command and of the children that it waited for, as the kernel counts them: `syscr` in
    /// `proc_pid_io(5)`. `None` if it does not.
    pub reads: Option<u64>,
}

/// Why a run has no result. Nothing that it started still runs.
#[derive(Debug)]
pub enum RunError {
    /// A signal came.
    Stopped,
    /// It took longer than this.
    TooLong(Duration),
    /// It left processes behind, which did not end for this time.
    LeftBehind(Duration),
    /// Something failed.
    Io(String, io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Stopped => f.write_str("it was stopped by a signal"),
            RunError::TooLong(limit) => write!(
                f,
                "it still ran after {:.0} s, and was killed",
                limit.as_secs_f64().max(1.0)
            ),
            RunError::LeftBehind(limit) => write!(
                f,
                "it left processes behind that still ran {:.1} s after its end, and were killed",
                limit.as_secs_f64()
            ),
            RunError::Io(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

/// Runs a command in a session of its own, until it ends or `is_stopped`, which is asked several times a second. This
/// process must have no other children, and be the one that adopts orphans:
/// [`adopt_orphans`](crate::platform::processes::adopt_orphans).
///
/// # Errors
///
/// If it cannot be run, does not end in time, or was stopped.
#[cfg(target_os = "linux")]
pub fn run(
    mut command: Command,
    limit: Option<Duration>,
    left_behind_limit: Duration,
    mut is_stopped: impl FnMut() -> bool,
) -> Result<Ended, RunError> {
    // A run that is short is never seen running.
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
    // Opened while it runs: of a process that has ended, it belongs to root.
    let counts = File::open(format!("/proc/{}/io", child.id()));
    // Closes our copies of its pipes.
    drop(command);
    let outcome = end_of(process, began, limit, &mut is_stopped);
    let took = began.elapsed();
    if outcome.is_err() {
        // It may have ended already.
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

/// The peak memory that the kernel counts for a program that does nothing: it begins with what this process has.
///
/// # Errors
///
/// The errors of [`run`].
#[cfg(target_os = "linux")]
pub fn inherited_peak_bytes(is_stopped: impl FnMut() -> bool) -> Result<u64, RunError> {
    let mut command = Command::new("/proc/self/exe");
    // The child ends in the second step: so it takes the same way as in [`run`], up to its program.
    in_own_session(&mut command);
    end_before_program(&mut command);
    let ended = run(command, None, LEFT_BEHIND_LIMIT, is_stopped)?;
    Ok(ended.usage.peak_bytes)
}

/// Runs a command: not on this system.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn run(
    _: Command,
    _: Option<Duration>,
    _: Duration,
    _: impl FnMut() -> bool,
) -> Result<Ended, RunError> {
    Err(RunError::Io(
        "it cannot be run".to_owned(),
        super::lacks("way to adopt the processes that a command leaves behind"),
    ))
}

/// Waits for the end of the process, whose status is left for others.
#[cfg(target_os = "linux")]
fn end_of(
    process: Pid,
    began: Instant,
    limit: Option<Duration>,
    mut is_stopped: impl FnMut() -> bool,
) -> Result<(), RunError> {
    let failed = |error| RunError::Io("its end cannot be waited for".to_owned(), error);
    let end = ChildEnd::of(process).map_err(failed)?;
    while !end.within(POLL_INTERVAL).map_err(failed)? {
        if is_stopped() {
            return Err(RunError::Stopped);
        }
        if let Some(limit) = limit.filter(|limit| began.elapsed() > *limit) {
            return Err(RunError::TooLong(limit));
        }
    }
    Ok(())
}

/// The reads in `proc_pid_io(5)`. A file that cannot be read has none: not every kernel counts them.
#[cfg(target_os = "linux")]
fn reads_in(counts: File) -> Option<u64> {
    let text = io::read_to_string(counts).ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("syscr: ")?.parse().ok())
}

/// Waits for the processes that a command has left behind; returns how many there were.
#[cfg(target_os = "linux")]
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
