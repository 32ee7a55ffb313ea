//! Writes a list with the flags of `pwritev2(2)`.

use std::fmt;
use std::io::{self, IoSlice};
use std::ops::BitOr;

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

/// A set of flags for a transfer by `pwritev2(2)`, joined with [`with`](WriteFlags::with) or `|`.
///
/// The flags are Linux's; other systems refuse them all. Which of them a descriptor accepts depends on the kernel and the
/// file system. An accepted flag may still have no effect.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct WriteFlags(u32);

impl WriteFlags {
    /// `RWF_DSYNC`: each call returns when its data, and what is needed to read it again, is on
    /// stable storage, as with `O_DSYNC`. Since Linux 4.7.
    pub const DSYNC: WriteFlags = WriteFlags(0x02);
    /// `RWF_SYNC`: as [`DSYNC`](WriteFlags::DSYNC), with all metadata, as with `O_SYNC`. Since
    /// Linux 4.7.
    pub const SYNC: WriteFlags = WriteFlags(0x04);
    /// `RWF_NOWAIT`: a call that would have to wait (for a lock, for storage, for room) fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), or is short. Since Linux 4.14. On some file systems (btrfs on Linux
    /// 6.18) every buffered write fails in this way: this looks like a refusal of the flag, but is none.
    pub const NOWAIT: WriteFlags = WriteFlags(0x08);
    /// `RWF_APPEND`: each call goes to the end of the file, as with `O_APPEND`; an offset is
    /// ignored. Since Linux 4.16.
    pub const APPEND: WriteFlags = WriteFlags(0x10);
    /// `RWF_DONTCACHE`: the pages that the write added to the page cache are dropped once they are on storage. Since Linux 6.14.
    pub const DONTCACHE: WriteFlags = WriteFlags(0x80);

    /// The flags in the order in which a fallback leaves them out.
    const NAMES: [(WriteFlags, &'static str); 5] = [
        (WriteFlags::DONTCACHE, "RWF_DONTCACHE"),
        (WriteFlags::NOWAIT, "RWF_NOWAIT"),
        (WriteFlags::DSYNC, "RWF_DSYNC"),
        (WriteFlags::SYNC, "RWF_SYNC"),
        (WriteFlags::APPEND, "RWF_APPEND"),
    ];

    /// The empty set.
    #[must_use]
    pub const fn empty() -> WriteFlags {
        WriteFlags(0)
    }

    /// The union of both sets.
    #[must_use]
    pub const fn with(self, other: WriteFlags) -> WriteFlags {
        WriteFlags(self.0 | other.0)
    }

    /// Whether all flags of `other` are in this set.
    #[must_use]
    pub const fn contains(self, other: WriteFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set has no flag.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn without(self, other: WriteFlags) -> WriteFlags {
        WriteFlags(self.0 & !other.0)
    }

    #[cfg(test)]
    const fn common(self, other: WriteFlags) -> WriteFlags {
        WriteFlags(self.0 & other.0)
    }

    /// All subsets except the empty one, by their number of flags.
    fn subsets(self) -> Vec<WriteFlags> {
        let mut all = vec![WriteFlags::empty()];
        for (flag, _) in WriteFlags::NAMES {
            if self.contains(flag) {
                all.extend(all.clone().iter().map(|set| set.with(flag)));
            }
        }
        all.remove(0);
        // Stable: between flags of the same size the order of `NAMES` decides.
        all.sort_by_key(|set| set.0.count_ones());
        all
    }
}

impl BitOr for WriteFlags {
    type Output = WriteFlags;

    fn bitor(self, other: WriteFlags) -> WriteFlags {
        self.with(other)
    }
}

impl fmt::Debug for WriteFlags {
    /// The kernel's names, as in `RWF_DSYNC | RWF_APPEND`; `0` for none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("0");
        }
        let mut names = WriteFlags::NAMES
            .iter()
            .filter(|(flag, _)| self.contains(*flag))
            .map(|(_, name)| name);
        f.write_str(names.next().unwrap_or(&""))?;
        names.try_for_each(|name| write!(f, " | {name}"))
    }
}

/// The reaction to a [flag](WriteFlags) that the kernel or the file system refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnRefusal {
    /// Write without the flag, if there is another way to do what it stands for.
    ///
    /// - [`DONTCACHE`](WriteFlags::DONTCACHE) is left out: it affects only speed.
    /// - [`NOWAIT`](WriteFlags::NOWAIT) is left out, so the call may wait.
    /// - [`DSYNC`](WriteFlags::DSYNC) and [`SYNC`](WriteFlags::SYNC) become one fdatasync(2) or
    ///   fsync(2) after the last call. It covers the whole file, so it may take longer, and calls
    ///   before the last are not durable one by one.
    /// - [`APPEND`](WriteFlags::APPEND) cannot be replaced, since another writer may append between a seek and a
    ///   write. Its refusal is an error, as with [`Error`](OnRefusal::Error).
    Fallback,
    /// Fail with [`Unsupported`](io::ErrorKind::Unsupported), before any byte.
    Error,
}

