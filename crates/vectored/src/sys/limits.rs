//! The limits of one system call: `IOV_MAX` entries and `MAX_CALL_BYTES` bytes.
//!
//! # Safety
//!
//! The module uses `unsafe` for `sysconf`, because no safe interface offers `_SC_IOV_MAX`.
#![allow(unsafe_code)]

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The most bytes of one system call: `INT_MAX` rounded down to a page of 4096 bytes.
///
/// Linux moves at most `0x7ffff000` bytes in a call, even on 64-bit systems. A longer call is a short transfer ("Notes"
/// of write(2); `MAX_RW_COUNT` in `include/linux/fs.h`). With larger pages, the limit is a little lower, and a call of
/// `MAX_CALL_BYTES` can be a short write. On other systems, a total above `INT_MAX` can be an error (macOS: `EINVAL`).
/// POSIX does not specify the result for a total above `SSIZE_MAX`.
pub const MAX_CALL_BYTES: usize = 0x7fff_f000;

const _: () = assert!(MAX_CALL_BYTES <= i32::MAX as usize);

#[cfg(unix)]
const POSIX_IOV_MAX: usize = 16;

/// Returns the most segments of one system call on this system: `IOV_MAX`.
///
/// The value is the result of `sysconf(_SC_IOV_MAX)`, which is called once. The value is 1024 on Linux, macOS and the
/// BSDs. If `sysconf` returns -1, the system has no documented limit, and the value is 16, the minimum of POSIX.
/// Windows documents no limit, and the value is 1024.
#[must_use]
#[inline]
pub fn iov_max() -> usize {
    static IOV_MAX: Remembered = Remembered::new();
    IOV_MAX.get(system_iov_max)
}

#[cfg(unix)]
fn system_iov_max() -> usize {
    if cfg!(miri) {
        // Miri does not know `_SC_IOV_MAX`. With this number, Miri runs the code that counts segments.
        return 1024;
    }
    // SAFETY: `sysconf` takes and returns an integer, and accesses no memory of this process. The result for an unknown
    // name is -1.
    let answer = unsafe { libc::sysconf(libc::_SC_IOV_MAX) };
    iov_max_from(answer)
}

/// Windows documents no limit. More buffers in a call save no time, and the kernel locks the memory of each buffer.
#[cfg(windows)]
fn system_iov_max() -> usize {
    1024
}

/// A constant other than 0 that is queried at the first use. Several threads may query the constant at the same time.
///
/// The type is an atomic and not a lock. With a lock, a child that is forked during a query of another thread would
/// wait forever.
struct Remembered(AtomicUsize);

impl Remembered {
    const fn new() -> Remembered {
        Remembered(AtomicUsize::new(0))
    }

    #[inline]
    fn get(&self, ask: impl FnOnce() -> usize) -> usize {
        match self.0.load(Relaxed) {
            0 => self.ask(ask),
            known => known,
        }
    }

    #[cold]
    #[inline(never)]
    fn ask(&self, ask: impl FnOnce() -> usize) -> usize {
        let answer = ask();
        self.0.store(answer, Relaxed);
        answer
    }
}

/// Returns the limit for a result of `sysconf`. The limit is at most `INT_MAX`, because `iovcnt` is an `int`.
#[cfg(unix)]
fn iov_max_from(answer: std::ffi::c_long) -> usize {
    match usize::try_from(answer) {
        Ok(limit) if limit > 0 => limit.min(i32::MAX as usize),
        _ => POSIX_IOV_MAX,
    }
}

/// The limits of one call.
///
/// This type is final: no field will be added.
///
/// [`Limits::default`] has the limits of this system. Smaller limits make smaller calls. Functions that take limits
/// panic if a limit is 0, because such a call would move no byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The most segments in a call, at least 1.
    pub segments: usize,
    /// The most bytes in a call, at least 1.
    pub bytes: usize,
}

impl Default for Limits {
    #[inline]
    fn default() -> Limits {
        Limits {
            segments: iov_max(),
            bytes: MAX_CALL_BYTES,
        }
    }
}

impl Limits {
    pub(crate) fn assert_allow_progress(self) {
        assert!(
            self.segments > 0 && self.bytes > 0,
            "limits of a call must not be zero: {self:?}"
        );
    }
}

/// Fails if `bytes` bytes at `offset` would end after the largest 64-bit `off_t`.
pub(crate) fn end_within_files(bytes: u64, offset: u64) -> io::Result<()> {
    match offset.checked_add(bytes) {
        Some(end) if i64::try_from(end).is_ok() => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "{bytes} bytes at offset {offset} would end past the largest file offset, 2^63 - 1"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn an_unknown_iov_max_counts_as_the_16_of_posix_and_a_known_one_as_it_is_up_to_an_int() {
        let most = i32::MAX as usize;
        for (answer, segments) in [
            (-1, 16),
            (0, 16),
            (1, 1),
            (16, 16),
            (1024, 1024),
            (std::ffi::c_long::MAX, most),
        ] {
            assert_eq!(iov_max_from(answer), segments);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_that_is_forked_while_a_limit_is_asked_for_goes_on() {
        let limit = Remembered::new();
        let answer = limit.get(|| {
            let is_well = crate::sys::fork::in_child(|| limit.get(|| 16) == 16);
            assert!(is_well, "the child ended badly or waited for ever");
            1024
        });
        assert_eq!((answer, limit.get(|| 16)), (1024, 1024));
    }
}
