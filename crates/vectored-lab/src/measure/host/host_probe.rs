//! Asks the machine what it offers. Nothing is believed that can be tried:
//! each flag goes to the kernel with a file of the directory in question.
//!
//! What is asked goes through [`Kernel`], so that tests can refuse it.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use io_uring::{IoUring, Probe, opcode};
use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags};
use rustix::process::{Resource, getrlimit};
use vectored::{AlignedBuffer, DirectAlignment};

use crate::measure::host::environment::allowed_cpus;
use crate::measure::host::environment::{describe_directory, describe_host};
use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::ruler::measure_ruler;
use crate::measure::sampling::sampler::MeasureError;
use crate::measure::targets::{check_directory, unnamed_file};
use crate::model::{
    BufferLimits, DirectOffer, DirectoryInfo, FlagAnswer, HOST_SCHEMA, Host, HostReport, HugePages,
    IoUringOffer, Known, Target,
};

/// Bytes of one trial: a page, which most storage can also write atomically.
const TRIAL_BYTES: usize = 4096;

/// `RWF_` flags of `linux/fs.h`, in the order of their bits. The last came
/// with Linux 6.14.
const WRITE_FLAGS: [(&str, u32); 8] = [
    ("HIPRI", 0x01),
    ("DSYNC", 0x02),
    ("SYNC", 0x04),
    ("NOWAIT", 0x08),
    ("APPEND", 0x10),
    ("NOAPPEND", 0x20),
    ("ATOMIC", 0x40),
    ("DONTCACHE", 0x80),
];

/// Those that say something about reads.
const READ_FLAGS: [(&str, u32); 3] = [("HIPRI", 0x01), ("NOWAIT", 0x08), ("DONTCACHE", 0x80)];

/// Operations that move bytes from or to several buffers, or could replace
/// such a move.
const OPERATIONS: [(&str, u8); 13] = [
    ("READ", opcode::Read::CODE),
    ("WRITE", opcode::Write::CODE),
    ("READV", opcode::Readv::CODE),
    ("WRITEV", opcode::Writev::CODE),
    ("READ_FIXED", opcode::ReadFixed::CODE),
    ("WRITE_FIXED", opcode::WriteFixed::CODE),
    ("READV_FIXED", opcode::ReadvFixed::CODE),
    ("WRITEV_FIXED", opcode::WritevFixed::CODE),
    ("SENDMSG", opcode::SendMsg::CODE),
    ("RECVMSG", opcode::RecvMsg::CODE),
    ("SEND_ZC", opcode::SendZc::CODE),
    ("SENDMSG_ZC", opcode::SendMsgZc::CODE),
    ("SPLICE", opcode::Splice::CODE),
];

