//! Openings of the same file, which see what the others write.

use std::collections::HashMap;

use super::marks::{Marks, last_part};
use super::slab::Slab;
use super::tables::Latest;

/// Files by what the log calls them.
#[derive(Debug)]
pub(super) struct Groups {
    by_name: HashMap<Vec<u8>, u32>,
    groups: Slab<Group>,
    /// Files that were mapped into memory, and those whose mapping can be written.
    mapped: Marks,
    mapped_to_write: Marks,
}

/// Openings of one file.
#[derive(Debug, Default)]
struct Group {
    name: Vec<u8>,
    members: u32,
    is_mapped: bool,
    is_mapped_to_write: bool,
    written: Latest,
    read: Latest,
}

impl Groups {
    pub(super) fn new() -> Groups {
        let mut groups = Slab::new();
        // The first place is no group.
        groups.insert(Group::default());
        Groups {
            by_name: HashMap::new(),
            groups,
            mapped: Marks::default(),
            mapped_to_write: Marks::default(),
        }
    }

    /// An opening joins the group of a name: which that is. What the log shows is the whole path;
    /// of a path that a program gave only the last part is the same in all folders.
    pub(super) fn join(&mut self, shown: &[u8], path: &[u8]) -> u32 {
        let name = match shown.is_empty() {
            false => shown,
            true => last_part(path),
        };
        let place = match self.by_name.get(name) {
            Some(&place) => place,
            None => {
                let place = self.groups.insert(Group {
                    name: name.to_vec(),
                    is_mapped: self.mapped.has(name),
                    is_mapped_to_write: self.mapped_to_write.has(name),
                    ..Group::default()
                });
                self.by_name.insert(name.to_vec(), place);
                place
            }
        };
        if let Some(group) = self.groups.get_mut(place) {
            group.members += 1;
        }
        place
    }

    /// An opening leaves its group.
    pub(super) fn leave(&mut self, place: u32) {
        let Some(group) = self.groups.get_mut(place).filter(|_| place != 0) else {
            return;
        };
        group.members -= 1;
        if group.members == 0
            && let Some(group) = self.groups.remove(place)
        {
            self.by_name.remove(&group.name);
        }
    }

    /// A member was written (or may have been changed) or read (or looked at).
    #[inline]
    pub(super) fn note(&mut self, place: u32, event: u64, by: u32, is_read: bool) {
        if let Some(group) = self.groups.get_mut(place).filter(|_| place != 0) {
            match is_read {
                true => group.read.note(event, by),
                false => group.written.note(event, by),
            }
        }
    }

    /// A member was mapped into memory: for good, since the end of a mapping does not tell of what.
    pub(super) fn map(&mut self, place: u32, writes_through: bool) {
        let Some(group) = self.groups.get_mut(place).filter(|_| place != 0) else {
            return;
        };
        if !group.is_mapped {
            group.is_mapped = true;
            self.mapped.insert(&group.name);
        }
        if writes_through && !group.is_mapped_to_write {
            group.is_mapped_to_write = true;
            self.mapped_to_write.insert(&group.name);
        }
    }

    /// Whether a mapping may see what is written to the file, or change what is read from it.
    pub(super) fn is_mapped(&self, place: u32, is_read: bool) -> bool {
        self.groups.get(place).is_some_and(|group| match is_read {
            true => group.is_mapped_to_write,
            false => group.is_mapped,
        })
    }

    /// Whether other members were used since an event in a way that matters to a run.
    pub(super) fn was_used_since(&self, place: u32, event: u64, by: u32, is_read: bool) -> bool {
        self.groups.get(place).is_some_and(|group| {
            let written = group.written.by_others(by);
            let read = if is_read { 0 } else { group.read.by_others(by) };
            written.max(read) > event
        })
    }
}
