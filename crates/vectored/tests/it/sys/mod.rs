//! Interfaces of the kernel that tests need, and that no safe crate offers.
//!
//! # Safety
//!
//! `unsafe` for prctl(2) with a filter of system calls.
#![allow(unsafe_code)]

use std::thread;

/// Runs `test` in a thread in which the kernel answers the system call `number` with `errno`, and returns its result.
pub fn with_refused_call<R: Send>(
    number: libc::c_long,
    errno: i32,
    test: impl FnOnce() -> R + Send,
) -> R {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            refuse_call(number, errno);
            test()
        });
        thread.join().expect("the test passes in its thread")
    })
}

/// From now on, the kernel answers the system call `number` of this thread with `errno`.
pub fn refuse_call(number: libc::c_long, errno: i32) {
    let number = u32::try_from(number).unwrap();
    let errno = u32::try_from(errno).unwrap() & libc::SECCOMP_RET_DATA;
    let instruction = |code, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut filter = [
        // The number is the first field of `seccomp_data`.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number),
        instruction(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | errno,
        ),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the first call takes numbers. The second call reads and copies the program and its filter, which live
    // until the call is over. Both change this thread alone.
    let answers = unsafe {
        (
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program),
        )
    };
    assert_eq!(answers, (0, 0), "{}", std::io::Error::last_os_error());
}

/// Runs `test` in a forked child and returns its result, or false if `test` panics.
pub fn holds_in_fork(test: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child has this thread only. The child calls no function that waits for a lock of another thread: the locks
    // of the allocator are free after fork(3) of glibc and musl. The child ends without the destructors of this process.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let holds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        // SAFETY: the call has no requirement.
        unsafe { libc::_exit(i32::from(!matches!(holds, Ok(true)))) };
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: `status` lives longer than the call.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(waited, child);
    status == 0
}
