//! Many lists of pages in flight, which own their buffers.

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::windows::io::AsHandle;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::open::rules_of;
use super::page_rules::{PageRules, next_call};
use super::sys::calls::Direction;
use super::sys::completion::{Ended, Outcome, Port};
use crate::transfer::aligned_buffer::AlignedBuffer;

/// Many transfers by `WriteFileGather` and `ReadFileScatter` in flight, awaited by an I/O completion port.
///
/// It owns its files, and a transfer owns its buffers until it has ended. If the port is dropped, it cancels all
/// transfers and waits for their ends. If it is forgotten, their memory leaks.
///
/// # Examples
///
/// ```no_run
/// use std::fs::File;
/// use vectored::files::AlignedBuffer;
/// use vectored::windows::{CompletionPort, open_unbuffered, page_bytes};
///
/// # fn main() -> std::io::Result<()> {
/// let mut port = CompletionPort::new()?;
/// let mut options = File::options();
/// let file = port.add(open_unbuffered("pages.db", options.write(true).create(true))?)?;
/// for list in 0..8 {
///     let pages = (0..16).map(|_| AlignedBuffer::zeroed(page_bytes(), page_bytes())).collect();
///     port.write(file, pages, list * 16 * page_bytes() as u64)?;
/// }
/// while let Some(completion) = port.wait()? {
///     assert_eq!(completion.result?, 16 * page_bytes());
/// }
/// # Ok(())
/// # }
/// ```
pub struct CompletionPort {
    port: Port,
    /// The conditions of each file.
    rules: Vec<PageRules>,
    /// Tells the files of this port from the files of other ports.
    number: u64,
    next_id: u64,
    /// Transfers that ended within the call that started them.
    ended: Vec<Ended>,
}

/// A file of a [`CompletionPort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortFile {
    port: u64,
    index: usize,
}

/// The number of a transfer of a [`CompletionPort`]: no two of a port have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransferId(u64);

/// A transfer that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion {
    /// The number that [`write`](CompletionPort::write) or [`read`](CompletionPort::read) returned.
    pub id: TransferId,
    /// The buffers of the transfer.
    pub buffers: Vec<AlignedBuffer>,
    /// The bytes moved, which are the first of the list, or the error. A read of fewer bytes has met the end of the file.
    pub result: io::Result<usize>,
}

/// A transfer that was not started, with its buffers. It converts into the [`io::Error`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Refused {
    /// Why it was not started.
    pub error: io::Error,
    /// The buffers of the transfer.
    pub buffers: Vec<AlignedBuffer>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the transfer was not started: {}", self.error)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        refused.error
    }
}

impl CompletionPort {
    /// A port without files.
    ///
    /// # Errors
    ///
    /// The errors of `CreateIoCompletionPort`.
    pub fn new() -> io::Result<CompletionPort> {
        static PORTS: AtomicU64 = AtomicU64::new(0);
        Ok(CompletionPort {
            port: Port::new()?,
            rules: Vec::new(),
            number: PORTS.fetch_add(1, Relaxed),
            next_id: 0,
            ended: Vec::new(),
        })
    }

    /// Adds a file, which the port closes when it is dropped.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it was not opened by
    /// [`open_unbuffered`](crate::windows::open_unbuffered) or with the same flags; otherwise the errors of
    /// `CreateIoCompletionPort`, also if the file belongs to another port.
    pub fn add(&mut self, file: File) -> io::Result<PortFile> {
        let rules = rules_of(file.as_handle())?;
        let index = self.port.add(file)?;
        self.rules.push(rules);
        Ok(PortFile {
            port: self.number,
            index,
        })
    }

    /// Starts to write all bytes of `buffers`, in order, to `offset` of a file.
    ///
    /// # Errors
    ///
    /// Nothing was written, and the buffers are in the error: [`InvalidInput`](io::ErrorKind::InvalidInput) if the list does not meet the
    /// [conditions](crate::windows), has no bytes, or more than 16,384 pages; otherwise the error of `WriteFileGather`.
    pub fn write(
        &mut self,
        file: PortFile,
        buffers: Vec<AlignedBuffer>,
        offset: u64,
    ) -> Result<TransferId, Refused> {
        self.start(file, Direction::Write, buffers, offset)
    }

    /// Starts to read from `offset` of a file into all of `buffers`, in order.
    pub fn read(
        &mut self,
        file: PortFile,
        buffers: Vec<AlignedBuffer>,
        offset: u64,
    ) -> Result<TransferId, Refused> {
        self.start(file, Direction::Read, buffers, offset)
    }

    fn start(
        &mut self,
        file: PortFile,
        direction: Direction,
        buffers: Vec<AlignedBuffer>,
        offset: u64,
    ) -> Result<TransferId, Refused> {
        assert_eq!(file.port, self.number, "the file is one of another port");
        let rules = self.rules[file.index];
        if let Err(error) = check(rules, &buffers, offset) {
            return Err(Refused { error, buffers });
        }
        let id = self.next_id;
        let place = (id, file.index);
        let page_bytes = rules.page_bytes;
        match self
            .port
            .start(place, direction, buffers, offset, page_bytes)
        {
            Outcome::InFlight => {}
            Outcome::Ended(ended) => self.ended.push(ended),
            Outcome::Refused(error, buffers) => return Err(Refused { error, buffers }),
        }
        self.next_id += 1;
        Ok(TransferId(id))
    }

    /// The number of transfers whose completion [`wait`](CompletionPort::wait) has not returned.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.port.in_flight() + self.ended.len()
    }

    /// The file, for calls that need no port. The file has no position: give each call an offset.
    #[must_use]
    pub fn file(&self, file: PortFile) -> &File {
        assert_eq!(file.port, self.number, "the file is one of another port");
        self.port.file(file.index)
    }

    /// Waits until a transfer ends, and returns it; `None` at once if none is in flight.
    ///
    /// # Errors
    ///
    /// The errors of `GetQueuedCompletionStatus`. The error of a transfer is in its [`Completion`].
    pub fn wait(&mut self) -> io::Result<Option<Completion>> {
        let ended = match self.ended.pop() {
            Some(ended) => Some(ended),
            None => self.port.wait()?,
        };
        Ok(ended.map(|ended| Completion {
            id: TransferId(ended.id),
            buffers: ended.buffers,
            result: ended.result,
        }))
    }

    /// Asks the kernel to end all transfers. Each has its completion nevertheless: with the error `ERROR_OPERATION_ABORTED`
    /// ([`TimedOut`](io::ErrorKind::TimedOut)), or as if it had not been cancelled.
    pub fn cancel(&self) {
        self.port.cancel();
    }
}

fn check(rules: PageRules, buffers: &[AlignedBuffer], offset: u64) -> io::Result<()> {
    let segments: Vec<_> = buffers.iter().map(|buffer| IoSlice::new(buffer)).collect();
    rules.check(&segments, offset)?;
    let bytes: u64 = buffers.iter().map(|buffer| buffer.len() as u64).sum();
    let most = next_call(u64::MAX, rules.page_bytes).bytes as u64;
    match bytes {
        0 => Err(invalid("the list has no bytes".to_owned())),
        _ if bytes > most => Err(invalid(format!(
            "{bytes} bytes exceed the {most} of one transfer"
        ))),
        _ => Ok(()),
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl fmt::Debug for CompletionPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionPort")
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}
