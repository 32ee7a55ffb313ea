//! Why there is no queue of Linux native AIO.

use std::io;

use vectored_machine::platform::system_names;

/// The error of the kernel, with what can be done about it.
pub(super) fn unavailable(depth: u32, error: io::Error) -> io::Error {
    let calls = "io_setup, io_submit, io_getevents and io_destroy";
    let remedy = match error.raw_os_error().unwrap_or(0) {
        libc::EPERM | libc::EACCES => format!(
            "a sandbox forbids it, as seccomp profiles of containers do: allow {calls} there"
        ),
        libc::ENOSYS => {
            format!("this kernel was built without it, or a sandbox hides it: allow {calls} there")
        }
        libc::EAGAIN => limit_remedy(),
        libc::ENOMEM => "there is no memory for the queue: use a smaller depth".to_owned(),
        libc::EINVAL => "the depth must be between 1 and 32,768".to_owned(),
        _ => "use another interface, or plain calls".to_owned(),
    };
    let transfers = if depth == 1 { "transfer" } else { "transfers" };
    io::Error::new(
        error.kind(),
        format!(
            "cannot make a queue of Linux native AIO for {depth} {transfers}: {error}: {remedy}"
        ),
    )
}

fn limit_remedy() -> String {
    let sysctl = |path| {
        let text = system_names::kernel_text(&format!("/proc/sys/fs/{path}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let used = match sysctl("aio-nr").zip(sysctl("aio-max-nr")) {
        Some((used, most)) => {
            format!("all processes together have queues for {used} transfers, and may have {most}")
        }
        None => "all processes together have queues for as many transfers as they may".to_owned(),
    };
    format!("{used}: raise the sysctl fs.aio-max-nr, or use a smaller depth")
}
