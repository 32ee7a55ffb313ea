//! Hands the events of logs to an analysis.

use std::ops::ControlFlow;
use std::path::PathBuf;

use vectored_strace::{Counts, Event, EventSink, Item, LogError, read_logs_to};

use crate::advisor::analysis::Analysis;

impl EventSink for Analysis {
    fn on_item(&mut self, item: Item<'_>) -> ControlFlow<()> {
        match item {
            Item::Begin => self.begin_log(),
            Item::Event(event) => Analysis::follow(self, &event),
            Item::End(_) => {}
        }
        ControlFlow::Continue(())
    }

    #[inline(always)]
    fn on_common_transfer(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self.follow_here(event);
        ControlFlow::Continue(())
    }
}

impl Analysis {
    /// Reads logs as [`read_logs`](vectored_strace::read_logs), and follows all that is in them. It takes less
    /// time than to follow each event.
    ///
    /// # Errors
    ///
    /// As [`read_logs`](vectored_strace::read_logs).
    pub fn read_logs(&mut self, paths: &[PathBuf]) -> Result<Counts, LogError> {
        read_logs_to(paths, self)
    }
}
