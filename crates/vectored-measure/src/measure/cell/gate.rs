//! A barrier of threads.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};

/// Turns of the waiting loop before the CPU is left to others. On one CPU a waiting writer would otherwise
/// keep the one from arriving that it waits for.
const SPINS: u32 = 2000;

/// A barrier: everyone waits until all have arrived. It spins, so that all begin within a microsecond if each has
/// a CPU of its own; a futex would wake them one after the other.
#[derive(Debug)]
pub(crate) struct Gate {
    parties: u32,
    arrived: AtomicU32,
    /// Times that the gate has opened; [`BROKEN`] for ever after [`Gate::break_open`].
    opened: AtomicU32,
}

const BROKEN: u32 = u32::MAX;

impl Gate {
    /// A gate for this many threads.
    pub fn new(parties: u32) -> Self {
        Gate {
            parties,
            arrived: AtomicU32::new(0),
            opened: AtomicU32::new(0),
        }
    }

    /// Waits until all parties wait. `false` if the gate was broken open.
    pub fn wait(&self) -> bool {
        let Gate {
            parties,
            arrived,
            opened,
        } = self;
        let turn = opened.load(Ordering::Acquire);
        if turn == BROKEN {
            return false;
        }
        if arrived.fetch_add(1, Ordering::AcqRel) + 1 == *parties {
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
            if spins < SPINS {
                spin_loop();
            } else {
                std::thread::yield_now();
            }
            spins += 1;
        }
    }

    /// Ends all waiting, now and later, since a party has failed.
    pub fn break_open(&self) {
        self.opened.store(BROKEN, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_before_all_have_arrived() {
        const PARTIES: u32 = 5;
        const TURNS: u32 = 200;
        let gate = Gate::new(PARTIES);
        let arrivals = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..PARTIES {
                scope.spawn(|| {
                    for turn in 0..TURNS {
                        arrivals.fetch_add(1, Ordering::SeqCst);
                        assert!(gate.wait());
                        assert!(arrivals.load(Ordering::SeqCst) >= PARTIES * (turn + 1));
                    }
                });
            }
        });
    }

    #[test]
    fn a_broken_gate_lets_everyone_go() {
        let gate = Gate::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.wait());
            gate.break_open();
            assert!(!waiting.join().unwrap());
        });
        assert!(!gate.wait());
    }
}
