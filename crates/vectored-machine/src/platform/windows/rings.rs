//! The operations of io_uring.

use std::io;

use super::plain_calls::Errno;

/// Windows has no io_uring.
pub(crate) fn operations() -> io::Result<io::Result<Vec<(String, bool)>>> {
    Err(Errno::NOSYS.into())
}
