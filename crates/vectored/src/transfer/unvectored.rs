//! The fallback for files that refuse vectored calls: a plain call moves the same bytes through a buffer.
//!
//! Some file systems and drivers support only `write` and `read`, and return `EOPNOTSUPP` or `EINVAL` for a list. A
//! refused call has moved no bytes.
//!
//! The plain call gets the bytes of the whole refused call, not only the first segment. `EINVAL` and `EOPNOTSUPP` may
//! also mean that the bytes are invalid: a value for a file of sysfs or cgroupfs, a packet for a device. A part of a
//! value would be a different value. If the bytes are invalid, the plain call with the same bytes returns the same
//! error.

use std::io::{self, IoSlice, IoSliceMut};

use crate::descriptor::borrowed::BorrowedDescriptor;
use crate::sys;
use crate::sys::codes;
use crate::sys::copy::copy_into;
use crate::sys::open_file::{FileKind, OpenFile};
use crate::sys::span::{Span, part, part_mut};
use crate::sys::staging::StagingBuffer;
use crate::transfer::write_loop::Sink;

/// The most bytes that are copied for one plain call. No value or message of a file that refuses lists is longer.
const MAX_STAGED_BYTES: usize = 256 * 1024;

type WriteCall<'c> = dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize> + 'c;
type ReadCall<'c> = dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize> + 'c;

/// The [`Sink`] of a descriptor that is written at its current position.
pub(crate) struct Stream<'fd> {
    fd: BorrowedDescriptor<'fd>,
    calls: ListCalls,
}

impl<'fd> Stream<'fd> {
    #[inline(always)]
    pub(crate) fn new(fd: BorrowedDescriptor<'fd>) -> Stream<'fd> {
        Stream {
            fd,
            calls: ListCalls::default(),
        }
    }

    #[cold]
    fn retry_unvectored(&mut self, error: io::Error, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let fd = self.fd;
        let mut call = |slices: &[IoSlice<'_>]| sys::syscalls::write_slices(fd, slices);
        self.calls.retry_write(error, slices, fd, &mut call)
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
        let result = if is_list && self.calls.is_refused {
            self.call(slices)
        } else {
            // The call is not in a closure, because returning from a closure after a system call takes time
            // ([`fast_path`](crate::gather::fast_path)).
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
        // Each arm moves the result, so that nothing is dropped after the system call.
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

    #[cfg(unix)]
    #[inline(always)]
    fn take_bytes(&mut self, bytes: &[u8]) -> Result<(), io::Result<usize>> {
        crate::transfer::write_loop::whole(sys::syscalls::write_bytes(self.fd, bytes), bytes.len())
    }

    #[inline]
    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let fd = self.fd;
        let call = |slices: &[IoSlice<'_>]| sys::syscalls::write_slices(fd, slices);
        self.calls.write(slices, fd, call)
    }
}

pub(crate) fn into_stream(
    fd: BorrowedDescriptor<'_>,
) -> impl FnMut(&[IoSlice<'_>]) -> io::Result<usize> {
    let mut stream = Stream::new(fd);
    move |slices| stream.call(slices)
}

pub(crate) trait MayGetPlainCall {
    fn may_get_plain_call(&self) -> bool;
}

impl MayGetPlainCall for BorrowedDescriptor<'_> {
    /// Sockets and files that are open with `O_DIRECT` get no plain call. The kernel accepts a list on every socket.
    /// The buffer is not aligned for direct I/O.
    fn may_get_plain_call(&self) -> bool {
        OpenFile::describe(*self)
            .is_some_and(|file| file.kind != FileKind::Socket && !file.is_direct)
    }
}

/// The calls of one transfer. After a refusal, plain calls replace the calls with lists.
// The buffer is not a field, because dropping the field would take time in each transfer.
#[derive(Default)]
pub(crate) struct ListCalls {
    /// Whether the file has refused a list and a plain call then moved bytes.
    is_refused: bool,
}

impl ListCalls {
    /// Makes one call that writes as much of `slices` as the kernel takes.
    ///
    /// `call` makes a plain call for one slice, and a vectored call for several slices. The method is inlined into the
    /// caller's loop. The handling of refusals is out of line.
    #[inline]
    pub(crate) fn write(
        &mut self,
        slices: &[IoSlice<'_>],
        fd: impl MayGetPlainCall,
        mut call: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let is_list = slices.len() > 1;
        if is_list && self.is_refused {
            return write_unvectored(slices, &mut call);
        }
        match call(slices) {
            Err(error) if is_list => self.retry_write(error, slices, fd, &mut call),
            result => result,
        }
    }

    /// Makes one call that reads into `slices`, as described for [`write`](ListCalls::write).
    #[inline]
    pub(crate) fn read(
        &mut self,
        slices: &mut [IoSliceMut<'_>],
        fd: impl MayGetPlainCall,
        mut call: impl FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let is_list = slices.len() > 1;
        if is_list && self.is_refused {
            return read_unvectored(slices, &mut call);
        }
        match call(slices) {
            Err(error) if is_list => self
                .retry(&error, fd, || read_unvectored(slices, &mut call))
                .unwrap_or(Err(error)),
            result => result,
        }
    }

    #[cold]
    fn retry_write(
        &mut self,
        error: io::Error,
        slices: &[IoSlice<'_>],
        fd: impl MayGetPlainCall,
        call: &mut WriteCall<'_>,
    ) -> io::Result<usize> {
        self.retry(&error, fd, || write_unvectored(slices, call))
            .unwrap_or(Err(error))
    }

    /// Makes the plain call after a refusal, and returns the result. Returns `None` if the error is not a refusal.
    #[cold]
    fn retry(
        &mut self,
        error: &io::Error,
        fd: impl MayGetPlainCall,
        plain: impl FnOnce() -> io::Result<usize>,
    ) -> Option<io::Result<usize>> {
        if !is_refusal(error) || !fd.may_get_plain_call() {
            return None;
        }
        let result = plain();
        // Only a plain call that moved bytes proves that the file refuses lists. A failed plain call may have failed
        // for the same reason as the list.
        self.is_refused |= matches!(result, Ok(1..));
        Some(result)
    }
}

/// Returns whether the error may mean that the kernel or the file does not support the call.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    // ENOTSUP and EOPNOTSUPP are the same number on Linux, and different numbers on other systems.
    let refusals = [
        codes::EOPNOTSUPP,
        codes::ENOTSUP,
        codes::ENOSYS,
        codes::EINVAL,
    ];
    error
        .raw_os_error()
        .is_some_and(|code| refusals.contains(&code))
}

#[cold]
fn write_unvectored(slices: &[IoSlice<'_>], call: &mut WriteCall<'_>) -> io::Result<usize> {
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
fn read_unvectored(slices: &mut [IoSliceMut<'_>], call: &mut ReadCall<'_>) -> io::Result<usize> {
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

fn staged_bytes(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.fold(0, usize::saturating_add).min(MAX_STAGED_BYTES)
}

#[cfg(test)]
mod tests;
