//! From an input to events, one at a time.

pub(crate) mod batch;
mod common_line;
mod common_lines;
mod parsed_line;
mod threads;
mod unfinished;

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use crate::call::call_prefix::{Beginning, Beginnings};
use crate::call::call_result::Tail;
use crate::call::calls;
use crate::call::names::{Name, name_bytes};
use crate::call::transfers::Segments;
use crate::counts::{Counts, Reason};
use crate::event::Event;
use crate::line::clock::Clock;
use crate::line::line_prefix::Prefix;
use crate::line::line_reader::{BUFFER_BYTES, Lines, Next};
use crate::line::stack;
use crate::reader::common_line::Seconds;
use crate::reader::parsed_line::{Head, Kind, Plain, body, read_event};
use crate::reader::threads::{Hints, Threads};
use crate::reader::unfinished::{AllUnfinished, Begun, Unfinished};
use crate::text::hex;
use crate::text::numbers::leading;

const UNFINISHED: &[u8] = b"<unfinished ...>";

/// What strace ends the line of a thread with when it lets it go.
const DETACHED: &[u8] = b"<detached ...>";

/// Names of so many threads are told.
const NAMES_MAX: usize = 1 << 16;

/// Reads a log of strace.
///
/// What it keeps is bounded by the threads of the log, their unfinished calls and the longest
/// line, which are limited in turn: any input can be read.
pub struct Reader<R> {
    lines: Lines<R>,
    clock: Clock,
    threads: Threads,
    unfinished: AllUnfinished,
    counts: Counts,
    /// The thread whose line strace broke off to say that it follows another.
    broken_off: Option<u32>,
    /// Within the table that `-c` and `-C` append.
    in_summary: bool,
    times_are_void: bool,
    /// A call that was in two lines, or is followed by its stack.
    joined: Vec<u8>,
    site: Vec<u8>,
    segments: Segments,
    beginnings: Beginnings,
    seconds: Seconds,
    /// Some line had hexadecimal escapes: `-xx`.
    has_hex: bool,
    /// What `-Y` shows beside each thread.
    names: HashMap<u32, Vec<u8>>,
    /// A line that waits until the call is told that made its thread, or the thread's name.
    deferred: Option<Line>,
    /// The line that is looked at, and whose event is next. It is filled in place: moves of so much
    /// would take longer than reading it.
    line: Line,
    head: Head,
    /// The text of the head is in `joined`, not in the buffer.
    in_joined: bool,
    has_site: bool,
}

/// How a log is read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Whose the lines are that name no thread: 0 unless it is known.
    pub thread: u32,
    /// How much is read at once. It grows for longer lines.
    pub buffer_bytes: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            thread: 0,
            buffer_bytes: BUFFER_BYTES,
        }
    }
}

/// A line after its prefix.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Where its text begins and ends in the buffer.
    start: usize,
    end: usize,
    thread: u32,
    began_ns: Option<u64>,
    clock_ns: u64,
}

impl<R: Read> Reader<R> {
    /// Of a log that is one thread's, or names its threads.
    pub fn new(input: R) -> Self {
        Self::with_options(input, ReadOptions::default())
    }

    /// With other options.
    pub fn with_options(input: R, options: ReadOptions) -> Self {
        Self {
            lines: Lines::new(input, options.buffer_bytes),
            clock: Clock::default(),
            threads: Threads::new(options.thread),
            unfinished: AllUnfinished::default(),
            counts: Counts::default(),
            broken_off: None,
            in_summary: false,
            times_are_void: false,
            joined: Vec::new(),
            site: Vec::new(),
            segments: Segments::new(),
            beginnings: Beginnings::new(options.buffer_bytes),
            seconds: Seconds::default(),
            has_hex: false,
            names: HashMap::new(),
            deferred: None,
            line: Line::default(),
            head: Head::default(),
            in_joined: false,
            has_site: false,
        }
    }

