//! Descriptors to read from, and the bytes that are fed into them.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vectored::bindings::BorrowedDescriptor;
use vectored::{AsDescriptor, SegmentCursor};

#[cfg(unix)]
use crate::ends::Writer;
use crate::ends::{self, Ends, Reader};
#[cfg(unix)]
use crate::host::file_in_memory;
use crate::model::{GuardedList, bytes_lost};
use crate::target::{MAX_IDLE, nameless};
use crate::way::{ReadFn, ReadWay};

/// The bytes that a source delivers, and the sizes of its writes.
#[derive(Clone, Debug)]
pub struct Feed {
    content: Vec<u8>,
    given: usize,
    /// The sizes of the writes. After the last size, the first comes again.
    pieces: Vec<usize>,
    next_piece: usize,
    wait: Duration,
}

impl Feed {
    /// Feeds `content` in pieces of these sizes; in one piece if there are no sizes.
    pub fn new(content: Vec<u8>, pieces: &[usize]) -> Feed {
        let pieces = match pieces {
            [] => vec![usize::MAX],
            some => some.to_vec(),
        };
        Feed {
            content,
            given: 0,
            pieces,
            next_piece: 0,
            wait: Duration::ZERO,
        }
    }

    /// If a thread feeds the source, the thread pauses before each piece.
    pub fn waiting(self, wait: Duration) -> Feed {
        Feed { wait, ..self }
    }

    fn is_over(&self) -> bool {
        self.given == self.content.len()
    }

    /// One call of write(2) with at most the next piece.
    fn give(&mut self, to: &mut impl Write) -> io::Result<()> {
        let piece = self.pieces[self.next_piece].max(1);
        let rest = &self.content[self.given..];
        self.given += to.write(&rest[..piece.min(rest.len())])?;
        self.next_piece = (self.next_piece + 1) % self.pieces.len();
        Ok(())
    }
}

/// A descriptor to read from.
pub struct Source {
    pub name: &'static str,
    reader: Box<dyn Reader>,
    feeder: Feeder,
    content: Vec<u8>,
    reported: u64,
}

enum Feeder {
    /// The file holds all bytes from the start.
    File,
    Thread(JoinHandle<()>),
    #[cfg(unix)]
    /// The non-blocking other end. Whenever the reader would block, this end gets a piece. After the last piece, this
    /// end is closed.
    Stepped {
        to: Option<Box<dyn Writer>>,
        feed: Feed,
    },
}

#[derive(Debug)]
pub struct Arrival {
    /// All bytes of the list, also the bytes that were not filled.
    pub received: Vec<u8>,
    pub reported: u64,
    pub error: Option<io::Error>,
    /// The number of times that the reader would have blocked and was resumed.
    pub resumptions: u64,
    /// The number of resumptions at which the reported count differed from the number of bytes fed before.
    pub miscounts: u64,
    /// Changed bytes outside the segments, and segments whose address or length changed.
    pub stray_writes: u64,
    /// The bytes that could still be read afterwards.
    pub unread: Vec<u8>,
    pub content: Vec<u8>,
}

impl Arrival {
    /// The number of bytes that are missing, wrong, surplus, miscounted or outside the list.
    ///
    /// Expected: the list holds the first bytes of the content, and the rest can still be read.
    pub fn lost(&self, way: &ReadWay) -> u64 {
        let expected = self.received.len().min(self.content.len());
        let reported = self.received.len().min(self.reported as usize);
        let rest = match way.only_files {
            false => expected,
            // On a handle that is not overlapped, a read at an offset moves the position, as `ReadFile` documents.
            true if cfg!(windows) => self.content.len() - self.unread.len(),
            // Positional reads do not move the position.
            true => 0,
        };
        bytes_lost(&self.content[..expected], &self.received[..reported])
            + bytes_lost(&self.content[rest..], &self.unread)
            + self.stray_writes
            + self.miscounts
    }

    /// Whether the transfer ended as it should with this way and this content: with or without an error.
    pub fn ended_well(&self, way: &ReadWay) -> bool {
        let is_eof = self.content.len() < self.received.len();
        let kind = self.error.as_ref().map(io::Error::kind);
        let fails = is_eof && !way.stops_at_eof;
        kind == fails.then_some(io::ErrorKind::UnexpectedEof)
    }
}

