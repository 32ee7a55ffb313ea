//! How much one system call takes: `IOV_MAX` entries, and a cap on the bytes.
//!
//! # Safety
//!
//! `unsafe` for one call of `sysconf`, which no safe interface offers for `_SC_IOV_MAX`.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The most bytes that go into one system call: `INT_MAX` rounded down to a page of 4096 bytes.
///
/// Linux moves at most `0x7ffff000` bytes in a call, also on 64-bit systems, and reports a short
/// transfer for more ("Notes" of write(2); `MAX_RW_COUNT` in `include/linux/fs.h`). With larger
/// pages it is a little less, which then counts as a short write. On other systems a total above
/// `INT_MAX` can be an error (macOS: `EINVAL`), and POSIX leaves it open from `SSIZE_MAX` on.
pub const MAX_CALL_BYTES: usize = 0x7fff_f000;

/// POSIX's minimum (`_XOPEN_IOV_MAX` in `<limits.h>`): what every system takes.
const POSIX_IOV_MAX: usize = 16;

/// The most segments that go into one system call on this system: `IOV_MAX`.
///
/// Asked of `sysconf(_SC_IOV_MAX)` once and remembered. It is 1024 on Linux, macOS and the BSDs.
/// Where the system names no limit (`sysconf` answers -1) it is 16, which POSIX guarantees.
///
/// ```
/// assert!(vectored::iov_max() >= 16);
/// ```
#[must_use]
#[inline]
pub fn iov_max() -> usize {
    static IOV_MAX: Remembered = Remembered::new();
    IOV_MAX.get(|| {
        if cfg!(miri) {
            // Miri knows no `_SC_IOV_MAX`; so it runs what merely counts segments.
            return 1024;
        }
        // SAFETY: `sysconf` takes an integer by value and returns one; it touches no memory of
        // ours, and an unknown name is answered by -1.
        let answer = unsafe { libc::sysconf(libc::_SC_IOV_MAX) };
        iov_max_from(answer)
    })
}

/// A number that is always the same, and not 0: asked for once, or by each thread that comes before the answer.
///
/// An atomic and no lock: a child process that is forked while another thread asks does not wait for the answer.
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

/// The limit that an answer of `sysconf` stands for.
///
/// No call takes more than `INT_MAX` entries, since `iovcnt` is an `int`.
fn iov_max_from(answer: libc::c_long) -> usize {
    match usize::try_from(answer) {
        Ok(limit) if limit > 0 => limit.min(i32::MAX as usize),
        _ => POSIX_IOV_MAX,
    }
}

/// How much may go into one call.
///
/// [`Limits::default`] is what this system takes; smaller ones make smaller calls. A limit of 0
/// would allow no progress: the functions that take limits panic on it.
///
/// ```
/// use vectored::{Limits, MAX_CALL_BYTES, iov_max};
///
/// assert_eq!(Limits::default(), Limits { segments: iov_max(), bytes: MAX_CALL_BYTES });
/// ```
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
    /// Programmer errors, found before they turn into a loop without end.
    pub(crate) fn assert_allow_progress(self) {
        assert!(
            self.segments > 0 && self.bytes > 0,
            "limits of a call must not be zero: {self:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_iov_max_counts_as_the_16_that_posix_guarantees() {
        assert_eq!(iov_max_from(-1), 16);
        assert_eq!(iov_max_from(0), 16);
    }

    #[test]
    fn a_known_iov_max_is_taken_as_it_is() {
        assert_eq!(iov_max_from(16), 16);
        assert_eq!(iov_max_from(1024), 1024);
    }

    #[test]
    fn iov_max_fits_the_int_that_writev_takes() {
        assert_eq!(iov_max_from(libc::c_long::MAX), i32::MAX as usize);
    }

    #[test]
    fn the_byte_cap_is_int_max_rounded_down_to_a_page() {
        assert_eq!(MAX_CALL_BYTES, i32::MAX as usize / 4096 * 4096);
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn linux_takes_1024_segments() {
        assert_eq!(iov_max(), 1024);
    }

    /// The child has the state of a thread that is asking, and nobody there who would end that.
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

    #[test]
    #[should_panic(expected = "must not be zero")]
    fn a_limit_of_zero_is_a_programmer_error() {
        Limits {
            segments: 1,
            bytes: 0,
        }
        .assert_allow_progress();
    }
}
