//! Splits an input into lines, in one buffer.

use std::io::{self, ErrorKind, Read};

use memchr::memchr;

/// The initial size of the buffer. The buffer fits the second-level cache: bytes are still in the cache when they are
/// parsed.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// The longest line, in bytes: 1,024 segments of some KiB each, escaped.
const MAX_LINE_BYTES: usize = 16 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextLine {
    /// A line: the position of its first byte in the buffer, and the position of its line feed.
    Line(usize, usize),
    /// A line of more than `MAX_LINE_BYTES`, which was skipped.
    TooLong,
    /// Bytes without a line feed at the end of the input.
    Truncated,
    End,
}

pub(crate) struct LineReader<R> {
    input: R,
    /// `start..filled` has the bytes of lines that are not returned yet.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    ended: bool,
    pub(crate) count: u64,
}

impl<R: Read> LineReader<R> {
    pub(crate) fn new(input: R, buffer_bytes: usize) -> Self {
        Self {
            input,
            buffer: vec![0; buffer_bytes.max(1)],
            start: 0,
            filled: 0,
            ended: false,
            count: 0,
        }
    }

    /// Finds the next line. The positions of the line in the buffer are valid until the next call.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<NextLine> {
        let Some(length) = self.find_end(0)? else {
            return self.without_end();
        };
        // `stack_follows` looks at the two bytes after the line feed.
        while self.filled - self.start < length + 3 && !self.ended {
            self.fill()?;
        }
        let start = self.start;
        self.start = start + length + 1;
        self.count += 1;
        Ok(NextLine::Line(start, start + length))
    }

    pub(crate) fn input(&self) -> &R {
        &self.input
    }

    #[inline]
    pub(crate) fn text(&self, start: usize, end: usize) -> &[u8] {
        &self.buffer[start..end]
    }

    pub(crate) fn text_mut(&mut self, start: usize, end: usize) -> &mut [u8] {
        &mut self.buffer[start..end]
    }

    /// Whether the next line is a stack frame: ` > /usr/lib/libc.so.6(write+0x14) [0xf7aa4]`.
    #[inline]
    pub(crate) fn stack_follows(&self) -> bool {
        self.buffer[self.start..self.filled].starts_with(b" >")
    }

    /// The length of the next line. The first `searched` bytes of the line have no line feed. `None` if there is no
    /// line feed before the end of the input or within `MAX_LINE_BYTES`.
    #[inline]
    fn find_end(&mut self, mut searched: usize) -> io::Result<Option<usize>> {
        loop {
            let unread = &self.buffer[self.start..self.filled];
            if let Some(found) = memchr(b'\n', &unread[searched..]) {
                return Ok(Some(searched + found));
            }
            searched = unread.len();
            if self.ended || searched >= MAX_LINE_BYTES {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Skips a line that is too long, or a last line without a line feed.
    #[cold]
    fn without_end(&mut self) -> io::Result<NextLine> {
        if self.start == self.filled {
            return Ok(NextLine::End);
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
                return Ok(NextLine::TooLong);
            }
        }
        self.start = self.filled;
        Ok(if too_long { NextLine::TooLong } else { NextLine::Truncated })
    }

    /// Reads once into the buffer. If the buffer is full, makes room first.
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
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}