    /// The next event, `None` at the end.
    ///
    /// # Errors
    ///
    /// What the input returned, but for `EINTR`. Nothing that a log holds is an error: lines that
    /// cannot be used are counted.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> io::Result<Option<Event<'_>>> {
        Ok(if self.advance()? { self.event() } else { None })
    }

    /// Goes to the next event; false at the end.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn advance(&mut self) -> io::Result<bool> {
        self.head.kind = Kind::Nothing;
        loop {
            let found = match self.deferred.take() {
                Some(line) => {
                    self.line = line;
                    self.interpret()
                }
                None => match self.lines.next()? {
                    Next::Line(start, end) => {
                        let end = self.decoded(start, end);
                        self.look(start, end)
                    }
                    Next::End => {
                        self.finish();
                        return Ok(false);
                    }
                    Next::TooLong => Err(Reason::TooLong),
                    Next::Truncated => {
                        self.counts.truncated = true;
                        Err(Reason::Truncated)
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
                Err(reason) => self.skip(reason),
            }
        }
    }

    /// The event that [`advance`](Self::advance) went to; `None` before it was called and after the
    /// end.
    pub fn event(&mut self) -> Option<Event<'_>> {
        let text = if self.in_joined {
            &self.joined
        } else {
            self.lines.text(self.line.start, self.line.end)
        };
        let site = self.has_site.then_some(&*self.site);
        read_event(&self.head, text, site, &mut self.segments, &mut self.counts)
    }

    /// What [`advance`](Self::advance) went to, its text, and its call site.
    pub(crate) fn head(&self) -> (&Head, &[u8], Option<&[u8]>) {
        let text = if self.in_joined {
            &self.joined
        } else {
            self.lines.text(self.line.start, self.line.end)
        };
        (&self.head, text, self.has_site.then_some(&*self.site))
    }

    /// When the event began that [`advance`](Self::advance) went to, in ns.
    pub fn began_ns(&self) -> Option<u64> {
        self.head.began_ns
    }

    /// Whether times are relative to the line before (`-r`). strace takes the line before from
    /// whatever file with `-ff`, so times of such a file alone mean nothing.
    pub fn times_are_relative(&self) -> bool {
        self.clock.relative
    }

    /// Leaves the times out from here on.
    pub fn forget_times(&mut self) {
        self.times_are_void = true;
        self.counts.times = false;
        self.head.began_ns = None;
        self.head.clock_ns = 0;
    }

    /// What was read so far, and what could not be used.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts.clone();
        counts.lines = self.lines.count;
        counts.bytes = self.lines.bytes;
        counts
    }

    /// What it reads from.
    pub fn input(&self) -> &R {
        self.lines.input()
    }

    fn skip(&mut self, reason: Reason) {
        self.counts.skip(reason, self.lines.count);
    }

    /// Counts what never ended.
    fn finish(&mut self) {
        for line in self.unfinished.drain() {
            self.counts.skip(Reason::NeverResumed, line);
        }
    }

    /// Where a line ends after its hexadecimal escapes were decoded.
    #[inline]
    fn decoded(&mut self, start: usize, end: usize) -> usize {
        // To prepare a search takes as long as to search a line.
        static ESCAPE: LazyLock<Finder> = LazyLock::new(|| Finder::new(b"\\x"));
        if ESCAPE.find(self.lines.text(start, end)).is_none() {
            return end;
        }
        let length = hex::decode(self.lines.text_mut(start, end));
        self.has_hex |= length < end - start;
        start + length
    }

    /// Looks at a line. Whether it is an event; no surprise either way.
    fn look(&mut self, start: usize, end: usize) -> Result<bool, Reason> {
        let text = self.lines.text(start, end);
        if let Some(thread) = self.broken_off.take()
            && text.first().is_some_and(|byte| b",) ".contains(byte))
        {
            return self.go_on(thread, start, end);
        }
        let begins_as_usual = text.first().is_some_and(u8::is_ascii_digit);
        if (!begins_as_usual || self.in_summary) && self.is_expected(start, end) {
            return Ok(false);
        }
        let text = self.lines.text(start, end);
        let prefix = Prefix::of(text)?;
        let (began_ns, clock_ns) = match prefix.stamp {
            Some(stamp) => {
                let now_ns = self.clock.read(stamp);
                self.counts.times |= !self.times_are_void;
                if self.times_are_void {
                    (None, 0)
                } else {
                    (Some(now_ns), prefix.clock_ns)
                }
            }
            None => (None, 0),
        };
        let thread = self.threads.of(&prefix, |first| Hints {
            resumes: text[prefix.end..].starts_with(b"<... "),
            first_is_busy: self.unfinished.has(first),
        });
        let without_return = end - usize::from(text.ends_with(b"\r"));
        self.line = Line {
            start: start + prefix.end,
            end: without_return.max(start + prefix.end),
            thread,
            began_ns,
            clock_ns,
        };
        if self.threads.is_new(thread) {
            let line = self.line;
            if self.tell_maker(thread) {
                self.deferred = Some(line);
                return Ok(true);
            }
        }
        if prefix.program.1 > 0 && self.tell_name(start, prefix.program) {
            self.deferred = Some(self.line);
            return Ok(true);
        }
        self.interpret()
    }

    /// Tells what `-Y` shows beside a thread; false if that was told before.
    #[cold]
    fn tell_name(&mut self, line: usize, (start, end): (usize, usize)) -> bool {
        let thread = self.line.thread;
        let name = self.lines.text(line + start, line + end);
        let is_known = self.names.get(&thread).is_some_and(|known| known == name);
        if is_known || self.names.len() >= NAMES_MAX {
            return false;
        }
        self.names.insert(thread, name.to_vec());
        self.joined.clear();
        self.joined.extend_from_slice(name);
        self.head = Head {
            number: self.lines.count,
            thread,
            began_ns: self.line.began_ns,
            clock_ns: self.line.clock_ns,
            kind: Kind::Named,
        };
        self.in_joined = true;
        self.has_site = false;
        true
    }

    /// Whether a line tells of no call but is no surprise.
    #[cold]
    fn is_expected(&mut self, start: usize, end: usize) -> bool {
        let text = self.lines.text(start, end);
        if is_aside(text) {
            if let Some(thread) = attached(text) {
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

    /// Tells the call that made a thread whose first line comes before that call's end, as if it had
    /// ended; false if there is no such call.
    #[cold]
    fn tell_maker(&mut self, thread: u32) -> bool {
        let Some((parent, call)) = self.unfinished.maker() else {
            return false;
        };
        self.joined.clear();
        self.joined.extend_from_slice(&call.text);
        self.joined.extend_from_slice(b") = ");
        self.joined.extend_from_slice(thread.to_string().as_bytes());
        let Some(tail) = Tail::of(&self.joined) else {
            return false;
        };
        self.head = Head {
            number: call.line,
            thread: parent,
            began_ns: call.began_ns,
            clock_ns: call.clock_ns,
            kind: Kind::Call(Beginning::of_name(call.name, call.name_bytes), tail),
        };
        self.in_joined = true;
        self.has_site = false;
        true
    }

    #[inline]
    fn interpret(&mut self) -> Result<bool, Reason> {
        match self.text().first() {
            Some(b'<') => self.resumed(),
            Some(b'-') => self.signal(),
            Some(b'+') => self.end(),
            Some(_) => self.call(),
            None => Err(Reason::NotALine),
        }
    }

    fn text(&self) -> &[u8] {
        self.lines.text(self.line.start, self.line.end)
    }

    /// `write(1, "a", 1) = 1` or `write(1, "a", 1 <unfinished ...>`.
    #[inline]
    fn call(&mut self) -> Result<bool, Reason> {
        let text = self.lines.text(self.line.start, self.line.end);
        let beginning = self.beginnings.read(text).ok_or(Reason::NotALine)?;
        let Beginning {
            name, name_bytes, ..
        } = beginning;
        if let Some(head) = text.strip_suffix(UNFINISHED) {
            let bytes = head.strip_suffix(b" ").unwrap_or(head).len();
            return self.begin(name, name_bytes, bytes);
        }
        let Some(tail) = tail(text, name_bytes) else {
            return self.break_off(name, name_bytes);
        };
        if name.makes_threads()
            && let Some(child) = calls::child(body(text, beginning, tail))
        {
            self.threads.made(child);
        }
        self.set_head(match Plain::of(text, beginning, tail) {
            Some(plain) => Kind::Plain(plain),
            None => Kind::Call(beginning, tail),
        });
        self.counts.durations |= tail.took_ns.is_some();
        Ok(true)
    }

    /// `write(1, "a", 1 <unfinished ...>`.
    fn begin(&mut self, name: Name, name_bytes: usize, bytes: usize) -> Result<bool, Reason> {
        let head = self.lines.text(self.line.start, self.line.start + bytes);
        let call = Unfinished {
            name_bytes,
            began_ns: self.line.began_ns,
            clock_ns: self.line.clock_ns,
            line: self.lines.count,
            name,
            announced: false,
            text: Vec::new(),
        };
        match self.unfinished.begin(self.line.thread, head, call) {
            Begun::Kept => Ok(false),
            Begun::InsteadOf(lost) => {
                self.counts.skip(Reason::NeverResumed, lost);
                Ok(false)
            }
            Begun::TooMany => Err(Reason::TooManyUnfinished),
        }
    }

    /// `clone(flags=SIGCHLDstrace: Process 12 attached`, which goes on in the next line.
    #[cold]
    fn break_off(&mut self, name: Name, name_bytes: usize) -> Result<bool, Reason> {
        let text = self.lines.text(self.line.start, self.line.end);
        if text.ends_with(DETACHED) {
            return Ok(false);
        }
        let at =
            memmem::rfind(text, b"strace: Process ").or_else(|| memmem::rfind(text, b"Process "));
        let at = at.filter(|at| *at > name_bytes).ok_or(Reason::NotALine)?;
        let thread = attached(&text[at..]).ok_or(Reason::NotALine)?;
        self.threads.attached(thread);
        self.broken_off = Some(self.line.thread);
        self.begin(name, name_bytes, at)
    }

    /// `, child_tidptr=0x7f772f4b9a10) = 12`, where the line before broke off, or
    /// ` <unfinished ...>`.
    #[cold]
    fn go_on(&mut self, thread: u32, start: usize, end: usize) -> Result<bool, Reason> {
        if self.lines.text(start, end).trim_ascii() == UNFINISHED {
            return Ok(false);
        }
        self.line = Line {
            start,
            end,
            thread,
            began_ns: None,
            clock_ns: 0,
        };
        let call = self.unfinished.take(thread).ok_or(Reason::NeverBegun)?;
        self.join(call, 0)
    }

    /// `<... write resumed>) = 1`.
    fn resumed(&mut self) -> Result<bool, Reason> {
        let text = self.lines.text(self.line.start, self.line.end);
        if text == DETACHED {
            return Ok(false);
        }
        let rest = text.strip_prefix(b"<... ").ok_or(Reason::NotALine)?;
        let name_bytes = name_bytes(rest);
        let (name, rest) = rest.split_at(name_bytes);
        let rest = rest.strip_prefix(b" resumed>").ok_or(Reason::NotALine)?;
        let call = self.unfinished.take(self.line.thread);
        let call = call.ok_or(Reason::NeverBegun)?;
        if call.text[..call.name_bytes] != *name {
            self.counts.skip(Reason::NeverResumed, call.line);
            self.unfinished.reuse(call);
            return Err(Reason::NeverBegun);
        }
        let skipped = text.len() - rest.len();
        self.join(call, skipped)
    }

    /// A call that was unfinished, and the rest of it in this line after so many bytes.
    fn join(&mut self, call: Unfinished, skipped: usize) -> Result<bool, Reason> {
        let rest = self.lines.text(self.line.start + skipped, self.line.end);
        let name_bytes = call.name_bytes;
        self.joined.clear();
        self.joined.extend_from_slice(&call.text);
        self.joined.extend_from_slice(rest);
        self.line.began_ns = call.began_ns;
        self.line.clock_ns = call.clock_ns;
        let (name, announced) = (call.name, call.announced);
        self.unfinished.reuse(call);
        let tail = tail(&self.joined, name_bytes).ok_or(Reason::NotALine)?;
        let beginning = Beginning::of_name(name, name_bytes);
        if let Some(child) = calls::child(body(&self.joined, beginning, tail)) {
            self.threads.made(child);
        }
        self.counts.durations |= tail.took_ns.is_some();
        self.set_head(if announced {
            Kind::Told(beginning, tail)
        } else {
            Kind::Call(beginning, tail)
        });
        self.in_joined = true;
        Ok(true)
    }

    /// `--- SIGCHLD {si_signo=SIGCHLD, …} ---`, `--- stopped by SIGSTOP ---`.
    fn signal(&mut self) -> Result<bool, Reason> {
        let text = self.text();
        if !text.starts_with(b"--- ") || !text.ends_with(b" ---") {
            return Err(Reason::NotALine);
        }
        let name_bytes = first_word(&text[4..]);
        self.line.start += 4;
        self.set_head(Kind::Signal(name_bytes));
        Ok(true)
    }

    /// `+++ exited with 0 +++`, `+++ killed by SIGTERM +++`,
    /// `+++ superseded by execve in pid 12 +++`.
    fn end(&mut self) -> Result<bool, Reason> {
        let text = self.lines.text(self.line.start, self.line.end);
        let ending = text
            .strip_prefix(b"+++ ")
            .and_then(|text| text.strip_suffix(b" +++"))
            .ok_or(Reason::NotALine)?;
        let name_bytes = first_word(ending);
        let process_ended = ending.starts_with(b"killed");
        if let Some(thread) = ending.strip_prefix(b"superseded by execve in pid ") {
            // The line is the first thread's, whose number the other one takes over.
            let thread = leading(thread)?.0;
            let thread = u32::try_from(thread).map_err(|_| Reason::Overflow)?;
            let thread = self.threads.renamed(thread);
            self.unfinished.rename(thread, self.line.thread);
            self.line.thread = thread;
        } else if let Some(lost) = self.unfinished.take(self.line.thread) {
            self.counts.skip(Reason::NeverResumed, lost.line);
            self.unfinished.reuse(lost);
        }
        self.line.start += 4;
        self.threads.ended(self.line.thread);
        self.set_head(Kind::Exit {
            name_bytes,
            process_ended,
        });
        Ok(true)
    }

    #[inline]
    fn set_head(&mut self, kind: Kind) {
        let is_call = !matches!(kind, Kind::Signal(_) | Kind::Exit { .. });
        self.counts.calls += u64::from(is_call);
        self.head = Head {
            number: self.lines.count,
            thread: self.line.thread,
            began_ns: self.line.began_ns,
            clock_ns: self.line.clock_ns,
            kind,
        };
        self.in_joined = false;
        self.has_site = false;
    }

    /// Reads the stack that follows a call, and keeps its innermost frame outside the C library.
    #[cold]
    fn read_stack(&mut self) -> io::Result<()> {
        if !self.in_joined {
            self.joined.clear();
            let text = self.lines.text(self.line.start, self.line.end);
            self.joined.extend_from_slice(text);
            self.in_joined = true;
        }
        while self.lines.stack_follows() {
            let Next::Line(start, end) = self.lines.next()? else {
                self.skip(Reason::TooLong);
                return Ok(());
            };
            let frame = stack::frame(self.lines.text(start, end));
            let frame = frame.filter(|frame| !stack::is_of_c_library(frame));
            if let Some(frame) = frame
                && !self.has_site
            {
                self.has_site = true;
                self.counts.sites = true;
                self.site.clear();
                self.site.extend_from_slice(frame);
            }
        }
        Ok(())
    }
}

/// Where a call ends.
fn tail(call: &[u8], name_bytes: usize) -> Option<Tail> {
    Tail::of(call).filter(|tail| tail.equals > name_bytes + 1)
}

fn first_word(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte != b' ').count()
}

/// Lines that are expected but tell of no call: stacks, dumps of data (`-e write=1`), and what
/// strace says of itself.
fn is_aside(text: &[u8]) -> bool {
    match text.first() {
        Some(b' ') => text.starts_with(b" >") || text.starts_with(b" | "),
        Some(b's') => text.starts_with(b"strace: "),
        Some(b'P') => text.starts_with(b"Process "),
        Some(b'[') => text.starts_with(b"[ Process PID="),
        _ => false,
    }
}

/// The thread of `strace: Process 12 attached`.
fn attached(text: &[u8]) -> Option<u32> {
    let text = text.strip_prefix(b"strace: ").unwrap_or(text);
    let thread = text.strip_prefix(b"Process ")?.strip_suffix(b" attached")?;
    str::from_utf8(thread).ok()?.parse().ok()
}

/// A line of the table of `-c`: `  0.00    0.000000           0         4           openat`.
fn is_of_summary(text: &[u8]) -> bool {
    let begins = text.trim_ascii_start().first();
    begins.is_none_or(|byte| byte.is_ascii_digit() || *byte == b'-') && !text.contains(&b'(')
}
