//! From events to tallies: one pass, in memory bounded by what is open and by distinct patterns.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::advisor::findings::tallies::Tallies;
use crate::advisor::options::Options;
use crate::advisor::runs::call_effects::Names;
use crate::advisor::tracker::Log;
use vectored_strace::{Counts, Event, EventSink, Item, LogError, read_logs_to};

/// Follows logs, call by call, and counts what could be merged.
///
/// A log is a unit of its own: each starts with [`Analysis::begin_log`], with no process and no
/// descriptor known, and what was found in several is the sum of what was found in each.
///
/// Calls are merged only where that changes nothing that anybody could rely on: writes that are
/// merged happen later, reads earlier, so that nothing may lie between writes that lets somebody
/// else see what was done before, and nothing between reads that waits for somebody else. In doubt
/// it is not counted, and the reason is told.
#[derive(Debug)]
pub struct Analysis {
    options: Options,
    names: Names,
    log: Log,
    tallies: Tallies,
}

impl Analysis {
    /// One that has seen nothing.
    pub fn new(options: Options) -> Analysis {
        Analysis {
            options,
            names: Names::new(),
            log: Log::new(options),
            tallies: Tallies::default(),
        }
    }

    /// What follows is another log, which knows nothing of the one before.
    pub fn begin_log(&mut self) {
        let log = std::mem::replace(&mut self.log, Log::new(self.options));
        log.close(&self.options, &mut self.tallies);
    }

    /// The next event of the log: those of one thread in the order of time, and a call of another
    /// thread that saw its effect after it.
    pub fn follow(&mut self, event: &Event<'_>) {
        self.follow_here(event);
    }

    /// As [`Analysis::follow`], made anew where it is used: what is the same of all events there takes
    /// no time.
    #[inline(always)]
    fn follow_here(&mut self, event: &Event<'_>) {
        self.log.follow(event, &mut self.names);
    }

    /// A path that is known to lead to a FIFO, which a log may not tell from a file. It holds for what
    /// follows of this log.
    pub fn name_fifo(&mut self, path: &[u8]) {
        self.log.name_fifo(path);
    }

    /// What was found.
    pub fn finish(mut self) -> Tallies {
        self.begin_log();
        self.tallies
    }
}

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
