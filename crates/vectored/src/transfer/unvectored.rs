//! The fallback for files that refuse vectored calls: the same bytes by a plain call, through a buffer.
//!
//! Some file systems and drivers know `write` and `read` only, and answer `EOPNOTSUPP` or `EINVAL` to a list. A refused
//! call has moved nothing. So its bytes are copied into one buffer, which a plain call gets. The plain call is not made
//! for the first segment alone: `EINVAL` and `EOPNOTSUPP` may also be the answer to what the bytes say (a value for a
//! file of sysfs or cgroupfs, a packet for a device), and a part of a value is another value. If the answer was meant
//! for the bytes, the same bytes in one call get it again.

use std::io::{self, IoSlice, IoSliceMut};

use crate::descriptor::borrowed::BorrowedDescriptor;
use crate::sys;
use crate::sys::codes;
use crate::sys::copy::copy_into;
use crate::sys::file_identity::{FileIdentity, FileKind};
use crate::sys::span::{Span, part, part_mut};
use crate::sys::staging::StagingBuffer;
use crate::transfer::direct_retry::is_direct;
use crate::transfer::support_cache::{SupportCache, is_refusal};
use crate::transfer::write_loop::Sink;

/// The bits of a [`SupportCache`] for lists that are written and lists that are read: a driver may know one of them.
const WRITES: u32 = 1;
const READS: u32 = 2;

/// The most bytes that are copied for one plain call. No value or message of such a file is longer.
const MAX_STAGED_BYTES: usize = 256 * 1024;

static SUPPORT: SupportCache = SupportCache::new();

type WriteCall<'c> = dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize> + 'c;
type ReadCall<'c> = dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize> + 'c;

/// The [`Sink`] of a descriptor that is written at its own position.
pub(crate) struct Stream<'fd> {
    fd: BorrowedDescriptor<'fd>,
    calls: ListCalls<'static>,
}

impl<'fd> Stream<'fd> {
    #[inline(always)]
    pub(crate) fn of(fd: BorrowedDescriptor<'fd>) -> Stream<'fd> {
        Stream {
            fd,
            calls: ListCalls::of_process(),
        }
    }

    #[cold]
    fn retry_unvectored(&mut self, error: io::Error, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let fd = self.fd;
        let identity = || FileIdentity::of(fd);
        let mut call = |slices: &[IoSlice<'_>]| sys::syscalls::write_slices(fd, slices);
        self.calls
            .retry_write_unvectored(error, slices, &identity, &mut call)
    }
}

impl Sink for Stream<'_> {
    #[inline(always)]
    fn take_all(
        &mut self,
        slices: &[IoSlice<'_>],
        bytes: usize,
        may_adjoin: bool,
    ) -> Result<(), io::Result<usize>> {
        let is_list = slices.len() > 1;
        let result = if is_list && self.calls.may_be_refused(WRITES) {
            self.call(slices)
        } else {
            // The call is made here, not in a closure: a closure would be a function that is left after the system
            // call.
            let result = if may_adjoin {
                sys::syscalls::write_slices(self.fd, slices)
            } else {
                sys::syscalls::write_entries(self.fd, slices)
            };
            match result {
                Err(error) if is_list => self.retry_unvectored(error, slices),
                result => result,
            }
        };
        // Each arm moves the result, so that none is left to be dropped after the system call.
        match result {
            Ok(taken) => {
                if taken == bytes {
                    Ok(())
                } else {
                    Err(Ok(taken))
                }
            }
            Err(error) => Err(Err(error)),
        }
    }

    #[inline]
    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let fd = self.fd;
        let identity = || FileIdentity::of(fd);
        let call = |slices: &[IoSlice<'_>]| sys::syscalls::write_slices(fd, slices);
        self.calls.write(slices, identity, call)
    }

    fn is_direct(&self) -> bool {
        is_direct(self.fd)
    }
}

/// [`Stream`] as a function.
pub(crate) fn into_stream(
    fd: BorrowedDescriptor<'_>,
) -> impl FnMut(&[IoSlice<'_>]) -> io::Result<usize> {
    let mut stream = Stream::of(fd);
    move |slices| stream.call(slices)
}

/// The calls of one transfer, by plain calls if the file refuses lists.
pub(crate) struct ListCalls<'r> {
    support: &'r SupportCache,
    /// Whether this file refuses lists, once that was looked up.
    is_refused: Option<bool>,
    // The buffer is not kept: to drop it would be a part of each transfer.
}

impl ListCalls<'static> {
    /// The calls of a transfer of this process.
    pub(crate) fn of_process() -> ListCalls<'static> {
        ListCalls::new(&SUPPORT)
    }
}

