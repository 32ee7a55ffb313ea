//! Writing with the flags of `pwritev2(2)`, where the kernel and the file system take them.

use std::fmt;
use std::io::{self, IoSlice};
use std::ops::BitOr;
use std::os::fd::AsFd;

use crate::Limits;
use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::sys;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::support_cache::{FileIdentity, SupportCache, is_refusal};
use crate::transfer::unvectored::ListCalls;
use crate::write::all::send_all_referenced;
use crate::write::positional::check_end;

/// Flags of one transfer by `pwritev2(2)`: a set, joined with [`with`](WriteFlags::with) or `|`.
///
/// They are Linux's. Which of them a descriptor takes depends on the kernel and on the file system;
/// elsewhere all are refused. To take a flag is no promise that it changes anything.
///
/// ```
/// use vectored::WriteFlags;
///
/// let flags = WriteFlags::DSYNC | WriteFlags::DONTCACHE;
/// assert!(flags.contains(WriteFlags::DSYNC));
/// assert_eq!(format!("{flags:?}"), "RWF_DONTCACHE | RWF_DSYNC");
/// ```
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
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), or is short. Since Linux 4.14. On some file systems
    /// every buffered write would have to (btrfs on 6.18): that is no refusal, and looks like one.
    pub const NOWAIT: WriteFlags = WriteFlags(0x08);
    /// `RWF_APPEND`: each call goes to the end of the file, as with `O_APPEND`; an offset is
    /// ignored. Since Linux 4.16.
    pub const APPEND: WriteFlags = WriteFlags(0x10);
    /// `RWF_DONTCACHE`: what the write brought into the page cache is dropped from it once it is on
    /// storage. Since Linux 6.14.
    pub const DONTCACHE: WriteFlags = WriteFlags(0x80);

    /// In the order in which a fallback gives them up.
    const NAMES: [(WriteFlags, &'static str); 5] = [
        (WriteFlags::DONTCACHE, "RWF_DONTCACHE"),
        (WriteFlags::NOWAIT, "RWF_NOWAIT"),
        (WriteFlags::DSYNC, "RWF_DSYNC"),
        (WriteFlags::SYNC, "RWF_SYNC"),
        (WriteFlags::APPEND, "RWF_APPEND"),
    ];

    /// No flag.
    #[must_use]
    pub const fn empty() -> WriteFlags {
        WriteFlags(0)
    }

    /// These and those.
    #[must_use]
    pub const fn with(self, other: WriteFlags) -> WriteFlags {
        WriteFlags(self.0 | other.0)
    }

    /// Whether all of `other` are among these.
    #[must_use]
    pub const fn contains(self, other: WriteFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is none.
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

    /// Every subset but the empty one: those of one flag first, then those of two and so on.
    fn subsets(self) -> Vec<WriteFlags> {
        let mut all = vec![WriteFlags::empty()];
        for (flag, _) in WriteFlags::NAMES {
            if self.contains(flag) {
                all.extend(all.clone().iter().map(|set| set.with(flag)));
            }
        }
        all.remove(0);
        // Stable, so the order of `NAMES` decides between those of the same size.
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

/// What to do where the kernel or the file system refuses a [flag](WriteFlags).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnRefusal {
    /// Go on without it where what the caller asked for can be had in another way.
    ///
    /// - [`DONTCACHE`](WriteFlags::DONTCACHE) is left out: it is about speed alone.
    /// - [`NOWAIT`](WriteFlags::NOWAIT) is left out, so the call may wait, as any other does.
    /// - [`DSYNC`](WriteFlags::DSYNC) and [`SYNC`](WriteFlags::SYNC) become one fdatasync(2) or
    ///   fsync(2) after the last call. It covers the whole file, so it may take longer, and calls
    ///   before the last are not durable one by one.
    /// - [`APPEND`](WriteFlags::APPEND) cannot be had in another way: to seek and to write are two
    ///   steps, between which another writer may come. It is an error as with
    ///   [`Error`](OnRefusal::Error).
    Fallback,
    /// Fail with [`Unsupported`](io::ErrorKind::Unsupported), before any byte.
    Error,
}

/// Writes all of `segments` in order, with `flags`, at `offset` or at the file's position, and
/// returns their bytes.
///
/// As [`write_all_vectored`](crate::write_all_vectored) without an offset, and as
/// [`write_all_vectored_at`](crate::write_all_vectored_at) with one, but by `pwritev2(2)` (since
/// Linux 4.6). The flags are those of every call that the list takes. Without flags it is the same
/// as those functions.
///
/// A refusal (`EOPNOTSUPP`; `ENOSYS` where there is no `pwritev2`) is remembered for the life of
/// the process: for each flag and file (`st_dev` and `st_ino`), and apart for `O_DIRECT`. A flag that is known
/// to be refused is not tried again. Of anonymous inodes (eventfd(2), inotify and others), which are not told
/// apart, nothing is remembered.
/// `EINVAL`, which has other causes as well, counts as a refusal only with
/// [`Fallback`](OnRefusal::Fallback), and only if the same call succeeds without the flag; so does
/// the answer of Linux before 4.13 to flags that it did not know.
///
/// # Errors
///
/// As the functions without flags, and
///
/// - [`Unsupported`](io::ErrorKind::Unsupported), with a message that names the flag, where one is
///   refused and `on_refusal` is [`Error`](OnRefusal::Error), or the flag is
///   [`APPEND`](WriteFlags::APPEND). If several flags are refused together for the first time, the
///   message names them all: the kernel does not say which it means;
/// - with [`Fallback`](OnRefusal::Fallback), the error of fdatasync(2) or fsync(2): the bytes have
///   been transferred, but may not be durable. It is called after an error, too, if bytes were
///   written before it, and its own error then takes precedence.
///
/// # Examples
///
/// ```
/// use std::io::IoSlice;
/// use vectored::{OnRefusal, WriteFlags, write_all_vectored_with};
///
/// # fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("vectored-doc-with-{}", std::process::id()));
/// let log = std::fs::File::create(&path)?;
/// let record = [IoSlice::new(b"debit 5"), IoSlice::new(b"; "), IoSlice::new(b"credit 5\n")];
/// // On storage when it returns, by whatever means there are.
/// let flags = WriteFlags::DSYNC | WriteFlags::DONTCACHE;
/// write_all_vectored_with(&log, &record, None, flags, OnRefusal::Fallback)?;
/// assert_eq!(std::fs::read(&path)?, b"debit 5; credit 5\n");
/// # std::fs::remove_file(&path)
/// # }
/// ```
pub fn write_all_vectored_with(
    fd: impl AsFd,
    segments: &[IoSlice<'_>],
    offset: Option<u64>,
    flags: WriteFlags,
    on_refusal: OnRefusal,
) -> Result<u64, TransferError> {
    static SUPPORT: SupportCache = SupportCache::new();
    let fd = fd.as_fd();
    if let Some(offset) = offset {
        check_end(segments, offset)?;
    }
    let may_split = || match offset {
        None => refuse_messages(fd),
        // Sockets know no offsets.
        Some(_) => Ok(()),
    };
    let mut calls = FlaggedCalls::new(flags, on_refusal, &SUPPORT);
    let mut plain_calls = ListCalls::of_process();
    let mut next = offset;
    let result = send_all_referenced(
        segments,
        &mut SegmentCursor::new(),
        Limits::default(),
        may_split,
        |slices| {
            let written = calls.call(
                || FileIdentity::of(fd),
                |flags| {
                    let identity = || FileIdentity::of(fd);
                    let call = |slices: &[IoSlice<'_>]| {
                        sys::syscalls::write_slices_with(fd, slices, next, flags.0)
                    };
                    // With a flag, it is the flag that may be refused.
                    match flags.is_empty() {
                        true => plain_calls.write(slices, identity, call),
                        false => call(slices),
                    }
                },
            )?;
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

/// The calls of one transfer: with all flags first, then with those that are taken.
struct FlaggedCalls<'r> {
    asked: WriteFlags,
    flags: WriteFlags,
    on_refusal: OnRefusal,
    support: &'r SupportCache,
    has_looked_up: bool,
}

impl<'r> FlaggedCalls<'r> {
    fn new(
        flags: WriteFlags,
        on_refusal: OnRefusal,
        support: &'r SupportCache,
    ) -> FlaggedCalls<'r> {
        FlaggedCalls {
            asked: flags,
            flags,
            on_refusal,
            support,
            has_looked_up: false,
        }
    }

    /// One call that the kernel does not refuse for its flags, or an error.
    fn call(
        &mut self,
        identity: impl Fn() -> Option<FileIdentity>,
        mut kernel: impl FnMut(WriteFlags) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if !self.has_looked_up {
            self.has_looked_up = true;
            let known = self.support.known(self.flags.0, &identity);
            self.leave_out(WriteFlags(known))?;
        }
        let mut last = match kernel(self.flags) {
            Err(error) if !self.flags.is_empty() && is_refusal(&error) => error,
            result => return result,
        };
        if self.on_refusal == OnRefusal::Error {
            if is_ambiguous(&last) {
                return Err(last);
            }
            if self.flags.0.count_ones() == 1 {
                self.support.learn(self.flags.0, &identity);
            }
            return Err(refused(self.flags));
        }
        // The fewest flags without which the call is taken are those that are refused. A refused
        // call has moved nothing, so there can be as many as it takes; once for a file.
        for refused in self.flags.without(WriteFlags::APPEND).subsets() {
            match kernel(self.flags.without(refused)) {
                Err(error) if is_refusal(&error) => last = error,
                // `EINVAL` has other causes: that it was the flag, only a success proves.
                Err(error) if is_ambiguous(&last) => return Err(error),
                result => {
                    self.support.learn(refused.0, &identity);
                    self.flags = self.flags.without(refused);
                    return result;
                }
            }
        }
        if self.flags.contains(WriteFlags::APPEND) && !is_ambiguous(&last) {
            self.support.learn(WriteFlags::APPEND.0, &identity);
            return Err(refused(WriteFlags::APPEND));
        }
        Err(last)
    }

    /// Goes on without flags that are known to be refused, if it may.
    fn leave_out(&mut self, known: WriteFlags) -> io::Result<()> {
        if known.is_empty() {
            return Ok(());
        }
        if self.on_refusal == OnRefusal::Error {
            return Err(refused(known));
        }
        if known.contains(WriteFlags::APPEND) {
            return Err(refused(WriteFlags::APPEND));
        }
        self.flags = self.flags.without(known);
        Ok(())
    }

    /// Makes durable what the flags that were left out would have.
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
        if let Some(flag) = flag
            && transferred > 0
        {
            sync(flag).map_err(|error| TransferError::new(transferred, error))?;
        }
        result
    }
}

/// Whether it may as well mean something else.
fn is_ambiguous(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL)
}

fn refused(flags: WriteFlags) -> io::Error {
    let remedy = match flags.contains(WriteFlags::APPEND) {
        true => "open the file with O_APPEND instead",
        false => "OnRefusal::Fallback would go on without",
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
mod tests {
    use super::*;
    use crate::testing::{
        Answer, ScriptedSink, any_limits, any_script, any_sizes, check_against_model, list, payload,
    };
    use crate::transfer::support_cache::testing::identity;
    use proptest::prelude::*;

    const ALL: WriteFlags = WriteFlags(0x9e);

    /// A kernel that refuses some flags, and counts how often it does.
    struct Kernel {
        refuses: WriteFlags,
        code: i32,
        refusals: usize,
    }

    impl Kernel {
        fn call(
            &mut self,
            flags: WriteFlags,
            otherwise: impl FnOnce() -> io::Result<usize>,
        ) -> io::Result<usize> {
            if flags.common(self.refuses).is_empty() {
                return otherwise();
            }
            self.refusals += 1;
            Err(io::Error::from_raw_os_error(self.code))
        }
    }

    fn any_flags() -> impl Strategy<Value = WriteFlags> {
        (0..0x100_u32).prop_map(|bits| ALL.common(WriteFlags(bits)))
    }

    proptest! {
        #[test]
        fn any_list_arrives_whole_with_exactly_the_flags_that_are_taken(
            sizes in any_sizes(), script in any_script(), limits in any_limits(),
            asked in any_flags(), refuses in any_flags(),
            code in prop_oneof![Just(libc::EOPNOTSUPP), Just(libc::EINVAL), Just(libc::ENOSYS)],
        ) {
            // What cannot be left out is another test's.
            let refuses = refuses.without(WriteFlags::APPEND);
            let support = SupportCache::new();
            let mut kernel = Kernel { refuses, code, refusals: 0 };
            let mut is_proved = code != libc::EINVAL;
            check_against_model(&sizes, &script, limits, |segments, cursor, sink| {
                let mut calls = FlaggedCalls::new(asked, OnRefusal::Fallback, &support);
                let result = send_all_referenced(segments, cursor, limits, || Ok(()), |slices| {
                    let result = calls.call(|| identity(1), |flags| kernel.call(flags, || {
                        assert_eq!(flags, asked.without(refuses));
                        sink.call(slices)
                    }));
                    is_proved |= result.is_ok();
                    result
                });
                let mut synced = None;
                let transferred = result.as_ref().map_or_else(TransferError::transferred, |n| *n);
                let result = calls.finish(result, |flag| { synced = Some(flag); Ok(()) });
                let left_out = asked.common(refuses);
                let expected = match transferred {
                    0 => None,
                    _ if left_out.contains(WriteFlags::SYNC) => Some(WriteFlags::SYNC),
                    _ if left_out.contains(WriteFlags::DSYNC) => Some(WriteFlags::DSYNC),
                    _ => None,
                };
                assert_eq!(synced, expected);
                result
            });
            // Remembered: another transfer is not refused anything.
            if is_proved && sizes.iter().any(|&size| size > 0) {
                prop_assert_eq!(support.known(ALL.0, || identity(1)), asked.common(refuses).0);
                kernel.refusals = 0;
                let mut calls = FlaggedCalls::new(asked, OnRefusal::Fallback, &support);
                let result = calls.call(|| identity(1), |flags| kernel.call(flags, || Ok(1)));
                prop_assert_eq!((result.unwrap(), kernel.refusals), (1, 0));
            }
        }
    }

    fn one_call(
        asked: WriteFlags,
        on_refusal: OnRefusal,
        support: &SupportCache,
        device: u64,
        kernel: &mut Kernel,
    ) -> io::Result<usize> {
        let mut calls = FlaggedCalls::new(asked, on_refusal, support);
        calls.call(|| identity(device), |flags| kernel.call(flags, || Ok(1)))
    }

    #[test]
    fn a_refusal_is_an_error_that_names_the_flag_where_the_caller_wants_one() {
        let support = SupportCache::new();
        for (flag, name) in WriteFlags::NAMES {
            let mut kernel = Kernel {
                refuses: flag,
                code: libc::EOPNOTSUPP,
                refusals: 0,
            };
            for _ in 0..3 {
                let result = one_call(flag, OnRefusal::Error, &support, 1, &mut kernel);
                let error = result.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
                assert!(error.to_string().contains(name), "{error}");
            }
            assert_eq!(kernel.refusals, 1, "{name} was tried again");
            // Another file is asked anew.
            one_call(flag, OnRefusal::Error, &support, 2, &mut kernel).unwrap_err();
            assert_eq!(kernel.refusals, 2);
        }
    }

    #[test]
    fn appending_has_no_fallback() {
        let support = SupportCache::new();
        for code in [libc::EOPNOTSUPP, libc::ENOSYS] {
            let mut kernel = Kernel {
                refuses: ALL,
                code,
                refusals: 0,
            };
            for asked in [WriteFlags::APPEND, WriteFlags::APPEND | WriteFlags::DSYNC] {
                let result = one_call(asked, OnRefusal::Fallback, &support, 1, &mut kernel);
                let error = result.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
                assert!(error.to_string().contains("RWF_APPEND"), "{error}");
                assert!(error.to_string().contains("O_APPEND"), "{error}");
            }
        }
    }

    /// `EINVAL` is the answer to a misaligned `O_DIRECT` write, too, with flags or without.
    #[test]
    fn an_invalid_argument_that_no_flag_causes_is_passed_on_and_not_remembered() {
        let support = SupportCache::new();
        for on_refusal in [OnRefusal::Fallback, OnRefusal::Error] {
            let mut calls = FlaggedCalls::new(ALL, on_refusal, &support);
            let result = calls.call(
                || identity(1),
                |_| Err(io::Error::from_raw_os_error(libc::EINVAL)),
            );
            assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::EINVAL));
        }
        assert_eq!(support.known(ALL.0, || identity(1)), 0);
    }

    /// It may as well be the reason why the second call was made at all.
    #[test]
    fn an_invalid_argument_is_no_refusal_if_the_call_without_the_flag_fails_as_well() {
        for code in [libc::EIO, libc::EAGAIN, libc::ENOSPC] {
            let support = SupportCache::new();
            let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, OnRefusal::Fallback, &support);
            let result = calls.call(
                || identity(1),
                |flags| {
                    let code = if flags.is_empty() { code } else { libc::EINVAL };
                    Err(io::Error::from_raw_os_error(code))
                },
            );
            assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
            assert_eq!(support.known(ALL.0, || identity(1)), 0);
        }
    }

    #[test]
    fn a_failed_sync_is_an_error_with_the_bytes_that_were_written() {
        let support = SupportCache::new();
        support.learn(WriteFlags::DSYNC.0, || identity(1));
        let data = payload(&[3, 4]);
        let mut sink = ScriptedSink::new(vec![Answer::Take(5)], Limits::default());
        let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, OnRefusal::Fallback, &support);
        let result = send_all_referenced(
            &list(&data),
            &mut SegmentCursor::new(),
            Limits::default(),
            || Ok(()),
            |slices| calls.call(|| identity(1), |_| sink.call(slices)),
        );
        let failure = |_| Err(io::Error::from_raw_os_error(libc::EIO));
        let error = calls.finish(result, failure).unwrap_err();
        assert_eq!(error.io_error().raw_os_error(), Some(libc::EIO));
        assert_eq!(error.transferred(), 7);
    }

    #[test]
    fn the_kernels_numbers_are_those_of_uapi_linux_fs_h() {
        #[cfg(target_os = "linux")]
        for (flag, number) in [
            (WriteFlags::DSYNC, libc::RWF_DSYNC),
            (WriteFlags::SYNC, libc::RWF_SYNC),
            (WriteFlags::NOWAIT, libc::RWF_NOWAIT),
            (WriteFlags::APPEND, libc::RWF_APPEND),
        ] {
            assert_eq!(flag.0, number as u32, "{flag:?}");
        }
        assert_eq!(format!("{:?}", WriteFlags::empty()), "0");
        assert_eq!(ALL.subsets().len(), 31);
    }
}
