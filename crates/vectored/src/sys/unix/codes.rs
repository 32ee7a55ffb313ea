//! Error numbers.

pub(crate) use libc::{EINTR, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP};

/// In a call with an input and an output, only the output causes these errors.
pub(crate) const OF_OUTPUT: [i32; 4] = [libc::EPIPE, libc::ENOSPC, libc::EFBIG, libc::EDQUOT];

/// A kernel or a sandbox refuses a call with one of these errors. A read and a write then replace the call.
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
