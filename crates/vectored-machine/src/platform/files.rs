//! Files without names, files that bypass the page cache, and the eviction of files from the page cache.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

pub use crate::sys::provisional::ProvisionalFile;
pub use crate::sys::residency::resident_bytes;
pub use crate::sys::standard::{Standard, close, close_standard_output, was_closed};

use super::system_names::kernel_text;
use crate::model::DirectoryInfo;

/// Whether the file system has a limit, and what is known of the directory.
pub(crate) fn describe(directory: &Path) -> io::Result<(bool, DirectoryInfo)> {
    let (volume, stat) = (
        rustix::fs::statvfs(directory)?,
        rustix::fs::stat(directory)?,
    );
    let path = directory.canonicalize();
    let path = path.unwrap_or_else(|_| directory.to_owned());
    let mounts = kernel_text("/proc/self/mountinfo").ok();
    let mount = mounts.and_then(|mounts| mount_of(&mounts, &path));
    let (file_system, mount_options) = mount.unzip();
    // A partition has no directory `queue`. The directory of its disk, one level up, has it.
    let device = stat.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let read_ahead = ["queue", "../queue"].into_iter().find_map(|queue| {
        kernel_text(&format!(
            "/sys/dev/block/{major}:{minor}/{queue}/read_ahead_kb"
        ))
        .ok()
    });
    let info = DirectoryInfo {
        path: path.to_string_lossy().into_owned(),
        file_system: file_system.unwrap_or_else(|| "unknown".to_owned()),
        mount_options,
        free_bytes: volume.f_bavail.saturating_mul(volume.f_frsize),
        st_blksize: stat.st_blksize as u64,
        read_ahead_kb: read_ahead.and_then(|kib| kib.trim().parse().ok()),
    };
    // A file system that reports no blocks (ramfs, tmpfs without a limit) has no size limit.
    Ok((volume.f_blocks > 0, info))
}

/// File system type and mount options of the mount that holds `path`, from
/// `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
///
/// The deepest mount point above `path` counts. If that point has several mounts, the last counts: it hides the others.
fn mount_of(mounts: &str, path: &Path) -> Option<(String, String)> {
    let holding = mounts.lines().filter_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(4);
        // The kernel writes a space as an octal escape.
        let point = fields.next()?.replace("\\040", " ");
        let options = fields.next()?;
        let kind = file_system.split(' ').next()?;
        path.starts_with(&point)
            .then(|| (point.len(), (kind.to_owned(), options.to_owned())))
    });
    let (_, mount) = holding.max_by_key(|(depth, _)| *depth)?;
    Some(mount)
}

/// Creates a file without a name in `directory`, with `O_TMPFILE` (since Linux 3.11). If the file system lacks `O_TMPFILE`,
/// creates the file under a random name, and removes the name at once.
pub fn unnamed_file(directory: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC | OFlags::EXCL;
    let mode = Mode::RUSR | Mode::WUSR;
    #[cfg(target_os = "linux")]
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, mode) {
        // EISDIR and EINVAL come from a kernel that does not know the flag.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
        outcome => return Ok(outcome?),
    }
    loop {
        let name = directory.join(format!(".vectored-{:016x}", fastrand::u64(..)));
        match rustix::fs::open(&name, flags | OFlags::CREATE, mode) {
            Err(Errno::EXIST) => {}
            outcome => {
                let file = outcome?;
                rustix::fs::unlink(&name)?;
                return Ok(file);
            }
        }
    }
}

/// Turns transfers past the page cache on or off: `O_DIRECT`, and on Apple's systems `F_NOCACHE`.
pub fn set_direct(fd: BorrowedFd<'_>, direct: bool) -> io::Result<()> {
    #[cfg(target_vendor = "apple")]
    return Ok(rustix::fs::fcntl_nocache(fd, direct)?);
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    {
        let mut flags = rustix::fs::fcntl_getfl(fd)?;
        flags.set(OFlags::DIRECT, direct);
        Ok(rustix::fs::fcntl_setfl(fd, flags)?)
    }
    #[cfg(not(any(target_vendor = "apple", target_os = "linux", target_os = "freebsd")))]
    {
        let _ = (fd, direct);
        Err(super::lacks("O_DIRECT"))
    }
}

/// Asks the kernel to evict the pages of a file from the page cache. The kernel may keep some pages.
pub fn evict(file: &File) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    return Ok(rustix::fs::fadvise(
        file,
        0,
        None,
        rustix::fs::Advice::DontNeed,
    )?);
    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    {
        let _ = file;
        Err(super::lacks("way to evict a file from the page cache"))
    }
}

/// Opens a file again for reading, with a new open file description at position 0. Only Linux opens a file by a descriptor:
/// elsewhere `/dev/fd/N` is a duplicate, with the same position.
pub fn reopened(file: &impl AsFd) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    if !cfg!(target_os = "linux") {
        return Err(super::lacks("way to open a file without a name again"));
    }
    File::open(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// The alignment that transfers past the page cache need in memory and in the file, from `STATX_DIOALIGN`; or why the
/// alignment is unknown. (`vectored::files::DirectAlignment` replaces an unknown alignment by a default.)
#[cfg(target_os = "linux")]
pub(crate) fn direct_alignment(file: impl AsFd) -> Result<(u64, u64), String> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let answer = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        .map_err(|error| format!("{} from statx(2)", io::Error::from(error)))?;
    if answer.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return Err("the file system does not support STATX_DIOALIGN".to_owned());
    }
    match (answer.stx_dio_mem_align, answer.stx_dio_offset_align) {
        (0, _) | (_, 0) => {
            Err("the file system does not support direct I/O (STATX_DIOALIGN)".to_owned())
        }
        (memory, offset) => Ok((memory.into(), offset.into())),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn direct_alignment(_file: impl AsFd) -> Result<(u64, u64), String> {
    Err("this system does not report it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let mounts = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n\
                      23 22 0:21 / /dev/shm rw,nosuid - tmpfs tmpfs rw\n\
                      24 22 254:0 /x /mnt/a\\040b ro - ext4 /dev/vda rw\n";
        for (path, kind, options) in [
            ("/home/x", "ext4", "rw,relatime"),
            ("/dev/shm/y", "tmpfs", "rw,nosuid"),
            ("/dev/shmem", "ext4", "rw,relatime"),
            ("/mnt/a b", "ext4", "ro"),
        ] {
            let expected = Some((kind.to_owned(), options.to_owned()));
            assert_eq!(mount_of(mounts, Path::new(path)), expected, "{path}");
        }
    }
}
