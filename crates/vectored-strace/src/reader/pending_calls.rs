//! Calls that began in one line and end in a later line.

use std::collections::BTreeMap;

use crate::call::names::CallName;
use crate::reader::parsed_line::Origin;

/// The most calls that may be unfinished at once. A thread has at most one.
const MAX_UNFINISHED: usize = 1 << 16;

/// The most bytes of the texts of all unfinished calls.
const MAX_UNFINISHED_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct UnfinishedCall {
    pub(crate) origin: Origin,
    /// The text of the call, from its name to the end of the unfinished line.
    pub(crate) text: Vec<u8>,
    pub(crate) name: CallName,
    /// Whether the call's [`Action::Fork`](crate::event::Action::Fork) was reported already, since the child had a
    /// line.
    pub(crate) announced: bool,
}

#[derive(Debug, Default)]
pub(crate) struct UnfinishedCalls {
    by_thread: BTreeMap<u32, UnfinishedCall>,
    bytes: usize,
}

impl UnfinishedCalls {
    pub(crate) fn begin(&mut self, call: UnfinishedCall) -> bool {
        if self.by_thread.len() >= MAX_UNFINISHED
            || self.bytes + call.text.len() > MAX_UNFINISHED_BYTES
        {
            return false;
        }
        let thread = call.origin.thread;
        self.bytes += call.text.len();
        self.by_thread.insert(thread, call);
        true
    }

    pub(crate) fn take(&mut self, thread: u32) -> Option<UnfinishedCall> {
        let call = self.by_thread.remove(&thread)?;
        self.bytes -= call.text.len();
        Some(call)
    }

    #[inline]
    pub(crate) fn has(&self, thread: u32) -> bool {
        self.by_thread.contains_key(&thread)
    }

    pub(crate) fn get(&self, thread: u32) -> Option<&UnfinishedCall> {
        self.by_thread.get(&thread)
    }

    pub(crate) fn first(&self) -> Option<u32> {
        self.by_thread.keys().next().copied()
    }

    /// The call that created a thread, when the thread has its first line. `None` if no unfinished call creates a
    /// thread, or if several do. Marks the call as announced.
    pub(crate) fn announce_creator(&mut self) -> Option<&UnfinishedCall> {
        let mut creators = self.by_thread.values_mut();
        let is_creator =
            |call: &&mut UnfinishedCall| call.name.call.makes_threads() && !call.announced;
        let call = creators.find(is_creator)?;
        if creators.any(|call| is_creator(&call)) {
            return None;
        }
        call.announced = true;
        Some(call)
    }

    /// Moves the call of a thread to another thread number without a call: `execve` makes its caller the first thread
    /// of the process.
    pub(crate) fn rename(&mut self, from: u32, to: u32) {
        if let Some(mut call) = self.take(from) {
            self.bytes += call.text.len();
            call.origin.thread = to;
            self.by_thread.insert(to, call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(thread: u32, text: &[u8]) -> UnfinishedCall {
        UnfinishedCall {
            origin: Origin {
                thread,
                ..Origin::default()
            },
            text: text.to_vec(),
            name: CallName::read(b"f(").unwrap(),
            announced: false,
        }
    }

    #[test]
    fn unfinished_calls_are_limited_in_number_and_bytes() {
        let mut all = UnfinishedCalls::default();
        for thread in 0..u32::try_from(MAX_UNFINISHED).unwrap() {
            assert!(all.begin(call(thread, b"f(")));
        }
        let one_more = u32::MAX;
        assert!(!all.begin(call(one_more, b"f(")));
        all.take(3).unwrap();
        assert!(all.begin(call(3, b"f(")));
        while let Some(thread) = all.first() {
            all.take(thread).unwrap();
        }
        let long = vec![b'x'; MAX_UNFINISHED_BYTES / 2 + 1];
        assert!(all.begin(call(1, &long)));
        assert!(!all.begin(call(2, &long)));
        all.take(1).unwrap();
        assert!(all.begin(call(2, &long)));
    }
}
