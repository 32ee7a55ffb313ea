//! Real descriptors to read from, and what they are fed.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags};
use rustix::io::Errno;
use vectored::SegmentCursor;

use crate::model::{GuardedList, bytes_lost};
use crate::readers::{AtEof, CallScope, ReadFn, Reader};
use crate::target::{MAX_IDLE, nameless};
use crate::writers::Takes;

/// The bytes that a source gives, and the pieces in which it gives them.
#[derive(Clone, Debug)]
pub struct Feed {
    content: Vec<u8>,
    given: usize,
    /// Taken in turn, from the first again after the last.
    pieces: Vec<usize>,
    next_piece: usize,
    wait: Duration,
}

impl Feed {
    /// These bytes, in pieces of these sizes: in one if there are none.
    #[must_use]
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

    /// The same with a pause before each piece that a thread gives.
    #[must_use]
    pub fn waiting(self, wait: Duration) -> Feed {
        Feed { wait, ..self }
    }

    fn is_over(&self) -> bool {
        self.given == self.content.len()
    }

    /// One call of write(2), of a piece at most.
    fn give(&mut self, to: &mut impl Write) -> io::Result<()> {
        let piece = self.pieces[self.next_piece].max(1);
        let rest = &self.content[self.given..];
        self.given += to.write(&rest[..piece.min(rest.len())])?;
        self.next_piece = (self.next_piece + 1) % self.pieces.len();
        Ok(())
    }
}

/// A descriptor to read from.
#[derive(Debug)]
pub struct Source {
    /// What a failing test calls it.
    pub name: &'static str,
    reader: OwnedFd,
    feeder: Feeder,
    /// What it holds from its first byte to its last.
    content: Vec<u8>,
    /// The bytes that transfers have reported.
    reported: u64,
}

#[derive(Debug)]
enum Feeder {
    /// It holds everything from the start.
    File,
    /// A thread that gives piece after piece.
    Thread(JoinHandle<()>),
    /// A non-blocking descriptor that is given a piece whenever the reader would block; closed after
    /// the last.
    Stepped { to: Option<File>, feed: Feed },
}

/// What became of a list.
#[derive(Debug)]
pub struct Arrival {
    /// All bytes of the list, those that were not filled included.
    pub received: Vec<u8>,
    /// The bytes that the way said came.
    pub reported: u64,
    /// What ended it before its end.
    pub error: Option<io::Error>,
    /// How often it would have blocked and was resumed.
    pub resumptions: u64,
    /// How often another count was reported then than had been fed.
    pub miscounts: u64,
    /// Bytes beside the segments that were changed, and segments of the list that were moved.
    pub stray_writes: u64,
    /// What could still be read afterwards.
    pub unread: Vec<u8>,
    /// Where it ended.
    pub cursor: SegmentCursor,
    /// What the source held from its first byte to its last.
    pub content: Vec<u8>,
}

impl Arrival {
    /// The bytes that are missing, wrong, surplus, counted wrongly, or outside of the list, by the
    /// naive model: the first bytes of the content, cut up by the sizes, and the rest where it was.
    #[must_use]
    pub fn lost(&self, reader: &Reader) -> u64 {
        let expected = self.received.len().min(self.content.len());
        let reported = self.received.len().min(self.reported as usize);
        let rest = match reader.takes {
            Takes::All => expected,
            // These do not move the position.
            Takes::Files => 0,
        };
        bytes_lost(&self.content[..expected], &self.received[..reported])
            + bytes_lost(&self.content[rest..], &self.unread)
            + self.stray_writes
            + self.miscounts
    }

    /// Whether it ended as its way should on this content, with or without an error.
    #[must_use]
    pub fn ended_well(&self, reader: &Reader) -> bool {
        let is_eof = self.content.len() < self.received.len();
        let kind = self.error.as_ref().map(io::Error::kind);
        match reader.at_eof {
            AtEof::Fails if is_eof => kind == Some(io::ErrorKind::UnexpectedEof),
            _ => kind.is_none(),
        }
    }
}

/// The makers of all sources; files lie in the directory.
pub const ALL: &[fn(&Path, Feed) -> io::Result<Source>] = &[
    Source::file,
    |_, feed| Source::memory(feed),
    |_, feed| Source::pipe(feed),
    |_, feed| Source::unix_stream(feed),
    |_, feed| Source::tcp_stream(feed),
    |_, feed| Source::non_blocking_pipe(feed),
    |_, feed| Source::non_blocking_unix_stream(feed),
];

