//! Finds out what the host offers: tries each feature.

use std::io;
use std::path::Path;

use crate::host::directory::unusable;
use crate::host::environment::describe_host;
use crate::model::{DirectOffer, HOST_SCHEMA, HostReport, Known, Timer};
use crate::platform::cpus;
use crate::platform::fd::{AsFd as _, FileDescriptor};
use crate::platform::files::{describe, direct_alignment, set_direct, unnamed_file};
use crate::platform::plain_calls::OFlags;

/// Probes this host, with a temporary file in `directory`, or without one if no file can be created there.
pub fn probe_host(
    directory: &Path,
    timer: Timer,
    vectored_version: &str,
) -> io::Result<HostReport> {
    let file = match unnamed_file(directory, OFlags::empty()) {
        Err(error) if !is_there(directory, &error) => return Err(unusable(directory, error)),
        file => file.map_err(|error| format!("no temporary file can be created there: {error}")),
    };
    let info = describe(directory).ok().map(|(_, info)| info);
    Ok(HostReport {
        schema: HOST_SCHEMA.to_owned(),
        vectored_version: vectored_version.to_owned(),
        host: describe_host(info, (None, None), cpus::allowed()),
        timer,
        io_uring: ring(),
        direct_io: direct_offer(file),
    })
}

/// Whether `directory` exists. `error` is the error of creating a file there. A directory that this process may not access
/// counts as existing.
fn is_there(directory: &Path, error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::NotADirectory => false,
        io::ErrorKind::NotFound => directory.is_dir(),
        _ => true,
    }
}

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
        assert!(matches!(report.direct_io.memory_bytes, Known::Unknown(_)));
        for directory in ["/proc/nowhere", "/proc/version"] {
            let refused = probe_host(Path::new(directory), Timer::default(), "0").unwrap_err();
            assert!(refused.to_string().starts_with("cannot use the directory"));
        }
    }
}
