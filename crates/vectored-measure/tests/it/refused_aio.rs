//! A kernel or a sandbox that refuses Linux native AIO: the error names the remedy.

use std::collections::BTreeMap;
use std::io;
use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use vectored_measure::in_flight::{AioQueue, ListQueue};

/// Runs `what` in a thread of its own, in which a system call is answered with an error.
pub fn refusing<T: Send + 'static>(
    call: libc::c_long,
    errno: i32,
    what: impl FnOnce() -> T + Send + 'static,
) -> T {
    let thread = thread::spawn(move || {
        let rules = BTreeMap::from([(call, Vec::new())]);
        let refuse = SeccompAction::Errno(errno as u32);
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        apply_filter(&program).unwrap();
        what()
    });
    thread.join().unwrap()
}

#[test]
fn a_refused_queue_is_an_error_that_names_the_remedy() {
    let aio = "allow io_setup, io_submit, io_getevents and io_destroy there";
    let most = std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap();
    let limit = format!("may have {}: raise the sysctl fs.aio-max-nr", most.trim());
    for (call, errno, remedy) in [
        (libc::SYS_io_setup, libc::ENOSYS, aio),
        (libc::SYS_io_setup, libc::EPERM, aio),
        (libc::SYS_io_setup, libc::EAGAIN, &limit[..]),
        (libc::SYS_io_setup, libc::ENOMEM, "no memory"),
        // A sandbox that allows only io_setup(2).
        (libc::SYS_io_submit, libc::ENOSYS, aio),
        (libc::SYS_io_getevents, libc::EPERM, aio),
    ] {
        let error = refusing(call, errno, || AioQueue::with_depth(8).err().unwrap());
        assert_eq!(error.kind(), io::Error::from_raw_os_error(errno).kind());
        let text = error.to_string();
        assert!(text.contains("Linux native AIO"), "{text}");
        assert!(text.contains(remedy), "{text}");
    }
}

#[test]
fn a_depth_out_of_range_is_an_error_that_names_the_range() {
    for depth in [0, 32_769, u32::MAX] {
        let text = AioQueue::with_depth(depth).err().unwrap().to_string();
        assert!(text.contains("between 1 and 32,768"), "{text}");
    }
}
