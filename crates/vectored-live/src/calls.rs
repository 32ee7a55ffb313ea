//! What the programs in the kernel record of each call of x86-64.

use vectored_strace::x86_64::NOT_TRACED;

/// The calls of each class, in the order of `enum class` in `bpf/live.bpf.c`. The class says which data a record of a call has
/// besides its first four arguments.
const CLASSES: [&str; 28] = [
    // These calls do not return: the end of the thread is recorded instead.
    "exit exit_group",
    "",
    "read",
    "write",
    "open creat access readlink getxattr lgetxattr chdir mkdir truncate mknod",
    "openat mknodat faccessat faccessat2 readlinkat mkdirat inotify_add_watch",
    "fanotify_mark",
    "link symlink rename",
    "symlinkat",
    "linkat renameat renameat2",
    "openat2",
    "readv writev preadv pwritev vmsplice",
    "preadv2 pwritev2",
    "sendmsg recvmsg",
    "sendmmsg recvmmsg",
    "sendto recvfrom",
    "pipe pipe2",
    "socketpair setsockopt",
    "splice copy_file_range",
    "mmap",
    "connect",
    "accept accept4",
    "waitid",
    "io_uring_setup",
    "fstat",
    "stat lstat",
    "newfstatat",
    "statx",
];

/// Calls that change descriptors, names or processes, and `unknown`, a call without a name. The rings keep room for
/// the records of these calls.
const CHANGES: &str = "open openat openat2 creat close close_range pipe pipe2 socket socketpair accept accept4 connect dup dup2 dup3 fcntl \
    ioctl chdir fchdir mmap setsockopt link linkat symlink symlinkat rename renameat renameat2 mknod mknodat inotify_add_watch \
    fanotify_mark io_uring_setup unshare execve execveat fork vfork clone clone3 truncate ftruncate unknown";

/// The number of a call's class in `bpf/live.bpf.c`. The bit `KEEPS` (128) marks all calls except [`CHANGES`].
pub(crate) fn class_in_kernel(name: &str) -> u8 {
    let has = |calls: &str| calls.split_whitespace().any(|call| call == name);
    let known = CLASSES.iter().position(|calls| has(calls));
    let other = usize::from(!has(NOT_TRACED));
    known.unwrap_or(other) as u8 | if has(CHANGES) { 0 } else { 128 }
}
