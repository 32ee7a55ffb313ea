//! From events to tallies in one pass, in memory bounded by the open files and the distinct patterns.

use std::path::PathBuf;

use crate::advisor::findings::tallies::{Tallies, fold_sites};
use crate::advisor::options::Options;
use crate::advisor::tracker::Tracker;
use crate::languages::last_part;
use crate::model::Runtime;
use vectored_strace::{Counts, Event, LogError, read_logs};

/// Reads logs event by event, and counts calls that fewer calls could replace.
///
/// Each log is analysed alone, from [`Analysis::begin_log`] on, with no process and no descriptor known.
/// The tallies of several logs are added.
///
/// Two calls count as mergeable only if no process could rely on the difference. Merging delays writes and advances
/// reads. So no event between two writes may let another process see the first write, and no event between two reads
/// may wait for another process. In doubt the calls are listed with the reason, but not counted.
#[derive(Debug)]
pub struct Analysis {
    tracker: Tracker,
    tallies: Tallies,
}

impl Analysis {
    pub fn new(options: Options) -> Analysis {
        Analysis {
            tracker: Tracker::new(options),
            tallies: Tallies::default(),
        }
    }

    pub fn begin_log(&mut self) {
        let next = Tracker::new(self.tracker.options);
        // The findings of each log are folded alone, so that the sum does not depend on which process read which log.
        let mut of_log = std::mem::replace(&mut self.tracker, next).close();
        fold_sites(&mut of_log.found);
        self.tallies.add(of_log);
    }

    /// Adds the next event of the log. The events of one thread come in the order of time. If a call of another thread
    /// saw the effect of an event, that call comes after the event.
    pub fn follow(&mut self, event: &Event<'_>) {
        self.tracker.follow(event);
    }

    /// Notes that a path leads to a FIFO, since a log may not show that. The note holds for the rest of this log.
    pub fn name_fifo(&mut self, path: &[u8]) {
        self.tracker.fifos.insert(last_part(path));
    }

    /// Notes that nobody else appends to the file of a standard descriptor (0 to 2) that was open before the log began.
    pub fn own_standard(&mut self, number: usize) {
        self.tracker.own_standard[number] = true;
    }

    /// Notes the working folder in which this log begins. `folder` has the escapes of strace.
    pub fn begin_in(&mut self, folder: &[u8]) {
        self.tracker.folder = folder.to_vec();
    }

    /// A path in a call of a thread, resolved from the thread's present working folder.
    pub fn path_of(&mut self, thread: u32, path: &[u8]) -> Vec<u8> {
        self.tracker.path_of(thread, path)
    }

    /// Notes the runtime of a program whose name does not tell the runtime. `program` is the path from
    /// [`Analysis::path_of`]. The note holds for the rest of this log.
    pub fn name_runtime(&mut self, program: &[u8], runtime: Runtime) {
        self.tracker.runtimes.insert(program.to_vec(), runtime);
    }

    #[cfg(test)]
    pub(crate) fn is_full(&self) -> bool {
        self.tracker.kernel.is_full(self.tracker.event)
    }

    pub fn finish(mut self) -> Tallies {
        self.begin_log();
        self.tallies
    }

    /// Reads logs by [`read_logs`] and adds their events.
    ///
    /// # Errors
    ///
    /// The errors of [`read_logs`].
    pub fn read_logs(&mut self, paths: &[PathBuf]) -> Result<Counts, LogError> {
        read_logs(paths, |event| match event {
            None => self.begin_log(),
            Some(event) => self.follow(&event),
        })
    }
}
