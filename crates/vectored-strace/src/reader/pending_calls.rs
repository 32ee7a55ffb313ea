//! Calls that began in one line and end in a later one.

use std::collections::HashMap;

use crate::call::names::Syscall;

/// Most calls that may be unfinished at once, one of each thread.
const MAX_UNFINISHED: usize = 1 << 16;

/// Most bytes of their texts together.
const MAX_UNFINISHED_BYTES: usize = 64 << 20;

/// A call that began.
#[derive(Debug)]
pub(crate) struct UnfinishedCall {
    /// The text from its name to where the line breaks off.
    pub(crate) text: Vec<u8>,
    /// Length of its name.
    pub(crate) name_bytes: usize,
    /// When it began, in ns.
    pub(crate) began_ns: Option<u64>,
    /// Resolution of that time, in ns.
    pub(crate) clock_ns: u64,
    /// Number of the line where it began.
    pub(crate) line: u64,
    /// The call.
    pub(crate) name: Syscall,
    /// Whether its [`Action::Fork`](crate::event::Action::Fork) was reported already, since its child had a line.
    pub(crate) announced: bool,
}

/// The unfinished calls of all threads.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedCalls {
    by_thread: HashMap<u32, UnfinishedCall>,
    bytes: usize,
    /// Threads within a call that creates a thread, which had no line yet.
    forking: Vec<u32>,
    /// Memory for texts, reused to avoid an allocation for each call.
    spare: Vec<Vec<u8>>,
}

/// The result of adding an unfinished call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// The call was added.
    Added,
    /// The call was added in place of an earlier one of the thread that never ended; its line.
    Replaced(u64),
    /// The call was not added: there are too many.
    Full,
}

impl UnfinishedCalls {
    /// Adds a call of `thread`, with the text as far as its line goes.
    pub(crate) fn begin(&mut self, thread: u32, text: &[u8], call: UnfinishedCall) -> Insertion {
        let before = self.take(thread).map(|before| {
            let line = before.line;
            self.reuse(before);
            line
        });
        if self.by_thread.len() >= MAX_UNFINISHED || self.bytes + text.len() > MAX_UNFINISHED_BYTES
        {
            return Insertion::Full;
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(text);
        self.bytes += text.len();
        if call.name.makes_threads() {
            self.forking.push(thread);
        }
        self.by_thread
            .insert(thread, UnfinishedCall { text: kept, ..call });
        before.map_or(Insertion::Added, Insertion::Replaced)
    }

    /// Removes and returns the call of `thread`.
    pub(crate) fn take(&mut self, thread: u32) -> Option<UnfinishedCall> {
        let call = self.by_thread.remove(&thread)?;
        self.bytes -= call.text.len();
        if call.name.makes_threads() {
            self.forking.retain(|forking| *forking != thread);
        }
        Some(call)
    }

    /// Takes back the memory of a removed call, unless it is large.
    pub(crate) fn reuse(&mut self, call: UnfinishedCall) {
        if call.text.capacity() <= 4096 && self.spare.len() < 256 {
            self.spare.push(call.text);
        }
    }

    /// Whether a call of `thread` is unfinished.
    pub(crate) fn has(&self, thread: u32) -> bool {
        self.by_thread.contains_key(&thread)
    }

    /// The call that must have created a thread which has its first line, with the calling thread; `None` if there is
    /// no such call, or more than one. Marks the call as announced.
    pub(crate) fn announce_creator(&mut self) -> Option<(u32, &UnfinishedCall)> {
        let [thread] = self.forking[..] else {
            return None;
        };
        self.forking.clear();
        let call = self.by_thread.get_mut(&thread)?;
        call.announced = true;
        Some((thread, call))
    }

    /// Moves the call of a thread to another number: `execve` makes its caller the first thread of the process.
    pub(crate) fn rename(&mut self, from: u32, to: u32) {
        if let Some(call) = self.by_thread.remove(&from) {
            if call.name.makes_threads() {
                self.forking.retain(|forking| *forking != from);
            }
            if let Some(lost) = self.by_thread.insert(to, call) {
                self.bytes -= lost.text.len();
            }
        }
    }

    /// Removes all calls, and returns the lines where they began.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = u64> {
        self.bytes = 0;
        self.forking.clear();
        self.by_thread.drain().map(|(_, call)| call.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> UnfinishedCall {
        UnfinishedCall {
            text: Vec::new(),
            name_bytes: 1,
            began_ns: None,
            clock_ns: 0,
            line: 0,
            name: Syscall::Other,
            announced: false,
        }
    }

    #[test]
    fn unfinished_calls_are_limited_in_number_and_bytes() {
        let mut all = UnfinishedCalls::default();
        for thread in 0..u32::try_from(MAX_UNFINISHED).unwrap() {
            assert_eq!(all.begin(thread, b"f(", call()), Insertion::Added);
        }
        let one_more = u32::MAX;
        assert_eq!(all.begin(one_more, b"f(", call()), Insertion::Full);
        assert_eq!(all.begin(3, b"f(", call()), Insertion::Replaced(0));
        assert_eq!(all.drain().count(), MAX_UNFINISHED);
        let long = vec![b'x'; MAX_UNFINISHED_BYTES / 2 + 1];
        assert_eq!(all.begin(1, &long, call()), Insertion::Added);
        assert_eq!(all.begin(2, &long, call()), Insertion::Full);
        assert_eq!(all.begin(1, &long, call()), Insertion::Replaced(0));
        all.take(1).unwrap();
        assert_eq!(all.begin(2, &long, call()), Insertion::Added);
    }
}
