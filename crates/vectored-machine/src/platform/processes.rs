//! The end of a child process, what it and a thread have used, and which signals this process ignores.

use std::io;
use std::time::Duration;

use rustix::process::Pid;

#[cfg(target_os = "linux")]
pub use crate::sys::session::{end_before_program, in_own_session};
pub use crate::sys::signals::is_ignored;
pub use crate::sys::usage::{Usage, give_back_free_memory, thread_usage, wait_for};

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

/// Makes this process the parent of all processes that its children leave behind.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> io::Result<()> {
    let this = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(this))?)
}

/// Waits until all children of this process have ended, as long as `goes_on` says so. Returns how many ended after the first
/// look, and whether all have ended.
#[cfg(target_os = "linux")]
pub fn wait_for_all(mut goes_on: impl FnMut() -> bool) -> io::Result<(u64, bool)> {
    use rustix::io::Errno;
    use rustix::process::{WaitOptions, wait};
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

/// Kills all children of this process, and the children that they leave to it.
#[cfg(target_os = "linux")]
pub fn kill_all() -> io::Result<()> {
    use rustix::process::{Signal, kill_process};
    while !wait_for_all(|| false)?.1 {
        for child in children()? {
            // It may have ended already.
            let _ = kill_process(child, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The children of this process, by `proc_pid_stat(5)`.
#[cfg(target_os = "linux")]
fn children() -> io::Result<Vec<Pid>> {
    let this = rustix::process::getpid().as_raw_nonzero().to_string();
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // It may have ended already. The name of the program may hold anything.
        let stat = std::fs::read(format!("/proc/{number}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after_name.split_whitespace().nth(1) == Some(&*this) {
            children.extend(Pid::from_raw(number));
        }
    }
    Ok(children)
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