/// Files of `/proc` and `/sys` behind fields of [`Host`] that can be null.
const SOURCES: [(&str, &str); 6] = [
    (
        "clock_source",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    (
        "cpu.governor",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    (
        "cpu.l1d_bytes",
        "/sys/devices/system/cpu/cpu0/cache/index0/size",
    ),
    (
        "cpu.l2_bytes",
        "/sys/devices/system/cpu/cpu0/cache/index2/size",
    ),
    (
        "cpu.l3_bytes",
        "/sys/devices/system/cpu/cpu0/cache/index3/size",
    ),
    (
        "cpu.mitigations",
        "/sys/devices/system/cpu/vulnerabilities/spectre_v1",
    ),
];

/// What the questions go to.
trait Kernel {
    /// A file of `/proc` or `/sys`.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Makes a ring and asks it for the operations; none where it answers, but
    /// not to that.
    fn ring(&self) -> io::Result<io::Result<Vec<(String, bool)>>>;

    /// Writes a page at the beginning of the file.
    fn write(&self, file: &OwnedFd, page: &[u8], flags: u32) -> Result<usize, Errno>;

    /// Reads it.
    fn read_page(&self, file: &OwnedFd, page: &mut [u8], flags: u32) -> Result<usize, Errno>;
}

/// The one that runs here.
struct ThisKernel;

impl Kernel for ThisKernel {
    fn read(&self, path: &str) -> io::Result<String> {
        Ok(std::fs::read_to_string(path)?.trim().to_owned())
    }

    fn ring(&self) -> io::Result<io::Result<Vec<(String, bool)>>> {
        let ring = IoUring::new(8)?;
        let mut probe = Probe::new();
        Ok(ring.submitter().register_probe(&mut probe).map(|()| {
            OPERATIONS
                .map(|(name, code)| (name.to_owned(), probe.is_supported(code)))
                .into()
        }))
    }

    fn write(&self, file: &OwnedFd, page: &[u8], flags: u32) -> Result<usize, Errno> {
        let flags = ReadWriteFlags::from_bits_retain(flags);
        rustix::io::pwritev2(file, &[IoSlice::new(page)], 0, flags)
    }

    fn read_page(&self, file: &OwnedFd, page: &mut [u8], flags: u32) -> Result<usize, Errno> {
        let flags = ReadWriteFlags::from_bits_retain(flags);
        rustix::io::preadv2(file, &mut [IoSliceMut::new(page)], 0, flags)
    }
}

/// What this machine offers, with files in `directory`. Nothing is left there. If no file can be
/// made in it, the answers that need one are empty and [`HostReport::unknown`] has the reason.
///
/// # Errors
///
/// When there is no such directory, or the clock cannot be measured.
pub fn probe_host(
    directory: &Path,
    clock: &dyn Clock,
    vectored_version: &str,
) -> Result<HostReport, MeasureError> {
    let (info, files) = match check_directory(directory, Target::File, 0) {
        Ok(info) => (Some(info), Files::make(directory)),
        // There is room for a page.
        Err(MeasureError::NoSpace { .. }) => (describe(directory), Files::make(directory)),
        Err(MeasureError::Directory { why, source, .. }) if is_there(directory, &source) => {
            (describe(directory), Err(format!("{why}: {source}")))
        }
        Err(error) => return Err(error),
    };
    let kernel = &ThisKernel;
    let host = describe_host(info, (None, None), allowed_cpus());
    let ruler = measure_ruler(clock).map_err(|source| MeasureError::Io {
        what: "cannot measure the clock with /dev/null".to_owned(),
        source,
    })?;
    let mut unknown = reasons(kernel, &host);
    if host.directory.is_none() {
        let shown = directory.display();
        unknown.insert("directory".to_owned(), format!("cannot look at '{shown}'"));
    }
    let (write_flags, read_flags, direct_io) = match &files {
        Ok(files) => (
            files.write_flags(kernel),
            files.read_flags(kernel),
            files.direct_offer(),
        ),
        Err(why) => {
            for field in ["write_flags", "read_flags"] {
                unknown.insert(field.to_owned(), why.clone());
            }
            let direct = DirectOffer {
                open: format!("unknown: {why}"),
                memory_bytes: Known::Unknown("no file could be made".to_owned()),
                offset_bytes: Known::Unknown("no file could be made".to_owned()),
            };
            (Vec::new(), Vec::new(), direct)
        }
    };
    Ok(HostReport {
        schema: HOST_SCHEMA.to_owned(),
        vectored_version: vectored_version.to_owned(),
        unknown,
        host,
        ruler,
        io_uring: io_uring_offer(kernel),
        write_flags,
        read_flags,
        direct_io,
        buffers: buffer_limits(kernel),
        huge_pages: huge_pages(kernel),
    })
}

/// Whether a directory exists that the kernel made no file in. A directory that this process may
/// not look at counts as one: only the kernel knows more.
fn is_there(directory: &Path, error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::NotADirectory => false,
        io::ErrorKind::NotFound => directory.is_dir(),
        _ => true,
    }
}

/// A directory in which a run would have no room, or could make no file.
fn describe(directory: &Path) -> Option<DirectoryInfo> {
    let mount = rustix::fs::statvfs(directory).ok()?;
    let free_bytes = mount.f_bavail.saturating_mul(mount.f_frsize);
    let path = directory.canonicalize().ok()?;
    let stat = rustix::fs::stat(directory).ok()?;
    Some(describe_directory(&path, free_bytes, &stat))
}

/// Why fields of `host` are null.
fn reasons(kernel: &dyn Kernel, host: &Host) -> BTreeMap<String, String> {
    let is_null = |field: &str| match field {
        "clock_source" => host.clock_source.is_none(),
        "cpu.governor" => host.cpu.governor.is_none(),
        "cpu.l1d_bytes" => host.cpu.l1d_bytes.is_none(),
        "cpu.l2_bytes" => host.cpu.l2_bytes.is_none(),
        "cpu.l3_bytes" => host.cpu.l3_bytes.is_none(),
        "cpu.mitigations" => host.cpu.mitigations.is_empty(),
        _ => false,
    };
    SOURCES
        .iter()
        .filter(|(field, _)| is_null(field))
        .filter_map(|(field, path)| match text(kernel, path) {
            Known::Value(_) => None,
            Known::Unknown(why) => Some(((*field).to_owned(), why)),
        })
        .collect()
}

fn io_uring_offer(kernel: &dyn Kernel) -> IoUringOffer {
    let disabled_sysctl = number(kernel, "/proc/sys/kernel/io_uring_disabled");
    let (ring, operations) = match kernel.ring() {
        Ok(operations) => (Known::Value(true), operations),
        Err(error) => {
            let name = error_name(&error);
            let cause = match (error.raw_os_error(), disabled_sysctl.value()) {
                (_, Some(2)) => "the sysctl kernel.io_uring_disabled is 2",
                (_, Some(1)) => {
                    "the sysctl kernel.io_uring_disabled is 1: only CAP_SYS_ADMIN or the group \
                     in kernel.io_uring_group may"
                }
                (Some(code), _) if code == Errno::NOSYS.raw_os_error() => {
                    "this kernel is without io_uring, or a sandbox hides it"
                }
                (Some(code), _) if code == Errno::PERM.raw_os_error() => {
                    "a sandbox forbids it, as seccomp profiles of containers do"
                }
                (Some(code), _) if code == Errno::NOMEM.raw_os_error() => {
                    "too little memory may be locked: see ulimit -l"
                }
                _ => "io_uring_setup(2) failed",
            };
            (Known::Unknown(format!("{name}: {cause}")), Ok(Vec::new()))
        }
    };
    let (operations, operations_unknown) = match operations {
        Ok(operations) => (operations, None),
        Err(error) => {
            let name = error_name(&error);
            (
                Vec::new(),
                Some(format!("{name} from IORING_REGISTER_PROBE")),
            )
        }
    };
    IoUringOffer {
        ring,
        disabled_sysctl,
        operations,
        operations_unknown,
        memlock_bytes: getrlimit(Resource::Memlock).current,
    }
}

/// The files that flags are tried on.
struct Files {
    buffered: OwnedFd,
    direct: Result<OwnedFd, Errno>,
    bytes: usize,
    memory_bytes: usize,
}

impl Files {
    /// Two files in the directory, or why there are none.
    fn make(directory: &Path) -> Result<Self, String> {
        let file = || {
            unnamed_file(directory, OFlags::APPEND)
                .map_err(|error| format!("no temporary file can be made there: {error}"))
        };
        Ok(Files::new(file()?, file()?))
    }

    fn new(buffered: OwnedFd, direct: OwnedFd) -> Self {
        // Without the O_APPEND that measured files have: the flags of that
        // name are to be seen alone. A file that keeps it can still be asked
        // for the rest.
        let _ = rustix::fs::fcntl_setfl(&buffered, OFlags::RDWR);
        let direct =
            rustix::fs::fcntl_setfl(&direct, OFlags::RDWR | OFlags::DIRECT).map(|()| direct);
        let alignment = DirectAlignment::of(&buffered).unwrap_or(DirectAlignment::CONSERVATIVE);
        Files {
            buffered,
            direct,
            bytes: TRIAL_BYTES.max(alignment.offset_bytes),
            memory_bytes: TRIAL_BYTES.max(alignment.memory_bytes),
        }
    }

    fn page(&self) -> AlignedBuffer {
        AlignedBuffer::zeroed(self.bytes, self.memory_bytes)
    }

    fn write_flags(&self, kernel: &dyn Kernel) -> Vec<FlagAnswer> {
        let page = self.page();
        // Bytes that are there, so that NOWAIT need not wait for their place.
        let _ = kernel.write(&self.buffered, &page, 0);
        let _ = self
            .direct
            .as_ref()
            .map(|file| kernel.write(file, &page, 0));
        self.answers(&WRITE_FLAGS, |file, flag| kernel.write(file, &page, flag))
    }

    fn read_flags(&self, kernel: &dyn Kernel) -> Vec<FlagAnswer> {
        self.answers(&READ_FLAGS, |file, flag| {
            kernel.read_page(file, &mut self.page(), flag)
        })
    }

    fn answers(
        &self,
        flags: &[(&str, u32)],
        call: impl Fn(&OwnedFd, u32) -> Result<usize, Errno>,
    ) -> Vec<FlagAnswer> {
        let answer = |file: &OwnedFd, flag| answer(call(file, flag));
        let all = flags.iter().map(|&(name, flag)| FlagAnswer {
            flag: name.to_owned(),
            buffered: answer(&self.buffered, flag),
            direct: self.direct.as_ref().ok().map(|file| answer(file, flag)),
        });
        all.collect()
    }

    fn direct_offer(&self) -> DirectOffer {
        let (memory_bytes, offset_bytes) = match statx_alignment(&self.buffered) {
            Known::Value((memory, offset)) => (Known::Value(memory), Known::Value(offset)),
            Known::Unknown(why) => (Known::Unknown(why.clone()), Known::Unknown(why)),
        };
        DirectOffer {
            open: match &self.direct {
                Ok(_) => "ok".to_owned(),
                Err(errno) => errno_name(*errno),
            },
            memory_bytes,
            offset_bytes,
        }
    }
}

/// `STATX_DIOALIGN` itself; the library's answer is never unknown.
fn statx_alignment(file: impl AsFd) -> Known<(u64, u64)> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let unknown = |why: &str| Known::Unknown(why.to_owned());
    match statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(answer) if answer.stx_mask & StatxFlags::DIOALIGN.bits() == 0 => {
            unknown("the file system does not answer STATX_DIOALIGN")
        }
        Ok(answer) if answer.stx_dio_mem_align == 0 || answer.stx_dio_offset_align == 0 => {
            unknown("the file system offers no direct I/O, says STATX_DIOALIGN")
        }
        Ok(answer) => Known::Value((
            answer.stx_dio_mem_align.into(),
            answer.stx_dio_offset_align.into(),
        )),
        Err(errno) => Known::Unknown(format!("{} from statx(2)", errno_name(errno))),
    }
}

