//! The end of a child process, what it and a thread have used, and which signals this process ignores.

use std::io;
use std::time::Duration;

use rustix::process::Pid;

pub use crate::sys::signals::is_ignored;
pub use crate::sys::usage::{Usage, thread_usage, wait_for};

/// Waits for the end of a child process, and leaves it to others to take its status.
pub struct ChildEnd {
    #[cfg(target_os = "linux")]
    ended: std::os::fd::OwnedFd,
    #[cfg(not(target_os = "linux"))]
    child: Pid,
}

#[cfg(target_os = "linux")]
impl ChildEnd {
    /// The end of a child of this process, by `pidfd_open(2)`: since Linux 5.3.
    pub fn of(child: Pid) -> io::Result<ChildEnd> {
        let flags = rustix::process::PidfdFlags::empty();
        Ok(ChildEnd {
            ended: rustix::process::pidfd_open(child, flags)?,
        })
    }

    /// Waits until it has ended, at most for this time; whether it has. A signal may end the wait earlier.
    pub fn within(&self, time: Duration) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut events = [PollFd::new(&self.ended, PollFlags::IN)];
        let timeout = Timespec::try_from(time).map_err(io::Error::other)?;
        match poll(&mut events, Some(&timeout)) {
            Ok(ended) => Ok(ended > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl ChildEnd {
    /// The end of a child of this process.
    pub fn of(child: Pid) -> io::Result<ChildEnd> {
        Ok(ChildEnd { child })
    }

    /// Waits until it has ended, at most for this time; whether it has. It is asked every millisecond: the times of a
    /// child are that coarse here.
    pub fn within(&self, time: Duration) -> io::Result<bool> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let began = std::time::Instant::now();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            if waitid(WaitId::Pid(self.child), options)?.is_some() {
                return Ok(true);
            }
            if began.elapsed() > time {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_end_of_a_child_is_seen_and_its_status_is_left() {
        let mut cat = Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).spawn().unwrap();
        let end = ChildEnd::of(Pid::from_child(&child)).unwrap();
        assert!(!end.within(Duration::from_millis(5)).unwrap());
        drop(child.stdin.take());
        while !end.within(Duration::from_secs(1)).unwrap() {}
        assert!(end.within(Duration::ZERO).unwrap());
        assert!(child.wait().unwrap().success());
    }
}
