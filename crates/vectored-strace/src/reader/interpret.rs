//! Turns the text after a line's prefix into a parsed line, and joins an unfinished call to its rest.

use std::io::Read;

use memchr::memmem;

use super::{Reader, fill};
use crate::call::call_result::Tail;
use crate::call::names::{CallName, name_bytes};
use crate::counts::SkipReason;
use crate::reader::parsed_line::{Line, LineKind, Origin};
use crate::reader::pending_calls::UnfinishedCall;
use crate::reader::strace_messages::attached_thread;
use crate::text::numbers::leading;

/// The end of a line whose call goes on in a later line.
const UNFINISHED: &[u8] = b"<unfinished ...>";

/// The end of the last line of a thread from which strace detached.
const DETACHED: &[u8] = b"<detached ...>";

impl<R: Read> Reader<R> {
    #[inline]
    pub(super) fn interpret(&mut self) -> Result<bool, SkipReason> {
        match self.text().first() {
            Some(b'<') => self.resumed(),
            Some(b'-') => self.signal(),
            Some(b'+') => self.end(),
            Some(_) if self.unfinished.has(self.line.origin.thread) => {
                self.deferred = Some(self.line);
                Ok(self.lose(self.line.origin.thread, Some(SkipReason::NeverResumed)))
            }
            Some(_) => self.call(),
            None => Err(SkipReason::NotALine),
        }
    }

    fn text(&self) -> &[u8] {
        self.lines.text(self.line.start, self.line.end)
    }

    /// Reads a call or the beginning of a call: `write(1, "a", 1) = 1` or `write(1, "a", 1 <unfinished ...>`.
    #[inline]
    fn call(&mut self) -> Result<bool, SkipReason> {
        let text = self.lines.text(self.line.start, self.line.end);
        let name = CallName::read(text).ok_or(SkipReason::NotALine)?;
        if let Some(head) = text.strip_suffix(UNFINISHED) {
            let bytes = head.strip_suffix(b" ").unwrap_or(head).len();
            return self.begin(name, bytes);
        }
        let Some(tail) = tail(text, name) else {
            return self.read_interrupted(name);
        };
        if let Some(child) = name.child(text, tail) {
            self.threads.created(child);
        }
        self.set_parsed(LineKind::Call(name, tail));
        Ok(true)
    }

    /// Notes the beginning of a call. `bytes` is the length of the beginning: `write(1, "a", 1 <unfinished ...>`.
    fn begin(&mut self, name: CallName, bytes: usize) -> Result<bool, SkipReason> {
        let head = self.lines.text(self.line.start, self.line.start + bytes);
        let call = UnfinishedCall {
            origin: self.line.origin,
            text: head.to_vec(),
            name,
            announced: false,
        };
        if self.unfinished.begin(call) {
            Ok(false)
        } else {
            Err(SkipReason::TooManyUnfinished)
        }
    }

    /// Makes the unfinished call of a thread the current event, as a call that never returned. Returns false if the
    /// event of the call was reported before, or there is no such call.
    #[cold]
    pub(super) fn lose(&mut self, thread: u32, reason: Option<SkipReason>) -> bool {
        let Some(call) = self.unfinished.take(thread) else {
            return false;
        };
        if let Some(reason) = reason {
            self.counts.skip(reason, call.origin.number);
        }
        self.counts.calls += 1;
        fill(&mut self.joined, &[&call.text, b") = ?"]);
        let kind = match tail(&self.joined, call.name) {
            Some(tail) => LineKind::Call(call.name, tail),
            None => LineKind::Unread,
        };
        self.set_joined(call.origin, kind);
        !call.announced
    }

    /// Reads the beginning of a call that a message of strace interrupted:
    /// `clone(flags=SIGCHLDstrace: Process 12 attached`. The call continues in the next line.
    #[cold]
    fn read_interrupted(&mut self, name: CallName) -> Result<bool, SkipReason> {
        let text = self.lines.text(self.line.start, self.line.end);
        let attached = memmem::rfind(text, b"strace: Process ")
            .filter(|at| *at > name.bytes)
            .and_then(|at| Some((at, attached_thread(&text[at..])?)));
        if let Some((at, thread)) = attached {
            self.threads.attached(thread);
            self.broken_off = Some(self.line.origin.thread);
            return self.begin(name, at);
        }
        // The line has text of the program, or the log of this thread ends here.
        let (bytes, reason) = match text.strip_suffix(DETACHED) {
            Some(call) => (call.trim_ascii_end().len(), None),
            None => (text.len(), Some(SkipReason::NotALine)),
        };
        self.begin(name, bytes)?;
        Ok(self.lose(self.line.origin.thread, reason))
    }

