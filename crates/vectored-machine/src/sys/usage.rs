//! CPU time of the calling thread, and of a child process that has ended.
//!
//! # Safety
//!
//! `unsafe` for `getrusage`, `wait4` and `malloc_trim`, which have no safe interface.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

#[cfg(not(target_vendor = "apple"))]
use rustix::time::{ClockId, clock_gettime};

/// The unit of `ru_inblock`, whatever the block size of the device: see
/// `getrusage(2)`.
const BLOCK_BYTES: u64 = 512;

const MEMORY_UNIT_BYTES: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };

/// Some of the figures of `getrusage(2)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub user_s: f64,
    pub system_s: f64,
    pub fetched_bytes: u64,
    /// The largest resident memory so far. In a child process this is at least the memory of its parent at the fork.
    pub peak_bytes: u64,
    pub switches: u64,
    /// Page faults, with or without I/O.
    pub faults: u64,
}

impl Usage {
    /// The difference to an earlier usage. The peak is the larger peak of the two usages.
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            // The kernel's figures never decrease, but floating point rounding
            // could make a difference negative.
            user_s: (self.user_s - before.user_s).max(0.0),
            system_s: (self.system_s - before.system_s).max(0.0),
            fetched_bytes: self.fetched_bytes.saturating_sub(before.fetched_bytes),
            peak_bytes: self.peak_bytes,
            switches: self.switches.saturating_sub(before.switches),
            faults: self.faults.saturating_sub(before.faults),
        }
    }

    fn of(usage: &libc::rusage) -> Usage {
        let count = |of: libc::c_long| u64::try_from(of).unwrap_or(0);
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Usage {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            fetched_bytes: count(usage.ru_inblock) * BLOCK_BYTES,
            peak_bytes: count(usage.ru_maxrss) * MEMORY_UNIT_BYTES,
            switches: count(usage.ru_nvcsw) + count(usage.ru_nivcsw),
            faults: count(usage.ru_minflt) + count(usage.ru_majflt),
        }
    }
}

/// Apple's systems report only the usage of the whole process.
#[cfg(target_vendor = "apple")]
pub fn thread_usage() -> io::Result<Usage> {
    let why = "this system reports no CPU times in user mode and in the kernel for one thread";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// The usage of the calling thread so far. The sum of its CPU times is exact to a
/// microsecond.
#[cfg(not(target_vendor = "apple"))]
pub fn thread_usage() -> io::Result<Usage> {
    // For a running thread, `getrusage(2)` alone returns the times of the last scheduler tick, up to 10 ms ago. Reading the
    // exact clock of the thread updates the counters from which `getrusage` reads.
    let _ = clock_gettime(ClockId::ThreadCPUTime);
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to the local `rusage`, which the call fills.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the memory was zeroed, and any bits are a valid `rusage`, so the value is valid even where the call wrote
    // nothing.
    Ok(Usage::of(unsafe { usage.assume_init_ref() }))
}

/// Waits for the end of a child process. Returns the status of the child, and its usage with the usage of the children that
/// the child waited for. No other code may wait for the child.
pub fn wait_for(child: u32) -> io::Result<(ExitStatus, Usage)> {
    let pid = libc::pid_t::try_from(child).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the pointers are to a local int and a local `rusage`.
        let ended = unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) };
        if ended == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: the memory was zeroed, and any bits are a valid `rusage`, so the value is valid even where the call wrote
    // nothing.
    let usage = Usage::of(unsafe { usage.assume_init_ref() });
    Ok((ExitStatus::from_raw(status), usage))
}

/// Gives free memory back to the kernel. Allocators other than glibc's do that by themselves, or never.
pub fn give_back_free_memory() {
    // SAFETY: the function may be called at any time.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    let _ = unsafe { libc::malloc_trim(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_of_a_thread_equals_its_cpu_clock() {
        let clock_s = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        };
        // The lengths of work differ, so most of them end far from a tick.
        let behind_s = |rounds: u64| {
            for n in 0..rounds * 500_000 {
                std::hint::black_box(n);
            }
            let usage = thread_usage().unwrap();
            // The CPU clock stands still while the thread does not run.
            clock_s() - usage.user_s - usage.system_s
        };
        // The hypervisor may stop the machine between two readings, so some differences are larger.
        let exact = (1..=20).map(behind_s).filter(|s| *s < 1e-4);
        assert!(exact.count() >= 15);
    }
}
