//! The descriptors of one process, or of several that share them (`CLONE_FILES`).

use crate::advisor::descriptors::keys::DescriptorId;
use rustc_hash::FxHashMap;

#[derive(Clone, Debug, Default)]
pub(super) struct FdTable {
    pub(super) processes: u32,
    slots: FxHashMap<i32, Slot>,
}

/// State of a descriptor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// Not seen yet: it may have been open before the log began.
    Unseen,
    Closed,
    /// It leads to an open file description.
    Open {
        open_file: DescriptorId,
        close_on_exec: bool,
    },
}

/// Descriptor numbers below this are kept when they are closed. A log may have many processes, each with high numbers.
const KEPT: i32 = 64;

impl FdTable {
    pub(super) fn of_one_process() -> FdTable {
        FdTable {
            processes: 1,
            ..FdTable::default()
        }
    }

    #[inline]
    pub(super) fn get(&self, number: i32) -> Slot {
        self.slots.get(&number).copied().unwrap_or(Slot::Unseen)
    }

    pub(super) fn set(&mut self, number: i32, slot: Slot) {
        if slot == Slot::Closed && !(0..KEPT).contains(&number) {
            self.slots.remove(&number);
        } else {
            self.slots.insert(number, slot);
        }
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (i32, DescriptorId, bool)> + '_ {
        self.slots.iter().filter_map(|(&number, &slot)| match slot {
            Slot::Open {
                open_file,
                close_on_exec,
            } => Some((number, open_file, close_on_exec)),
            Slot::Unseen | Slot::Closed => None,
        })
    }

    /// Numbers that are kept, open or not.
    pub(super) fn len(&self) -> u64 {
        self.slots.len() as u64
    }

    pub(super) fn leads_to(&self, open_file: DescriptorId) -> bool {
        self.open().any(|open| open.1 == open_file)
    }
}
