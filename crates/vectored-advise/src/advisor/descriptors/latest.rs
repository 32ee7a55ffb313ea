//! The last event by one actor, and the last event by any other actor.

/// The last event and its actor, and the last event of any other actor. Event 0 means no event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest<A> {
    first: (u64, A),
    second: (u64, A),
}

impl<A: Copy + PartialEq> Latest<A> {
    pub(crate) fn note(&mut self, event: u64, by: A) {
        if self.first.1 != by {
            self.second = self.first;
        }
        self.first = (event, by);
    }

    pub(crate) fn by_others(&self, than: A) -> u64 {
        self.of_others(than).0
    }

    /// The known last events of other actors than `than`, with their actors.
    pub(crate) fn each_of_others(&self, than: A) -> impl Iterator<Item = (u64, A)> {
        let all = [self.first, self.second];
        all.into_iter().filter(move |one| one.1 != than)
    }

    pub(crate) fn of_others(&self, than: A) -> (u64, A) {
        if self.first.1 == than { self.second } else { self.first }
    }
}
