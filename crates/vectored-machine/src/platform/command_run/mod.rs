//! One run of a command, to the end of all its processes.

use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use crate::platform::processes::Usage;

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::{inherited_peak_bytes, run};

/// How long the processes that a command leaves behind may run on, unless the user chooses another time.
pub const LEFT_BEHIND_LIMIT: Duration = Duration::from_secs(10);

pub struct Ended {
    pub status: ExitStatus,
    /// CPU time, memory and faults of the command and of the children that it waited for.
    pub usage: Usage,
    /// The wall time, to the end of the command itself.
    pub took: Duration,
    /// Processes that ended later than the command.
    pub left_behind: u64,
    /// The number of calls that read, made by the command and by the children that it waited for: `syscr` in
    /// `proc_pid_io(5)`. `None` if the kernel does not count such calls.
    pub reads: Option<u64>,
}

/// Why a run has no result. No process of the command still runs.
#[derive(Debug)]
pub enum RunError {
    Stopped,
    TooLong(Duration),
    LeftBehind(Duration),
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

#[cfg(not(target_os = "linux"))]
pub fn run(
    _: std::process::Command,
    _: Option<Duration>,
    _: Duration,
    _: impl FnMut() -> bool,
) -> Result<Ended, RunError> {
    Err(RunError::Io(
        "it cannot be run".to_owned(),
        crate::platform::lacks("way to adopt the processes that a command leaves behind"),
    ))
}
