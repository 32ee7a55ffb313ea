//! Logs of other programs, rewritten line by line as strace would write them.
//!
//! These logs do not show the memory of the program: they have addresses in place of paths and lists of segments. The
//! parser reports such an argument as [`NotShown`](crate::counts::SkipReason::NotShown).

mod arguments;
pub mod numbers;
mod perf_trace;
mod raw;
mod rewriter;

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use rewriter::Rewriter;

/// The number of bytes at the beginning of a log that tell its format.
const FORMAT_BYTES: u64 = 4096;
const FORMAT_LINES: usize = 20;

/// The longest line that is rewritten. A longer line is passed on in parts that are no lines of strace.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// A call, or the part of a call that a line shows.
#[derive(Default)]
pub(crate) struct Record<'a> {
    /// The name of the thread, which usually is the name of the thread's program.
    program: &'a [u8],
    thread: Option<u32>,
    at_ns: Option<u64>,
    name: &'a [u8],
    /// The arguments, as strace writes them; `None` if an earlier line has them.
    arguments: Option<Vec<u8>>,
    /// The result, as strace writes it; `None` if a later line has it.
    result: Option<Vec<u8>>,
    took_ns: Option<u64>,
}

/// Reads a line. `None`: the line is of another format. `Some(None)`: the line shows no call.
type ReadLine = fn(&[u8]) -> Option<Option<Record<'_>>>;

/// Lines of strace, made from a log of strace, `perf trace`, `perf script` or bpftrace.
pub struct Rewritten<R> {
    /// The first bytes of the log, once they are read, then the rest.
    input: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    is_begun: bool,
    rewriter: Option<Rewriter>,
    line: Vec<u8>,
    output: Cursor<Vec<u8>>,
}

impl<R: Read> Rewritten<R> {
    pub fn new(input: R) -> Self {
        let input = Cursor::default().chain(input);
        Self {
            input: BufReader::with_capacity(64 << 10, input),
            is_begun: false,
            rewriter: None,
            line: Vec::new(),
            output: Cursor::default(),
        }
    }

    pub(crate) fn inner(&self) -> &R {
        self.input.get_ref().get_ref().1
    }

    fn begin(&mut self) -> io::Result<()> {
        let (first_bytes, input) = self.input.get_mut().get_mut();
        let first_bytes = first_bytes.get_mut();
        input.take(FORMAT_BYTES).read_to_end(first_bytes)?;
        let formats: [ReadLine; 2] = [perf_trace::read, raw::read];
        let lines = || first_bytes.split(|byte| *byte == b'\n').take(FORMAT_LINES);
        let is_of = |read: &ReadLine| lines().any(|line| matches!(read(line), Some(Some(_))));
        self.rewriter = formats.into_iter().find(is_of).map(Rewriter::new);
        self.is_begun = true;
        Ok(())
    }
}

impl<R: Read> Read for Rewritten<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_begun {
            self.begin()?;
        }
        let Some(rewriter) = &mut self.rewriter else {
            return self.input.read(buffer);
        };
        loop {
            let bytes = self.output.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            // After an interruption, reading continues in the same line.
            let rest = MAX_LINE_BYTES.saturating_sub(self.line.len() as u64);
            let mut input = self.input.by_ref().take(rest);
            input.read_until(b'\n', &mut self.line)?;
            if self.line.is_empty() {
                return Ok(0);
            }
            let output = self.output.get_mut();
            output.clear();
            let is_part = self.line.len() as u64 == MAX_LINE_BYTES;
            match self.line.strip_suffix(b"\n") {
                Some(line) => rewriter.rewrite(line, output),
                None if is_part => output.extend_from_slice(b"longer than a line\n"),
                // The log ends in the middle of a line.
                None => output.extend_from_slice(&self.line),
            }
            self.line.clear();
            self.output.set_position(0);
        }
    }
}

impl Record<'_> {
    /// Writes a line of `strace -f -Y -ttt -T`.
    fn write(&self, output: &mut Vec<u8>) {
        if let Some(thread) = self.thread {
            output.extend_from_slice(thread.to_string().as_bytes());
            if !self.program.is_empty() {
                output.push(b'<');
                output.extend(self.program.iter().map(plain));
                output.push(b'>');
            }
            output.push(b' ');
        }
        if let Some(at_ns) = self.at_ns {
            // With fewer than nine digits, the seconds could be read as a relative time.
            let (seconds, ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
            output.extend_from_slice(format!("{seconds:09}.{:06} ", ns / 1000).as_bytes());
        }
        match &self.arguments {
            Some(arguments) => {
                output.extend_from_slice(self.name);
                output.push(b'(');
                output.extend_from_slice(arguments);
            }
            None => output.extend_from_slice(&[b"<... ", self.name, b" resumed>"].concat()),
        }
        match &self.result {
            Some(result) => output.extend_from_slice(&[b") = ", &result[..]].concat()),
            None => output.extend_from_slice(b" <unfinished ...>"),
        }
        if let Some(took_ns) = self.took_ns.filter(|_| self.result.is_some()) {
            let (seconds, ns) = (took_ns / 1_000_000_000, took_ns % 1_000_000_000);
            output.extend_from_slice(format!(" <{seconds}.{ns:09}>").as_bytes());
        }
        output.push(b'\n');
    }
}

/// Replaces a byte of a thread's name that has a meaning in a log: a thread may give itself any name.
fn plain(byte: &u8) -> u8 {
    if matches!(byte, b' '..=b'~') && !b"<>\"\\".contains(byte) {
        *byte
    } else {
        b'?'
    }
}

fn seconds(text: &[u8]) -> Option<u64> {
    let (ns, bytes) = crate::text::numbers::seconds_ns(text).ok()?;
    (bytes == text.len()).then_some(ns)
}
