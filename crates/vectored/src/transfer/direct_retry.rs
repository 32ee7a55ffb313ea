//! A second attempt, uncopied, at a file that is open with `O_DIRECT`.

use std::os::fd::BorrowedFd;

use rustix::fs::FileType;

use crate::error::TransferError;
use crate::transfer::support_cache::FileIdentity;

/// Whether the descriptor is a file or block device that is open with `O_DIRECT`. (On a pipe the flag means
/// packets.)
fn is_direct(fd: BorrowedFd<'_>) -> bool {
    let kinds = [FileType::RegularFile, FileType::BlockDevice];
    FileIdentity::of(fd).is_some_and(|file| file.is_direct && kinds.contains(&file.kind))
}

/// Sends the rest of a list uncopied if a transfer that copies was refused with `EINVAL` by a file that is open
/// with `O_DIRECT`, and passes on any other error. `resend` moves what is left behind the given number of bytes.
/// (A `BufSender` cannot, and copies to an aligned address.)
///
/// Staging is aligned, so this is for lists of which a call ends within a segment, as with
/// [`ChunkPolicy`](crate::ChunkPolicy), and for storage that asks for more than a page. A list that is not aligned itself
/// is refused once more.
#[cold]
pub(crate) fn resend_uncopied(
    fd: BorrowedFd<'_>,
    refused: TransferError,
    resend: impl FnOnce(u64) -> Result<u64, TransferError>,
) -> Result<u64, TransferError> {
    if refused.io_error().raw_os_error() != Some(libc::EINVAL) || !is_direct(fd) {
        return Err(refused);
    }
    let before = refused.transferred();
    match resend(before) {
        Ok(bytes) => Ok(before + bytes),
        Err(error) => Err(error.behind(before)),
    }
}
