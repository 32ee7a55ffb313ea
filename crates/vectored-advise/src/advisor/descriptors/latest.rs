//! The last event by one actor, and the last by any other.

/// The last event and its actor, and the last event by any other actor. An event of 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    first: (u64, usize),
    second: (u64, usize),
}

impl Latest {
    pub(crate) fn note(&mut self, event: u64, by: usize) {
        if self.first.1 != by {
            self.second = self.first;
        }
        self.first = (event, by);
    }

    /// The last event by any actor.
    pub(crate) fn by_any(&self) -> u64 {
        self.first.0
    }

    /// The last event by any actor but `than`.
    pub(crate) fn by_others(&self, than: usize) -> u64 {
        self.of_others(than).0
    }

    /// The last event by any actor but `than`, with its actor.
    pub(crate) fn of_others(&self, than: usize) -> (u64, usize) {
        if self.first.1 == than { self.second } else { self.first }
    }
}
