use super::*;

/// A kernel that refuses every call.
struct Refusal {
    read: io::ErrorKind,
    ring: Errno,
    disabled: Option<&'static str>,
    call: Errno,
}

impl Kernel for Refusal {
    fn read(&self, path: &str) -> io::Result<String> {
        match self.disabled {
            Some(text) if path.ends_with("io_uring_disabled") => Ok(text.to_owned()),
            _ => Err(self.read.into()),
        }
    }

    fn ring(&self) -> io::Result<io::Result<Vec<(String, bool)>>> {
        Err(self.ring.into())
    }

    fn write(&self, _: &FileDescriptor, _: &[u8], _: u32) -> Result<usize, Errno> {
        Err(self.call)
    }

    fn read_page(&self, _: &FileDescriptor, _: &mut [u8], _: u32) -> Result<usize, Errno> {
        Err(self.call)
    }
}

const REFUSAL: Refusal = Refusal {
    read: io::ErrorKind::PermissionDenied,
    ring: Errno::PERM,
    disabled: None,
    call: Errno::OPNOTSUPP,
};

fn files() -> Files {
    let file = || unnamed_file(&std::env::temp_dir(), OFlags::APPEND).unwrap();
    Files::new(file(), file())
}

#[test]
fn features_of_every_linux_host_are_found() {
    let directory = std::env::temp_dir();
    let report = probe_host(&directory, Timer::default(), "0").unwrap();
    assert_eq!(report.schema, HOST_SCHEMA);
    // POSIX's _XOPEN_IOV_MAX.
    assert!(report.host.iov_max >= 16);
    assert!(report.host.memory_bytes > 1 << 20);
    assert!(report.host.pipe_bytes.unwrap() >= 4096);
    assert_eq!(report.host.steal_share, None);
    let names: Vec<&str> = report.write_flags.iter().map(|a| a.flag.as_str()).collect();
    assert_eq!(names.len(), WRITE_FLAGS.len());
    for flag in ["DSYNC", "SYNC", "APPEND"] {
        let answer = report.write_flags.iter().find(|answer| answer.flag == flag);
        assert_eq!(answer.unwrap().buffered, "ok", "{flag}");
    }
    let directory = report.host.directory.as_ref().unwrap();
    assert!(directory.st_blksize > 0);
    // A ring has answers, a refused ring has a reason.
    let offer = &report.io_uring;
    match &offer.ring {
        Known::Value(_) => {
            let has = |name: &str| offer.operations.contains(&(name.to_owned(), true));
            assert!(has("READV") && has("WRITEV") || offer.operations_unknown.is_some());
        }
        Known::Unknown(why) => assert!(why.contains(": "), "{why}"),
    }
}

#[test]
fn the_rest_is_reported_if_the_directory_refuses_files() {
    // Not even root can create a file there.
    let report = probe_host(Path::new("/proc"), Timer::default(), "0").unwrap();
    assert!(report.host.iov_max >= 16);
    let info = report.host.directory.as_ref().unwrap();
    assert_eq!(
        (info.path.as_str(), info.file_system.as_str()),
        ("/proc", "proc")
    );
    assert!(report.write_flags.is_empty() && report.read_flags.is_empty());
    for field in ["write_flags", "read_flags"] {
        assert!(
            report.unknown[field].contains("no temporary file"),
            "{field}"
        );
    }
    assert!(
        report
            .direct_io
            .open
            .starts_with("unknown: no temporary file")
    );
    assert_eq!(report.direct_io.memory_bytes.value(), None);
    for directory in ["/proc/nowhere", "/proc/version"] {
        let refused = probe_host(Path::new(directory), Timer::default(), "0").unwrap_err();
        assert!(
            matches!(refused, DirectoryError::Unusable { .. }),
            "{refused}"
        );
    }
}

#[test]
fn a_flag_that_no_kernel_knows_is_refused_by_name() {
    let files = files();
    let all = 0x4000_0000;
    let answer = answer(ThisKernel.write(&files.buffered, &files.page(), all));
    assert_eq!(answer, "EOPNOTSUPP");
}

#[test]
fn files_are_opened_without_the_flags_to_try() {
    let files = files();
    let flags = rustix::fs::fcntl_getfl(&files.buffered).unwrap();
    assert!(!flags.contains(OFlags::APPEND) && !flags.contains(OFlags::DIRECT));
    if let Ok(direct) = &files.direct {
        let flags = rustix::fs::fcntl_getfl(direct).unwrap();
        assert!(!flags.contains(OFlags::APPEND) && flags.contains(OFlags::DIRECT));
    }
}

#[test]
fn a_refused_probe_has_its_reason() {
    let path = "/proc/sys/kernel/io_uring_disabled";
    let why = format!("permission denied reading {path}");
    assert_eq!(
        io_uring_offer(&REFUSAL).disabled_sysctl,
        Known::Unknown(why)
    );
    let absent = Refusal {
        read: io::ErrorKind::NotFound,
        ..REFUSAL
    };
    let why = format!("{path} does not exist");
    assert_eq!(io_uring_offer(&absent).disabled_sysctl, Known::Unknown(why));
    let odd = Refusal {
        disabled: Some("odd"),
        ..REFUSAL
    };
    let why = format!("{path} has no such value");
    assert_eq!(io_uring_offer(&odd).disabled_sysctl, Known::Unknown(why));
    assert_eq!(answer(Ok(1)), "short (1 bytes)");
    let why = reasons(&REFUSAL, &Host::default());
    assert_eq!(why.len(), SOURCES.len());
    assert!(why["clock_source"].starts_with("permission denied reading /sys/"));
    for answer in files().write_flags(&REFUSAL) {
        assert_eq!(answer.buffered, "EOPNOTSUPP");
    }
    for answer in files().read_flags(&REFUSAL) {
        assert_eq!(answer.buffered, "EOPNOTSUPP");
    }
}

#[test]
fn the_sysctl_that_forbids_a_ring_is_named() {
    let check = |disabled, ring, words: &str| {
        let kernel = Refusal {
            disabled,
            ring,
            ..REFUSAL
        };
        let offer = io_uring_offer(&kernel);
        let Known::Unknown(why) = offer.ring else {
            panic!("a ring of a kernel that refuses it");
        };
        assert!(why.contains(words), "{words}: {why}");
        assert!(offer.operations.is_empty());
    };
    check(
        Some("2"),
        Errno::PERM,
        "EPERM: the sysctl kernel.io_uring_disabled is 2",
    );
    check(Some("1"), Errno::PERM, "kernel.io_uring_group");
    check(Some("0"), Errno::PERM, "EPERM: a sandbox");
    check(None, Errno::NOSYS, "ENOSYS: this kernel has no io_uring");
    check(None, Errno::NOMEM, "ulimit -l");
}
