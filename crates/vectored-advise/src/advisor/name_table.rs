//! Names by number.

use indexmap::IndexSet;

/// Names by number. The number 0 stands for no name, and for every name after the first `NAMES_MAX`.
#[derive(Debug, Default)]
pub(crate) struct NameTable(IndexSet<Vec<u8>>);

const NAMES_MAX: usize = 4096;

impl NameTable {
    pub(crate) fn number(&mut self, name: &[u8]) -> u32 {
        let known = self.0.get_index_of(name);
        let has_room = !name.is_empty() && self.0.len() < NAMES_MAX;
        let new = || has_room.then(|| self.0.insert_full(name.to_vec()).0);
        known.or_else(new).map_or(0, |place| place as u32 + 1)
    }

    pub(crate) fn name(&self, number: u32) -> Option<String> {
        let name = self.0.get_index((number as usize).checked_sub(1)?)?;
        Some(String::from_utf8_lossy(name).into_owned())
    }
}
