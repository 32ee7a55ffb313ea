//! The expected result: the bytes of all segments in a row.

use std::io::{IoSlice, IoSliceMut};

/// Buffers of these sizes. The bytes run from 1 to 251 and begin anew. So no byte equals the zeros of a file, and
/// bytes that are shifted by less than 251 places differ.
pub fn payload(sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut bytes = (1..=251u8).cycle();
    sizes
        .iter()
        .map(|&size| bytes.by_ref().take(size).collect())
        .collect()
}

pub fn list(data: &[Vec<u8>]) -> Vec<IoSlice<'_>> {
    data.iter().map(|bytes| IoSlice::new(bytes)).collect()
}

/// A list of segments of these sizes that are adjacent in `bytes`. Segments that would go past the end of `bytes` are
/// shorter.
pub fn adjacent_list<'d>(bytes: &'d [u8], sizes: &[usize]) -> Vec<IoSlice<'d>> {
    let mut left = bytes;
    sizes
        .iter()
        .map(|&size| {
            let (piece, after) = left.split_at(size.min(left.len()));
            left = after;
            IoSlice::new(piece)
        })
        .collect()
}

/// Sizes on both sides of every threshold of the default cost model, some of them zero.
pub fn mixed_sizes(count: usize) -> Vec<usize> {
    let sizes = [7, 0, 100, 4096, 12, 13, 14, 0, 0, 900, 1, 2000, 300, 600, 5];
    (0..count)
        .map(|i| sizes[(i + i / 40) % sizes.len()])
        .collect()
}

/// The number of bytes of `received` that are wrong, missing or surplus.
pub fn bytes_lost(expected: &[u8], received: &[u8]) -> u64 {
    if expected == received {
        return 0;
    }
    let pairs = expected.iter().zip(received);
    let wrong = pairs.filter(|(expected, received)| expected != received);
    (wrong.count() + expected.len().abs_diff(received.len())) as u64
}

/// Memory for a list that is read into, with guard bytes around each segment. A test fails if guard bytes change.
#[derive(Debug)]
pub struct GuardedList {
    memory: Vec<u8>,
    sizes: Vec<usize>,
}

/// The number of bytes of a guard. A guard stands before the first segment and after each segment.
const GUARD_BYTES: usize = 3;

/// The value of guards and of segments that are not filled. No byte of a payload has this value.
const BLANK: u8 = 0xff;

impl GuardedList {
    pub fn new(sizes: &[usize]) -> GuardedList {
        let guards = GUARD_BYTES * (sizes.len() + 1);
        GuardedList {
            memory: vec![BLANK; sizes.iter().sum::<usize>() + guards],
            sizes: sizes.to_vec(),
        }
    }

    pub fn segments(&mut self) -> Vec<IoSliceMut<'_>> {
        let mut left = &mut self.memory[..];
        let mut segments = Vec::with_capacity(self.sizes.len());
        for &size in &self.sizes {
            let (segment, after) = left[GUARD_BYTES..].split_at_mut(size);
            segments.push(IoSliceMut::new(segment));
            left = after;
        }
        segments
    }

    pub fn received(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.sizes.iter().sum());
        for (_, segment) in self.parts() {
            all.extend_from_slice(segment);
        }
        all
    }

    pub fn stray_writes(&self) -> u64 {
        let last = &self.memory[self.memory.len() - GUARD_BYTES..];
        let guards = self.parts().flat_map(|(guard, _)| guard).chain(last);
        guards.filter(|&&byte| byte != BLANK).count() as u64
    }

    fn parts(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut at = 0;
        self.sizes.iter().map(move |size| {
            let start = at + GUARD_BYTES;
            let guard = &self.memory[at..start];
            at = start + size;
            (guard, &self.memory[start..at])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_guard_bytes_are_stray_writes() {
        let mut guarded = GuardedList::new(&[2, 0, 3]);
        for (segment, byte) in guarded.segments().iter_mut().zip(1..) {
            segment.fill(byte);
        }
        assert_eq!(guarded.received(), [1, 1, 3, 3, 3]);
        assert_eq!(guarded.stray_writes(), 0);
        let end = guarded.memory.len() - GUARD_BYTES;
        for place in [0, GUARD_BYTES + 2, end] {
            guarded.memory[place] = 7;
        }
        assert_eq!(guarded.stray_writes(), 3);
    }
}
