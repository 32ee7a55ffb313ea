//! Numbers of errors.

pub(crate) use libc::{EINTR, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP};

/// For scripts of tests.
#[cfg(test)]
pub(crate) use libc::{EAGAIN, ECONNRESET, EFAULT, EIO, ENOSPC, EPIPE, ESPIPE};
