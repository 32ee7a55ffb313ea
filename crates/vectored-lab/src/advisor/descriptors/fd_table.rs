//! The descriptor table of a process.

use std::collections::BTreeMap;

/// A table of descriptors.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) processes: u32,
    near: Vec<Slot>,
    far: BTreeMap<i32, Slot>,
}

/// Where a descriptor of a table leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// It was never seen.
    Unseen,
    /// It was closed.
    Closed,
    /// To an opening.
    Open { opening: u32, close_on_exec: bool },
}

/// Descriptors below this are in an array.
const NEAR: usize = 1024;

impl Table {
    /// An empty table of one process.
    pub(super) fn of_one_process() -> Table {
        Table {
            processes: 1,
            ..Table::default()
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

    pub(super) fn open(&self) -> impl Iterator<Item = (i32, u32, bool)> + '_ {
        self.slots().filter_map(|(number, slot)| match slot {
            Slot::Open {
                opening,
                close_on_exec,
            } => Some((number, opening, close_on_exec)),
            Slot::Unseen | Slot::Closed => None,
        })
    }

    pub(super) fn leads_to(&self, opening: u32) -> bool {
        self.open().any(|open| open.1 == opening)
    }
}
