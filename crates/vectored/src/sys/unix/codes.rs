//! Numbers of errors.

pub(crate) use libc::{EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP};

/// For scripts of tests.
#[cfg(test)]
pub(crate) use libc::{EAGAIN, ECONNRESET, EFAULT, EINTR, EIO, ENOSPC, EPIPE, ESPIPE};
