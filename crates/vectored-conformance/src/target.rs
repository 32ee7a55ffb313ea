//! Descriptors to write to, and the bytes that arrive.

use std::fs::File;
use std::io::{self, IoSlice, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use vectored::{AsDescriptor, SegmentCursor};

#[cfg(unix)]
use crate::ends::Reader;
use crate::ends::{self, Ends, Writer};
#[cfg(unix)]
use crate::host::{file_in_memory, seal_length};
use crate::way::WriteFn;

const BEFORE: &[u8] = b"before\n";

/// After this many resumptions in a row without a byte, a transfer is ended. A defective function could go on for
/// ever.
pub(crate) const MAX_IDLE: u32 = 100;

/// A descriptor to write to, and the end at which the bytes arrive.
pub struct Target {
    pub name: &'static str,
    writer: Box<dyn Writer>,
    receiver: Receiver,
}

enum Receiver {
    /// The file, and its content before the transfer.
    File {
        file: File,
        before: &'static [u8],
    },
    Thread(JoinHandle<Vec<u8>>),
    /// The non-blocking other end, emptied whenever the writer would block.
    #[cfg(unix)]
    Drained {
        from: Box<dyn Reader>,
        received: Vec<u8>,
    },
}

#[derive(Debug)]
pub struct Delivery {
    pub received: Vec<u8>,
    pub reported: u64,
    pub error: Option<io::Error>,
    /// The number of times that the writer would have blocked and was resumed.
    pub resumptions: u64,
    /// The number of resumptions at which the reported count differed from the number of bytes that could be read.
    pub miscounts: u64,
}

/// Makers of every target at which a list should arrive completely. The argument is the directory for files.
pub const ALL: &[fn(&Path) -> io::Result<Target>] = &[
    Target::file,
    Target::appended_file,
    #[cfg(unix)]
    |_| Target::memory(None),
    |_| Target::pipe(),
    #[cfg(unix)]
    |_| Target::small_pipe(Duration::ZERO),
    #[cfg(unix)]
    |_| Target::read_to_end("a Unix stream", ends::unix_stream()?),
    |_| Target::read_to_end("a TCP stream", ends::tcp_stream()?),
    #[cfg(unix)]
    |_| Target::non_blocking_pipe(),
    #[cfg(unix)]
    |_| Target::drained("a non-blocking Unix stream", ends::unix_stream()?),
];

/// Every target, or every file.
pub fn suiting(only_files: bool, directory: &Path) -> impl Iterator<Item = Target> {
    let opened = ALL.iter().map(move |open| open(directory).unwrap());
    opened.filter(move |target| target.is_file() || !only_files)
}

impl Target {
    pub fn file(directory: &Path) -> io::Result<Target> {
        Target::of_file("a file", nameless(directory, false)?, b"")
    }

    /// A file that is open with `O_APPEND` and not empty.
    pub fn appended_file(directory: &Path) -> io::Result<Target> {
        let mut file = nameless(directory, true)?;
        file.write_all(BEFORE)?;
        // O_APPEND writes at the end of the file, wherever the position is.
        file.rewind()?;
        Target::of_file("a file opened to append", file, BEFORE)
    }

    #[cfg(unix)]
    pub fn memory(limit: Option<u64>) -> io::Result<Target> {
        let file = file_in_memory()?;
        if let Some(limit) = limit {
            file.set_len(limit)?;
            seal_length(&file)?;
        }
        Target::of_file("a file in memory", file, b"")
    }

    pub fn pipe() -> io::Result<Target> {
        Target::read_to_end("a pipe", ends::pipe()?)
    }

    /// A blocking pipe of one page. Its reader waits before each read.
    #[cfg(unix)]
    pub fn small_pipe(wait: Duration) -> io::Result<Target> {
        Target::read("a small pipe", ends::small_pipe()?, wait, u64::MAX)
    }

    /// A pipe whose reader closes after this many bytes.
    pub fn pipe_that_breaks(after: u64) -> io::Result<Target> {
        Target::read("a pipe that breaks", ends::pipe()?, Duration::ZERO, after)
    }

    #[cfg(unix)]
    pub fn non_blocking_pipe() -> io::Result<Target> {
        Target::drained("a non-blocking pipe", ends::small_pipe()?)
    }

    pub fn is_file(&self) -> bool {
        matches!(self.receiver, Receiver::File { .. })
    }

    /// Writes the list by `write_fn` until the end of the list or an error, and collects the bytes that arrived.
    pub fn deliver(self, write_fn: &mut WriteFn, segments: &[IoSlice<'_>]) -> io::Result<Delivery> {
        self.deliver_resuming(write_fn, segments, |_| false)
    }

    /// Like [`deliver`](Target::deliver), but resumes after each error for which `mend` returns true.
    pub fn deliver_resuming(
        mut self,
        write_fn: &mut WriteFn,
        segments: &[IoSlice<'_>],
        mut mend: impl FnMut(&io::Error) -> bool,
    ) -> io::Result<Delivery> {
        let mut cursor = SegmentCursor::new();
        let whole = cursor.remaining_bytes(segments);
        let mut reported = 0;
        let (mut resumptions, mut miscounts) = (0, 0);
        let mut idle = 0;
        let error = loop {
            let outcome = write_fn(self.writer.as_descriptor(), segments, &mut cursor);
            reported += outcome.transferred;
            let moved = whole - cursor.remaining_bytes(segments);
            assert_eq!(moved, reported, "cursor and count differ");
            let Some(error) = outcome.error else {
                break None;
            };
            idle = if outcome.transferred == 0 { idle + 1 } else { 0 };
            if idle > MAX_IDLE {
                break Some(error);
            }
            if error.kind() == io::ErrorKind::WouldBlock
                && let Some(arrived) = self.receiver.drain()?
            {
                resumptions += 1;
                miscounts += u64::from(arrived != reported);
            } else if !mend(&error) {
                break Some(error);
            }
        };
        drop(self.writer);
        Ok(Delivery {
            received: self.receiver.finish()?,
            reported,
            error,
            resumptions,
            miscounts,
        })
    }

    fn of_file(name: &'static str, file: File, before: &'static [u8]) -> io::Result<Target> {
        Ok(Target {
            name,
            writer: Box::new(file.try_clone()?),
            receiver: Receiver::File { file, before },
        })
    }

    fn read_to_end(name: &'static str, ends: Ends) -> io::Result<Target> {
        Target::read(name, ends, Duration::ZERO, u64::MAX)
    }

    /// A stream that a thread reads to the end, or until `limit` bytes have come. The odd size of each read makes writes end
    /// within segments.
    fn read(
        name: &'static str,
        (mut reader, writer): Ends,
        wait: Duration,
        limit: u64,
    ) -> io::Result<Target> {
        let thread = thread::spawn(move || {
            let mut all = Vec::new();
            let mut portion = [0; 7777];
            while (all.len() as u64) < limit {
                if !wait.is_zero() {
                    thread::sleep(wait);
                }
                let room = portion.len().min((limit - all.len() as u64) as usize);
                match reader.read(&mut portion[..room]) {
                    Ok(0) => break,
                    Ok(bytes) => all.extend_from_slice(&portion[..bytes]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => panic!("the reader failed: {error}"),
                }
            }
            all
        });
        Ok(Target {
            name,
            writer,
            receiver: Receiver::Thread(thread),
        })
    }

    #[cfg(unix)]
    fn drained(name: &'static str, ends: Ends) -> io::Result<Target> {
        let (from, writer) = ends::non_blocking(ends)?;
        let received = Vec::new();
        Ok(Target {
            name,
            writer,
            receiver: Receiver::Drained { from, received },
        })
    }
}

impl Receiver {
    /// Makes room for a writer that would block. Returns the number of bytes that have arrived so far; `None` if
    /// no room can be made.
    fn drain(&mut self) -> io::Result<Option<u64>> {
        match self {
            #[cfg(unix)]
            Receiver::Drained { from, received } => match from.read_to_end(received) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    Ok(Some(received.len() as u64))
                }
                result => result.map(|_| None),
            },
            _ => Ok(None),
        }
    }

    fn finish(mut self) -> io::Result<Vec<u8>> {
        self.drain()?;
        match self {
            Receiver::File { mut file, before } => {
                let mut content = Vec::new();
                file.rewind()?;
                file.read_to_end(&mut content)?;
                let is_kept = content.starts_with(before);
                assert!(is_kept, "the content from before is gone");
                content.drain(..before.len());
                Ok(content)
            }
            Receiver::Thread(thread) => Ok(thread.join().expect("the reader does not panic")),
            #[cfg(unix)]
            Receiver::Drained { received, .. } => Ok(received),
        }
    }
}

/// Makes a file without a name. The file is gone when it is closed, however the process ends.
pub(crate) fn nameless(directory: &Path, append: bool) -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!("vectored-{}-{number}", std::process::id()));
    let mut options = File::options();
    options.read(true).write(true).append(append);
    let file = options.create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
