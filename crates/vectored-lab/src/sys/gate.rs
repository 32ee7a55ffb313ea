//! A barrier of threads or processes, in memory that they share.
//!
//! # Safety
//!
//! `unsafe` for `mmap`, `munmap` and the reference to two atomic numbers in the mapping.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::hint::spin_loop;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::fstat;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Turns of the waiting loop before the CPU is left to others. On one CPU a waiting writer would otherwise
/// keep the one from arriving that it waits for.
const SPINS: u32 = 2000;

/// A barrier: everyone waits until all have arrived. It spins, so that all begin within a microsecond if each has
/// a CPU of its own; a futex would wake them one after the other.
#[derive(Debug)]
pub(crate) struct Gate {
    words: NonNull<Words>,
    parties: u32,
}

/// What lies in the shared memory. All zeros is its first state.
#[repr(C)]
struct Words {
    arrived: AtomicU32,
    /// Times that the gate has opened; [`BROKEN`] for ever after [`Gate::break_open`].
    opened: AtomicU32,
}

const BROKEN: u32 = u32::MAX;

// SAFETY: the mapping belongs to the gate until it is dropped, and only atomic numbers lie in it.
unsafe impl Send for Gate {}
// SAFETY: as above.
unsafe impl Sync for Gate {}

impl Gate {
    /// A gate for this many threads of this process.
    pub fn new(parties: u32) -> io::Result<Self> {
        // SAFETY: with a null hint and without `MAP_FIXED` the kernel chooses addresses that nothing of this
        // process uses.
        let base = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                size_of::<Words>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )?
        };
        Gate::at(base, parties)
    }

    /// Memory for a gate that processes share.
    ///
    /// # Errors
    ///
    /// If this system has no memory with a descriptor and without a name.
    pub fn memory() -> io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        {
            let memory =
                rustix::fs::memfd_create(c"vectored-gate", rustix::fs::MemfdFlags::CLOEXEC)?;
            rustix::fs::ftruncate(&memory, size_of::<Words>() as u64)?;
            Ok(memory)
        }
        #[cfg(not(target_os = "linux"))]
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "writers can be processes on Linux only; omit --processes",
        ))
    }

    /// A gate in memory that other processes have mapped, or will.
    pub fn in_memory(memory: &OwnedFd, parties: u32) -> io::Result<Self> {
        // A page beyond the end of a file raises SIGBUS.
        if u64::try_from(fstat(memory)?.st_size).unwrap_or(0) < size_of::<Words>() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: with a null hint and without `MAP_FIXED` the kernel chooses addresses that nothing of this
        // process uses.
        let base = unsafe {
            mmap(
                ptr::null_mut(),
                size_of::<Words>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                memory,
                0,
            )?
        };
        Gate::at(base, parties)
    }

    fn at(base: *mut c_void, parties: u32) -> io::Result<Self> {
        let words = NonNull::new(base.cast());
        let words = words.ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Gate { words, parties })
    }

    fn words(&self) -> &Words {
        // SAFETY: the mapping is page-aligned, has room for `Words` (checked in `in_memory`), and lives as long
        // as `self`. Any bytes are valid `AtomicU32`s, and all processes change them by atomic operations only.
        unsafe { self.words.as_ref() }
    }

    /// Waits until all parties wait. `false` if the gate was broken open.
    pub fn wait(&self) -> bool {
        let Words { arrived, opened } = self.words();
        let turn = opened.load(Ordering::Acquire);
        if turn == BROKEN {
            return false;
        }
        if arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            arrived.store(0, Ordering::Release);
            // Fails only if the gate was broken open meanwhile.
            let next = (turn + 1) % BROKEN;
            return opened
                .compare_exchange(turn, next, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
        }
        let mut spins = 0;
        loop {
            match opened.load(Ordering::Acquire) {
                now if now == turn => {}
                now => return now != BROKEN,
            }
            match spins < SPINS {
                true => spin_loop(),
                false => std::thread::yield_now(),
            }
            spins += 1;
        }
    }

    /// Ends all waiting, now and later, since a party has failed.
    pub fn break_open(&self) {
        self.words().opened.store(BROKEN, Ordering::Release);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // SAFETY: this range was mapped by `in_memory` and is unmapped nowhere else; no reference into it
        // outlives `self`. The error is ignored, since unmapping a mapped range does not fail.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), size_of::<Words>()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn nobody_passes_before_all_have_arrived() {
        const PARTIES: u32 = 5;
        const TURNS: u32 = 200;
        let gate = Arc::new(Gate::new(PARTIES).unwrap());
        let arrivals = Arc::new(AtomicU32::new(0));
        let parties: Vec<_> = (0..PARTIES)
            .map(|_| {
                let (gate, arrivals) = (Arc::clone(&gate), Arc::clone(&arrivals));
                std::thread::spawn(move || {
                    for turn in 0..TURNS {
                        arrivals.fetch_add(1, Ordering::SeqCst);
                        assert!(gate.wait());
                        assert!(arrivals.load(Ordering::SeqCst) >= PARTIES * (turn + 1));
                    }
                })
            })
            .collect();
        parties.into_iter().for_each(|party| party.join().unwrap());
    }

    #[test]
    fn a_broken_gate_lets_everyone_go() {
        let gate = Arc::new(Gate::new(2).unwrap());
        let waiting = {
            let gate = Arc::clone(&gate);
            std::thread::spawn(move || gate.wait())
        };
        gate.break_open();
        assert!(!waiting.join().unwrap());
        assert!(!gate.wait());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_gate_in_shared_memory_is_the_same_for_all_who_map_it() {
        let memory = Gate::memory().unwrap();
        let gates = [2, 2].map(|parties| Gate::in_memory(&memory, parties).unwrap());
        let [one, other] = gates;
        let waiting = std::thread::spawn(move || one.wait());
        assert!(other.wait());
        assert!(waiting.join().unwrap());
        rustix::fs::ftruncate(&memory, 0).unwrap();
        assert!(Gate::in_memory(&memory, 1).is_err());
    }
}
