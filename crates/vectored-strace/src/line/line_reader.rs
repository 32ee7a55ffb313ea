//! From an input to its lines, in one buffer.

use std::io;
use std::io::{ErrorKind, Read};

use memchr::memchr;

/// Fits the second level cache, with what was read last still in it.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// A line may be so long: 1,024 segments of some KiB each with `-s`, escaped.
const LONGEST_BYTES: usize = 16 << 20;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A line, from here to there in the buffer, without its end.
    Line(usize, usize),
    /// A line that was too long, and is passed over.
    TooLong,
    /// Bytes without an end of line after them, and then the end.
    Truncated,
    /// Nothing.
    End,
}

/// Lines of an input.
pub(crate) struct Lines<R> {
    input: R,
    /// Bytes not yet handed out are in `start..filled`.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    ended: bool,
    /// How many lines were handed out.
    pub(crate) count: u64,
    /// How many bytes were read.
    pub(crate) bytes: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R, buffer_bytes: usize) -> Self {
        Self {
            input,
            buffer: vec![0; buffer_bytes.max(1)],
            start: 0,
            filled: 0,
            ended: false,
            count: 0,
            bytes: 0,
        }
    }

    /// The next line. Where the buffer has it, and what follows, is known until the next call.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Next> {
        let Some(length) = self.find_end(0)? else {
            return self.without_end();
        };
        // What is needed to tell whether the stack of the call follows.
        while self.filled - self.start < length + 3 && !self.ended {
            self.fill()?;
        }
        let start = self.start;
        self.start = start + length + 1;
        self.count += 1;
        Ok(Next::Line(start, start + length))
    }

    /// What the buffer has that was not handed out.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// So many lines of so many bytes together were used of what is unread.
    pub(crate) fn used(&mut self, lines: u64, bytes: usize) {
        self.count += lines;
        self.start += bytes;
    }

    pub(crate) fn input(&self) -> &R {
        &self.input
    }

    /// The bytes of a line.
    #[inline]
    pub(crate) fn text(&self, start: usize, end: usize) -> &[u8] {
        &self.buffer[start..end]
    }

    /// The bytes of a line, to be changed.
    pub(crate) fn text_mut(&mut self, start: usize, end: usize) -> &mut [u8] {
        &mut self.buffer[start..end]
    }

    /// Whether the next line is one of a stack, ` > /usr/lib/libc.so.6(write+0x14) [0xf7aa4]`.
    #[inline]
    pub(crate) fn stack_follows(&self) -> bool {
        self.buffer[self.start..self.filled].starts_with(b" >")
    }

    /// How long the line is whose end was not in its first `searched` bytes; `None` if the input
    /// or the patience ends before it does.
    #[inline]
    fn find_end(&mut self, mut searched: usize) -> io::Result<Option<usize>> {
        loop {
            let unread = &self.buffer[self.start..self.filled];
            if let Some(found) = memchr(b'\n', &unread[searched..]) {
                return Ok(Some(searched + found));
            }
            searched = unread.len();
            if self.ended || searched >= LONGEST_BYTES {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Passes over a line that is too long, or is the last and cut.
    #[cold]
    fn without_end(&mut self) -> io::Result<Next> {
        if self.start == self.filled {
            return Ok(Next::End);
        }
        self.count += 1;
        let mut too_long = false;
        while !self.ended {
            too_long = true;
            self.start = 0;
            self.filled = 0;
            self.fill()?;
            if let Some(end) = memchr(b'\n', &self.buffer[..self.filled]) {
                self.start = end + 1;
                return Ok(Next::TooLong);
            }
        }
        self.start = self.filled;
        Ok(if too_long {
            Next::TooLong
        } else {
            Next::Truncated
        })
    }

    /// Reads once, into a buffer that has room.
    #[cold]
    fn fill(&mut self) -> io::Result<()> {
        if self.filled == self.buffer.len() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.filled, 0);
                self.filled -= self.start;
                self.start = 0;
            } else {
                let bytes = self.buffer.len() * 2;
                self.buffer.resize(bytes, 0);
            }
        }
        loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => {
                    self.filled += bytes;
                    self.bytes += bytes as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}
