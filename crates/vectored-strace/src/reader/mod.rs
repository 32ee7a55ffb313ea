//! Parses one log: from lines to events.

mod interpret;
pub(crate) mod parsed_line;
mod pending_calls;
mod strace_messages;
mod threads;

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::call::call_result::Tail;
use crate::call::transfers::Segments;
use crate::counts::{Counts, SkipReason};
use crate::event::{Action, Event};
use crate::line::clock::Clock;
use crate::line::line_prefix::Prefix;
use crate::line::line_reader::{BUFFER_BYTES, LineReader, NextLine};
use crate::line::stack;
use crate::reader::parsed_line::{Line, LineKind, Origin};
use crate::reader::pending_calls::UnfinishedCalls;
use crate::reader::strace_messages::{attached_thread, is_of_summary, is_other_output};
use crate::reader::threads::ThreadTracker;
use crate::text::hex;

/// The most threads whose names (`-Y`) are reported.
const MAX_THREAD_NAMES: usize = 1 << 16;

/// Parses one log of strace, one event at a time.
///
/// An event borrows from the reader, so the reader is no [`Iterator`]. Memory is bounded for any input: see the
/// [limits](crate#limits).
pub struct Reader<R> {
    lines: LineReader<R>,
    clock: Clock,
    threads: ThreadTracker,
    unfinished: UnfinishedCalls,
    counts: Counts,
    /// The thread whose line was interrupted by strace's message `Process N attached`, which is about thread N.
    broken_off: Option<u32>,
    /// Whether the current line is in the table that `-C` appends.
    in_summary: bool,
    /// Whether times are left out: see `forget_times`.
    times_are_void: bool,
    /// A text that is not in the buffer as a whole: a call that was in two lines or is followed by its stack, or a
    /// thread's name.
    joined: Vec<u8>,
    site: Vec<u8>,
    segments: Segments,
    /// The name that `-Y` shows beside each thread.
    names: HashMap<u32, Vec<u8>>,
    /// A line that waits until an earlier event was returned: the creation of the line's thread, or the thread's name.
    deferred: Option<Line>,
    /// The current line, which is filled in place: moving it would take longer than parsing it.
    line: Line,
    /// Whether the text of the current line is in `joined` instead of the buffer.
    in_joined: bool,
    has_site: bool,
}

/// Whether a line continues a call that a message of strace interrupted. The message may come before any argument,
/// including the first.
fn continues_call(line: &[u8]) -> bool {
    line.first().is_some_and(|byte| b",) ".contains(byte))
        || [&b"child_stack="[..], b"flags=", b"{flags="]
            .iter()
            .any(|first| line.starts_with(first))
}

impl<R: Read> Reader<R> {
    pub fn new(input: R) -> Self {
        Self::with_options(input, 0, BUFFER_BYTES)
    }

    /// Lines that name no thread are of `thread`. For a part of a log (`-ff`), `thread` is the number in the file's
    /// name. The buffer grows with the longest line, to 32 MiB at most.
    pub fn with_options(input: R, thread: u32, buffer_bytes: usize) -> Self {
        Self {
            lines: LineReader::new(input, buffer_bytes),
            clock: Clock::default(),
            threads: ThreadTracker::new(thread),
            unfinished: UnfinishedCalls::default(),
            counts: Counts::default(),
            broken_off: None,
            in_summary: false,
            times_are_void: false,
            joined: Vec::new(),
            site: Vec::new(),
            segments: Segments::new(),
            names: HashMap::new(),
            deferred: None,
            line: Line::default(),
            in_joined: false,
            has_site: false,
        }
    }

