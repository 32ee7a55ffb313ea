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
    /// Writes all bytes to a blocking descriptor and returns the number of bytes. For a stream of tokio, use
    /// `drain_to`.
    ///
    /// Each system call gets at most [`iov_max`](crate::limits::iov_max) segments,
    /// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES), and [`chunk_bytes`](crate::queue::QueuePolicy::chunk_bytes).
    /// `EINTR` is retried. On success, the queue is empty. After an error, the queue holds exactly the bytes that were
    /// not written. After [`WouldBlock`](io::ErrorKind::WouldBlock), wait until the descriptor is ready, and call
    /// `write_to` again.
    ///
    /// In an event loop with a non-blocking descriptor, use [`write_some`](SegmentQueue::write_some), which makes one
    /// call. `write_to` makes calls until the descriptor is full.
    ///
    /// # `SIGPIPE`
    ///
    /// If the reader of a pipe or socket is gone, the call raises `SIGPIPE`, like write(2)
    /// ([which functions raise none](crate::TransferError#signals-timeouts-and-full-descriptors)).
    ///
    /// # Errors
    ///
    /// The errors of the function [`write_all`](crate::write_all). The error has the number of bytes that `write_to`
    /// wrote.
    ///
    /// A socket that keeps messages apart is refused if one call cannot take the whole queue
    /// ([details](crate::write_once#messages)). A file that is open with `O_DIRECT` returns `EINVAL`, because copied
    /// bytes are not aligned.
    pub fn write_to(&mut self, fd: impl AsDescriptor) -> Result<u64, TransferError> {
        let fd = fd.as_descriptor();
        self.write_all_into(Limits::default(), || refuse_messages(fd), Stream::new(fd))
    }

    /// Makes one system call and returns the number of bytes written. The number is 0 only if the queue is empty.
    ///
    /// In an event loop, call `write_some` when the descriptor is ready, then continue with the next descriptor.
    /// `EINTR` is retried.
    pub fn write_some(&mut self, fd: impl AsDescriptor) -> io::Result<usize> {
        let fd = fd.as_descriptor();
        let mut guard = SplitGuard::unasked(SegmentCursor::new(), || refuse_messages(fd));
        self.write_once_into(Limits::default(), &mut guard, &mut Stream::new(fd))
    }

    #[inline(always)]
    pub(super) fn write_all_into(
        &mut self,
        limits: Limits,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl Sink,
    ) -> Result<u64, TransferError> {
        debug_assert!(limits.bytes > 0 && limits.segments > 0);
        // The bookkeeping of the general case takes almost as long as a call with one short record.
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

    /// Writes all bytes. `answer` is the result of an earlier call that got all bytes and did not take all bytes.
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
                // An interrupted call has moved no bytes, so the call is repeated.
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
            // On a message socket, the rest of the queue would be a second message.
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
        // After bytes are removed, the offer made before `Pending` is void.
        self.offered_bytes = 0;
        self.advance(taken);
        taken
    }
}

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
