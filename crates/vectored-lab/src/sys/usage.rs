//! CPU time of this thread, and of a process that has ended.
//!
//! # Safety
//!
//! `unsafe` for `getrusage` and `wait4`, which have no safe interface.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::time::{ClockId, clock_gettime};

/// A block of `ru_inblock`, whatever the device's are: `getrusage(2)`.
const BLOCK_BYTES: u64 = 512;

/// What `getrusage(2)` tells, in part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user_s: f64,
    /// CPU time in the kernel.
    pub system_s: f64,
    /// What was read from storage devices.
    pub fetched_bytes: u64,
}

impl Usage {
    /// What was used since.
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            // The kernel keeps the sum exact and the parts from falling, but not
            // beyond a rounding here.
            user_s: (self.user_s - before.user_s).max(0.0),
            system_s: (self.system_s - before.system_s).max(0.0),
            fetched_bytes: self.fetched_bytes.saturating_sub(before.fetched_bytes),
        }
    }

    fn of(usage: &libc::rusage) -> Usage {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Usage {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            fetched_bytes: u64::try_from(usage.ru_inblock).unwrap_or(0) * BLOCK_BYTES,
        }
    }
}

/// What the calling thread has used so far, in the sum exact to a microsecond.
pub fn thread_usage() -> io::Result<Usage> {
    // `getrusage(2)` alone tells of a running thread what was known at the last
    // tick of the scheduler, up to 10 ms ago. The thread's clock has to be exact,
    // and reading it brings up to date what both are made from.
    let _ = clock_gettime(ClockId::ThreadCPUTime);
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a `rusage` of ours, which the call fills.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros are a valid `rusage`, whatever the call has written.
    Ok(Usage::of(unsafe { usage.assume_init_ref() }))
}

/// Waits for the end of a child of this process; what it has used, with its own
/// children. Nobody else may wait for it.
pub fn wait_for(child: u32) -> io::Result<(ExitStatus, Usage)> {
    let pid = libc::pid_t::try_from(child).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the pointers are to an int and a `rusage` of ours.
        let ended = unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) };
        if ended == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeros are a valid `rusage`, whatever the call has written.
    let usage = Usage::of(unsafe { usage.assume_init_ref() });
    Ok((ExitStatus::from_raw(status), usage))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_thread_that_works_has_used_time_and_none_before() {
        let before = thread_usage().unwrap();
        let mut sum = 0_u64;
        // Until the kernel has noticed, however coarse it looks.
        let used = loop {
            for n in 0..1_000_000_u64 {
                sum = std::hint::black_box(sum.wrapping_add(n));
            }
            let used = thread_usage().unwrap().since(before);
            if used.user_s + used.system_s > 0.0 {
                break used;
            }
        };
        assert!(used.user_s >= 0.0 && used.system_s >= 0.0);
        assert_eq!(before.since(thread_usage().unwrap()).user_s, 0.0);
    }

    #[test]
    fn what_a_thread_has_used_is_what_its_clock_tells() {
        let clock_s = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        };
        // Work of many lengths, so that most of it ends far from a tick.
        let behind_s = |rounds: u64| {
            for n in 0..rounds * 500_000 {
                std::hint::black_box(n);
            }
            let usage = thread_usage().unwrap();
            // The clock stands still when the thread does.
            clock_s() - usage.user_s - usage.system_s
        };
        // A machine that stops this one just here may spoil a few.
        let exact = (1..=20).map(behind_s).filter(|s| *s < 1e-4);
        assert!(exact.count() >= 15);
    }

    #[test]
    #[expect(clippy::zombie_processes, reason = "it is waited for by its number")]
    fn the_status_of_a_child_is_told_once() {
        let child = Command::new("sh")
            .args(["-c", "exit 3"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let (status, _) = wait_for(child.id()).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(wait_for(child.id()).is_err());
    }
}
