//! The ends of the records in a queue: [`RecordEnds`].

use std::collections::VecDeque;

/// The ends of the records in a queue. A position is the number of bytes since the queue was made, and is never reset.
///
/// Neighbouring short records form a group of up to `group_bytes`. Only the last end of each group is stored, so most
/// ends need no memory. A call gets whole groups, and so whole records. A record with a kept segment is the first
/// record of a group.
#[derive(Debug)]
pub(super) struct RecordEnds {
    /// The ends of all groups before the last group.
    ends: VecDeque<u64>,
    /// The start of the first group. If the head of the first group was written, the first byte of the queue is after
    /// `start`.
    start: u64,
    last: u64,
    /// The largest end of a record that still belongs to the last group.
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

    /// Ends a record at `position`, which is not before an earlier end.
    ///
    /// Returns false if the record does not belong to the last group. The caller then calls
    /// [`push_group`](RecordEnds::push_group).
    #[inline]
    pub(super) fn extend_group(&mut self, position: u64) -> bool {
        let extends = position <= self.group_limit;
        if extends {
            self.last = position;
        }
        extends
    }

    /// Ends a record at `position`. The record begins a group of up to `group_bytes`. The bytes before position
    /// `written` have left the queue.
    pub(super) fn push_group(&mut self, position: u64, written: u64, group_bytes: usize) {
        let begin = self.last.max(written);
        if self.last > written {
            self.ends.push_back(self.last);
        }
        self.last = position;
        self.group_limit = begin.saturating_add(group_bytes as u64);
    }

    /// Makes the current record the first record of a new group.
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

    /// Forgets all ends, because all bytes before position `written` have left the queue. Begins a group of up to
    /// `group_bytes`.
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

    /// Returns the number of bytes from `from` to the last end within `most` bytes. `None` means that no end is within
    /// `most`.
    pub(super) fn last_within(&self, from: u64, most: usize) -> Option<usize> {
        let limit = from.saturating_add(most as u64);
        let end = if self.last <= limit {
            self.last
        } else {
            let count = self.ends.partition_point(|end| *end <= limit);
            *self.ends.get(count.checked_sub(1)?)?
        };
        // The difference is at most `most`, so the cast loses nothing.
        (end > from).then(|| (end - from) as usize)
    }

    /// Returns the number of bytes of the group that begins at `from`. Returns `None` if no end follows `from`, or if
    /// the first group begins before `from`.
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
