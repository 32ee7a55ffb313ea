//! Writes a queue to a descriptor.

use std::io::{self, IoSlice};

use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::queue::SegmentQueue;
use crate::queue::call::with_slices;
use crate::sys::limits::Limits;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::Stream;
use crate::transfer::write_loop::{Sink, SplitGuard, send};

impl SegmentQueue {
    /// Writes all bytes to a blocking descriptor and returns their number. For a stream of tokio, use `drain_to`.
    ///
    /// Each system call gets as much as one call takes: at most [`iov_max`](crate::limits::iov_max) segments,
    /// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES), and [`chunk_bytes`](crate::queue::QueuePolicy::chunk_bytes).
    /// `EINTR` is retried. On success the queue is empty. After an error the queue holds exactly the bytes that were not
    /// written. After [`WouldBlock`](io::ErrorKind::WouldBlock), wait until the descriptor is ready, and call this again.
    ///
    /// On a non-blocking descriptor of an event loop, [`write_some`](SegmentQueue::write_some) makes one call less: this
    /// function writes until the descriptor is full.
    ///
    /// # `SIGPIPE`
    ///
    /// If the reader of a pipe or socket is gone, the call raises `SIGPIPE`, as write(2) does
    /// ([which functions raise none](crate::TransferError#signals-timeouts-and-full-descriptors)).
    ///
    /// # Errors
    ///
    /// The errors of the function [`write_all`](crate::write_all), with the number of bytes that this call wrote. A
    /// socket that keeps messages apart is refused unless the whole queue goes in one call
    /// ([details](crate::write_once#messages)). A file that is open with `O_DIRECT` answers `EINVAL`, since copied
    /// bytes are not aligned.
    pub fn write_to(&mut self, fd: impl AsDescriptor) -> Result<u64, TransferError> {
        let fd = fd.as_descriptor();
        self.write_all_into(Limits::default(), || refuse_messages(fd), Stream::new(fd))
    }

    /// Writes what one system call takes and returns the number of bytes, which is 0 only if the queue is empty.
    ///
    /// For an event loop: call it when the descriptor is ready, and go on with the next descriptor. `EINTR` is retried.
    pub fn write_some(&mut self, fd: impl AsDescriptor) -> io::Result<usize> {
        let fd = fd.as_descriptor();
        let mut guard = SplitGuard::unasked(SegmentCursor::new(), || refuse_messages(fd));
        self.write_once_into(Limits::default(), &mut guard, &mut Stream::new(fd))
    }

    /// [`write_to`](SegmentQueue::write_to) within any limits, into any sink.
    #[inline(always)]
    pub(super) fn write_all_into(
        &mut self,
        limits: Limits,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
    ) -> Result<u64, TransferError> {
        debug_assert!(limits.bytes > 0 && limits.segments > 0);
        // For one short record, the bookkeeping of the general case would take almost as long as the call.
        let answer = match self.only_copied() {
            Some(copied) if self.fits_one_call(copied, limits) => {
                let bytes = copied.len();
                match sink.take_bytes(copied) {
                    Ok(()) => {
                        self.clear();
                        return Ok(bytes as u64);
                    }
                    Err(answer) => Some(answer),
                }
            }
            _ => None,
        };
        self.write_on_into(limits, may_split, sink, answer)
    }

    /// Writes all bytes. `answer` is the answer to an earlier call, which got all bytes and did not take all.
    #[inline(never)]
    fn write_on_into(
        &mut self,
        limits: Limits,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
        mut answer: Option<io::Result<usize>>,
    ) -> Result<u64, TransferError> {
        limits.assert_allow_progress();
        let mut guard = SplitGuard::unasked(SegmentCursor::new(), may_split);
        let mut transferred = 0;
        while !self.is_empty() {
            let result = match answer.take() {
                // An interrupted call has moved nothing, so it is made anew.
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Some(answer) => {
                    let taken = answer.and_then(|taken| checked(taken, self.len()));
                    taken.map(|taken| self.settle(taken))
                }
                None => self.write_once_into(limits, &mut guard, &mut sink),
            };
            match result {
                Ok(bytes) => transferred += bytes as u64,
                Err(error) => return Err(TransferError::new(transferred, error)),
            }
            // On a message socket the rest would be a second message.
            if !self.is_empty() {
                guard
                    .ask()
                    .map_err(|error| TransferError::new(transferred, error))?;
            }
        }
        Ok(transferred)
    }

    #[inline(always)]
    fn fits_one_call(&self, copied: &[u8], limits: Limits) -> bool {
        let most = self.policy.chunk_bytes.min(limits.bytes);
        (1..=most).contains(&copied.len())
    }

    #[inline(always)]
    fn write_once_into(
        &mut self,
        limits: Limits,
        guard: &mut SplitGuard<impl FnOnce() -> io::Result<()>>,
        sink: &mut impl Sink,
    ) -> io::Result<usize> {
        if self.is_empty() {
            return Ok(0);
        }
        let mut send_list = |slices: &[IoSlice<'_>], bytes: usize, may_adjoin: bool| {
            if bytes < self.len() {
                guard.ask()?;
            }
            let taken = send(sink, slices, bytes, may_adjoin)?;
            checked(taken, bytes)
        };
        let taken = match self.only_copied() {
            // One slice needs no list.
            Some(copied) => {
                let bytes = self.end_at_record(self.wanted_bytes().min(limits.bytes));
                send_list(&[IoSlice::new(&copied[..bytes])], bytes, false)
            }
            None => with_slices(|slices| {
                let filled = self.fill(limits, slices);
                send_list(slices, filled.bytes, filled.may_adjoin)
            }),
        };
        taken.map(|taken| self.settle(taken))
    }

    #[inline]
    fn settle(&mut self, taken: usize) -> usize {
        // Bytes are gone, so the offer made before `Pending` no longer holds.
        self.offered_bytes = 0;
        self.advance(taken);
        taken
    }
}

/// Checks the number of bytes that a writer reports against the number it was given.
#[inline]
pub(crate) fn checked(taken: usize, given: usize) -> io::Result<usize> {
    if (1..=given).contains(&taken) {
        Ok(taken)
    } else {
        Err(impossible(taken, given))
    }
}

#[cold]
fn impossible(taken: usize, given: usize) -> io::Error {
    match taken {
        0 => io::Error::new(
            io::ErrorKind::WriteZero,
            format!("the writer took none of {given} bytes"),
        ),
        _ => io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the writer reported {taken} bytes written of {given} that it was given"),
        ),
    }
}
