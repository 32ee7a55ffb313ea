//! Probes what the host offers by trying it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::host::directory::{DirectoryError, check_room};
#[cfg(unix)]
use crate::host::environment::describe_directory;
use crate::host::environment::{allowed_cpus, describe_host};
use crate::model::{DirectOffer, DirectoryInfo, HOST_SCHEMA, Host, HostReport, Known, Timer};
use crate::platform::fd::{AsFd as _, FileDescriptor};
use crate::platform::files::{direct_alignment, set_direct, unnamed_file};
use crate::platform::plain_calls::OFlags;
use crate::platform::system_names::kernel_text;

/// A field of [`Host`], the file it is read from, and whether it is unknown.
type Source = (&'static str, &'static str, fn(&Host) -> bool);

/// The optional fields of [`Host`] that are read from one file.
const SOURCES: [Source; 6] = [
    (
        "clock_source",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        |host| host.clock_source.is_none(),
    ),
    (
        "cpu.governor",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        |host| host.cpu.governor.is_none(),
    ),
    (
        "cpu.l1d_bytes",
        "/sys/devices/system/cpu/cpu0/cache/index0/size",
        |host| host.cpu.l1d_bytes.is_none(),
    ),
    (
        "cpu.l2_bytes",
        "/sys/devices/system/cpu/cpu0/cache/index2/size",
        |host| host.cpu.l2_bytes.is_none(),
    ),
    (
        "cpu.l3_bytes",
        "/sys/devices/system/cpu/cpu0/cache/index3/size",
        |host| host.cpu.l3_bytes.is_none(),
    ),
    (
        "cpu.mitigations",
        "/sys/devices/system/cpu/vulnerabilities/spectre_v1",
        |host| host.cpu.mitigations.is_empty(),
    ),
];

/// Probes this host, with a temporary file in `directory`. No file remains there.
///
/// If no file can be created, [`HostReport::direct_io`] has the reason.
pub fn probe_host(
    directory: &Path,
    timer: Timer,
    vectored_version: &str,
) -> Result<HostReport, DirectoryError> {
    let (info, file) = match check_room(directory, 0) {
        Ok(info) => (Some(info), new_file(directory)),
        // The space is too little for a run, but a probe writes nothing.
        Err(DirectoryError::NoSpace { .. }) => (describe(directory), new_file(directory)),
        Err(DirectoryError::Unusable { why, source, .. }) if is_there(directory, &source) => {
            (describe(directory), Err(format!("{why}: {source}")))
        }
        Err(error) => return Err(error),
    };
    let host = describe_host(info, (None, None), allowed_cpus());
    let mut unknown = reasons(&host, &kernel_text);
    if host.directory.is_none() {
        let shown = directory.display();
        unknown.insert("directory".to_owned(), format!("cannot stat '{shown}'"));
    }
    Ok(HostReport {
        schema: HOST_SCHEMA.to_owned(),
        vectored_version: vectored_version.to_owned(),
        unknown,
        host,
        timer,
        io_uring: ring(),
        direct_io: direct_offer(file),
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
fn reasons(host: &Host, read: &dyn Fn(&str) -> io::Result<String>) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    for (field, path, _) in SOURCES.iter().filter(|(.., is_unknown)| is_unknown(host)) {
        let Err(error) = read(path) else { continue };
        let why = match error.kind() {
            io::ErrorKind::PermissionDenied => format!("permission denied reading {path}"),
            io::ErrorKind::NotFound => format!("{path} does not exist"),
            _ => format!("{error} reading {path}"),
        };
        reasons.insert((*field).to_owned(), why);
    }
    reasons
}

/// Whether a ring can be made, or why not.
fn ring() -> Known<bool> {
    #[cfg(all(
        target_os = "linux",
        target_pointer_width = "64",
        target_endian = "little"
    ))]
    return match vectored::uring::Ring::new(8) {
        Ok(_) => Known::Value(true),
        Err(error) => Known::Unknown(error.to_string()),
    };
    #[cfg(not(all(
        target_os = "linux",
        target_pointer_width = "64",
        target_endian = "little"
    )))]
    Known::Unknown("vectored uses it on 64-bit Linux only".to_owned())
}

/// A file without a name in the directory, or the reason why there is none.
fn new_file(directory: &Path) -> Result<FileDescriptor, String> {
    unnamed_file(directory, OFlags::empty())
        .map_err(|error| format!("no temporary file can be created there: {error}"))
}

fn direct_offer(file: Result<FileDescriptor, String>) -> DirectOffer {
    let (open, alignment) = match file {
        Ok(file) => {
            let alignment = direct_alignment(&file);
            let opened = set_direct(file.as_fd(), true);
            let opened = opened.map_or_else(|error| error.to_string(), |()| "ok".to_owned());
            (opened, alignment)
        }
        Err(why) => (
            format!("unknown: {why}"),
            Err("no file could be made".to_owned()),
        ),
    };
    let (memory_bytes, offset_bytes) = match alignment {
        Ok((memory, offset)) => (Known::Value(memory), Known::Value(offset)),
        Err(why) => (Known::Unknown(why.clone()), Known::Unknown(why)),
    };
    DirectOffer {
        open,
        memory_bytes,
        offset_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let directory = report.host.directory.as_ref().unwrap();
        assert!(directory.st_blksize > 0);
        assert!(!report.direct_io.open.starts_with("unknown"));
        if let Known::Unknown(why) = &report.io_uring {
            assert!(why.contains(": "), "{why}");
        }
    }

    #[test]
    fn the_rest_is_reported_if_the_directory_refuses_files() {
        // Not even root can create a file there.
        let report = probe_host(Path::new("/proc"), Timer::default(), "0").unwrap();
        assert!(report.host.iov_max >= 16);
        let info = report.host.directory.as_ref().unwrap();
        let found = (info.path.as_str(), info.file_system.as_str());
        assert_eq!(found, ("/proc", "proc"));
        let why = "unknown: no temporary file";
        assert!(report.direct_io.open.starts_with(why));
        assert_eq!(report.direct_io.memory_bytes.value(), None);
        for directory in ["/proc/nowhere", "/proc/version"] {
            let refused = probe_host(Path::new(directory), Timer::default(), "0").unwrap_err();
            let is_unusable = matches!(refused, DirectoryError::Unusable { .. });
            assert!(is_unusable, "{refused}");
        }
    }

    #[test]
    fn an_unknown_field_has_its_reason() {
        let refused = |kind: io::ErrorKind| {
            let why = reasons(&Host::default(), &|_| Err(kind.into()));
            assert_eq!(why.len(), SOURCES.len());
            why["clock_source"].clone()
        };
        let path = SOURCES[0].1;
        let denied = refused(io::ErrorKind::PermissionDenied);
        assert_eq!(denied, format!("permission denied reading {path}"));
        let absent = refused(io::ErrorKind::NotFound);
        assert_eq!(absent, format!("{path} does not exist"));
        assert!(refused(io::ErrorKind::TimedOut).ends_with(&format!(" reading {path}")));
        let readable = reasons(&Host::default(), &|_| Ok(String::new()));
        assert!(readable.is_empty());
    }
}
