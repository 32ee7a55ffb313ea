//! Transfers on borrowed buffers that the kernel makes while the program goes on.
#![allow(unsafe_code)]

mod aio;
#[cfg(vectored_asan)]
mod asan;
mod context;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub(super) mod lent_ring;

use std::io;
use std::process;

pub use aio::AioQueue;

/// The error of a call in a forked child.
const FORKED: &str = "this process is a fork of the one that made the queue, which the child cannot use: make a queue in \
    the child";

/// Refuses a fork of the process of this number. A child with the same number would have to outlive its parent.
fn check_process(made_by: u32) -> io::Result<()> {
    if process::id() == made_by { Ok(()) } else { Err(io::Error::other(FORKED)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_another_process_is_refused() {
        assert!(check_process(process::id()).is_ok());
        // No process has the number 0: the queue belongs to another process, as in a forked child.
        assert_eq!(check_process(0).unwrap_err().to_string(), FORKED);
    }
}
