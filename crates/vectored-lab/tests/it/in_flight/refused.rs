//! A kernel or a sandbox that refuses an interface: the error names the remedy.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use vectored_lab::in_flight::{InFlight, Interface, Unavailable};

/// Makes a queue in a thread of its own, in which a system call is answered with an error.
fn refused(interface: Interface, call: libc::c_long, errno: i32) -> Unavailable {
    let thread = thread::spawn(move || {
        let rules = BTreeMap::from([(call, Vec::new())]);
        let refuse = SeccompAction::Errno(errno as u32);
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        apply_filter(&program).unwrap();
        InFlight::new(interface, 8).unwrap_err()
    });
    thread.join().unwrap()
}

#[test]
fn a_refused_interface_is_an_error_that_names_the_remedy() {
    let uring = "allow io_uring_setup, io_uring_enter and io_uring_register there";
    let aio = "allow io_setup, io_submit, io_getevents and io_destroy there";
    for (interface, call, errno, remedy) in [
        (
            Interface::IoUring,
            libc::SYS_io_uring_setup,
            libc::ENOSYS,
            uring,
        ),
        (
            Interface::IoUring,
            libc::SYS_io_uring_setup,
            libc::EPERM,
            uring,
        ),
        (
            Interface::IoUring,
            libc::SYS_io_uring_setup,
            libc::ENOMEM,
            "`ulimit -l`",
        ),
        (
            Interface::IoUring,
            libc::SYS_io_uring_setup,
            libc::EMFILE,
            "`ulimit -n`",
        ),
        // A sandbox that knows the first call only.
        (
            Interface::IoUring,
            libc::SYS_io_uring_enter,
            libc::ENOSYS,
            uring,
        ),
        (
            Interface::IoUring,
            libc::SYS_io_uring_enter,
            libc::EPERM,
            uring,
        ),
        (Interface::LinuxAio, libc::SYS_io_setup, libc::ENOSYS, aio),
        (Interface::LinuxAio, libc::SYS_io_setup, libc::EPERM, aio),
        (
            Interface::LinuxAio,
            libc::SYS_io_setup,
            libc::EAGAIN,
            "raise the sysctl fs.aio-max-nr",
        ),
        (Interface::LinuxAio, libc::SYS_io_submit, libc::ENOSYS, aio),
        (
            Interface::LinuxAio,
            libc::SYS_io_getevents,
            libc::EPERM,
            aio,
        ),
    ] {
        let error = refused(interface, call, errno);
        let text = error.to_string();
        assert_eq!(error.interface(), interface);
        assert_eq!(error.io_error().raw_os_error(), Some(errno), "{text}");
        assert!(text.contains(interface.name()), "{text}");
        assert!(text.contains(remedy), "{text}");
        assert_eq!(std::io::Error::from(error).to_string(), text);
    }
}

/// The variable of the process that has no thread of the C library from another test.
const IN_CHILD: &str = "VECTORED_TEST_REFUSED_THREADS";

#[test]
fn posix_aio_without_threads_is_unavailable() {
    if std::env::var_os(IN_CHILD).is_some() {
        let error = refused(Interface::PosixAio, libc::SYS_clone3, libc::EPERM);
        assert_eq!(error.io_error().raw_os_error(), Some(libc::EPERM));
        assert!(
            error.to_string().contains("allow clone3 and futex there"),
            "{error}"
        );
        return;
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "in_flight::refused::posix_aio_without_threads_is_unavailable",
        ])
        .env(IN_CHILD, "1")
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_depth_out_of_range_is_an_error_that_names_the_range() {
    for interface in Interface::ALL {
        for depth in [0, 32_769, u32::MAX] {
            let error = InFlight::new(interface, depth).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("between 1 and 32,768"), "{text}");
            assert!(text.contains(interface.name()), "{text}");
        }
    }
}
