//! Tests of systems without io_uring.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use vectored::uring::Ring;

use super::{counted, ring};
use crate::support::{emulator, skip};
use crate::sys::{refuse_call, with_refused_call};

/// Reports a skip and returns true if a filter of system calls is not possible.
fn cannot_refuse(test: &str) -> bool {
    let emulator = emulator();
    if let Some(emulator) = &emulator {
        skip(test, &format!("{emulator} takes no filter of system calls"));
    }
    emulator.is_some()
}

/// A sandbox may permit only io_uring_setup(2). gVisor and qemu-user have no `MADV_WIPEONFORK`.
#[test]
fn a_ring_that_cannot_be_made_says_why_and_whether_plain_calls_are_left() {
    let test =
        "uring::refusals::a_ring_that_cannot_be_made_says_why_and_whether_plain_calls_are_left";
    if cannot_refuse(test) || ring(test, 1).is_none() {
        return;
    }
    let enter = "allow io_uring_setup, io_uring_enter";
    for (call, errno, is_disabled, words) in [
        (
            libc::SYS_io_uring_setup,
            libc::ENOSYS,
            true,
            "no io_uring, or a sandbox hides it",
        ),
        (libc::SYS_io_uring_setup, libc::EPERM, true, "io_uring"),
        (libc::SYS_io_uring_setup, libc::ENOMEM, false, "ulimit -l"),
        (libc::SYS_io_uring_enter, libc::ENOSYS, true, enter),
        (libc::SYS_io_uring_enter, libc::EPERM, true, enter),
        (libc::SYS_madvise, libc::EINVAL, true, "MADV_WIPEONFORK"),
    ] {
        let make = || Ring::new(4).expect_err("the call is refused");
        let error = with_refused_call(call, errno, make);
        assert_eq!(error.is_disabled(), is_disabled, "{error}");
        if call != libc::SYS_madvise {
            assert_eq!(error.io_error().raw_os_error(), Some(errno));
        }
        let message = error.to_string();
        assert!(message.contains(words), "{message}");
        assert_eq!(message.contains("depth"), !is_disabled, "{message}");
        assert_eq!(message.contains("plain calls"), is_disabled, "{message}");
        if !is_disabled {
            let error = std::io::Error::from(error);
            assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[test]
fn a_depth_out_of_range_is_an_error() {
    if ring("uring::refusals::a_depth_out_of_range_is_an_error", 1).is_none() {
        return;
    }
    for depth in [0, 32_769, u32::MAX] {
        let error = Ring::new(depth).expect_err("no such depth");
        assert!(!error.is_disabled());
        assert!(
            error.to_string().contains("between 1 and 32,768"),
            "{error}"
        );
    }
}

#[test]
fn a_ring_that_is_forbidden_later_loses_no_transfer_and_frees_no_memory_in_use() {
    let test = "uring::refusals::a_ring_that_is_forbidden_later_loses_no_transfer_and_frees_no_memory_in_use";
    let Some(mut ring) = ring(test, 4) else {
        return;
    };
    let (mut reader, writer) = std::io::pipe().unwrap();
    let drops = Arc::new(AtomicUsize::new(0));
    let queue = counted(100_000, &drops);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            ring.submit_write(writer, queue, 1);
            ring.start().unwrap();
            refuse_call(libc::SYS_io_uring_enter, libc::EPERM);
            // The completion of the first call is available. The next call is refused.
            let error = ring.wait().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EPERM));
            assert_eq!(ring.len(), 1);
            drop(ring);
        });
    });
    assert_eq!(drops.load(Ordering::SeqCst), 0, "freed in use");
    let mut written = vec![0; 65_536];
    reader.read_exact(&mut written).unwrap();
    assert!(written[4..].iter().all(|byte| *byte == 7));
}