/// Makers of every source. The path is the directory for files.
pub const ALL: &[fn(&Path, Feed) -> io::Result<Source>] = &[
    Source::file,
    #[cfg(unix)]
    |_, feed| Source::memory(feed),
    |_, feed| Source::pipe(feed),
    #[cfg(unix)]
    |_, feed| Source::unix_stream(feed),
    |_, feed| Source::fed("a TCP stream", ends::tcp_stream()?, feed),
    #[cfg(unix)]
    |_, feed| Source::non_blocking_pipe(feed),
    #[cfg(unix)]
    |_, feed| Source::non_blocking_unix_stream(feed),
];

/// Every source, or every file.
pub fn suiting(only_files: bool, directory: &Path, feed: &Feed) -> impl Iterator<Item = Source> {
    let opened = ALL
        .iter()
        .map(move |open| open(directory, feed.clone()).unwrap());
    opened.filter(move |source| source.is_file() || !only_files)
}

impl Source {
    pub fn file(directory: &Path, feed: Feed) -> io::Result<Source> {
        Source::of_file("a file", nameless(directory, false)?, feed)
    }

    #[cfg(unix)]
    pub fn memory(feed: Feed) -> io::Result<Source> {
        Source::of_file("a file in memory", file_in_memory()?, feed)
    }

    pub fn pipe(feed: Feed) -> io::Result<Source> {
        Source::fed("a pipe", ends::pipe()?, feed)
    }

    #[cfg(unix)]
    pub fn unix_stream(feed: Feed) -> io::Result<Source> {
        Source::fed("a Unix stream", ends::unix_stream()?, feed)
    }

    #[cfg(unix)]
    pub fn non_blocking_pipe(feed: Feed) -> io::Result<Source> {
        Source::stepped("a non-blocking pipe", ends::pipe()?, feed)
    }

    #[cfg(unix)]
    pub fn non_blocking_unix_stream(feed: Feed) -> io::Result<Source> {
        Source::stepped("a non-blocking Unix stream", ends::unix_stream()?, feed)
    }

    pub fn is_file(&self) -> bool {
        matches!(self.feeder, Feeder::File)
    }

    /// Fills a list of these sizes by `read_fn` until the end of the list or an error. Collects what came and what is
    /// left.
    pub fn fill(
        mut self,
        way: &ReadWay,
        read_fn: &mut ReadFn,
        sizes: &[usize],
    ) -> io::Result<Arrival> {
        let mut arrival = self.fill_next(read_fn, sizes)?;
        if way.reads_ahead && arrival.error.is_none() {
            // The bytes that were read ahead belong to the next list.
            let ahead = self.content.len().saturating_sub(arrival.reported as usize);
            let next = self.fill_next(read_fn, &[ahead])?;
            let came = next.reported as usize;
            arrival.unread.extend(&next.received[..came.min(ahead)]);
        }
        arrival.unread.extend(self.finish()?);
        Ok(arrival)
    }

