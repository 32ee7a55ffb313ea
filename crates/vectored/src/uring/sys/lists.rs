//! The lists of slices of a call.

use std::io::{IoSlice, IoSliceMut};

#[derive(Default)]
pub(super) struct Lists {
    pub(super) sources: Vec<IoSlice<'static>>,
    pub(super) targets: Vec<IoSliceMut<'static>>,
}

impl Lists {
    pub(super) fn clear(&mut self) {
        self.sources.clear();
        self.targets.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        self.sources.capacity() * size_of::<IoSlice<'_>>()
            + self.targets.capacity() * size_of::<IoSliceMut<'_>>()
    }
}
