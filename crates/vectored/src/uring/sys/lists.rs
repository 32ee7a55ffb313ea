//! The lists of slices of calls, whose memory is used again.

use std::io::{IoSlice, IoSliceMut};

/// The bytes that a ring keeps for lists of later calls: those of 64 calls of 1024 segments.
const RETAINED_BYTES: usize = 1 << 20;

/// The slices of a call: of a write, or of a read.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) sources: Vec<IoSlice<'static>>,
    pub(super) targets: Vec<IoSliceMut<'static>>,
}

impl Lists {
    fn bytes(&self) -> usize {
        self.sources.capacity() * size_of::<IoSlice<'_>>()
            + self.targets.capacity() * size_of::<IoSliceMut<'_>>()
    }
}

/// Empty lists.
#[derive(Default)]
pub(super) struct SpareLists {
    lists: Vec<Lists>,
    bytes: usize,
}

impl SpareLists {
    pub(super) fn take(&mut self) -> Lists {
        let lists = self.lists.pop().unwrap_or_default();
        self.bytes -= lists.bytes();
        lists
    }

    /// Empties lists, and keeps their memory as far as there is not enough of it.
    pub(super) fn give_back(&mut self, mut lists: Lists) {
        lists.sources.clear();
        lists.targets.clear();
        let bytes = self.bytes + lists.bytes();
        if bytes <= RETAINED_BYTES {
            self.bytes = bytes;
            self.lists.push(lists);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_lists_is_kept_up_to_a_limit() {
        let mut spare = SpareLists::default();
        for _ in 0..3 {
            let mut all: Vec<Lists> = (0..200).map(|_| spare.take()).collect();
            for lists in &mut all {
                lists.sources.resize(1024, IoSlice::new(&[]));
            }
            all.into_iter().for_each(|lists| spare.give_back(lists));
            let kept: usize = spare.lists.iter().map(Lists::bytes).sum();
            assert_eq!(kept, spare.bytes);
            assert!(
                (RETAINED_BYTES / 2..=RETAINED_BYTES).contains(&kept),
                "{kept}"
            );
        }
        assert!(spare.take().sources.is_empty());
    }
}
