//! The error of [`Ring::new`](crate::uring::Ring::new): [`SetupError`].

use std::error::Error;
use std::fmt;
use std::fs;
use std::io;
use std::ops::RangeInclusive;

const DEPTHS: RangeInclusive<u32> = 1..=32_768;

/// The error of io_uring_setup(2), with the remedy.
///
/// A `SetupError` converts into an [`io::Error`] with the same kind and message.
#[derive(Debug)]
pub struct SetupError {
    depth: u32,
    error: io::Error,
    /// The value of `kernel.io_uring_disabled`, which exists since Linux 6.6.
    disabled_sysctl: Option<u32>,
}

impl SetupError {
    pub(super) fn new(depth: u32, error: io::Error) -> SetupError {
        let sysctl = fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
        SetupError {
            depth,
            error,
            disabled_sysctl: sysctl.ok().and_then(|text| text.trim().parse().ok()),
        }
    }

    /// Returns whether this process cannot have any ring, so that the program must use plain calls:
    ///
    /// - The kernel has no io_uring, or is older than Linux 5.11.
    /// - An administrator or a sandbox forbids io_uring.
    /// - The system has no `MADV_WIPEONFORK`, for example gVisor and qemu-user.
    ///
    /// If the result is false, the kernel lacks memory or descriptors, or the depth is out of range.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        let refused = [libc::ENOSYS, libc::EPERM, libc::EACCES];
        match self.error.raw_os_error() {
            Some(code) => refused.contains(&code),
            None => self.error.kind() == io::ErrorKind::Unsupported,
        }
    }

    /// Returns the error of the kernel.
    #[must_use]
    pub fn io_error(&self) -> &io::Error {
        &self.error
    }

    fn remedy(&self) -> &'static str {
        match (self.error.raw_os_error(), self.disabled_sysctl) {
            (Some(libc::EPERM), Some(2)) => {
                "the sysctl kernel.io_uring_disabled is 2, which forbids io_uring to all processes: set it to 0, or use \
                 plain calls"
            }
            (Some(libc::EPERM), Some(1)) => {
                "the sysctl kernel.io_uring_disabled is 1: io_uring needs CAP_SYS_ADMIN or membership in the group \
                 kernel.io_uring_group; or use plain calls"
            }
            (Some(libc::EPERM | libc::EACCES), _) => {
                "a sandbox forbids it, as seccomp profiles of containers do: allow io_uring_setup, io_uring_enter and \
                 io_uring_register there, or use plain calls"
            }
            (Some(libc::ENOSYS), _) => {
                "this kernel has no io_uring, or a sandbox hides it: allow io_uring_setup, io_uring_enter and \
                 io_uring_register there, or use plain calls"
            }
            (Some(libc::ENOMEM), _) => {
                "there is no memory for the queues: use a smaller depth; before Linux 5.12 they also count as locked \
                 memory, which `ulimit -l` limits"
            }
            (Some(libc::EMFILE | libc::ENFILE), _) => {
                "there are too many open descriptors: close some, or raise the limit with `ulimit -n`"
            }
            (Some(libc::EINVAL), _) if !DEPTHS.contains(&self.depth) => {
                "the depth must be between 1 and 32,768"
            }
            // The error names the missing feature.
            (None, _) => "use plain calls",
            _ => "io_uring_setup(2) lists the causes",
        }
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SetupError { depth, error, .. } = self;
        let remedy = self.remedy();
        write!(
            f,
            "cannot make an io_uring for {depth} calls: {error}: {remedy}"
        )
    }
}

impl Error for SetupError {}

impl From<SetupError> for io::Error {
    fn from(error: SetupError) -> io::Error {
        io::Error::new(error.error.kind(), error)
    }
}