fn buffer_limits(kernel: &dyn Kernel) -> BufferLimits {
    let three = |path: &str| {
        parsed(kernel, path, |text| {
            let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
            numbers.ok()?.try_into().ok()
        })
    };
    BufferLimits {
        pipe_max_bytes: number(kernel, "/proc/sys/fs/pipe-max-size"),
        wmem_default_bytes: number(kernel, "/proc/sys/net/core/wmem_default"),
        wmem_max_bytes: number(kernel, "/proc/sys/net/core/wmem_max"),
        rmem_default_bytes: number(kernel, "/proc/sys/net/core/rmem_default"),
        rmem_max_bytes: number(kernel, "/proc/sys/net/core/rmem_max"),
        tcp_wmem_bytes: three("/proc/sys/net/ipv4/tcp_wmem"),
        tcp_rmem_bytes: three("/proc/sys/net/ipv4/tcp_rmem"),
    }
}

fn huge_pages(kernel: &dyn Kernel) -> HugePages {
    let meminfo = |field: &str| {
        parsed(kernel, "/proc/meminfo", |text| {
            let line = text.lines().find_map(|line| line.strip_prefix(field))?;
            line.trim_start_matches(':')
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
    };
    HugePages {
        // The one that is chosen stands in brackets.
        transparent: parsed(
            kernel,
            "/sys/kernel/mm/transparent_hugepage/enabled",
            |text| {
                let (chosen, _) = text.split_once('[')?.1.split_once(']')?;
                Some(chosen.to_owned())
            },
        ),
        page_bytes: meminfo("Hugepagesize").map(|kib: u64| kib * 1024),
        reserved: meminfo("HugePages_Total"),
    }
}

fn number(kernel: &dyn Kernel, path: &str) -> Known<u64> {
    parsed(kernel, path, |text| text.parse().ok())
}

fn text(kernel: &dyn Kernel, path: &str) -> Known<String> {
    parsed(kernel, path, |text| Some(text.to_owned()))
}

fn parsed<T>(kernel: &dyn Kernel, path: &str, parse: impl Fn(&str) -> Option<T>) -> Known<T> {
    match kernel.read(path) {
        Ok(text) => match parse(&text) {
            Some(value) => Known::Value(value),
            None => Known::Unknown(format!("no such figure in {path}")),
        },
        Err(error) => Known::Unknown(match error.kind() {
            io::ErrorKind::PermissionDenied => format!("permission denied reading {path}"),
            io::ErrorKind::NotFound => format!("there is no {path}"),
            _ => format!("{} reading {path}", error_name(&error)),
        }),
    }
}

fn answer(result: Result<usize, Errno>) -> String {
    match result {
        Ok(TRIAL_BYTES..) => "ok".to_owned(),
        Ok(short) => format!("short ({short} bytes)"),
        Err(errno) => errno_name(errno),
    }
}

fn error_name(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(errno) => errno_name(errno),
        None => error.to_string(),
    }
}

/// The name in `errno.h`, of those that are likely here.
fn errno_name(errno: Errno) -> String {
    let name = match errno {
        Errno::ACCESS => "EACCES",
        Errno::AGAIN => "EAGAIN",
        Errno::DQUOT => "EDQUOT",
        Errno::FBIG => "EFBIG",
        Errno::INVAL => "EINVAL",
        Errno::IO => "EIO",
        Errno::MFILE => "EMFILE",
        Errno::NFILE => "ENFILE",
        Errno::NOENT => "ENOENT",
        Errno::NOMEM => "ENOMEM",
        Errno::NOSPC => "ENOSPC",
        Errno::NOSYS => "ENOSYS",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::PERM => "EPERM",
        Errno::ROFS => "EROFS",
        other => return format!("errno {}", other.raw_os_error()),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::sampling::clock::MonotonicClock;

    /// One that refuses whatever it is asked.
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

        fn write(&self, _: &OwnedFd, _: &[u8], _: u32) -> Result<usize, Errno> {
            Err(self.call)
        }

        fn read_page(&self, _: &OwnedFd, _: &mut [u8], _: u32) -> Result<usize, Errno> {
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
    fn what_is_surely_there_is_found() {
        let directory = std::env::temp_dir();
        let report = probe_host(&directory, &MonotonicClock, "0").unwrap();
        assert_eq!(report.schema, HOST_SCHEMA);
        // POSIX's _XOPEN_IOV_MAX.
        assert!(report.host.iov_max >= 16);
        assert!(report.host.memory_bytes > 1 << 20);
        assert!(report.host.pipe_bytes.unwrap() >= 4096);
        assert_eq!(report.host.steal_share, None);
        assert!(report.buffers.pipe_max_bytes.value().unwrap() >= &4096);
        assert!(report.ruler.reading_ns > 0.0);
        let names: Vec<&str> = report.write_flags.iter().map(|a| a.flag.as_str()).collect();
        assert_eq!(names.len(), WRITE_FLAGS.len());
        for flag in ["DSYNC", "SYNC", "APPEND"] {
            let answer = report.write_flags.iter().find(|answer| answer.flag == flag);
            assert_eq!(answer.unwrap().buffered, "ok", "{flag}");
        }
        let directory = report.host.directory.as_ref().unwrap();
        assert!(directory.st_blksize > 0);
        // With a ring there are answers, without one there is a reason.
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
    fn a_directory_that_takes_no_file_leaves_the_rest_of_the_report() {
        // Not even root can make a file there.
        let report = probe_host(Path::new("/proc"), &MonotonicClock, "0").unwrap();
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
            let refused = probe_host(Path::new(directory), &MonotonicClock, "0").unwrap_err();
            assert!(
                matches!(refused, MeasureError::Directory { .. }),
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
    fn files_are_without_the_flags_that_are_tried() {
        let files = files();
        let flags = rustix::fs::fcntl_getfl(&files.buffered).unwrap();
        assert!(!flags.contains(OFlags::APPEND) && !flags.contains(OFlags::DIRECT));
        if let Ok(direct) = &files.direct {
            let flags = rustix::fs::fcntl_getfl(direct).unwrap();
            assert!(!flags.contains(OFlags::APPEND) && flags.contains(OFlags::DIRECT));
        }
    }

    #[test]
    fn what_is_refused_is_told_with_its_reason() {
        let limits = buffer_limits(&REFUSAL);
        let path = "/proc/sys/net/core/wmem_max";
        let why = format!("permission denied reading {path}");
        assert_eq!(limits.wmem_max_bytes, Known::Unknown(why));
        let absent = Refusal {
            read: io::ErrorKind::NotFound,
            ..REFUSAL
        };
        let why = "there is no /sys/kernel/mm/transparent_hugepage/enabled";
        let pages = huge_pages(&absent);
        assert_eq!(pages.transparent, Known::Unknown(why.to_owned()));
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
        check(
            None,
            Errno::NOSYS,
            "ENOSYS: this kernel is without io_uring",
        );
        check(None, Errno::NOMEM, "ulimit -l");
    }

    #[test]
    fn figures_are_read_out_of_their_texts() {
        struct Texts;
        impl Kernel for Texts {
            fn read(&self, path: &str) -> io::Result<String> {
                Ok(match path {
                    "/proc/meminfo" => {
                        "MemTotal: 1 kB\nHugePages_Total:     3\nHugepagesize:    2048 kB"
                    }
                    "/sys/kernel/mm/transparent_hugepage/enabled" => "always [madvise] never",
                    "/proc/sys/net/ipv4/tcp_wmem" => "4096\t16384\t4194304",
                    _ => "nonsense",
                }
                .to_owned())
            }
            fn ring(&self) -> io::Result<io::Result<Vec<(String, bool)>>> {
                Ok(Err(Errno::INVAL.into()))
            }
            fn write(&self, _: &OwnedFd, _: &[u8], _: u32) -> Result<usize, Errno> {
                Ok(1)
            }
            fn read_page(&self, _: &OwnedFd, _: &mut [u8], _: u32) -> Result<usize, Errno> {
                Ok(TRIAL_BYTES)
            }
        }
        let pages = huge_pages(&Texts);
        assert_eq!(pages.page_bytes, Known::Value(2 << 20));
        assert_eq!(pages.reserved, Known::Value(3));
        assert_eq!(pages.transparent, Known::Value("madvise".to_owned()));
        let limits = buffer_limits(&Texts);
        assert_eq!(limits.tcp_wmem_bytes, Known::Value([4096, 16384, 4194304]));
        let why = "no such figure in /proc/sys/net/ipv4/tcp_rmem".to_owned();
        assert_eq!(limits.tcp_rmem_bytes, Known::Unknown(why));
        let offer = io_uring_offer(&Texts);
        assert_eq!(offer.ring, Known::Value(true));
        let why = "EINVAL from IORING_REGISTER_PROBE".to_owned();
        assert_eq!(offer.operations_unknown, Some(why));
        assert_eq!(files().write_flags(&Texts)[0].buffered, "short (1 bytes)");
    }
}
