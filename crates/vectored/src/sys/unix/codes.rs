//! Numbers of errors.

pub(crate) use libc::{EINTR, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP};

/// Errors of a call that reads and writes, which only the side that is written to gives.
pub(crate) const OF_OUTPUT: [i32; 4] = [libc::EPIPE, libc::ENOSPC, libc::EFBIG, libc::EDQUOT];

/// For scripts of tests.
#[cfg(test)]
pub(crate) use libc::{EAGAIN, ECONNRESET, EFAULT, EIO, ENOSPC, EPIPE, ESPIPE};
