//! Calls that move bytes from one descriptor to another within the kernel, each made once, at the positions of the
//! descriptors. One that fails has moved nothing: after a part it returns the count of that.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pipe::SpliceFlags;

use crate::descriptor::borrowed::BorrowedDescriptor;

/// `copy_file_range(2)`.
pub(crate) fn copy_file_range(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    most: usize,
) -> io::Result<usize> {
    Ok(rustix::fs::copy_file_range(from, None, to, None, most)?)
}

/// `sendfile(2)`.
pub(crate) fn sendfile(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    most: usize,
) -> io::Result<usize> {
    Ok(rustix::fs::sendfile(to, from, None, most)?)
}

/// `splice(2)`, which waits unless one of the two does not.
///
/// Without `SPLICE_F_MORE`: a TCP socket would hold the last bytes back.
pub(crate) fn splice(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    most: usize,
) -> io::Result<usize> {
    let flags = SpliceFlags::empty();
    Ok(rustix::pipe::splice(from, None, to, None, most, flags)?)
}

/// Whether a move that would block was stopped by the output, which does not wait: the input has bytes or has ended.
pub(crate) fn is_output_full(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
) -> io::Result<bool> {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let ready = poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&at_once))?;
    Ok(ready > 0 && rustix::fs::fcntl_getfl(to)?.contains(OFlags::NONBLOCK))
}
