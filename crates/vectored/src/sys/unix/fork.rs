//! Runs a check in a child process, for tests of code that must work after fork(2).
//!
//! # Safety
//!
//! `unsafe` for `fork`, and for `_exit`, which runs none of the parent's exit handlers in the child.
#![allow(unsafe_code)]

/// Runs `check` in a child process, and returns whether it returned true there within 20 seconds.
///
/// The child has one thread, and memory as the other threads left it: `check` must not allocate.
pub(crate) fn in_child(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: until its end, the child calls only `check`, `alarm` and `_exit`. `alarm` and `_exit` are safe after a
    // fork in a process of several threads (signal-safety(7)), and `check` keeps to such calls.
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
