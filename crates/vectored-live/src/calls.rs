//! The calls of x86-64: what the programs in the kernel record of each.

use vectored_strace::x86_64::NOT_TRACED;

/// What a call needs beyond its first four arguments; the numbers are in `bpf/live.bpf.c` as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    Drop,
    Plain,
    Read,
    Write,
    Path0,
    Path1,
    Path4,
    Paths01,
    Paths02,
    Paths13,
    List,
    ListWithFlags,
    Message,
    Messages,
    SendTo,
    Ints0,
    Ints3,
    Splice,
    Map,
    Socket0,
    Info2,
    OpenHow,
    Ring,
    Stat,
    StatOfPath,
    StatAt,
    Statx,
    SocketResult,
}

/// Calls that change descriptors, names or processes: the rings keep room for them. So do those whose names are unknown.
const CHANGES: &str = "open openat openat2 creat close close_range pipe pipe2 socket socketpair accept accept4 connect dup dup2 dup3 fcntl \
    ioctl chdir fchdir mmap setsockopt link linkat symlink symlinkat rename renameat renameat2 mknod mknodat inotify_add_watch \
    fanotify_mark io_uring_setup unshare execve execveat fork vfork clone clone3 truncate ftruncate unknown";

/// The class in the terms of the programs: `KEEPS` of `bpf/live.bpf.c` says that the call changes none of these.
pub(crate) fn class_in_kernel(name: &str) -> u8 {
    let changes = CHANGES.split_whitespace().any(|changes| changes == name);
    class_of(name) as u8 | if changes { 0 } else { 128 }
}

pub(crate) fn class_of(name: &str) -> Class {
    match name {
        // Ends of threads do not return, and are recorded otherwise.
        "exit" | "exit_group" => Class::Drop,
        _ if NOT_TRACED.split_whitespace().any(|dropped| dropped == name) => Class::Drop,
        "read" => Class::Read,
        "write" => Class::Write,
        "open" | "creat" | "access" | "readlink" | "getxattr" | "lgetxattr" | "chdir" | "mkdir" | "truncate" | "mknod" => Class::Path0,
        "openat" | "mknodat" | "faccessat" | "faccessat2" | "readlinkat" | "mkdirat" | "inotify_add_watch" => Class::Path1,
        "fanotify_mark" => Class::Path4,
        "openat2" => Class::OpenHow,
        "link" | "symlink" | "rename" => Class::Paths01,
        "symlinkat" => Class::Paths02,
        "linkat" | "renameat" | "renameat2" => Class::Paths13,
        "readv" | "writev" | "preadv" | "pwritev" | "vmsplice" => Class::List,
        "preadv2" | "pwritev2" => Class::ListWithFlags,
        "sendmsg" | "recvmsg" => Class::Message,
        "sendmmsg" | "recvmmsg" => Class::Messages,
        "sendto" | "recvfrom" => Class::SendTo,
        "pipe" | "pipe2" => Class::Ints0,
        "socketpair" | "setsockopt" => Class::Ints3,
        "splice" | "copy_file_range" => Class::Splice,
        "mmap" => Class::Map,
        "connect" => Class::Socket0,
        "accept" | "accept4" => Class::SocketResult,
        "waitid" => Class::Info2,
        "io_uring_setup" => Class::Ring,
        "fstat" => Class::Stat,
        "stat" | "lstat" => Class::StatOfPath,
        "newfstatat" => Class::StatAt,
        "statx" => Class::Statx,
        _ => Class::Plain,
    }
}
