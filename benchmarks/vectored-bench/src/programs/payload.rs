//! The values that a program sends.

use std::ops::Range;

use bytes::Bytes;

/// The approximate bytes of the values that are sent in rotation. They exceed a first or second-level cache, as in a server
/// with many values.
const POOL_BYTES: usize = 4 << 20;

/// The most values of a pool.
const MAX_VALUES: usize = 4096;

/// Values of one size, each in an allocation of its own, in sets of one request.
#[derive(Clone, Debug)]
pub struct Pool {
    values: Vec<Bytes>,
    count: usize,
}

impl Pool {
    /// Values of `bytes` bytes for requests of `count` values.
    pub fn new(bytes: usize, count: usize) -> Pool {
        let wanted = (POOL_BYTES / bytes).min(MAX_VALUES);
        let sets = (wanted / count).max(1);
        let values = (0..sets * count).map(|index| value(index, bytes)).collect();
        Pool { values, count }
    }

    /// The number of sets.
    pub fn sets(&self) -> usize {
        self.values.len() / self.count
    }

    /// The values of a request, by its number from 0.
    pub fn set(&self, request: usize) -> &[Bytes] {
        &self.values[self.range(request)]
    }

    /// The places of the values of a request among all values.
    pub fn range(&self, request: usize) -> Range<usize> {
        let begin = request % self.sets() * self.count;
        begin..begin + self.count
    }

    /// All values, set after set.
    pub fn values(&self) -> &[Bytes] {
        &self.values
    }
}

fn value(index: usize, bytes: usize) -> Bytes {
    let mut random = fastrand::Rng::with_seed(index as u64);
    let mut value = vec![0; bytes];
    random.fill(&mut value);
    // A log or a protocol of lines may hold no line feed in a value.
    for byte in &mut value {
        *byte = b' ' + *byte % 94;
    }
    value.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_rotate_and_have_their_own_values() {
        let pool = Pool::new(1000, 3);
        assert_eq!(pool.sets(), 1365);
        assert_eq!(pool.set(0), pool.set(1365));
        assert_ne!(pool.set(0), pool.set(1));
        assert!(pool.set(1).iter().all(|value| value.len() == 1000));
        assert_eq!(pool.values().len(), 4095);
    }

    #[test]
    fn a_request_that_exceeds_the_pool_has_one_set() {
        let pool = Pool::new(1 << 20, 16);
        assert_eq!((pool.sets(), pool.set(7).len()), (1, 16));
    }
}
