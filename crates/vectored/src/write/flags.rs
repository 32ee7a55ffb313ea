//! Writes a list with the flags of `pwritev2(2)`.

use std::io::{self, IoSlice};

use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::sys;
use crate::sys::codes;
use crate::sys::limits::Limits;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::{ListCalls, is_refusal};
use crate::write::all::send_all_referenced;
use crate::write::positional::check_end;

/// The flags of a transfer by `pwritev2(2)`: [`DSYNC`](WriteFlags::DSYNC), or no flag.
///
/// Only Linux has the flag. Other systems refuse the flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WriteFlags(u32);

impl WriteFlags {
    /// `RWF_DSYNC`, since Linux 4.7. Each call returns after its data are on stable storage, together with the metadata
    /// that reading the data needs. `O_DSYNC` gives the same guarantee.
    pub const DSYNC: WriteFlags = WriteFlags(0x02);

    /// No flag.
    #[must_use]
    pub const fn empty() -> WriteFlags {
        WriteFlags(0)
    }

    const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a transfer does if the kernel or the file system refuses a [flag](WriteFlags).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnRefusal {
    /// Write without the flag, and call fdatasync(2) after the last call. fdatasync(2) covers the whole file, so the
    /// fallback may take longer. The data of earlier calls are not durable until fdatasync(2) returns.
    Fallback,
    /// Fail with [`Unsupported`](io::ErrorKind::Unsupported), before any byte.
    Error,
}

/// Writes all of `segments` in order, with `flags`, at `offset` or at the file's position, and returns the number of
/// bytes.
///
/// The function writes by `pwritev2(2)` (since Linux 4.6), and each call has the flags. Without an offset, all other
/// rules are the rules of [`write_all`](crate::write_all). With an offset, all other rules are the rules of
/// [`write_all_at`](crate::files::write_all_at). With an empty set of flags, the function is equivalent to one of these
/// functions.
///
/// A refusal is `EOPNOTSUPP`, or `ENOSYS` on kernels without `pwritev2`. With [`Fallback`](OnRefusal::Fallback), the
/// rest of the list is written without the flags after a refusal, and the refusal costs one more call. `EINVAL` has
/// other causes as well. `EINVAL` counts as a refusal only with `Fallback`, and only if the same call succeeds without
/// the flag.
///
/// # Errors
///
/// The errors of the functions without flags, and:
///
/// - [`Unsupported`](io::ErrorKind::Unsupported) if the flag is refused and `on_refusal` is
///   [`Error`](OnRefusal::Error);
/// - with [`Fallback`](OnRefusal::Fallback), the error of fdatasync(2): the bytes are written, but may not be durable.
///   fdatasync(2) is also called after another error if bytes were written before that error. If this fdatasync(2)
///   fails, the error of fdatasync(2) is returned.
///
/// # Examples
///
/// ```
/// use std::io::IoSlice;
/// use vectored::files::{OnRefusal, WriteFlags, write_all_with};
///
/// # fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("vectored-doc-with-{}", std::process::id()));
/// let log = std::fs::File::create(&path)?;
/// let record = [IoSlice::new(b"debit 5"), IoSlice::new(b"; "), IoSlice::new(b"credit 5\n")];
/// // On stable storage after the call, by the flag or by fdatasync(2).
/// write_all_with(&log, &record, None, WriteFlags::DSYNC, OnRefusal::Fallback)?;
/// assert_eq!(std::fs::read(&path)?, b"debit 5; credit 5\n");
/// # std::fs::remove_file(&path)
/// # }
/// ```
pub fn write_all_with(
    fd: impl AsDescriptor,
    segments: &[IoSlice<'_>],
    offset: Option<u64>,
    flags: WriteFlags,
    on_refusal: OnRefusal,
) -> Result<u64, TransferError> {
    let fd = fd.as_descriptor();
    if let Some(offset) = offset {
        check_end(segments, offset)?;
    }
    let may_split = || match offset {
        None => refuse_messages(fd),
        // Sockets have no offsets.
        Some(_) => Ok(()),
    };
    let mut calls = FlaggedCalls::new(flags, on_refusal);
    let mut plain_calls = ListCalls::default();
    let mut next = offset;
    let result = send_all_referenced(
        segments,
        &mut SegmentCursor::new(),
        Limits::default(),
        may_split,
        |slices| {
            let written = calls.call(|flags| {
                let call = |slices: &[IoSlice<'_>]| {
                    sys::syscalls::write_slices_with(fd, slices, next, flags.0)
                };
                // A call with flags may be refused because of its flags, not because of its list.
                if flags.is_empty() {
                    plain_calls.write(slices, fd, call)
                } else {
                    call(slices)
                }
            })?;
            next = next.map(|offset| offset + written as u64);
            Ok(written)
        },
    );
    calls.finish(result, || {
        #[cfg(target_os = "linux")]
        rustix::fs::fdatasync(fd)?;
        // macOS has no fdatasync(2).
        #[cfg(not(target_os = "linux"))]
        rustix::fs::fsync(fd)?;
        Ok(())
    })
}

struct FlaggedCalls {
    flags: WriteFlags,
    is_refused: bool,
    on_refusal: OnRefusal,
}

impl FlaggedCalls {
    fn new(flags: WriteFlags, on_refusal: OnRefusal) -> FlaggedCalls {
        FlaggedCalls {
            flags,
            is_refused: false,
            on_refusal,
        }
    }

    fn call(
        &mut self,
        mut kernel: impl FnMut(WriteFlags) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let flags = if self.is_refused { WriteFlags::empty() } else { self.flags };
        let refusal = match kernel(flags) {
            Err(error) if !flags.is_empty() && is_refusal(&error) => error,
            result => return result,
        };
        // `EINVAL` has other causes. Only success without the flags proves that the flags were the cause.
        let is_ambiguous = refusal.raw_os_error() == Some(codes::EINVAL);
        if self.on_refusal == OnRefusal::Error {
            return Err(if is_ambiguous { refusal } else { refused() });
        }
        let result = kernel(WriteFlags::empty());
        self.is_refused = match &result {
            Ok(_) => true,
            Err(error) => !is_ambiguous && !is_refusal(error),
        };
        result
    }

    /// Makes the data durable if the flags were refused.
    fn finish(
        &self,
        result: Result<u64, TransferError>,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> Result<u64, TransferError> {
        let transferred = match &result {
            Ok(bytes) => *bytes,
            Err(error) => error.transferred(),
        };
        if self.is_refused && transferred > 0 {
            sync().map_err(|error| TransferError::new(transferred, error))?;
        }
        result
    }
}

fn refused() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "the kernel or the file system refuses RWF_DSYNC: OnRefusal::Fallback would go on without",
    )
}

#[cfg(test)]
mod tests;