    /// Reads the rest of a call that a message of strace interrupted in the line before:
    /// `, child_tidptr=0x7f772f4b9a10) = 12`, or ` <unfinished ...>`.
    #[cold]
    pub(super) fn resume_interrupted(
        &mut self,
        thread: u32,
        start: usize,
        end: usize,
    ) -> Result<bool, SkipReason> {
        if self.lines.text(start, end).trim_ascii() == UNFINISHED {
            return Ok(false);
        }
        let origin = Origin {
            number: self.lines.count,
            thread,
            ..Origin::default()
        };
        self.line = Line {
            start,
            end,
            origin,
            kind: LineKind::Nothing,
        };
        let call = self.unfinished.take(thread).ok_or(SkipReason::NeverBegun)?;
        self.join(call, 0)
    }

    /// Reads the end of an unfinished call: `<... write resumed>) = 1`.
    fn resumed(&mut self) -> Result<bool, SkipReason> {
        let text = self.lines.text(self.line.start, self.line.end);
        if text == DETACHED {
            return Ok(false);
        }
        let rest = text.strip_prefix(b"<... ").ok_or(SkipReason::NotALine)?;
        let name_bytes = name_bytes(rest);
        let (name, rest) = rest.split_at(name_bytes);
        let rest = rest
            .strip_prefix(b" resumed>")
            .ok_or(SkipReason::NotALine)?;
        let skipped = text.len() - rest.len();
        let thread = self.line.origin.thread;
        let call = self.unfinished.get(thread);
        let call = call.ok_or(SkipReason::NeverBegun)?;
        if call.text[..call.name.bytes] != *name {
            self.deferred = Some(self.line);
            return Ok(self.lose(thread, Some(SkipReason::NeverResumed)));
        }
        let call = self.unfinished.take(thread);
        self.join(call.ok_or(SkipReason::NeverBegun)?, skipped)
    }

    /// Joins an unfinished call to its rest, which is in the current line after `skipped` bytes.
    fn join(&mut self, call: UnfinishedCall, skipped: usize) -> Result<bool, SkipReason> {
        let rest = self.lines.text(self.line.start + skipped, self.line.end);
        fill(&mut self.joined, &[&call.text, rest]);
        self.line.origin.began_ns = call.origin.began_ns;
        self.line.origin.clock_ns = call.origin.clock_ns;
        let name = call.name;
        let tail = tail(&self.joined, name).ok_or(SkipReason::NotALine)?;
        if let Some(child) = name.child(&self.joined, tail) {
            self.threads.created(child);
        }
        self.set_parsed(LineKind::Call(name, tail));
        self.in_joined = true;
        Ok(!call.announced)
    }

    /// Reads a signal: `--- SIGCHLD {si_signo=SIGCHLD, …} ---`, `--- stopped by SIGSTOP ---`.
    fn signal(&mut self) -> Result<bool, SkipReason> {
        let text = self.text();
        if !text.starts_with(b"--- ") || !text.ends_with(b" ---") {
            return Err(SkipReason::NotALine);
        }
        let name_bytes = first_word(&text[4..]);
        self.line.start += 4;
        self.set_parsed(LineKind::Signal { name_bytes });
        Ok(true)
    }

    /// Reads the end of a thread: `+++ exited with 0 +++`, `+++ killed by SIGTERM +++`,
    /// `+++ superseded by execve in pid 12 +++`.
    fn end(&mut self) -> Result<bool, SkipReason> {
        let text = self.lines.text(self.line.start, self.line.end);
        let ending = text
            .strip_prefix(b"+++ ")
            .and_then(|text| text.strip_suffix(b" +++"))
            .ok_or(SkipReason::NotALine)?;
        let name_bytes = first_word(ending);
        let process_ended = ending.starts_with(b"killed");
        if let Some(thread) = ending.strip_prefix(b"superseded by execve in pid ") {
            // The thread that called execve takes over the number of the first thread. That number is in the line.
            let thread = leading(thread)?.0;
            let thread = u32::try_from(thread).map_err(|_| SkipReason::Overflow)?;
            let thread = self.threads.in_events(thread);
            if thread != self.line.origin.thread {
                self.unfinished.take(self.line.origin.thread);
                self.unfinished.rename(thread, self.line.origin.thread);
            }
            self.line.origin.thread = thread;
        } else if self.unfinished.has(self.line.origin.thread) {
            self.deferred = Some(self.line);
            return Ok(self.lose(self.line.origin.thread, Some(SkipReason::NeverResumed)));
        }
        self.line.start += 4;
        self.threads.ended(self.line.origin.thread);
        self.set_parsed(LineKind::Exit {
            name_bytes,
            process_ended,
        });
        Ok(true)
    }
}

/// The tail of a call; `None` if the ` = ` lies within the name.
fn tail(call: &[u8], name: CallName) -> Option<Tail> {
    Tail::read(call).filter(|tail| tail.equals > name.bytes + 1)
}

fn first_word(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte != b' ').count()
}
