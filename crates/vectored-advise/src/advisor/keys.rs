//! Values by keys. No key is used again.

use std::ops::{Index, IndexMut};

use slab::Slab;

/// Values by keys of one kind. After a value is removed, its key leads to an empty value.
#[derive(Debug, Default)]
pub(crate) struct Arena<const KIND: u8, T> {
    known: Slab<(u32, T)>,
    generation: u32,
    nothing: T,
    lost: T,
}

/// The place of a value in an [`Arena`], and the number of the value among all values that were ever there, from 1 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id<const KIND: u8>(u32, u32);

pub(crate) type DescriptorId = Id<0>;
pub(crate) type ThreadId = Id<1>;
/// A table of descriptors, which processes may share.
pub(crate) type TableId = Id<2>;
pub(crate) type GroupId = Id<3>;
pub(crate) type ProcessId = Id<4>;

impl<const KIND: u8> Id<KIND> {
    pub(crate) const NONE: Self = Id(0, 0);
}

impl ThreadId {
    /// Stands for the reader of an open file description if an earlier program of the process was the reader.
    pub(crate) const EARLIER_PROGRAM: ThreadId = Id(u32::MAX, 0);
}

impl<const KIND: u8, T> Arena<KIND, T> {
    pub(crate) fn insert(&mut self, value: T) -> Id<KIND> {
        self.generation = self.generation.wrapping_add(1);
        let place = self.known.insert((self.generation, value));
        Id(place as u32, self.generation)
    }

    #[inline]
    pub(crate) fn get(&self, key: Id<KIND>) -> Option<&T> {
        let known = self.known.get(key.0 as usize)?;
        (known.0 == key.1).then_some(&known.1)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: Id<KIND>) -> Option<&mut T> {
        let known = self.known.get_mut(key.0 as usize)?;
        (known.0 == key.1).then_some(&mut known.1)
    }

    pub(crate) fn try_remove(&mut self, key: Id<KIND>) -> Option<T> {
        self.get(key)?;
        Some(self.known.remove(key.0 as usize).1)
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    pub(crate) fn keys(&self) -> Vec<Id<KIND>> {
        let key = |(place, known): (usize, &(u32, T))| Id(place as u32, known.0);
        self.known.iter().map(key).collect()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.known.iter_mut().map(|(_, known)| &mut known.1)
    }
}

impl<const KIND: u8, T> Index<Id<KIND>> for Arena<KIND, T> {
    type Output = T;

    #[inline]
    fn index(&self, key: Id<KIND>) -> &T {
        self.get(key).unwrap_or(&self.nothing)
    }
}

impl<const KIND: u8, T: Default> IndexMut<Id<KIND>> for Arena<KIND, T> {
    #[inline]
    fn index_mut(&mut self, key: Id<KIND>) -> &mut T {
        match self.known.get_mut(key.0 as usize) {
            Some(known) if known.0 == key.1 => &mut known.1,
            _ => {
                self.lost = T::default();
                &mut self.lost
            }
        }
    }
}
