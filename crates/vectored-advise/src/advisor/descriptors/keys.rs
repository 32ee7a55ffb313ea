//! Keys of what a log shows. The key of what is gone is used again.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use slab::Slab;

/// Values by keys of one type. A key of what is gone, which only a wrong log has, leads to an empty value.
#[derive(Debug)]
pub(crate) struct Arena<K, T> {
    known: Slab<T>,
    nothing: T,
    /// The value that takes writes to a key that is gone.
    lost: T,
    keys: PhantomData<K>,
}

/// The place of a value in an [`Arena`].
pub(crate) trait Key: Copy {
    fn new(place: usize) -> Self;
    fn place(self) -> usize;
}

impl<K, T: Default> Default for Arena<K, T> {
    fn default() -> Self {
        Arena {
            known: Slab::new(),
            nothing: T::default(),
            lost: T::default(),
            keys: PhantomData,
        }
    }
}

impl<K: Key, T> Arena<K, T> {
    pub(crate) fn insert(&mut self, value: T) -> K {
        K::new(self.known.insert(value))
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<&T> {
        self.known.get(key.place())
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.known.get_mut(key.place())
    }

    pub(crate) fn try_remove(&mut self, key: K) -> Option<T> {
        self.known.try_remove(key.place())
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        self.known
            .iter()
            .map(|(place, value)| (K::new(place), value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> {
        self.known
            .iter_mut()
            .map(|(place, value)| (K::new(place), value))
    }
}

impl<K: Key, T> Index<K> for Arena<K, T> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        self.known.get(key.place()).unwrap_or(&self.nothing)
    }
}

impl<K: Key, T: Default> IndexMut<K> for Arena<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        match self.known.get_mut(key.place()) {
            Some(known) => known,
            None => {
                self.lost = T::default();
                &mut self.lost
            }
        }
    }
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident from $first:literal)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) struct $name(usize);

        impl Key for $name {
            fn new(place: usize) -> Self {
                $name(place + $first)
            }

            #[inline]
            fn place(self) -> usize {
                self.0.wrapping_sub($first)
            }
        }
    )*};
}

keys! {
    /// An open file description.
    DescriptorId from 0
    ThreadId from 0
    /// A table of descriptors, which processes may share.
    TableId from 0
    /// The open file descriptions of one file, pipe or socket. An unknown one has the group 0, which is in no arena.
    GroupId from 1
}

impl DescriptorId {
    /// No open file description of the log.
    pub(crate) const NONE: DescriptorId = DescriptorId(usize::MAX);
}

impl TableId {
    /// The table of a process that has ended.
    pub(crate) const NONE: TableId = TableId(usize::MAX);
}

impl GroupId {
    /// The group of what is not known.
    pub(crate) const NONE: GroupId = GroupId(0);
}

/// A thread for the whole log, by the order of its first event. 0 is no thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Serial(pub(super) u64);

impl Serial {
    pub(crate) const NONE: Serial = Serial(0);

    /// Stands for the reader of an open file description, if an earlier program of the process read from it.
    pub(crate) const EARLIER_PROGRAM: Serial = Serial(u64::MAX);
}

/// A process for the whole log: its key, and a generation, which is not used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ProcessId {
    pub(super) key: usize,
    pub(in crate::advisor) generation: u32,
}
