//! Where records end, so that calls end there too.

use std::collections::VecDeque;

/// The ends of the records in a queue, as numbers of bytes since the queue was made.
///
/// A position is never reset. After 2⁶⁴ bytes, it would wrap.
#[derive(Debug)]
pub(super) struct RecordEnds {
    ends: VecDeque<u64>,
    /// Where the first record begins: no later than the first byte in the queue, earlier if its head was written.
    start: u64,
}

impl RecordEnds {
    pub(super) const fn new() -> RecordEnds {
        RecordEnds {
            ends: VecDeque::new(),
            start: 0,
        }
    }

    /// A record ends at `position`, which is no less than the ones before.
    #[inline]
    pub(super) fn push(&mut self, position: u64) {
        if self.ends.back() != Some(&position) {
            self.ends.push_back(position);
        }
    }

    /// Forgets the ends up to `position`.
    pub(super) fn forget_to(&mut self, position: u64) {
        while let Some(&end) = self.ends.front()
            && end <= position
        {
            self.ends.pop_front();
            self.start = end;
        }
    }

    /// Forgets all ends. The next record begins at `position`.
    pub(super) fn clear(&mut self, position: u64) {
        self.ends.clear();
        self.start = position;
    }

    /// Frees memory of more than `count` ends, if there are none.
    pub(super) fn free_beyond(&mut self, count: usize) {
        if self.ends.is_empty() && self.ends.capacity() > count {
            self.ends = VecDeque::new();
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.ends.capacity()
    }

    pub(super) fn shrink_to(&mut self, count: usize) {
        self.ends.shrink_to(count);
    }

    /// The number of bytes from `from` to the last end within `most` bytes; `None` if there is none.
    pub(super) fn last_within(&self, from: u64, most: usize) -> Option<usize> {
        let limit = from.saturating_add(most as u64);
        let count = self.ends.partition_point(|end| *end <= limit);
        let end = *self.ends.get(count.checked_sub(1)?)?;
        // It is no more than `most`.
        (end > from).then(|| (end - from) as usize)
    }

    /// The number of bytes of the record that begins at `from`; `None` if none ends there, or if its head is before `from`.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(super) fn whole_at(&self, from: u64) -> Option<usize> {
        (self.start == from).then(|| self.first(from))?
    }

    /// The number of bytes from `from` to the first end behind it.
    pub(super) fn first(&self, from: u64) -> Option<usize> {
        let end = self.ends.iter().find(|end| **end > from)?;
        usize::try_from(end - from).ok()
    }
}