    /// Like [`fill`](Source::fill), but leaves the bytes after the list for the next list.
    pub fn fill_next(&mut self, read_fn: &mut ReadFn, sizes: &[usize]) -> io::Result<Arrival> {
        let mut guarded = GuardedList::new(sizes);
        let mut cursor = SegmentCursor::new();
        let mut reported = 0;
        let (mut resumptions, mut miscounts) = (0, 0);
        let mut idle = 0;
        let mut segments = guarded.segments();
        let whole = cursor.remaining_bytes(&segments);
        let before: Vec<_> = segments.iter().map(|s| (s.as_ptr(), s.len())).collect();
        let error = loop {
            let outcome = read_fn(self.reader.as_descriptor(), &mut segments, &mut cursor);
            reported += outcome.transferred;
            self.reported += outcome.transferred;
            let moved = whole - cursor.remaining_bytes(&segments);
            assert_eq!(moved, reported, "cursor and count differ");
            let Some(error) = outcome.error else {
                break None;
            };
            idle = if outcome.transferred == 0 { idle + 1 } else { 0 };
            let would_block = error.kind() == io::ErrorKind::WouldBlock;
            if idle > MAX_IDLE || !would_block {
                break Some(error);
            }
            let Some(fed) = self.feeder.step(self.reader.as_descriptor())? else {
                break Some(error);
            };
            resumptions += 1;
            miscounts += u64::from(fed != self.reported);
        };
        let after = segments.iter().map(|s| (s.as_ptr(), s.len()));
        let moved = before.into_iter().zip(after).filter(|(b, a)| b != a);
        let moved = moved.count() as u64;
        Ok(Arrival {
            received: guarded.received(),
            reported,
            error,
            resumptions,
            miscounts,
            stray_writes: moved + guarded.stray_writes(),
            unread: Vec::new(),
            content: self.content.clone(),
        })
    }

    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        let mut unread = Vec::new();
        while let Err(error) = self.reader.read_to_end(&mut unread) {
            let would_block = error.kind() == io::ErrorKind::WouldBlock;
            if !would_block || self.feeder.step(self.reader.as_descriptor())?.is_none() {
                return Err(error);
            }
        }
        if let Feeder::Thread(thread) = self.feeder {
            thread.join().expect("the feeder does not panic");
        }
        Ok(unread)
    }

    fn of_file(name: &'static str, mut file: File, feed: Feed) -> io::Result<Source> {
        file.write_all(&feed.content)?;
        file.rewind()?;
        Ok(Source::new(
            name,
            Box::new(file),
            feed.content,
            Feeder::File,
        ))
    }

    fn fed(name: &'static str, (reader, mut to): Ends, mut feed: Feed) -> io::Result<Source> {
        let content = feed.content.clone();
        let thread = thread::spawn(move || {
            while !feed.is_over() {
                if feed.wait.is_zero() {
                    // Then the reader often finds only this piece, so that its call is short.
                    thread::yield_now();
                } else {
                    thread::sleep(feed.wait);
                }
                if feed.give(&mut to).is_err() {
                    // The reader has closed its end. After any other error, the test will miss the rest.
                    return;
                }
            }
        });
        Ok(Source::new(name, reader, content, Feeder::Thread(thread)))
    }

    #[cfg(unix)]
    fn stepped(name: &'static str, ends: Ends, feed: Feed) -> io::Result<Source> {
        let (reader, to) = ends::non_blocking(ends)?;
        let content = feed.content.clone();
        let feeder = Feeder::Stepped { to: Some(to), feed };
        Ok(Source::new(name, reader, content, feeder))
    }

    fn new(
        name: &'static str,
        reader: Box<dyn Reader>,
        content: Vec<u8>,
        feeder: Feeder,
    ) -> Source {
        Source {
            name,
            reader,
            feeder,
            content,
            reported: 0,
        }
    }
}

impl Feeder {
    /// Delivers the next piece, or the end of the stream, to a reader that would block. Returns the number of
    /// bytes that had been delivered before; `None` for other feeders.
    #[cfg(unix)]
    fn step(&mut self, reader: BorrowedDescriptor<'_>) -> io::Result<Option<u64>> {
        let Feeder::Stepped { to, feed } = self else {
            return Ok(None);
        };
        let before = feed.given as u64;
        match to {
            Some(to) if !feed.is_over() => feed.give(to)?,
            // Closes the writer. `to` is `None` already if the reader would block after the end.
            _ => {
                *to = None;
                until_readable(reader)?;
            }
        }
        Ok(Some(before))
    }

    #[cfg(windows)]
    fn step(&mut self, _: BorrowedDescriptor<'_>) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

/// Waits until the stream has bytes or has ended.
///
/// The writer that was closed here may still be open in a child that another thread has started, until the
/// child calls execve(2). The stream does not end before that.
#[cfg(unix)]
fn until_readable(reader: BorrowedDescriptor<'_>) -> io::Result<()> {
    let patience = Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    loop {
        match poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&patience)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) => {
                let message = "the stream does not end: its writer is open elsewhere";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            answer => return Ok(answer.map(drop)?),
        }
    }
}
