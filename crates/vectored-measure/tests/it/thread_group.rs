//! Ranks that are threads of one process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use vectored_measure::measure::Group;

/// A rank that is a thread.
///
/// A rank that ends while others wait for it makes the others panic: with MPI, their processes would end as well.
#[derive(Debug)]
pub struct ThreadGroup {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// For each `count` passed to `first`: the state that the first `count` ranks share.
    parts: Mutex<HashMap<u32, Arc<Shared>>>,
}

#[derive(Debug, Default)]
struct State {
    /// What the ranks have brought to the present exchange.
    brought: BTreeMap<usize, Vec<u8>>,
    ended: u64,
    last: Arc<Vec<Vec<u8>>>,
    has_gone: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ThreadGroup {
    pub fn of(size: usize) -> Vec<ThreadGroup> {
        let shared = Arc::new(Shared::default());
        let rank = |rank| ThreadGroup {
            size,
            rank,
            shared: Arc::clone(&shared),
        };
        (0..size).map(rank).collect()
    }

    fn exchange(&self, bytes: Vec<u8>) -> Arc<Vec<Vec<u8>>> {
        let mut state = locked(&self.shared.state);
        let number = state.ended;
        state.brought.insert(self.rank, bytes);
        if state.brought.len() == self.size {
            let all = std::mem::take(&mut state.brought);
            state.last = Arc::new(all.into_values().collect());
            state.ended += 1;
            self.shared.changed.notify_all();
        }
        while state.ended == number {
            assert!(!state.has_gone, "a rank has ended that others wait for");
            let waited = self.shared.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        Arc::clone(&state.last)
    }
}

impl Drop for ThreadGroup {
    fn drop(&mut self) {
        locked(&self.shared.state).has_gone = true;
        self.shared.changed.notify_all();
    }
}

impl Group for ThreadGroup {
    fn rank(&self) -> u32 {
        self.rank as u32
    }

    fn size(&self) -> u32 {
        self.size as u32
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) {
        *bytes = self.exchange(std::mem::take(bytes))[0].clone();
    }

    fn barrier(&self) {
        self.exchange(Vec::new());
    }

    fn largest(&self, values: &mut [u64]) {
        let own = values.iter().flat_map(|value| value.to_le_bytes());
        for others in self.exchange(own.collect()).iter() {
            for (value, other) in std::iter::zip(&mut *values, others.as_chunks().0) {
                *value = (*value).max(u64::from_le_bytes(*other));
            }
        }
    }

    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let all = self.exchange(bytes.to_vec());
        match self.rank {
            0 => all.to_vec(),
            _ => Vec::new(),
        }
    }

    fn rest(&self) {
        self.barrier();
    }

    fn first(&self, count: u32) -> Option<Box<dyn Group>> {
        let mut parts = locked(&self.shared.parts);
        let shared = Arc::clone(parts.entry(count).or_default());
        let (rank, size) = (self.rank, count as usize);
        (rank < size).then(|| Box::new(ThreadGroup { rank, size, shared }) as Box<dyn Group>)
    }
}
