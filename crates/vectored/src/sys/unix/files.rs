//! The kind, the properties and the readiness of a descriptor: fstat(2), fcntl(2), getsockopt(2), statx(2) and poll(2).

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use rustix::net::{SocketType, sockopt};

use crate::descriptor::borrowed::BorrowedDescriptor;
use crate::sys::open_file::{CopyEnd, FileKind, OpenFile};

/// A pipe keeps the bytes of a call of up to this size together.
pub(crate) const PIPE_BUF: usize = libc::PIPE_BUF;

impl OpenFile {
    /// Returns `None` if fstat(2) fails.
    pub(crate) fn describe(fd: BorrowedDescriptor<'_>) -> Option<OpenFile> {
        let stat = rustix::fs::fstat(fd).ok()?;
        #[cfg(target_os = "linux")]
        let is_direct = {
            let flags = rustix::fs::fcntl_getfl(fd).ok()?;
            flags.contains(rustix::fs::OFlags::DIRECT)
        };
        // Only Linux is asked for `O_DIRECT`.
        #[cfg(not(target_os = "linux"))]
        let is_direct = false;
        Some(OpenFile {
            kind: kind(FileType::from_raw_mode(stat.st_mode)),
            is_direct,
        })
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn pipe_bytes(fd: BorrowedDescriptor<'_>) -> Option<usize> {
    rustix::pipe::fcntl_getpipe_size(fd).ok()
}

/// Enlarges a pipe to `bytes`, unless the pipe is larger already. If the kernel refuses, the size does not change.
#[cfg(target_os = "linux")]
pub(crate) fn enlarge_pipe(fd: BorrowedDescriptor<'_>, bytes: usize) {
    if pipe_bytes(fd).is_some_and(|now| now < bytes) {
        let _ = rustix::pipe::fcntl_setpipe_size(fd, bytes);
    }
}

/// Returns the size of a pipe. Only Linux reports the size.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pipe_bytes(_fd: BorrowedDescriptor<'_>) -> Option<usize> {
    None
}

/// Returns whether a file is on ext2, ext3, ext4 or tmpfs. These file systems cannot copy by sharing blocks or on a
/// server, so the kernel copies page by page.
#[cfg(target_os = "linux")]
// The type of the integer differs between systems.
#[allow(clippy::unnecessary_cast)]
pub(crate) fn is_without_copies(fd: BorrowedDescriptor<'_>) -> bool {
    const EXT4: u32 = 0xef53;
    const TMPFS: u32 = 0x0102_1994;
    rustix::fs::fstatfs(fd).is_ok_and(|found| matches!(found.f_type as u32, EXT4 | TMPFS))
}

/// Returns true, because this crate calls `copy_file_range` only on Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_without_copies(_fd: BorrowedDescriptor<'_>) -> bool {
    true
}

impl CopyEnd {
    // The types of the integers differ between systems.
    #[allow(clippy::unnecessary_cast)]
    pub(crate) fn describe(fd: BorrowedDescriptor<'_>) -> io::Result<CopyEnd> {
        let stat = rustix::fs::fstat(fd)?;
        let kind = kind(FileType::from_raw_mode(stat.st_mode));
        #[cfg(target_os = "linux")]
        let is_null = kind == FileKind::Character && stat.st_rdev == rustix::fs::makedev(1, 3);
        #[cfg(not(target_os = "linux"))]
        let is_null = false;
        Ok(CopyEnd {
            kind,
            file: Some((stat.st_dev as u64, stat.st_ino as u64)),
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            is_null,
        })
    }
}

/// Returns whether a copy of a file of this size to itself would read its own output, so that the copy would never end.
/// The two descriptors have separate positions. GNU `cat` has the same rule.
pub(crate) fn is_written_ahead(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    bytes: u64,
) -> io::Result<bool> {
    let appends = rustix::fs::fcntl_getfl(to)?.contains(OFlags::APPEND);
    let written_at = if appends { bytes } else { rustix::fs::tell(to)? };
    Ok(rustix::fs::tell(from)? < written_at)
}

/// Returns whether a read of the descriptor may wait for another process.
pub(crate) fn may_be_silent(fd: BorrowedDescriptor<'_>, kind: FileKind) -> bool {
    let flags = || rustix::fs::fcntl_getfl(fd);
    !matches!(kind, FileKind::Regular | FileKind::Block)
        && flags().is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK))
}

/// Waits up to a tenth of a second for bytes or the end. Returns false after that time or after a signal. An error is
/// ignored, because the next read reports the error.
pub(crate) fn await_input(fd: BorrowedDescriptor<'_>) -> bool {
    let most = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    let polled = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&most));
    !matches!(polled, Ok(0) | Err(Errno::INTR))
}

fn kind(file_type: FileType) -> FileKind {
    match file_type {
        FileType::RegularFile => FileKind::Regular,
        FileType::BlockDevice => FileKind::Block,
        FileType::CharacterDevice => FileKind::Character,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        _ => FileKind::Other,
    }
}

pub(crate) fn is_fifo(fd: BorrowedDescriptor<'_>) -> io::Result<bool> {
    let mode = rustix::fs::fstat(fd)?.st_mode;
    Ok(FileType::from_raw_mode(mode) == FileType::Fifo)
}

/// Returns the type of a socket that keeps messages apart. Returns `None` for stream sockets, other descriptors and
/// invalid descriptors.
pub(crate) fn message_socket(fd: BorrowedDescriptor<'_>) -> Option<&'static str> {
    match sockopt::socket_type(fd) {
        Ok(SocketType::STREAM) | Err(_) => None,
        Ok(SocketType::DGRAM) => Some("SOCK_DGRAM"),
        Ok(SocketType::SEQPACKET) => Some("SOCK_SEQPACKET"),
        Ok(SocketType::RAW) => Some("SOCK_RAW"),
        Ok(SocketType::RDM) => Some("SOCK_RDM"),
        Ok(_) => Some("not SOCK_STREAM"),
    }
}

/// Returns the alignments of memory and offsets for direct I/O, or `None` if the kernel does not report the alignments.
#[cfg(target_os = "linux")]
pub(crate) fn direct_alignment(fd: BorrowedDescriptor<'_>) -> io::Result<Option<(u32, u32)>> {
    use rustix::fs::{AtFlags, StatxFlags};

    match rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(answer) if answer.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => Ok(Some((
            answer.stx_dio_mem_align,
            answer.stx_dio_offset_align,
        ))),
        // Linux before 4.11 has no statx(2).
        Ok(_) | Err(Errno::NOSYS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn direct_alignment(_fd: BorrowedDescriptor<'_>) -> io::Result<Option<(u32, u32)>> {
    Ok(None)
}
