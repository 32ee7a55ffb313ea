//! The CPUs that a thread may use.

use std::io;

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
pub fn allowed() -> Vec<usize> {
    let allowed = |set: CpuSet| (0..CpuSet::MAX_CPU).filter(move |&cpu| set.is_set(cpu));
    sched_getaffinity(None).map_or_else(|_| Vec::new(), |set| allowed(set).collect())
}

/// All CPUs: this system restricts no thread to some CPUs.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
pub fn allowed() -> Vec<usize> {
    let count = std::thread::available_parallelism();
    (0..count.map_or(1, std::num::NonZero::get)).collect()
}

pub(crate) const CAN_PIN: bool = cfg!(any(target_os = "linux", target_os = "freebsd"));

/// The CPU that this thread runs on; the first CPU if the system does not tell.
pub(crate) fn current() -> usize {
    #[cfg(target_os = "linux")]
    return rustix::thread::sched_getcpu();
    #[cfg(not(target_os = "linux"))]
    allowed().first().copied().unwrap_or(0)
}

pub fn pin(cpu: usize) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    {
        let mut set = CpuSet::new();
        set.set(cpu);
        Ok(sched_setaffinity(None, &set)?)
    }
    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    {
        let _ = cpu;
        Err(super::lacks("way to pin a thread to a CPU"))
    }
}
