//! What this process does with a signal.
//!
//! # Safety
//!
//! `unsafe` for `sigaction`, which has no safe interface.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::{io, ptr};

/// Whether this process ignores a signal. nohup(1) starts programs that ignore SIGHUP. A shell without job control starts
/// programs in the background that ignore SIGINT and SIGQUIT.
pub fn is_ignored(signal: c_int) -> io::Result<bool> {
    Ok(action(signal)? == libc::SIG_IGN)
}

pub(super) fn is_default(signal: c_int) -> io::Result<bool> {
    Ok(action(signal)? == libc::SIG_DFL)
}

fn action(signal: c_int) -> io::Result<libc::sighandler_t> {
    let mut found = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only writes the present one, to memory with room for it.
    if unsafe { libc::sigaction(signal, ptr::null(), found.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded, and so has written `found`.
    let found = unsafe { found.assume_init() };
    Ok(found.sa_sigaction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_programs_ignore_sigpipe_alone() {
        assert!(is_ignored(libc::SIGPIPE).unwrap());
        // SIGKILL cannot be ignored, unlike SIGTERM.
        assert!(!is_ignored(libc::SIGKILL).unwrap());
        assert!(is_ignored(0).is_err());
    }
}
