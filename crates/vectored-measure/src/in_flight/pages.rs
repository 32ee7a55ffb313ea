//! Lists of pages that Windows moves past the cache by `WriteFileGather`, several at a time.

use std::io::{self, ErrorKind};

use vectored::files::AlignedBuffer;
use vectored::windows::{Completion, CompletionPort, PortFile, Refused, TransferId, page_bytes};
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::files::reopen_unbuffered;

use crate::in_flight::error::ListError;
use crate::in_flight::place::Event;

/// A queue of transfers of one list to one file. A completion port owns the buffers of a transfer, so the list is
/// copied into buffers of the queue before.
pub(crate) struct PageQueue {
    port: CompletionPort,
    /// The file, reopened.
    file: Option<PortFile>,
    /// The buffers of the lists that have no transfer.
    free: Vec<Vec<AlignedBuffer>>,
    list_bytes: u64,
}

impl PageQueue {
    /// A queue without a file.
    pub fn new() -> io::Result<PageQueue> {
        Ok(PageQueue {
            port: CompletionPort::new()?,
            file: None,
            free: Vec::new(),
            list_bytes: 0,
        })
    }

    /// Copies a list into buffers that begin at pages.
    pub fn load(&mut self, segments: &[&[u8]]) {
        let fits = |buffers: &Vec<AlignedBuffer>| {
            buffers.len() == segments.len()
                && std::iter::zip(buffers, segments).all(|(one, other)| one.len() == other.len())
        };
        self.free.retain(fits);
        if self.free.is_empty() {
            self.free.push(new_buffers(segments));
        }
        self.list_bytes = segments.iter().map(|segment| segment.len() as u64).sum();
        for buffers in &mut self.free {
            fill(buffers, segments);
        }
    }

    /// Opens the file for calls past the cache if that has not been done, and gets buffers for this many transfers. All
    /// calls are for the same file.
    pub fn get_ready(&mut self, fd: BorrowedFd<'_>, depth: u32) -> io::Result<()> {
        if self.file.is_none() {
            let BorrowedFd::Handle(handle) = fd else {
                let why = "only files are written by WriteFileGather";
                return Err(io::Error::new(ErrorKind::Unsupported, why));
            };
            self.file = Some(self.port.add(reopen_unbuffered(handle)?)?);
        }
        while self.free.len() < depth as usize {
            let first: Vec<&[u8]> = self.free[0].iter().map(|buffer| &**buffer).collect();
            let mut copy = new_buffers(&first);
            fill(&mut copy, &first);
            self.free.push(copy);
        }
        Ok(())
    }

    /// Writes the list `count` times from `offset` on, one behind the other. As many are in flight as there are buffers.
    ///
    /// # Errors
    ///
    /// The error of the first transfer that was seen to fail. All others have ended.
    pub fn write(
        &mut self,
        offset: u64,
        count: u64,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let file = self.file.expect("`get_ready` comes first");
        let bytes = self.list_bytes;
        let mut in_flight: Vec<(TransferId, u64)> = Vec::new();
        let mut failure = None;
        let mut next = 0;
        loop {
            while next < count && failure.is_none() {
                let Some(buffers) = self.free.pop() else {
                    break;
                };
                on_event(Event::Began(next));
                let place = offset + next * bytes;
                match self.port.write(file, buffers, place) {
                    Ok(id) => in_flight.push((id, next)),
                    Err(Refused { error, buffers, .. }) => {
                        self.free.push(buffers);
                        failure = Some(ListError::new(next, 0, bytes, error));
                    }
                }
                next += 1;
            }
            let ended = self.port.wait();
            let ended = ended.map_err(|error| ListError::new(next, 0, bytes, error))?;
            let Some(Completion {
                id,
                buffers,
                result,
                ..
            }) = ended
            else {
                return failure.map_or(Ok(()), Err);
            };
            self.free.push(buffers);
            let Some(index) = in_flight.iter().position(|(this, _)| *this == id) else {
                continue;
            };
            let (_, number) = in_flight.swap_remove(index);
            match result {
                Ok(moved) if moved as u64 == bytes => on_event(Event::Ended(number)),
                Ok(moved) => {
                    let error = ErrorKind::WriteZero.into();
                    let error = ListError::new(number, moved as u64, bytes, error);
                    failure.get_or_insert(error);
                }
                Err(error) => {
                    failure.get_or_insert(ListError::new(number, 0, bytes, error));
                }
            }
        }
    }
}

fn new_buffers(segments: &[&[u8]]) -> Vec<AlignedBuffer> {
    let lengths = segments.iter().map(|segment| segment.len());
    lengths
        .map(|bytes| AlignedBuffer::zeroed(bytes, page_bytes()))
        .collect()
}

fn fill(buffers: &mut [AlignedBuffer], segments: &[&[u8]]) {
    for (buffer, segment) in std::iter::zip(buffers, segments) {
        buffer.copy_from_slice(segment);
    }
}
