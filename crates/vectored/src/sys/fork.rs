//! A child process, for a test of what survives fork(2).
//!
//! # Safety
//!
//! `unsafe` for `fork` and what must not run anything of the parent's in the child (`_exit`).
#![allow(unsafe_code)]

/// Runs `check` in a child process: whether it returned true there within 20 seconds.
///
/// The child has one thread, and memory as another may have left it: `check` must not allocate.
pub(crate) fn in_child(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: until it ends the child calls only `check`, which keeps to what is safe behind a fork in a process
    // of several threads, and `alarm` and `_exit`, which are (signal-safety(7)).
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: both take a number and touch no memory of ours. SIGALRM ends the child.
        unsafe {
            libc::alarm(20);
            libc::_exit(i32::from(!check()));
        }
    }
    let mut status = 0;
    // SAFETY: the pointer is to a number on this stack, which the call does not keep.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "{error}");
    }
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}
