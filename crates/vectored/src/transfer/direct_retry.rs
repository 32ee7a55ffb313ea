//! Retries a transfer without copying, for files that are open with `O_DIRECT`.

use crate::descriptor::BorrowedDescriptor;
use crate::error::TransferError;
use crate::sys::codes;
use crate::sys::open_file::{FileKind, OpenFile};

/// Whether `fd` is a regular file or block device that is open with `O_DIRECT`. (On a pipe the flag means packets.)
pub(crate) fn is_direct(fd: BorrowedDescriptor<'_>) -> bool {
    let kinds = [FileKind::Regular, FileKind::Block];
    OpenFile::describe(fd).is_some_and(|file| file.is_direct && kinds.contains(&file.kind))
}

/// Sends the rest of a list without copying if a file that is open with `O_DIRECT` refused a copying transfer with
/// `EINVAL`; returns any other error. `resend` sends the rest, which begins after the given number of bytes.
///
/// The staging buffer is aligned, so this is for calls that end within a segment, as with a
/// [`ChunkPolicy`](crate::cost::ChunkPolicy), and for storage whose alignment is more than a page. A list that is not aligned
/// itself is refused again.
#[cold]
pub(crate) fn resend_uncopied(
    fd: BorrowedDescriptor<'_>,
    refused: TransferError,
    resend: impl FnOnce(u64) -> Result<u64, TransferError>,
) -> Result<u64, TransferError> {
    if refused.io_error().raw_os_error() != Some(codes::EINVAL) || !is_direct(fd) {
        return Err(refused);
    }
    let before = refused.transferred();
    match resend(before) {
        Ok(bytes) => Ok(before + bytes),
        Err(error) => Err(error.behind(before)),
    }
}
