//! What a child process and a thread have used, who adopts orphans, and which signals this process ignores.

pub use crate::sys::signals::is_ignored;
pub use crate::sys::usage::{Usage, give_back_free_memory, thread_usage, wait_for};

/// Makes this process the parent of all processes that its children leave behind.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> std::io::Result<()> {
    let this = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(this))?)
}
