//! Probes the features of the host by trying them: each `RWF_` flag is passed
//! to the kernel with a file in the given directory.
//!
//! The probes go through [`Kernel`], so that tests can simulate refusals.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::path::Path;

use vectored::files::{AlignedBuffer, DirectAlignment};

use crate::host::directory::{DirectoryError, check_room};
#[cfg(unix)]
use crate::host::environment::describe_directory;
use crate::host::environment::{allowed_cpus, describe_host};
use crate::model::{
    DirectOffer, DirectoryInfo, FlagAnswer, HOST_SCHEMA, Host, HostReport, IoUringOffer, Known,
    Timer,
};
use crate::platform::calls::{preadv2, pwritev2};
use crate::platform::fd::{AsFd as _, FileDescriptor};
use crate::platform::files::{direct_alignment, set_direct, unnamed_file};
use crate::platform::plain_calls::{Errno, OFlags};
use crate::platform::{rings, system_names};

/// Bytes of one trial: one page, which most storage can also write atomically.
const TRIAL_BYTES: usize = 4096;

/// `RWF_` flags of `linux/fs.h`, in the order of their bits. `DONTCACHE` exists
/// since Linux 6.14.
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

/// The `RWF_` flags that apply to reads.
const READ_FLAGS: [(&str, u32); 3] = [("HIPRI", 0x01), ("NOWAIT", 0x08), ("DONTCACHE", 0x80)];

/// The optional fields of [`Host`], each with the file it is read from.
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

/// The system calls of the probe.
trait Kernel {
    /// Reads a file of `/proc` or `/sys`.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Creates an io_uring and probes its [operations](rings::operations). The outer error is an error of
    /// creating the ring, the inner one an error of `IORING_REGISTER_PROBE`.
    fn ring(&self) -> io::Result<io::Result<Vec<(String, bool)>>>;

    /// Writes a page at offset 0 of the file.
    fn write(&self, file: &FileDescriptor, page: &[u8], flags: u32) -> Result<usize, Errno>;

    /// Reads a page at offset 0 of the file.
    fn read_page(&self, file: &FileDescriptor, page: &mut [u8], flags: u32)
    -> Result<usize, Errno>;
}

struct ThisKernel;

impl Kernel for ThisKernel {
    fn read(&self, path: &str) -> io::Result<String> {
        Ok(system_names::kernel_text(path)?.trim().to_owned())
    }

    fn ring(&self) -> io::Result<io::Result<Vec<(String, bool)>>> {
        rings::operations()
    }

    fn write(&self, file: &FileDescriptor, page: &[u8], flags: u32) -> Result<usize, Errno> {
        pwritev2(file, &[IoSlice::new(page)], 0, flags)
    }

    fn read_page(
        &self,
        file: &FileDescriptor,
        page: &mut [u8],
        flags: u32,
    ) -> Result<usize, Errno> {
        preadv2(file, &mut [IoSliceMut::new(page)], 0, flags)
    }
}

/// Probes this host, with temporary files in `directory`. No file remains there.
///
/// If no file can be created, the answers that need one are empty and
/// [`HostReport::unknown`] has the reason.
pub fn probe_host(
    directory: &Path,
    timer: Timer,
    vectored_version: &str,
) -> Result<HostReport, DirectoryError> {
    let (info, files) = match check_room(directory, 0) {
        Ok(info) => (Some(info), Files::make(directory)),
        // The space is too little for a run, but a probe needs only a few pages.
        Err(DirectoryError::NoSpace { .. }) => (describe(directory), Files::make(directory)),
        Err(DirectoryError::Unusable { why, source, .. }) if is_there(directory, &source) => {
            (describe(directory), Err(format!("{why}: {source}")))
        }
        Err(error) => return Err(error),
    };
    let kernel = &ThisKernel;
    let host = describe_host(info, (None, None), allowed_cpus());
    let mut unknown = reasons(kernel, &host);
    if host.directory.is_none() {
        let shown = directory.display();
        unknown.insert("directory".to_owned(), format!("cannot stat '{shown}'"));
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
        timer,
        io_uring: io_uring_offer(kernel),
        write_flags,
        read_flags,
        direct_io,
    })
}

/// Whether `directory` exists, given the error of creating a file in it. A directory that this
/// process may not access counts as existing.
fn is_there(directory: &Path, error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::NotADirectory => false,
        io::ErrorKind::NotFound => directory.is_dir(),
        _ => true,
    }
}

/// Describes a directory in which a run has too little space or can create no file.
#[cfg(windows)]
fn describe(directory: &Path) -> Option<DirectoryInfo> {
    let (_, described) = crate::platform::files::describe(directory).ok()?;
    Some(described)
}

/// Describes a directory in which a run has too little space or can create no file.
#[cfg(unix)]
fn describe(directory: &Path) -> Option<DirectoryInfo> {
    let mount = rustix::fs::statvfs(directory).ok()?;
    let free_bytes = mount.f_bavail.saturating_mul(mount.f_frsize);
    let path = directory.canonicalize().ok()?;
    let stat = rustix::fs::stat(directory).ok()?;
    Some(describe_directory(&path, free_bytes, &stat))
}

