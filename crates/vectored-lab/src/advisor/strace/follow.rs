//! Who follows what is in logs.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread;

use super::ahead::ahead;
use super::counts::Counts;
use super::logs::{Item, LogError, read_all};
use crate::advisor::Analysis;
use crate::advisor::event::Event;

/// What is told of logs, one after the other. Each of its answers says whether to go on.
pub(super) trait Follow {
    /// Anything.
    fn follow(&mut self, item: Item<'_>) -> ControlFlow<()>;

    /// A call that moved bytes and is like most: whoever has a shorter way for these takes it.
    fn follow_usual(&mut self, event: &Event<'_>) -> ControlFlow<()>;
}

/// Something that is called for each item.
pub(super) struct Each<F>(pub(super) F);

impl<F: FnMut(Item<'_>) -> ControlFlow<()>> Follow for Each<F> {
    fn follow(&mut self, item: Item<'_>) -> ControlFlow<()> {
        (self.0)(item)
    }

    fn follow_usual(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        (self.0)(Item::Event(event.clone()))
    }
}

impl Follow for Analysis {
    fn follow(&mut self, item: Item<'_>) -> ControlFlow<()> {
        match item {
            Item::Begin => self.begin_log(),
            Item::Event(event) => Analysis::follow(self, &event),
            Item::End(_) => {}
        }
        ControlFlow::Continue(())
    }

    #[inline(always)]
    fn follow_usual(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self.follow_here(event);
        ControlFlow::Continue(())
    }
}

impl Analysis {
    /// Reads logs as [`read_logs`](super::read_logs), and follows all that is in them. It takes less
    /// time than to follow each event.
    ///
    /// # Errors
    ///
    /// As [`read_logs`](super::read_logs).
    pub fn read_logs(&mut self, paths: &[PathBuf]) -> Result<Counts, LogError> {
        read_logs_to(paths, self)
    }
}

/// As [`read_logs`](super::read_logs).
pub(super) fn read_logs_to(
    paths: &[PathBuf],
    follower: &mut impl Follow,
) -> Result<Counts, LogError> {
    let Some(first) = paths.first() else {
        return Ok(Counts::default());
    };
    let (mut ahead, behind) = ahead();
    thread::scope(|scope| {
        let reading = thread::Builder::new()
            .spawn_scoped(scope, move || read_all(paths, &mut ahead))
            .map_err(|error| LogError {
                path: first.clone(),
                error,
            })?;
        let showed = behind.follow(follower);
        let mut counts = match reading.join() {
            Ok(counts) => counts?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        counts.add(&showed);
        Ok(counts)
    })
}
