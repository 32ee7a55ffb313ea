//! Why there is no queue, and which list failed.

use std::error::Error;
use std::fmt;
use std::io;

use crate::in_flight::interface::Interface;
use crate::platform::machine;

/// Why the kernel gave no queue for an interface, and what can be done about it.
///
/// It converts into an [`io::Error`] of the same kind and with the same message.
#[derive(Debug)]
pub struct Unavailable {
    interface: Interface,
    depth: u32,
    error: io::Error,
    /// What the system says about its limits.
    limits: Limits,
}

/// The limits that an administrator sets, where they can be read.
#[derive(Debug, Default)]
struct Limits {
    /// `kernel.io_uring_disabled`, since Linux 6.6.
    io_uring_disabled: Option<u64>,
    /// `fs.aio-nr` and `fs.aio-max-nr`.
    aio_used: Option<u64>,
    aio_most: Option<u64>,
}

impl Limits {
    fn read() -> Limits {
        let sysctl = |path| {
            let text = machine::kernel_text(&format!("/proc/sys/{path}")).ok()?;
            text.trim().parse().ok()
        };
        Limits {
            io_uring_disabled: sysctl("kernel/io_uring_disabled"),
            aio_used: sysctl("fs/aio-nr"),
            aio_most: sysctl("fs/aio-max-nr"),
        }
    }
}

impl Unavailable {
    pub(super) fn new(interface: Interface, depth: u32, error: io::Error) -> Unavailable {
        Unavailable {
            interface,
            depth,
            error,
            limits: Limits::read(),
        }
    }

    /// The interface that was asked for.
    #[must_use]
    pub fn interface(&self) -> Interface {
        self.interface
    }

    /// The error of the kernel.
    #[must_use]
    pub fn io_error(&self) -> &io::Error {
        &self.error
    }

    fn remedy(&self) -> String {
        let code = self.error.raw_os_error().unwrap_or(0);
        let calls = match self.interface {
            Interface::IoUring => "io_uring_setup, io_uring_enter and io_uring_register",
            Interface::LinuxAio => "io_setup, io_submit, io_getevents and io_destroy",
            Interface::PosixAio => "clone3 and futex",
        };
        match (self.interface, code) {
            (Interface::IoUring, libc::EPERM) if self.limits.io_uring_disabled == Some(2) => {
                "the sysctl kernel.io_uring_disabled is 2, which forbids io_uring to all processes: set it to 0".to_owned()
            }
            (Interface::IoUring, libc::EPERM) if self.limits.io_uring_disabled == Some(1) => {
                "the sysctl kernel.io_uring_disabled is 1: io_uring needs CAP_SYS_ADMIN or membership in the group \
                 kernel.io_uring_group"
                    .to_owned()
            }
            (_, libc::EPERM | libc::EACCES) => format!(
                "a sandbox forbids it, as seccomp profiles of containers do: allow {calls} there"
            ),
            (_, libc::ENOSYS) => {
                format!("this kernel was built without it, or a sandbox hides it: allow {calls} there")
            }
            (Interface::IoUring, libc::ENOMEM) => {
                "there is no memory for the queues: use a smaller depth; before Linux 5.12 they also count as locked \
                 memory, which `ulimit -l` limits"
                    .to_owned()
            }
            (Interface::LinuxAio, libc::EAGAIN) => self.aio_remedy(),
            (_, libc::ENOMEM) => "there is no memory for the queue: use a smaller depth".to_owned(),
            (_, libc::EMFILE | libc::ENFILE) => {
                "there are too many open descriptors: close some, or raise the limit with `ulimit -n`".to_owned()
            }
            (_, libc::EINVAL) if !(1..=32_768).contains(&self.depth) => {
                "the depth must be between 1 and 32,768".to_owned()
            }
            (Interface::IoUring, 0) if cfg!(unix) => "io_uring of this kernel is older than that of Linux 5.6".to_owned(),
            _ => "use another interface, or plain calls".to_owned(),
        }
    }

    fn aio_remedy(&self) -> String {
        let used = match (self.limits.aio_used, self.limits.aio_most) {
            (Some(used), Some(most)) => {
                format!(
                    "all processes together have queues for {used} transfers, and may have {most}"
                )
            }
            _ => "all processes together have queues for as many transfers as they may".to_owned(),
        };
        format!("{used}: raise the sysctl fs.aio-max-nr, or use a smaller depth")
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unavailable { depth, error, .. } = self;
        let name = self.interface.name();
        let remedy = self.remedy();
        let transfers = if *depth == 1 { "transfer" } else { "transfers" };
        write!(
            f,
            "cannot make a queue of {name} for {depth} {transfers}: {error}: {remedy}"
        )
    }
}

impl Error for Unavailable {}

impl From<Unavailable> for io::Error {
    fn from(error: Unavailable) -> io::Error {
        io::Error::new(error.error.kind(), error)
    }
}

/// The error that ended a list early.
///
/// It converts into an [`io::Error`] of the same kind and with the same message.
#[derive(Debug)]
pub struct ListError {
    list: u64,
    transferred: u64,
    bytes: u64,
    error: io::Error,
}

impl ListError {
    pub(super) fn new(list: u64, transferred: u64, bytes: u64, error: io::Error) -> ListError {
        ListError {
            list,
            transferred,
            bytes,
            error,
        }
    }

    /// The number of the list, from 0 on. All lists before it were moved whole.
    #[must_use]
    pub fn list(&self) -> u64 {
        self.list
    }

    /// The bytes of that list that were moved: its first ones.
    #[must_use]
    pub fn transferred(&self) -> u64 {
        self.transferred
    }

    /// The error of the kernel, or the reason why the list could not go on.
    #[must_use]
    pub fn io_error(&self) -> &io::Error {
        &self.error
    }

    /// As [`io_error`](ListError::io_error), without the counts.
    #[must_use]
    pub fn into_io_error(self) -> io::Error {
        self.error
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListError {
            list,
            transferred,
            bytes,
            error,
        } = self;
        write!(
            f,
            "list {list}: after {transferred} of its {bytes} bytes: {error}"
        )
    }
}

impl Error for ListError {}

impl From<ListError> for io::Error {
    fn from(error: ListError) -> io::Error {
        io::Error::new(error.error.kind(), error)
    }
}
