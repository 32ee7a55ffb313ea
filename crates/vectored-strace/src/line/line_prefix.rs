//! The prefix of a line, before the call: `[pid 12] 02:05:40.639682 (+     0.000595) [  12] [00007fed00539c47] `.

use memchr::memchr;

use crate::counts::SkipReason;
use crate::line::clock::Timestamp;
use crate::text::numbers::{fraction_ns, leading, seconds_ns, unit_ns};

const SECOND_NS: u64 = 1_000_000_000;

/// The width to which strace pads a thread number, before a blank.
const THREAD_DIGITS: usize = 5;

/// The width to which strace pads the seconds of `-r`. strace does not pad the seconds of `-ttt`.
const RELATIVE_DIGITS: usize = 6;

/// The kernel's `PID_MAX_LIMIT`: a greater number is no thread. The limit also bounds the memory for sets of threads.
const MAX_THREAD: u32 = 1 << 22;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub(crate) thread: Option<u32>,
    /// Whether the thread is written as `[pid 12]`. strace does so only on its standard error, while it follows several
    /// threads.
    pub(crate) bracketed: bool,
    pub(crate) stamp: Option<Timestamp>,
    pub(crate) clock_ns: u64,
    pub(crate) end: usize,
    /// The position of the time, including the padding of the time.
    time_start: usize,
    /// The begin and the end of the program's name that `-Y` adds; 0 without a name.
    pub(crate) program: (usize, usize),
}

impl Prefix {
    pub(crate) fn read(line: &[u8]) -> Result<Self, SkipReason> {
        let mut prefix = Self::default();
        if let Some(rest) = line.strip_prefix(b"[pid ") {
            prefix.end = line.len() - rest.len();
            prefix.skip_spaces(line);
            let (thread, digits) = leading(&line[prefix.end..])?;
            prefix.name_thread(thread)?;
            prefix.bracketed = true;
            prefix.end += digits;
            prefix.read_program(line)?;
            prefix.expect(line, b"] ")?;
            prefix.time_start = prefix.end;
        }
        // First comes a thread, then a time. Both are optional.
        loop {
            let digits_follow = |at: usize| line.get(at).is_some_and(u8::is_ascii_digit);
            // `--secontext` writes the context of the thread between the thread and the time.
            if prefix.thread.is_some()
                && prefix.stamp.is_none()
                && line.get(prefix.end) == Some(&b'[')
                && let Some(end) = memchr(b']', &line[prefix.end..])
                && digits_follow(prefix.end + end + 2)
            {
                prefix.time_start = prefix.end + end + 2;
                prefix.end += end + 1;
            }
            let mut at = prefix.end;
            while line.get(at) == Some(&b' ') {
                at += 1;
            }
            if !digits_follow(at) {
                break;
            }
            prefix.end = at;
            prefix.read_number(line)?;
        }
        // Skips the relative time beside an absolute time, the number of the call (`-n`), and the instruction pointer
        // (`-i`).
        loop {
            let rest = &line[prefix.end..];
            let end = match rest.first() {
                Some(b'(') => memchr(b')', rest),
                Some(b'[') => memchr(b']', rest),
                _ => return Ok(prefix),
            };
            prefix.end += end.ok_or(SkipReason::NotALine)? + 1;
            prefix.skip_spaces(line);
        }
    }

    /// Reads a thread or a time, and the blanks after it.
    fn read_number(&mut self, line: &[u8]) -> Result<(), SkipReason> {
        let start = self.end;
        let (number, digits) = leading(&line[start..])?;
        let is_padded =
            start + digits >= self.time_start + RELATIVE_DIGITS && start > self.time_start;
        self.end += digits;
        match line.get(self.end) {
            Some(b':') => self.read_day_time(number, line)?,
            Some(b' ' | b'<') if self.thread.is_none() && digits < 9 => {
                self.time_start = start + digits.max(THREAD_DIGITS) + 1;
                self.name_thread(number)?;
                self.read_program(line)?;
            }
            Some(b' ' | b'.') => {
                let (ns, bytes) = seconds_ns(&line[start..])?;
                self.end = start + bytes;
                // A time of nine digits or more is since 1970. A padded time is since the line before.
                let stamp = match digits {
                    9.. => Timestamp::OfEpoch(ns),
                    _ if is_padded => Timestamp::SinceLast(ns),
                    _ => Timestamp::Short(ns),
                };
                self.set_time(stamp, bytes.saturating_sub(digits + 1))?;
            }
            _ => return Err(SkipReason::NotALine),
        }
        if line.get(self.end) != Some(&b' ') {
            return Err(SkipReason::NotALine);
        }
        self.skip_spaces(line);
        Ok(())
    }

    /// Reads the minutes, the seconds and their fraction, after the hours.
    fn read_day_time(&mut self, hours: u64, line: &[u8]) -> Result<(), SkipReason> {
        let mut whole = hours;
        for _ in 0..2 {
            self.expect(line, b":")?;
            let (number, digits) = leading(&line[self.end..])?;
            if number >= 60 || digits != 2 || whole >= 24 * 60 {
                return Err(SkipReason::NotALine);
            }
            whole = whole * 60 + number;
            self.end += digits;
        }
        let mut fraction = (0, 0);
        if line.get(self.end) == Some(&b'.') {
            fraction = fraction_ns(&line[self.end + 1..])?;
            self.end += 1 + fraction.1;
        }
        self.set_time(Timestamp::OfDay(whole * SECOND_NS + fraction.0), fraction.1)
    }

    fn set_time(&mut self, stamp: Timestamp, fraction_digits: usize) -> Result<(), SkipReason> {
        if self.stamp.is_some() {
            return Err(SkipReason::NotALine);
        }
        self.stamp = Some(stamp);
        self.clock_ns = unit_ns(fraction_digits).ok_or(SkipReason::NotALine)?;
        Ok(())
    }

    fn name_thread(&mut self, thread: u64) -> Result<(), SkipReason> {
        if thread > u64::from(MAX_THREAD) {
            return Err(SkipReason::NotALine);
        }
        self.thread = u32::try_from(thread).ok();
        Ok(())
    }

    /// Reads the program's name beside the thread (`-Y`), if present.
    fn read_program(&mut self, line: &[u8]) -> Result<(), SkipReason> {
        if line.get(self.end) == Some(&b'<') {
            let end = memchr(b'>', &line[self.end..]).ok_or(SkipReason::NotALine)?;
            self.program = (self.end + 1, self.end + end);
            self.end += end + 1;
        }
        Ok(())
    }

    fn skip_spaces(&mut self, line: &[u8]) {
        while line.get(self.end) == Some(&b' ') {
            self.end += 1;
        }
    }

    fn expect(&mut self, line: &[u8], text: &[u8]) -> Result<(), SkipReason> {
        if !line[self.end..].starts_with(text) {
            return Err(SkipReason::NotALine);
        }
        self.end += text.len();
        Ok(())
    }
}