impl<'r> ListCalls<'r> {
    pub(crate) fn new(support: &'r SupportCache) -> ListCalls<'r> {
        ListCalls {
            support,
            is_refused: None,
        }
    }

    /// Makes one call that writes as much of `slices` as the kernel takes.
    ///
    /// `call` makes the plain call for one slice and the vectored call for several. It is compiled into the caller's
    /// loop; the handling of refusals is out of line.
    #[inline]
    pub(crate) fn write(
        &mut self,
        slices: &[IoSlice<'_>],
        identity: impl Fn() -> Option<FileIdentity>,
        mut call: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let is_list = slices.len() > 1;
        if is_list && self.may_be_refused(WRITES) && self.refuses_lists(WRITES, &identity) {
            return self.write_unvectored(slices, &mut call);
        }
        match call(slices) {
            Err(error) if is_list => {
                self.retry_write_unvectored(error, slices, &identity, &mut call)
            }
            result => result,
        }
    }

    /// Makes one call that reads into `slices`, as [`write`](ListCalls::write) writes.
    #[inline]
    pub(crate) fn read(
        &mut self,
        slices: &mut [IoSliceMut<'_>],
        identity: impl Fn() -> Option<FileIdentity>,
        mut call: impl FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let is_list = slices.len() > 1;
        if is_list && self.may_be_refused(READS) && self.refuses_lists(READS, &identity) {
            return self.read_unvectored(slices, &mut call);
        }
        match call(slices) {
            Err(error) if is_list => {
                self.retry_read_unvectored(error, slices, &identity, &mut call)
            }
            result => result,
        }
    }

    /// Whether this file may be known to refuse lists: some file of this process does, and which one was not looked up,
    /// or it is this one.
    #[inline(always)]
    fn may_be_refused(&self, direction: u32) -> bool {
        match self.is_refused {
            Some(is_refused) => is_refused,
            None => self.support.has_any(direction),
        }
    }

    #[cold]
    fn refuses_lists(
        &mut self,
        direction: u32,
        identity: &dyn Fn() -> Option<FileIdentity>,
    ) -> bool {
        let support = self.support;
        *self
            .is_refused
            .get_or_insert_with(|| support.known(direction, identity) != 0)
    }

    #[cold]
    fn retry_write_unvectored(
        &mut self,
        error: io::Error,
        slices: &[IoSlice<'_>],
        identity: &dyn Fn() -> Option<FileIdentity>,
        call: &mut WriteCall<'_>,
    ) -> io::Result<usize> {
        self.retry_unvectored(error, WRITES, identity, |calls| {
            calls.write_unvectored(slices, call)
        })
    }

    #[cold]
    fn retry_read_unvectored(
        &mut self,
        error: io::Error,
        slices: &mut [IoSliceMut<'_>],
        identity: &dyn Fn() -> Option<FileIdentity>,
        call: &mut ReadCall<'_>,
    ) -> io::Result<usize> {
        self.retry_unvectored(error, READS, identity, |calls| {
            calls.read_unvectored(slices, call)
        })
    }

    /// Makes the plain call after a refusal, and returns its result. Returns any other error as it is.
    ///
    /// Sockets and files that are open with `O_DIRECT` get no plain call: the kernel takes lists for every socket, and
    /// the buffer is not aligned for direct I/O.
    fn retry_unvectored(
        &mut self,
        error: io::Error,
        direction: u32,
        identity: &dyn Fn() -> Option<FileIdentity>,
        plain: impl FnOnce(&mut Self) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if !is_refusal(&error) {
            return Err(error);
        }
        let is_ambiguous = error.raw_os_error() == Some(codes::EINVAL);
        let identity = match identity() {
            Some(identity) if identity.kind != FileKind::Socket && !identity.is_direct => identity,
            _ => return Err(error),
        };
        let result = plain(self);
        // Only a plain call that moved bytes proves that the list was refused: it may fail for the same reason.
        if matches!(result, Ok(1..)) {
            self.is_refused = Some(true);
            // `EINVAL` may have been about the bytes of this list, so the next transfer tries a list again.
            if !is_ambiguous {
                self.support.learn(direction, || Some(identity));
            }
        }
        result
    }

    #[cold]
    fn write_unvectored(
        &mut self,
        slices: &[IoSlice<'_>],
        call: &mut WriteCall<'_>,
    ) -> io::Result<usize> {
        if slices[0].byte_len() >= MAX_STAGED_BYTES {
            return call(&slices[..1]);
        }
        let bytes = slices.iter().map(Span::byte_len);
        let mut staging = StagingBuffer::with_capacity(staged_bytes(bytes));
        for slice in slices {
            let here = slice.byte_len().min(staging.free_bytes());
            staging.push(&part(slice, 0, here));
        }
        call(&[IoSlice::new(&staging)])
    }

    #[cold]
    fn read_unvectored(
        &mut self,
        slices: &mut [IoSliceMut<'_>],
        call: &mut ReadCall<'_>,
    ) -> io::Result<usize> {
        if slices[0].byte_len() >= MAX_STAGED_BYTES {
            return call(&mut slices[..1]);
        }
        let bytes = slices.iter().map(Span::byte_len);
        let mut staging = vec![0; staged_bytes(bytes)];
        let read = call(&mut [IoSliceMut::new(&mut staging)])?;
        let mut rest = &staging[..read];
        for slice in slices {
            let (here, after) = rest.split_at(rest.len().min(slice.byte_len()));
            copy_into(here, &mut part_mut(slice, 0, here.len()));
            rest = after;
        }
        Ok(read)
    }
}

/// The number of bytes that are copied of slices with these lengths.
fn staged_bytes(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.fold(0, usize::saturating_add).min(MAX_STAGED_BYTES)
}

#[cfg(test)]
mod tests;
