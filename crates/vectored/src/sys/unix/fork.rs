//! Runs a check in a child process, for tests of code that must work after fork(2).
//!
//! # Safety
//!
//! The module uses `unsafe` for `fork`, and for `_exit`, which does not run the parent's exit handlers in the child.
#![allow(unsafe_code)]

/// Runs `check` in a child process. Returns whether `check` returned true within 20 seconds.
///
/// The child has a single thread. Another thread of the parent may have held the allocator's lock, so `check` must not
/// allocate.
pub(crate) fn in_child(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls only `check`, `alarm` and `_exit`. `alarm` and `_exit` are safe after a fork of a process
    // with several threads (signal-safety(7)), and `check` makes only safe calls.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: both calls take a number and access no memory of this process. SIGALRM ends the child.
        unsafe {
            libc::alarm(20);
            libc::_exit(i32::from(!check()));
        }
    }
    let mut status = 0;
    // SAFETY: the pointer refers to a number on this stack. The call does not keep the pointer.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "{error}");
    }
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}
