//! The calls and flags that every system has, under the names of rustix.

pub use std::os::unix::fs::FileExt;

pub use rustix::fs::{OFlags, SeekFrom, fsync, ftruncate, seek};
pub use rustix::io::{ioctl_fionread, read, readv, retry_on_intr, write, writev};

pub const NULL_DEVICE: &str = "/dev/null";
