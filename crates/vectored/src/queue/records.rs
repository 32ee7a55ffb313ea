//! The ends of records. Calls end at them.

use std::collections::VecDeque;

/// The ends of the records in a queue, as numbers of bytes since the queue was made.
///
/// Records in a row are a group, as long as they have only a small part of the bytes that a call may have. A record with a
/// kept segment begins a group. Only the last end of a group is remembered. A call then holds whole groups, and so whole
/// records. Most ends cost a comparison and a store, and no memory.
///
/// A position is never reset. After 2⁶⁴ bytes, it would wrap.
#[derive(Debug)]
pub(super) struct RecordEnds {
    /// The ends of the groups before the last group.
    ends: VecDeque<u64>,
    /// The start of the first group: no later than the first byte in the queue, or earlier, if the head of the group
    /// was written.
    start: u64,
    last: u64,
    /// A record that ends up to here belongs to the last group.
    group_limit: u64,
}

impl RecordEnds {
    pub(super) const fn new() -> RecordEnds {
        RecordEnds {
            ends: VecDeque::new(),
            start: 0,
            last: 0,
            group_limit: 0,
        }
    }

    /// A record ends at `position`, which is at or after all earlier ends. Returns false if the record does not belong
    /// to the last group: then call [`push_group`](RecordEnds::push_group).
    #[inline]
    pub(super) fn extend_group(&mut self, position: u64) -> bool {
        let extends = position <= self.group_limit;
        if extends {
            self.last = position;
        }
        extends
    }

    /// A record ends at `position`, and begins a group of up to `group_bytes`. The bytes before `written` were written.
    pub(super) fn push_group(&mut self, position: u64, written: u64, group_bytes: usize) {
        let begin = self.last.max(written);
        if self.last > written {
            self.ends.push_back(self.last);
        }
        self.last = position;
        self.group_limit = begin.saturating_add(group_bytes as u64);
    }

    /// The record that has begun is the first of another group.
    #[inline]
    pub(super) fn end_group(&mut self) {
        self.group_limit = 0;
    }

    pub(super) fn forget_to(&mut self, position: u64) {
        while self.ends.front().is_some_and(|end| *end <= position) {
            self.start = self.ends.pop_front().expect("there is a front");
        }
        if self.last <= position {
            self.start = self.last;
        }
    }

    /// Forgets all ends. All bytes up to `written` are gone. A group of up to `group_bytes` begins.
    #[inline]
    pub(super) fn clear(&mut self, written: u64, group_bytes: usize) {
        if !self.ends.is_empty() {
            self.ends.clear();
        }
        (self.start, self.last) = (written, written);
        self.group_limit = written.saturating_add(group_bytes as u64);
    }

    #[inline]
    pub(super) fn free_beyond(&mut self, count: usize) {
        if self.ends.capacity() > count && self.ends.is_empty() {
            self.ends = VecDeque::new();
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.ends.capacity()
    }

    /// The number of bytes from `from` to the last end within `most` bytes; `None` if there is no such end.
    pub(super) fn last_within(&self, from: u64, most: usize) -> Option<usize> {
        let limit = from.saturating_add(most as u64);
        let end = if self.last <= limit {
            self.last
        } else {
            let count = self.ends.partition_point(|end| *end <= limit);
            *self.ends.get(count.checked_sub(1)?)?
        };
        // The difference is at most `most`.
        (end > from).then(|| (end - from) as usize)
    }

    /// The number of bytes of the group that begins at `from`; `None` if no end follows, or if the head of the group is
    /// before `from`.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(super) fn whole_at(&self, from: u64) -> Option<usize> {
        (self.start == from).then(|| self.first(from))?
    }

    pub(super) fn first(&self, from: u64) -> Option<usize> {
        let mut ends = self.ends.iter().chain([&self.last]);
        let end = ends.find(|end| **end > from)?;
        usize::try_from(end - from).ok()
    }
}
