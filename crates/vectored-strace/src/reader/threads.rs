//! Determines the thread of a line.

use std::collections::HashSet;

use crate::line::line_prefix::{MAX_THREAD, Prefix};

/// The threads of a log.
///
/// On its standard error strace names threads only while it follows more than one (`[pid 12]`). The number of the first
/// thread is then unknown until there is a second one, so the first thread is 0 in all events.
#[derive(Debug)]
pub(crate) struct ThreadTracker {
    /// Threads that have had a line, or that a call returned.
    known: ThreadSet,
    /// The thread of the previous line, which needs no second look-up.
    last: Option<u32>,
    /// The thread of lines that name none.
    lone: u32,
    /// In a log with `[pid 12]`: threads that have not ended, the first one as `start`.
    alive: HashSet<u32>,
    /// In such a log: the number that strace writes for the first thread.
    first: Option<u32>,
    /// The number of the first thread in events.
    start: u32,
}

/// Evidence for whether a line with `[pid 12]` belongs to the first thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hints {
    /// Whether the line resumes a call.
    pub(crate) resumes: bool,
    /// Whether a call of the first thread is unfinished.
    pub(crate) first_is_busy: bool,
}

impl ThreadTracker {
    /// Lines that name no thread belong to `lone`.
    pub(crate) fn new(lone: u32) -> Self {
        Self {
            known: ThreadSet::default(),
            last: None,
            lone,
            alive: HashSet::from([lone]),
            first: None,
            start: lone,
        }
    }

    /// The thread of a line with this prefix.
    pub(crate) fn thread_of(&mut self, prefix: &Prefix, hints: impl FnOnce(u32) -> Hints) -> u32 {
        match prefix.thread {
            None => self.lone,
            Some(thread) if !prefix.bracketed => thread,
            Some(thread) => self.bracketed(thread, hints),
        }
    }

    /// Whether this thread had no line yet and was not returned by a call; it is known from now on.
    pub(crate) fn is_new(&mut self, thread: u32) -> bool {
        if self.last == Some(thread) {
            return false;
        }
        self.last = Some(thread);
        self.known.insert(thread)
    }

    /// Records that a call returned this new thread.
    pub(crate) fn created(&mut self, thread: u32) {
        self.known.insert(thread);
        self.alive.insert(thread);
    }

    /// Records that strace attached to this thread.
    pub(crate) fn attached(&mut self, thread: u32) {
        self.alive.insert(thread);
    }

    /// Records the end of this thread. If one thread is left, strace stops naming it.
    pub(crate) fn ended(&mut self, thread: u32) {
        self.known.remove(thread);
        self.last = None;
        self.alive.remove(&thread);
        if let (1, Some(left)) = (self.alive.len(), self.alive.iter().next()) {
            self.lone = *left;
        }
    }

    /// The number in events of a thread that strace names.
    pub(crate) fn in_events(&self, thread: u32) -> u32 {
        if self.first == Some(thread) { self.start } else { thread }
    }

    fn bracketed(&mut self, thread: u32, hints: impl FnOnce(u32) -> Hints) -> u32 {
        if self.first == Some(thread) {
            return self.start;
        }
        if self.alive.contains(&thread) {
            return thread;
        }
        if self.first.is_none() && self.alive.contains(&self.start) && self.start == 0 {
            let hints = hints(self.start);
            // A thread in a call resumes it; a thread that begins a call is in none.
            if hints.resumes == hints.first_is_busy {
                self.first = Some(thread);
                return self.start;
            }
        }
        self.alive.insert(thread);
        thread
    }
}

/// A set of threads, one bit for each: at most 512 KiB, for `MAX_THREAD`.
#[derive(Debug, Default)]
pub(crate) struct ThreadSet {
    words: Vec<u64>,
}

impl ThreadSet {
    /// Adds a thread; returns whether it is new.
    pub(crate) fn insert(&mut self, thread: u32) -> bool {
        let (word, bit) = place(thread);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    #[inline]
    pub(crate) fn has(&self, thread: u32) -> bool {
        let (word, bit) = place(thread);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    pub(crate) fn remove(&mut self, thread: u32) {
        let (word, bit) = place(thread);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
    }
}

/// The index of a thread's word, and its bit.
fn place(thread: u32) -> (usize, u64) {
    let thread = thread.min(MAX_THREAD);
    (thread as usize / 64, 1 << (thread % 64))
}