impl Source {
    /// A file without a name, at its start.
    ///
    /// # Errors
    ///
    /// As all of these: what the system says.
    pub fn file(directory: &Path, feed: Feed) -> io::Result<Source> {
        Source::of_file("a file", nameless(directory, false)?, feed)
    }

    /// A file in memory.
    pub fn memory(feed: Feed) -> io::Result<Source> {
        let file = rustix::fs::memfd_create("vectored", MemfdFlags::CLOEXEC)?;
        Source::of_file("a file in memory", file.into(), feed)
    }

    /// A blocking pipe that a thread feeds.
    pub fn pipe(feed: Feed) -> io::Result<Source> {
        let (reader, writer) = io::pipe()?;
        Source::fed("a pipe", reader.into(), writer, feed)
    }

    /// A local stream socket that a thread feeds.
    pub fn unix_stream(feed: Feed) -> io::Result<Source> {
        let (reader, writer) = UnixStream::pair()?;
        Source::fed("a Unix stream", reader.into(), writer, feed)
    }

    /// A TCP connection within this machine that a thread feeds.
    pub fn tcp_stream(feed: Feed) -> io::Result<Source> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let writer = TcpStream::connect(listener.local_addr()?)?;
        let (reader, _) = listener.accept()?;
        // A small piece would wait for the last one to be acknowledged (Nagle's algorithm).
        writer.set_nodelay(true)?;
        Source::fed("a TCP stream", reader.into(), writer, feed)
    }

    /// A pipe that would block, and is fed a piece then.
    pub fn non_blocking_pipe(feed: Feed) -> io::Result<Source> {
        let (reader, writer) = io::pipe()?;
        Source::stepped("a non-blocking pipe", reader.into(), writer.into(), feed)
    }

    /// A local stream socket that would block, and is fed a piece then.
    pub fn non_blocking_unix_stream(feed: Feed) -> io::Result<Source> {
        let (reader, writer) = UnixStream::pair()?;
        let name = "a non-blocking Unix stream";
        Source::stepped(name, reader.into(), writer.into(), feed)
    }

    /// Whether a way that takes such descriptors can read here.
    #[must_use]
    pub fn suits(&self, takes: Takes) -> bool {
        takes == Takes::All || matches!(self.feeder, Feeder::File)
    }

    /// Fills a list of these sizes by `mover` until its end or an error, and looks at what came and
    /// what is left.
    ///
    /// # Errors
    ///
    /// Those of the feeding side.
    pub fn fill(
        mut self,
        reader: &Reader,
        read_fn: &mut ReadFn,
        sizes: &[usize],
    ) -> io::Result<Arrival> {
        let mut arrival = self.fill_next(read_fn, sizes)?;
        if reader.call_scope == CallScope::ListAndReadAhead && arrival.error.is_none() {
            // What was read ahead is the start of the next list.
            let ahead = self.content.len().saturating_sub(arrival.reported as usize);
            let next = self.fill_next(read_fn, &[ahead])?;
            let came = next.reported as usize;
            arrival.unread.extend(&next.received[..came.min(ahead)]);
        }
        arrival.unread.extend(self.finish()?);
        Ok(arrival)
    }

    /// As [`fill`](Source::fill), leaving what follows the list for the next one.
    ///
    /// # Errors
    ///
    /// Those of the feeding side.
    pub fn fill_next(&mut self, read_fn: &mut ReadFn, sizes: &[usize]) -> io::Result<Arrival> {
        let mut guarded = GuardedList::new(sizes);
        let mut cursor = SegmentCursor::new();
        let mut reported = 0;
        let (mut resumptions, mut miscounts) = (0, 0);
        let mut idle = 0;
        let mut segments = guarded.segments();
        let before: Vec<_> = segments.iter().map(|s| (s.as_ptr(), s.len())).collect();
        let error = loop {
            let outcome = read_fn(self.reader.as_fd(), &mut segments, &mut cursor);
            reported += outcome.transferred;
            self.reported += outcome.transferred;
            let Some(error) = outcome.error else {
                break None;
            };
            idle = if outcome.transferred == 0 {
                idle + 1
            } else {
                0
            };
            let would_block = error.kind() == io::ErrorKind::WouldBlock;
            if idle > MAX_IDLE || !would_block {
                break Some(error);
            }
            let Some(fed) = self.feeder.step(self.reader.as_fd())? else {
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
            cursor,
            content: self.content.clone(),
        })
    }

    /// The descriptor alone.
    #[must_use]
    pub fn into_reader(self) -> OwnedFd {
        self.reader
    }

    /// Reads what is left, without any way.
    ///
    /// # Errors
    ///
    /// Those of either side.
    ///
    /// # Panics
    ///
    /// If the feeding thread did.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        let mut reader = File::from(self.reader);
        let mut feeder = self.feeder;
        let mut unread = Vec::new();
        loop {
            match reader.read_to_end(&mut unread) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if feeder.step(reader.as_fd())?.is_none() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if let Feeder::Thread(thread) = feeder {
            thread.join().expect("the feeder does not panic");
        }
        Ok(unread)
    }

    fn of_file(name: &'static str, mut file: File, feed: Feed) -> io::Result<Source> {
        file.write_all(&feed.content)?;
        file.rewind()?;
        Ok(Source {
            name,
            reader: file.into(),
            feeder: Feeder::File,
            content: feed.content,
            reported: 0,
        })
    }

    fn fed(
        name: &'static str,
        reader: OwnedFd,
        to: impl Write + Send + 'static,
        feed: Feed,
    ) -> io::Result<Source> {
        let content = feed.content.clone();
        Ok(Source {
            name,
            reader,
            feeder: Feeder::Thread(feed_in_thread(to, feed)),
            content,
            reported: 0,
        })
    }

    fn stepped(
        name: &'static str,
        reader: OwnedFd,
        writer: OwnedFd,
        feed: Feed,
    ) -> io::Result<Source> {
        for fd in [&reader, &writer] {
            let flags = rustix::fs::fcntl_getfl(fd)?;
            rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?;
        }
        Ok(Source {
            name,
            reader,
            content: feed.content.clone(),
            feeder: Feeder::Stepped {
                to: Some(writer.into()),
                feed,
            },
            reported: 0,
        })
    }
}

