//! Which thread a line is of.

use std::collections::HashSet;

use crate::line::line_prefix::{LARGEST_THREAD, Prefix};

/// The threads of a log.
///
/// On its own standard error, strace names threads only while it follows more than one
/// (`[pid 12]`), so the first thread's number is not known before it has a companion. It stays 0
/// throughout.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Seen, or returned by a call that made it.
    known: ThreadSet,
    /// The thread of the line before: it need not be looked up again.
    last: Option<u32>,
    /// Whose the lines are that name none.
    lone: u32,
    /// In a log of `[pid 12]`: those that have not ended, the first one as `lone` was in the beginning.
    alive: HashSet<u32>,
    /// In such a log: what the first one is called.
    first: Option<u32>,
    start: u32,
}

/// What is known when a thread is named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hints {
    /// The line resumes a call.
    pub(crate) resumes: bool,
    /// The first thread is in a call.
    pub(crate) first_is_busy: bool,
}

impl Threads {
    /// Lines that name no thread are of `lone`.
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

    /// The thread that a line names.
    pub(crate) fn of(&mut self, prefix: &Prefix, hints: impl FnOnce(u32) -> Hints) -> u32 {
        match prefix.thread {
            None => self.lone,
            Some(thread) if !prefix.bracketed => thread,
            Some(thread) => self.bracketed(thread, hints),
        }
    }

    /// Whether this thread was never seen, nor made.
    pub(crate) fn is_new(&mut self, thread: u32) -> bool {
        if self.last == Some(thread) {
            return false;
        }
        self.last = Some(thread);
        self.known.insert(thread)
    }

    /// Whether this thread was seen, or made.
    #[inline]
    pub(crate) fn is_known(&self, thread: u32) -> bool {
        self.last == Some(thread) || self.known.has(thread)
    }

    /// A call made this thread, or strace said that it follows it.
    pub(crate) fn made(&mut self, thread: u32) {
        self.known.insert(thread);
        if self.first != Some(thread) {
            self.alive.insert(thread);
        }
    }

    /// strace said that it follows this thread.
    pub(crate) fn attached(&mut self, thread: u32) {
        if self.first != Some(thread) {
            self.alive.insert(thread);
        }
    }

    /// This thread has ended. If one is left, it is named no more.
    pub(crate) fn ended(&mut self, thread: u32) {
        self.known.remove(thread);
        self.last = None;
        self.alive.remove(&thread);
        if let (1, Some(left)) = (self.alive.len(), self.alive.iter().next()) {
            self.lone = *left;
        }
    }

    /// How the first thread is called among the others, if that is known.
    pub(crate) fn renamed(&self, thread: u32) -> u32 {
        if self.first == Some(thread) {
            self.start
        } else {
            thread
        }
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
            // A thread in a call goes on with it; one that begins a call is in none.
            if hints.resumes == hints.first_is_busy {
                self.first = Some(thread);
                return self.start;
            }
        }
        self.alive.insert(thread);
        thread
    }
}

/// A set of threads, a bit each: 512 KiB at most.
#[derive(Debug, Default)]
struct ThreadSet {
    words: Vec<u64>,
}

impl ThreadSet {
    /// Whether it was not in the set.
    fn insert(&mut self, thread: u32) -> bool {
        let (word, bit) = place(thread);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    fn has(&self, thread: u32) -> bool {
        let (word, bit) = place(thread);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    fn remove(&mut self, thread: u32) {
        let (word, bit) = place(thread);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
    }
}

fn place(thread: u32) -> (usize, u64) {
    let thread = thread.min(LARGEST_THREAD);
    (thread as usize / 64, 1 << (thread % 64))
}