    /// Returns the next event, or `None` at the end of the log.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> io::Result<Option<Event<'_>>> {
        Ok(if self.advance()? { self.event() } else { None })
    }

    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        loop {
            let found = match self.deferred.take() {
                Some(line) => {
                    self.line = line;
                    self.interpret()
                }
                None => match self.lines.next()? {
                    NextLine::Line(start, end) => {
                        let end = self.decoded(start, end);
                        self.read_line(start, end)
                    }
                    NextLine::End => match self.unfinished.first() {
                        Some(thread) => Ok(self.lose(thread, Some(SkipReason::NeverResumed))),
                        None => return Ok(false),
                    },
                    NextLine::TooLong => Err(SkipReason::TooLong),
                    NextLine::Truncated => {
                        self.counts.truncated = true;
                        Err(SkipReason::Truncated)
                    }
                },
            };
            match found {
                Ok(true) => {
                    if self.lines.stack_follows() && self.deferred.is_none() {
                        self.read_stack()?;
                    }
                    return Ok(true);
                }
                Ok(false) => (),
                Err(reason) => {
                    self.skip(reason);
                    self.has_site = false;
                    self.line.origin = Origin {
                        number: self.lines.count,
                        began_ns: self.clock.now_ns.filter(|_| !self.times_are_void),
                        ..Origin::default()
                    };
                    self.line.kind = LineKind::Unread;
                    return Ok(true);
                }
            }
        }
    }

    /// The event of the line that [`advance`](Self::advance) reached. Arguments that cannot be read are counted.
    #[inline]
    pub(crate) fn event(&mut self) -> Option<Event<'_>> {
        let text = if self.in_joined {
            &self.joined
        } else {
            self.lines.text(self.line.start, self.line.end)
        };
        let mut took_ns = None;
        let (name_bytes, action) = match self.line.kind {
            LineKind::Nothing => return None,
            LineKind::Call(name, tail) => {
                took_ns = tail.took_ns;
                let (action, missing) = name.action(text, tail, &mut self.segments);
                if let Some(reason) = missing {
                    self.counts.skip(reason, self.line.origin.number);
                }
                (name.bytes, action)
            }
            LineKind::Unread => (0, Action::Unread { descriptor: None }),
            LineKind::Named => (0, Action::Name { program: text }),
            LineKind::Signal { name_bytes } => (name_bytes, Action::Signal),
            LineKind::Exit {
                name_bytes,
                process_ended,
            } => (name_bytes, Action::Exit { process_ended }),
        };
        let origin = self.line.origin;
        Some(Event {
            thread: origin.thread,
            began_ns: origin.began_ns,
            clock_ns: origin.clock_ns,
            took_ns,
            delayed_ns: 0,
            name: &text[..name_bytes],
            action,
            site: self.has_site.then_some(&*self.site),
        })
    }

    /// Whether the line that [`advance`](Self::advance) reached has an absolute time, or could not be read. A time
    /// relative to the line before (`-r`) does not count: with `-ff`, the line before may be in another file.
    pub(crate) fn has_absolute_time(&self) -> bool {
        let is_unread = matches!(self.line.kind, LineKind::Unread);
        (self.line.origin.began_ns.is_some() || is_unread) && !self.clock.relative
    }

    pub(crate) fn began_ns(&self) -> Option<u64> {
        self.line.origin.began_ns
    }

    pub(crate) fn forget_times(&mut self) {
        self.times_are_void = true;
        self.line.origin.began_ns = None;
        self.line.origin.clock_ns = 0;
    }

    pub fn counts(&self) -> Counts {
        let mut counts = self.counts.clone();
        counts.lines = self.lines.count;
        counts
    }

    pub(crate) fn input(&self) -> &R {
        self.lines.input()
    }

    fn skip(&mut self, reason: SkipReason) {
        self.counts.skip(reason, self.lines.count);
    }

    /// Decodes the hexadecimal escapes of a line in place. Returns the new position of the line's end.
    #[inline]
    fn decoded(&mut self, start: usize, end: usize) -> usize {
        // The search is prepared once, since the preparation takes as long as the search of a line.
        static ESCAPE: LazyLock<Finder> = LazyLock::new(|| Finder::new(b"\\x"));
        if ESCAPE.find(self.lines.text(start, end)).is_none() {
            return end;
        }
        start + hex::decode(self.lines.text_mut(start, end))
    }

    fn read_line(&mut self, start: usize, end: usize) -> Result<bool, SkipReason> {
        let text = self.lines.text(start, end);
        if let Some(thread) = self.broken_off.take()
            && continues_call(text)
        {
            return self.resume_interrupted(thread, start, end);
        }
        let begins_with_digit = text.first().is_some_and(u8::is_ascii_digit);
        if (!begins_with_digit || self.in_summary) && self.is_expected(start, end) {
            return Ok(false);
        }
        let text = self.lines.text(start, end);
        let prefix = Prefix::read(text)?;
        let (began_ns, clock_ns) = match prefix.stamp {
            Some(stamp) => {
                let now_ns = self.clock.read(stamp);
                if self.times_are_void { (None, 0) } else { (Some(now_ns), prefix.clock_ns) }
            }
            None => (None, 0),
        };
        let resumes = text[prefix.end..].starts_with(b"<... ");
        let is_busy = |thread| self.unfinished.has(thread);
        let thread = self.threads.thread_of(&prefix, resumes, is_busy);
        let without_return = end - usize::from(text.ends_with(b"\r"));
        self.line = Line {
            start: start + prefix.end,
            end: without_return.max(start + prefix.end),
            origin: Origin {
                number: self.lines.count,
                thread,
                began_ns,
                clock_ns,
            },
            kind: LineKind::Nothing,
        };
        if self.threads.is_new(thread) {
            let line = self.line;
            if self.set_thread_creation(thread) {
                self.deferred = Some(line);
                return Ok(true);
            }
        }
        if prefix.program.1 > 0 && self.set_thread_name(start, prefix.program) {
            self.deferred = Some(self.line);
            return Ok(true);
        }
        self.interpret()
    }

    /// Makes the name that `-Y` shows beside a thread the current event. Returns false if the name was reported before.
    #[cold]
    fn set_thread_name(&mut self, line: usize, (start, end): (usize, usize)) -> bool {
        let thread = self.line.origin.thread;
        let name = self.lines.text(line + start, line + end);
        let is_known = self.names.get(&thread).is_some_and(|known| known == name);
        if is_known || self.names.len() >= MAX_THREAD_NAMES {
            return false;
        }
        self.names.insert(thread, name.to_vec());
        fill(&mut self.joined, &[name]);
        self.set_joined(self.line.origin, LineKind::Named);
        true
    }

    fn set_joined(&mut self, origin: Origin, kind: LineKind) {
        (self.line.origin, self.line.kind) = (origin, kind);
        self.in_joined = true;
        self.has_site = false;
    }

    /// Whether a line is no event but is part of a log: a message of strace, or a line of the table of `-C`.
    #[cold]
    fn is_expected(&mut self, start: usize, end: usize) -> bool {
        let text = self.lines.text(start, end);
        if is_other_output(text) {
            if let Some(thread) = attached_thread(text) {
                self.threads.attached(thread);
            }
            return true;
        }
        if text.starts_with(b"% time") {
            self.in_summary = true;
        } else if !is_of_summary(text) {
            self.in_summary = false;
        }
        self.in_summary
    }

    /// Makes the creation of a thread the current event, although the call that created the thread has not ended.
    /// Returns false if that call is unknown.
    #[cold]
    fn set_thread_creation(&mut self, thread: u32) -> bool {
        let Some(call) = self.unfinished.announce_creator() else {
            return false;
        };
        let thread = thread.to_string();
        fill(&mut self.joined, &[&call.text, b") = ", thread.as_bytes()]);
        let Some(tail) = Tail::read(&self.joined) else {
            return false;
        };
        let (origin, kind) = (call.origin, LineKind::Call(call.name, tail));
        self.set_joined(origin, kind);
        true
    }

    #[inline]
    fn set_parsed(&mut self, kind: LineKind) {
        let is_call = !matches!(kind, LineKind::Signal { .. } | LineKind::Exit { .. });
        self.counts.calls += u64::from(is_call);
        self.line.kind = kind;
        self.in_joined = false;
        self.has_site = false;
    }

    /// Reads the stack after a call and keeps the innermost frame outside the C library.
    #[cold]
    fn read_stack(&mut self) -> io::Result<()> {
        if !self.in_joined {
            let text = self.lines.text(self.line.start, self.line.end);
            fill(&mut self.joined, &[text]);
            self.in_joined = true;
        }
        while self.lines.stack_follows() {
            let NextLine::Line(start, end) = self.lines.next()? else {
                self.skip(SkipReason::TooLong);
                return Ok(());
            };
            let frame = stack::frame(self.lines.text(start, end));
            let frame = frame.filter(|frame| !stack::is_of_c_library(frame));
            if let Some(frame) = frame
                && !self.has_site
            {
                self.has_site = true;
                fill(&mut self.site, &[frame]);
            }
        }
        Ok(())
    }
}

fn fill(text: &mut Vec<u8>, parts: &[&[u8]]) {
    text.clear();
    parts.iter().for_each(|part| text.extend_from_slice(part));
}
