//! Why there is no queue of Linux native AIO.

use std::error::Error;
use std::fmt;
use std::io;

use vectored_machine::platform::system_names;

/// Why the kernel gave no queue, and what can be done about it.
#[derive(Debug)]
pub(super) struct Unavailable {
    depth: u32,
    error: io::Error,
    /// `fs.aio-nr` and `fs.aio-max-nr`, where they can be read.
    used: Option<u64>,
    most: Option<u64>,
}

impl Unavailable {
    pub(super) fn new(depth: u32, error: io::Error) -> Unavailable {
        let sysctl = |path| {
            let text = system_names::kernel_text(&format!("/proc/sys/fs/{path}")).ok()?;
            text.trim().parse().ok()
        };
        Unavailable {
            depth,
            error,
            used: sysctl("aio-nr"),
            most: sysctl("aio-max-nr"),
        }
    }

    fn remedy(&self) -> String {
        let calls = "io_setup, io_submit, io_getevents and io_destroy";
        match self.error.raw_os_error().unwrap_or(0) {
            libc::EPERM | libc::EACCES => format!(
                "a sandbox forbids it, as seccomp profiles of containers do: allow {calls} there"
            ),
            libc::ENOSYS => {
                format!(
                    "this kernel was built without it, or a sandbox hides it: allow {calls} there"
                )
            }
            libc::EAGAIN => self.limit_remedy(),
            libc::ENOMEM => "there is no memory for the queue: use a smaller depth".to_owned(),
            libc::EINVAL => "the depth must be between 1 and 32,768".to_owned(),
            _ => "use another interface, or plain calls".to_owned(),
        }
    }

    fn limit_remedy(&self) -> String {
        let used = match (self.used, self.most) {
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
        let remedy = self.remedy();
        let transfers = if *depth == 1 { "transfer" } else { "transfers" };
        write!(
            f,
            "cannot make a queue of Linux native AIO for {depth} {transfers}: {error}: {remedy}"
        )
    }
}

impl Error for Unavailable {}

impl From<Unavailable> for io::Error {
    fn from(error: Unavailable) -> io::Error {
        io::Error::new(error.error.kind(), error)
    }
}
