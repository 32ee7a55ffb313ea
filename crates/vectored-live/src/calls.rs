//! What the programs in the kernel record of each call of x86-64.

use vectored_strace::x86_64::NOT_TRACED;

macro_rules! classes {
    ($($class:ident $calls:literal)+) => {
        /// The data that a record of a call has besides its first four arguments. `bpf/live.bpf.c` has the same numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Class {
            $($class),+
        }

        const CLASSES: &[(Class, &str)] = &[$((Class::$class, $calls)),+];
    };
}

classes! {
    // These calls do not return: the end of the thread is recorded instead.
    Drop "exit exit_group"
    Plain ""
    Read "read"
    Write "write"
    Path0 "open creat access readlink getxattr lgetxattr chdir mkdir truncate mknod"
    Path1 "openat mknodat faccessat faccessat2 readlinkat mkdirat inotify_add_watch"
    Path4 "fanotify_mark"
    Paths01 "link symlink rename"
    Paths02 "symlinkat"
    Paths13 "linkat renameat renameat2"
    List "readv writev preadv pwritev vmsplice"
    ListWithFlags "preadv2 pwritev2"
    Message "sendmsg recvmsg"
    Messages "sendmmsg recvmmsg"
    SendTo "sendto recvfrom"
    Ints0 "pipe pipe2"
    Ints3 "socketpair setsockopt"
    Splice "splice copy_file_range"
    Map "mmap"
    Socket0 "connect"
    Info2 "waitid"
    OpenHow "openat2"
    Ring "io_uring_setup"
    Stat "fstat"
    StatOfPath "stat lstat"
    StatAt "newfstatat"
    Statx "statx"
    SocketResult "accept accept4"
}

impl Class {
    /// Whether the extension of a record holds data and no paths.
    pub(crate) fn has_list(self) -> bool {
        use Class::*;
        matches!(
            self,
            List | ListWithFlags | Message | Messages | Socket0 | SocketResult
        )
    }
}

/// Calls that change descriptors, names or processes, and calls whose names are unknown: the rings keep room for their records.
const CHANGES: &str = "open openat openat2 creat close close_range pipe pipe2 socket socketpair accept accept4 connect dup dup2 dup3 fcntl \
    ioctl chdir fchdir mmap setsockopt link linkat symlink symlinkat rename renameat renameat2 mknod mknodat inotify_add_watch \
    fanotify_mark io_uring_setup unshare execve execveat fork vfork clone clone3 truncate ftruncate unknown";

/// The number of a call's class in `bpf/live.bpf.c`: with `KEEPS`, unless the call is one of [`CHANGES`].
pub(crate) fn class_in_kernel(name: &str) -> u8 {
    let changes = CHANGES.split_whitespace().any(|changes| changes == name);
    class_of(name) as u8 | if changes { 0 } else { 128 }
}

pub(crate) fn class_of(name: &str) -> Class {
    let has = |calls: &str| calls.split_whitespace().any(|call| call == name);
    let known = CLASSES.iter().find(|(_, calls)| has(calls));
    let other = if has(NOT_TRACED) { Class::Drop } else { Class::Plain };
    known.map_or(other, |known| known.0)
}