/// Writes all of `segments` in order, with `flags`, at `offset` or at the file's position, and
/// returns their bytes.
///
/// Writes like [`write_all`](crate::write_all) without an offset, and like
/// [`write_all_at`](crate::files::write_all_at) with one, but by `pwritev2(2)` (since Linux 4.6). Each call of the
/// transfer has the flags. With an empty set of flags it does the same as those functions.
///
/// A refusal (`EOPNOTSUPP`, or `ENOSYS` on kernels without `pwritev2`) holds for the rest of the list. So each list
/// that is written with a refused flag costs one more call, and with several flags up to one more for each set of them.
/// `EINVAL` has other causes as well. It counts as a refusal only with [`Fallback`](OnRefusal::Fallback), and only if
/// the same call succeeds without the flag. The same holds for the error of Linux before 4.13 for unknown flags.
///
/// # Errors
///
/// The errors of the functions without flags, and
///
/// - [`Unsupported`](io::ErrorKind::Unsupported), with a message that names the flag, if one is
///   refused and `on_refusal` is [`Error`](OnRefusal::Error), or the flag is
///   [`APPEND`](WriteFlags::APPEND). If one of several flags is refused, the
///   message names all of them, since the kernel does not say which one it refuses;
/// - with [`Fallback`](OnRefusal::Fallback), the error of fdatasync(2) or fsync(2): the bytes are written, but may
///   not be durable. One of these is also called after another error if bytes were written before it. If both fail,
///   the error of fdatasync(2) or fsync(2) is returned.
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
/// // On storage when it returns, by the flag or by fdatasync(2).
/// let flags = WriteFlags::DSYNC | WriteFlags::DONTCACHE;
/// write_all_with(&log, &record, None, flags, OnRefusal::Fallback)?;
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
                // A call with flags may be refused for its flags.
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
    calls.finish(result, |flag| match flag {
        WriteFlags::SYNC => Ok(rustix::fs::fsync(fd)?),
        #[cfg(target_os = "linux")]
        _ => Ok(rustix::fs::fdatasync(fd)?),
        // macOS has no fdatasync.
        #[cfg(not(target_os = "linux"))]
        _ => Ok(rustix::fs::fsync(fd)?),
    })
}

/// The calls of one transfer: with all flags first, then without the refused ones.
struct FlaggedCalls {
    asked: WriteFlags,
    flags: WriteFlags,
    on_refusal: OnRefusal,
}

impl FlaggedCalls {
    fn new(flags: WriteFlags, on_refusal: OnRefusal) -> FlaggedCalls {
        FlaggedCalls {
            asked: flags,
            flags,
            on_refusal,
        }
    }

    /// Makes calls until the kernel does not refuse one for its flags.
    fn call(
        &mut self,
        mut kernel: impl FnMut(WriteFlags) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut last = match kernel(self.flags) {
            Err(error) if !self.flags.is_empty() && is_refusal(&error) => error,
            result => return result,
        };
        if self.on_refusal == OnRefusal::Error {
            return Err(if is_ambiguous(&last) { last } else { refused(self.flags) });
        }
        // The smallest set of flags without which the call is accepted is the refused one. Refused calls have written
        // nothing, so all sets can be tried.
        for refused in self.flags.without(WriteFlags::APPEND).subsets() {
            match kernel(self.flags.without(refused)) {
                Err(error) if is_refusal(&error) => last = error,
                // `EINVAL` has other causes: only a success proves that the flag was the cause.
                Err(error) if is_ambiguous(&last) => return Err(error),
                result => {
                    self.flags = self.flags.without(refused);
                    return result;
                }
            }
        }
        if self.flags.contains(WriteFlags::APPEND) && !is_ambiguous(&last) {
            return Err(refused(WriteFlags::APPEND));
        }
        Err(last)
    }

    /// Makes the data durable if a flag for that was left out.
    fn finish(
        &self,
        result: Result<u64, TransferError>,
        sync: impl FnOnce(WriteFlags) -> io::Result<()>,
    ) -> Result<u64, TransferError> {
        let transferred = match &result {
            Ok(bytes) => *bytes,
            Err(error) => error.transferred(),
        };
        let left_out = self.asked.without(self.flags);
        let flag = [WriteFlags::SYNC, WriteFlags::DSYNC]
            .into_iter()
            .find(|&flag| left_out.contains(flag));
        if let Some(flag) = flag.filter(|_| transferred > 0) {
            sync(flag).map_err(|error| TransferError::new(transferred, error))?;
        }
        result
    }
}

/// Whether the error has other causes than a refusal.
fn is_ambiguous(error: &io::Error) -> bool {
    error.raw_os_error() == Some(codes::EINVAL)
}

fn refused(flags: WriteFlags) -> io::Error {
    let remedy = if flags.contains(WriteFlags::APPEND) {
        "open the file with O_APPEND instead"
    } else {
        "OnRefusal::Fallback would go on without"
    };
    let which = match flags.0.count_ones() {
        1 => "",
        _ => "one of ",
    };
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("the kernel or the file system refuses {which}{flags:?}: {remedy}"),
    )
}

#[cfg(test)]
mod tests;