impl Feeder {
    /// Gives a reader that would block the next piece, or the end of the stream; returns how many
    /// bytes had been given before, and nothing where it cannot help.
    fn step(&mut self, reader: BorrowedFd<'_>) -> io::Result<Option<u64>> {
        let Feeder::Stepped { to, feed } = self else {
            return Ok(None);
        };
        let before = feed.given as u64;
        match to {
            Some(to) if !feed.is_over() => feed.give(to)?,
            // A reader that would block once more, behind the end, is none that can be helped.
            _ => {
                *to = None;
                until_readable(reader)?;
            }
        }
        Ok(Some(before))
    }
}

/// Waits for bytes or the end of the stream, which has no bytes until then.
///
/// What is closed here may still be open in a child that another thread has started and that has not
/// come to execve(2) yet: until then the stream has no end.
fn until_readable(reader: BorrowedFd<'_>) -> io::Result<()> {
    let patience = Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    loop {
        match poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&patience)) {
            Err(Errno::INTR) => {}
            Ok(0) => {
                let message = "the stream does not end: its writer is open elsewhere";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            answer => return Ok(answer.map(drop)?),
        }
    }
}

fn feed_in_thread(mut to: impl Write + Send + 'static, mut feed: Feed) -> JoinHandle<()> {
    thread::spawn(move || {
        while !feed.is_over() {
            if feed.wait.is_zero() {
                // Lets the reader find this piece alone, so that its call is short; not always.
                thread::yield_now();
            } else {
                thread::sleep(feed.wait);
            }
            if feed.give(&mut to).is_err() {
                // The reader has gone; if it has not, it will miss the rest.
                return;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::EXACT_READER;

    #[test]
    fn a_stream_ends_when_the_last_holder_of_its_writer_does() {
        for open in [Source::non_blocking_pipe, Source::non_blocking_unix_stream] {
            let source = open(Feed::new(vec![7; 10], &[4])).unwrap();
            let Feeder::Stepped { to: Some(to), .. } = &source.feeder else {
                panic!("{} is not stepped", source.name);
            };
            // As a child holds it that another test starts.
            let held = to.try_clone().unwrap();
            let holder = thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                drop(held);
            });
            let name = source.name;
            let arrival = source
                .fill(&EXACT_READER, &mut (EXACT_READER.make)(), &[9, 9])
                .unwrap();
            assert!(
                arrival.ended_well(&EXACT_READER),
                "{name}: {:?}",
                arrival.error
            );
            assert_eq!(arrival.lost(&EXACT_READER), 0, "{name}");
            holder.join().unwrap();
        }
    }
}
