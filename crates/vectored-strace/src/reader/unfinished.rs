//! Calls that began in one line and end in another.

use std::collections::HashMap;

use crate::call::names::Name;

/// So many calls may be unfinished at once, of so many threads.
const MOST: usize = 1 << 16;

/// So many bytes of them are kept.
const MAX_BYTES: usize = 64 << 20;

/// A call that began.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// From its name to where it breaks off.
    pub(crate) text: Vec<u8>,
    /// How long its name is.
    pub(crate) name_bytes: usize,
    /// When it began, in ns.
    pub(crate) began_ns: Option<u64>,
    /// How exact that is, in ns.
    pub(crate) clock_ns: u64,
    /// The line where it began.
    pub(crate) line: u64,
    /// What that says.
    pub(crate) name: Name,
    /// The thread that it makes was seen, and told.
    pub(crate) announced: bool,
}

/// Those of all threads.
#[derive(Debug, Default)]
pub(crate) struct AllUnfinished {
    by_thread: HashMap<u32, Unfinished>,
    bytes: usize,
    /// Threads whose calls make a thread that was not yet seen.
    forking: Vec<u32>,
    /// Texts to be used again, so that no line allocates.
    spare: Vec<Vec<u8>>,
}

/// What happened to a call that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It is kept.
    Kept,
    /// It is kept, and takes the place of one that began in this line and did not end.
    InsteadOf(u64),
    /// There is no room.
    TooMany,
}

impl AllUnfinished {
    /// A call of `thread` begins.
    pub(crate) fn begin(&mut self, thread: u32, text: &[u8], call: Unfinished) -> Begun {
        let before = self.take(thread).map(|before| {
            let line = before.line;
            self.reuse(before);
            line
        });
        if self.by_thread.len() >= MOST || self.bytes + text.len() > MAX_BYTES {
            return Begun::TooMany;
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(text);
        self.bytes += text.len();
        if call.name.makes_threads() {
            self.forking.push(thread);
        }
        self.by_thread
            .insert(thread, Unfinished { text: kept, ..call });
        before.map_or(Begun::Kept, Begun::InsteadOf)
    }

    /// The call of `thread`, which is not unfinished any more.
    pub(crate) fn take(&mut self, thread: u32) -> Option<Unfinished> {
        let call = self.by_thread.remove(&thread)?;
        self.bytes -= call.text.len();
        if call.name.makes_threads() {
            self.forking.retain(|forking| *forking != thread);
        }
        Some(call)
    }

    /// Keeps the memory of a call that was taken, unless that is unusually much.
    pub(crate) fn reuse(&mut self, call: Unfinished) {
        if call.text.capacity() <= 4096 && self.spare.len() < 256 {
            self.spare.push(call.text);
        }
    }

    /// Whether a call of `thread` is unfinished.
    pub(crate) fn has(&self, thread: u32) -> bool {
        self.by_thread.contains_key(&thread)
    }

    /// The call that must have made a thread that is seen for the first time, and its thread; `None`
    /// if there is none, or more than one. It is marked as told.
    pub(crate) fn maker(&mut self) -> Option<(u32, &Unfinished)> {
        let [thread] = self.forking[..] else {
            return None;
        };
        self.forking.clear();
        let call = self.by_thread.get_mut(&thread)?;
        call.announced = true;
        Some((thread, call))
    }

    /// `execve` makes the thread that called it the first of its process.
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

    /// The lines where calls began that never ended.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = u64> {
        self.bytes = 0;
        self.forking.clear();
        self.by_thread.drain().map(|(_, call)| call.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Unfinished {
        Unfinished {
            text: Vec::new(),
            name_bytes: 1,
            began_ns: None,
            clock_ns: 0,
            line: 0,
            name: Name::Other,
            announced: false,
        }
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut all = AllUnfinished::default();
        for thread in 0..u32::try_from(MOST).unwrap() {
            assert_eq!(all.begin(thread, b"f(", call()), Begun::Kept);
        }
        let one_more = u32::MAX;
        assert_eq!(all.begin(one_more, b"f(", call()), Begun::TooMany);
        assert_eq!(all.begin(3, b"f(", call()), Begun::InsteadOf(0));
        assert_eq!(all.drain().count(), MOST);
        let long = vec![b'x'; MAX_BYTES / 2 + 1];
        assert_eq!(all.begin(1, &long, call()), Begun::Kept);
        assert_eq!(all.begin(2, &long, call()), Begun::TooMany);
        assert_eq!(all.begin(1, &long, call()), Begun::InsteadOf(0));
        all.take(1).unwrap();
        assert_eq!(all.begin(2, &long, call()), Begun::Kept);
    }
}
