//! Interfaces of the kernel that tests need, and that no safe crate offers.
#![allow(unsafe_code)]

use std::thread;

/// Runs `test` in a thread whose system calls with this `number` fail with `errno`. Returns the result of `test`.
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

/// Makes the later system calls of this thread with this `number` fail with `errno`.
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
    // SAFETY: the first call takes numbers. The second call copies the program and its filter, which exist until the
    // call returns. Both calls change only this thread.
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
    // SAFETY: the child has only this thread, and calls no function that waits for a lock of another thread. The locks
    // of the allocator are free after fork(3) of glibc and musl. The child ends without the destructors of this
    // process.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let holds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        // SAFETY: the call has no requirement.
        unsafe { libc::_exit(i32::from(!matches!(holds, Ok(true)))) };
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: `status` exists until the call returns.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(waited, child);
    status == 0
}
