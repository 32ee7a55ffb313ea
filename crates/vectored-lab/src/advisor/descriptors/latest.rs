//! The last event of one actor, and the last of any other.

/// The last event of somebody, and the last one of somebody else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    first: (u64, u32),
    second: (u64, u32),
}

impl Latest {
    pub(crate) fn note(&mut self, event: u64, by: u32) {
        if self.first.1 != by {
            self.second = self.first;
        }
        self.first = (event, by);
    }

    /// The last by anybody.
    pub(crate) fn by_any(&self) -> u64 {
        self.first.0
    }

    /// The last by anybody else.
    pub(crate) fn by_others(&self, than: u32) -> u64 {
        self.of_others(than).0
    }

    /// The last by anybody else, and who that was.
    pub(crate) fn of_others(&self, than: u32) -> (u64, u32) {
        match self.first.1 == than {
            true => self.second,
            false => self.first,
        }
    }
}
