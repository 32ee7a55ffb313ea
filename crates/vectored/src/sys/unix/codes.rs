//! Numbers of errors.

pub(crate) use libc::{EINTR, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP};

/// Errors that only the output gives, for a call with an input and an output.
pub(crate) const OF_OUTPUT: [i32; 4] = [libc::EPIPE, libc::ENOSPC, libc::EFBIG, libc::EDQUOT];

/// The errors with which a kernel or a sandbox refuses a call. A read and a write then replace the call.
pub(crate) const REFUSALS: [i32; 7] = [
    EINVAL,
    ENOSYS,
    EOPNOTSUPP,
    libc::EBADF,
    libc::EPERM,
    libc::EACCES,
    libc::ENOMEM,
];

#[cfg(test)]
pub(crate) use libc::{EAGAIN, EFAULT, EIO, ENOSPC, ESPIPE};
