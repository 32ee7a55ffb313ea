//! The descriptors of one process, or of several that share them (`CLONE_FILES`).

use crate::advisor::descriptors::keys::DescriptorId;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct FdTable {
    pub(super) processes: u32,
    near: Vec<Slot>,
    far: BTreeMap<i32, Slot>,
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

/// Descriptor numbers below this are in `near`, the others in `far`: a log may have many processes, each with one high number.
const NEAR: usize = 64;

impl FdTable {
    pub(super) fn of_one_process() -> FdTable {
        FdTable {
            processes: 1,
            ..FdTable::default()
        }
    }

    #[inline]
    pub(super) fn get(&self, number: i32) -> Slot {
        let near = usize::try_from(number).ok().filter(|&number| number < NEAR);
        match near {
            Some(number) => self.near.get(number).copied().unwrap_or(Slot::Unseen),
            None => self.far.get(&number).copied().unwrap_or(Slot::Unseen),
        }
    }

    pub(super) fn set(&mut self, number: i32, slot: Slot) {
        match usize::try_from(number) {
            Ok(number) if number < NEAR => {
                if self.near.len() <= number {
                    self.near.resize(number + 1, Slot::Unseen);
                }
                self.near[number] = slot;
            }
            _ if slot == Slot::Closed => drop(self.far.remove(&number)),
            _ => drop(self.far.insert(number, slot)),
        }
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = (i32, Slot)> + '_ {
        let near = self.near.iter().enumerate();
        let near = near.map(|(number, &slot)| (number as i32, slot));
        near.chain(self.far.iter().map(|(&number, &slot)| (number, slot)))
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (i32, DescriptorId, bool)> + '_ {
        self.slots().filter_map(|(number, slot)| match slot {
            Slot::Open {
                open_file,
                close_on_exec,
            } => Some((number, open_file, close_on_exec)),
            Slot::Unseen | Slot::Closed => None,
        })
    }

    /// Numbers that are kept, open or not.
    pub(super) fn len(&self) -> u64 {
        (self.near.len() + self.far.len()) as u64
    }

    pub(super) fn leads_to(&self, open_file: DescriptorId) -> bool {
        self.open().any(|open| open.1 == open_file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_high_number_takes_no_room_for_those_below_it() {
        for number in [63, 64, 1023, i32::MAX, -1] {
            let mut table = FdTable::of_one_process();
            let slot = Slot::Open {
                open_file: DescriptorId::NONE,
                close_on_exec: false,
            };
            table.set(number, slot);
            assert_eq!(table.get(number), slot);
            assert!(table.near.capacity() + table.far.len() <= 64, "{number}");
            table.set(number, Slot::Closed);
            assert_eq!(table.open().count(), 0, "{number}");
        }
    }
}
