//! Determines the thread of a line.

use std::collections::HashSet;

use crate::line::line_prefix::Prefix;

/// The threads of a log. On its standard error, strace names threads (`[pid 12]`) only while it follows several
/// threads. Until there is a second thread, the number of the first thread is unknown. So the first thread is 0 in all
/// events.
#[derive(Debug)]
pub(crate) struct ThreadTracker {
    /// Threads that have had a line, or whose creating call returned.
    known: HashSet<u32>,
    /// The thread of the line before. This thread needs no look-up.
    last: Option<u32>,
    /// The thread of lines that name no thread.
    lone: u32,
    /// In a log with `[pid 12]`: the threads that have not ended. The first thread counts as `start`.
    alive: HashSet<u32>,
    /// In a log with `[pid 12]`: the number that strace writes for the first thread.
    first: Option<u32>,
    start: u32,
}

impl ThreadTracker {
    pub(crate) fn new(lone: u32) -> Self {
        Self {
            known: HashSet::new(),
            last: None,
            lone,
            alive: HashSet::from([lone]),
            first: None,
            start: lone,
        }
    }

    /// The thread of a line. `resumes`: the line resumes a call. `is_busy` returns whether a thread has an unfinished
    /// call.
    pub(crate) fn thread_of(
        &mut self,
        prefix: &Prefix,
        resumes: bool,
        is_busy: impl Fn(u32) -> bool,
    ) -> u32 {
        match prefix.thread {
            None => self.lone,
            Some(thread) if !prefix.bracketed => thread,
            Some(thread) => self.bracketed(thread, resumes, is_busy),
        }
    }

    /// Whether `thread` had no line yet, and no call returned it. From now on, the thread is known.
    pub(crate) fn is_new(&mut self, thread: u32) -> bool {
        if self.last == Some(thread) {
            return false;
        }
        self.last = Some(thread);
        self.known.insert(thread)
    }

    pub(crate) fn created(&mut self, thread: u32) {
        self.known.insert(thread);
        self.alive.insert(thread);
    }

    pub(crate) fn attached(&mut self, thread: u32) {
        self.alive.insert(thread);
    }

    /// Notes the end of a thread. If only one thread is left, strace no longer names it.
    pub(crate) fn ended(&mut self, thread: u32) {
        self.known.remove(&thread);
        self.last = None;
        self.alive.remove(&thread);
        if let (1, Some(left)) = (self.alive.len(), self.alive.iter().next()) {
            self.lone = *left;
        }
    }

    /// The number that events have for a thread that strace names.
    pub(crate) fn in_events(&self, thread: u32) -> u32 {
        if self.first == Some(thread) { self.start } else { thread }
    }

    fn bracketed(&mut self, thread: u32, resumes: bool, is_busy: impl Fn(u32) -> bool) -> u32 {
        if self.first == Some(thread) {
            return self.start;
        }
        if self.alive.contains(&thread) {
            return thread;
        }
        // Only a thread with an unfinished call can resume a call. Only a thread without an unfinished call can begin a
        // call.
        let may_be_first = self.first.is_none() && self.alive.contains(&self.start);
        if may_be_first && self.start == 0 && resumes == is_busy(self.start) {
            self.first = Some(thread);
            return self.start;
        }
        self.alive.insert(thread);
        thread
    }
}