/// The reason for each field of `host` that is null.
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
    let mut reasons = BTreeMap::new();
    for (field, path) in SOURCES.iter().filter(|(field, _)| is_null(field)) {
        if let Known::Unknown(why) = read(kernel, path, |_| Some(())) {
            reasons.insert((*field).to_owned(), why);
        }
    }
    reasons
}

fn io_uring_offer(kernel: &dyn Kernel) -> IoUringOffer {
    let disabled_sysctl = read(kernel, "/proc/sys/kernel/io_uring_disabled", |text| {
        text.parse().ok()
    });
    let (ring, operations) = match kernel.ring() {
        Ok(operations) => (Known::Value(true), operations),
        Err(error) => {
            let name = error_name(&error);
            let cause = match (error.raw_os_error(), disabled_sysctl.value()) {
                (_, Some(2)) => "the sysctl kernel.io_uring_disabled is 2",
                (_, Some(1)) => {
                    "the sysctl kernel.io_uring_disabled is 1: io_uring needs CAP_SYS_ADMIN or \
                     membership in the group kernel.io_uring_group"
                }
                (Some(code), _) if code == Errno::NOSYS.raw_os_error() => {
                    "this kernel has no io_uring, or a sandbox hides it"
                }
                #[cfg(unix)]
                (Some(code), _) if code == Errno::PERM.raw_os_error() => {
                    "a sandbox forbids it, as seccomp profiles of containers do"
                }
                #[cfg(unix)]
                (Some(code), _) if code == Errno::NOMEM.raw_os_error() => {
                    "the limit on locked memory is too low: raise it with ulimit -l"
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
        memlock_bytes: system_names::locked_memory_bytes(),
    }
}

/// The temporary files that flags are tried on.
struct Files {
    buffered: FileDescriptor,
    direct: Result<FileDescriptor, Errno>,
    bytes: usize,
    memory_bytes: usize,
}

impl Files {
    /// Creates two files in the directory; the error is the reason as text.
    fn make(directory: &Path) -> Result<Self, String> {
        let file = || {
            unnamed_file(directory, OFlags::APPEND)
                .map_err(|error| format!("no temporary file can be created there: {error}"))
        };
        Ok(Files::new(file()?, file()?))
    }

    fn new(buffered: FileDescriptor, direct: FileDescriptor) -> Self {
        // Clears the O_APPEND that measured files have, so that RWF_APPEND and
        // RWF_NOAPPEND are tried alone. If it cannot be cleared, the other
        // flags can still be tried, so the error is ignored.
        #[cfg(unix)]
        for file in [&buffered, &direct] {
            let _ = rustix::fs::fcntl_setfl(file, OFlags::RDWR);
        }
        let direct = set_direct(direct.as_fd(), true).map(|()| direct);
        let direct =
            direct.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::OPNOTSUPP));
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
        // Allocates the blocks, so that NOWAIT need not wait for that. An error
        // shows again in the answers.
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
        call: impl Fn(&FileDescriptor, u32) -> Result<usize, Errno>,
    ) -> Vec<FlagAnswer> {
        let answer = |file: &FileDescriptor, flag| answer(call(file, flag));
        let all = flags.iter().map(|&(name, flag)| FlagAnswer {
            flag: name.to_owned(),
            buffered: answer(&self.buffered, flag),
            direct: self.direct.as_ref().ok().map(|file| answer(file, flag)),
        });
        all.collect()
    }

    fn direct_offer(&self) -> DirectOffer {
        let (memory_bytes, offset_bytes) = match direct_alignment(&self.buffered) {
            Ok(Ok((memory, offset))) => (Known::Value(memory), Known::Value(offset)),
            Ok(Err(why)) => (
                Known::Unknown(why.to_owned()),
                Known::Unknown(why.to_owned()),
            ),
            Err(errno) => {
                let why = format!("{} from statx(2)", errno_name(errno));
                (Known::Unknown(why.clone()), Known::Unknown(why))
            }
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

fn read<T>(kernel: &dyn Kernel, path: &str, parse: impl Fn(&str) -> Option<T>) -> Known<T> {
    match kernel.read(path) {
        Ok(text) => match parse(&text) {
            Some(value) => Known::Value(value),
            None => Known::Unknown(format!("{path} has no such value")),
        },
        Err(error) => Known::Unknown(match error.kind() {
            io::ErrorKind::PermissionDenied => format!("permission denied reading {path}"),
            io::ErrorKind::NotFound => format!("{path} does not exist"),
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

/// `ENOSYS`, the name on Unix, for what the system lacks; other errors in the words of Windows.
#[cfg(windows)]
fn errno_name(errno: Errno) -> String {
    match errno {
        Errno::NOSYS => "ENOSYS".to_owned(),
        other => io::Error::from(other).to_string(),
    }
}

/// The name in `errno.h` of the errors that are likely here; others as a number.
#[cfg(unix)]
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
mod tests;
