//! How a call between two transfers affects merging them, by the name of the call.
//!
//! Merging delays writes and advances reads. So no call between two writes may let another process rely on the first
//! write, and no call between two reads may wait for another process.

use crate::advisor::runs::barriers::{Barrier, Call};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The call cannot observe the data.
    Harmless,
    /// The call may read the size of a file: a barrier to writes to files.
    ObservesSize(Barrier),
    /// Another process may notice the call and rely on earlier writes: a barrier to writes.
    ExposesWrites(Barrier),
    /// The call waits, or its effect is unknown: a barrier to reads and writes.
    Waits(Barrier),
}

/// Evidence that a log was not filtered: the set of the kinds of calls in the log, and whether the log is whole. strace
/// filters by names and by its classes (`-e trace=%process`). A log of one class lacks the waits of the other classes.
pub(crate) type Evidence = u16;

/// Calls that remain after a filter for transfers, descriptors and files.
const NONE: Evidence = 0;
/// `%memory`, except `mmap`, which is also in `%desc`.
const MEMORY: Evidence = 1;
pub(crate) const PROCESSES: Evidence = 2;
const SIGNALS: Evidence = 4;
/// `%clock`, `%creds`, `%pure`: calls that never wait.
pub(crate) const ASKS: Evidence = 8;
/// `poll` and the like, which are in `%desc`.
const POLLS: Evidence = 16;
/// Waits in no class of strace, such as `futex` and `nanosleep`.
const WAITS: Evidence = 32;
/// Calls in no class of strace that get or set limits, scheduling or timers, or ask about the machine.
const LIMITS: Evidence = 64;
/// Calls in no class of strace that set up a thread.
const SETUP: Evidence = 128;
/// Calls in no class of strace, and in nobody's filter, since only the C library makes them.
pub(crate) const ALL: Evidence = 255;
/// The first call of the log is `execve`, which is in `%process` and `%file`.
pub(crate) const BEGIN: Evidence = 256;
/// A thread ended by `exit` or `exit_group`, which are in `%process` only, or by a signal.
pub(crate) const END: Evidence = 512;
/// A descriptor was used that no call in the log opened. Or a library was opened, which shows that the program has a
/// loader.
pub(crate) const MISSING: Evidence = 1024;
/// The first thread ended by `exit`. Programs with a C library end by `exit_group`.
pub(crate) const PLAIN_EXIT: Evidence = 2048;

/// Whether the evidence is enough. Calls of three kinds are enough, since few filters combine three. A log of a whole
/// program without a C library is also enough. No evidence can rule out `-e trace='!fsync'`.
pub(crate) fn is_enough(evidence: Evidence) -> bool {
    // Except for `exit`, these calls are in none of `%file`, `%desc` and `%process`. A program whose first thread ends by
    // `exit` has no C library.
    let has_others = evidence & (MEMORY | SIGNALS | ASKS | WAITS | LIMITS | PLAIN_EXIT) != 0;
    // `SETUP` calls suggest a C library. An unfiltered log of such a program also has the calls of `ALL`, which are
    // enough alone.
    let is_whole = evidence & (BEGIN | END | MISSING | SETUP) == BEGIN | END;
    (evidence & ALL).count_ones() >= 3 || has_others && is_whole
}

pub(crate) fn classify(name: &[u8]) -> (Effect, Evidence) {
    use Effect::{ExposesWrites, Harmless, ObservesSize, Waits};
    let call = || Call::of(name);
    match name {
        // Memory of the process. `mmap` of a file is an action of its own.
        b"brk" | b"munmap" | b"mprotect" | b"madvise" | b"mremap" | b"mlock" | b"munlock"
        | b"mincore" | b"membarrier" | b"pkey_mprotect" => (Harmless, MEMORY),
        b"mmap" | b"mmap2" => (Harmless, NONE),
        // Clocks, and identities of the process.
        b"clock_gettime" | b"clock_getres" | b"gettimeofday" | b"time" | b"times" | b"getpid"
        | b"getppid" | b"gettid" | b"getuid" | b"geteuid" | b"getgid" | b"getegid"
        | b"getresuid" | b"getresgid" | b"getgroups" | b"getpgid" | b"getpgrp" | b"getsid"
        | b"capget" => (Harmless, ASKS),
        b"getrusage"
        | b"getrlimit"
        | b"setrlimit"
        | b"prlimit64"
        | b"getpriority"
        | b"sysinfo"
        | b"uname"
        | b"getcpu"
        | b"getrandom"
        | b"sched_getaffinity"
        | b"sched_getparam"
        | b"sched_getscheduler"
        | b"sched_setaffinity"
        | b"getitimer"
        | b"timer_delete"
        | b"timer_gettime"
        | b"timer_getoverrun" => (Harmless, LIMITS),
        // Set-up of a thread and its signals. A delivered signal is an action of its own.
        b"set_tid_address" | b"set_robust_list" | b"get_robust_list" | b"rseq" => (Harmless, ALL),
        b"arch_prctl" | b"prctl" | b"umask" => (Harmless, SETUP),
        b"rt_sigaction" | b"sigaction" | b"rt_sigprocmask" | b"sigprocmask" | b"rt_sigpending"
        | b"sigaltstack" => (Harmless, SIGNALS),
        // Names and descriptors. These calls depend on no data, even if they fail.
        b"open" | b"openat" | b"openat2" | b"access" | b"faccessat" | b"faccessat2"
        | b"readlink" | b"readlinkat" | b"getcwd" | b"chdir" | b"fchdir" | b"getdents"
        | b"getdents64" | b"fadvise64" | b"posix_fadvise" | b"readahead" | b"getsockname"
        | b"getpeername" | b"socket" | b"socketpair" | b"pipe" | b"pipe2" | b"dup" | b"dup2"
        | b"dup3" | b"lseek" | b"_llseek" | b"epoll_create" | b"epoll_create1" | b"eventfd"
        | b"eventfd2" | b"timerfd_create" | b"signalfd" | b"signalfd4" | b"inotify_init"
        | b"inotify_init1" | b"memfd_create" | b"getxattr" | b"lgetxattr" | b"fgetxattr"
        | b"listxattr" | b"llistxattr" | b"flistxattr" | b"execve" | b"execveat" | b"close"
        | b"close_range" => (Harmless, NONE),
        // Free space, and state of a socket: both depend on what was written.
        b"statfs" | b"statfs64" | b"fstatfs" | b"fstatfs64" | b"ustat" => {
            (ExposesWrites(Barrier::Size(call())), NONE)
        }
        b"getsockopt" => (ExposesWrites(Barrier::Control(call())), NONE),
        b"stat" | b"stat64" | b"lstat" | b"lstat64" | b"fstat" | b"fstat64" | b"newfstatat"
        | b"fstatat64" | b"statx" => (ObservesSize(Barrier::Stat), NONE),
        b"rename" | b"renameat" | b"renameat2" | b"unlink" | b"unlinkat" | b"rmdir" | b"mkdir"
        | b"mkdirat" | b"link" | b"linkat" | b"symlink" | b"symlinkat" | b"chmod" | b"fchmod"
        | b"fchmodat" | b"fchmodat2" | b"chown" | b"fchown" | b"lchown" | b"fchownat"
        | b"mknod" | b"mknodat" | b"utimensat" | b"utime" | b"utimes" | b"futimesat" => {
            (ExposesWrites(Barrier::Names(call())), NONE)
        }
        b"sync" | b"syncfs" => (ExposesWrites(Barrier::SyncAll), NONE),
        b"fsync" | b"fdatasync" | b"sync_file_range" | b"msync" => {
            (ExposesWrites(Barrier::SyncOther), NONE)
        }
        b"truncate" | b"ftruncate" | b"truncate64" | b"ftruncate64" | b"fallocate" | b"ioctl"
        | b"setsockopt" | b"shutdown" | b"setxattr" | b"lsetxattr" | b"fsetxattr"
        | b"epoll_ctl" | b"epoll_ctl_old" | b"inotify_add_watch" | b"inotify_rm_watch"
        | b"timerfd_settime" | b"timerfd_gettime" => (Waits(Barrier::Control(call())), NONE),
        b"fcntl" | b"fcntl64" | b"flock" => (Waits(Barrier::Lock(call())), NONE),
        b"connect" | b"accept" | b"accept4" | b"bind" | b"listen" => {
            (Waits(Barrier::Connect(call())), NONE)
        }
        b"poll" | b"ppoll" | b"select" | b"_newselect" | b"pselect6" | b"epoll_wait"
        | b"epoll_pwait" | b"epoll_pwait2" | b"io_uring_enter" | b"io_getevents"
        | b"io_pgetevents" => (Waits(Barrier::Poll(call())), POLLS),
        b"nanosleep" | b"clock_nanosleep" | b"sched_yield" | b"alarm" | b"setitimer"
        | b"timer_create" | b"timer_settime" | b"restart_syscall" => (Waits(Barrier::Sleep), WAITS),
        b"pause" | b"rt_sigsuspend" | b"sigsuspend" | b"rt_sigtimedwait" => {
            (Waits(Barrier::Sleep), SIGNALS)
        }
        b"futex" | b"futex_wait" | b"futex_wake" | b"futex_waitv" | b"futex_requeue" => {
            (Waits(Barrier::Thread), WAITS)
        }
        b"semop" | b"semtimedop" | b"msgsnd" | b"msgrcv" | b"mq_timedsend" | b"mq_timedreceive" => {
            (Waits(Barrier::Thread), NONE)
        }
        b"wait4" | b"waitid" | b"waitpid" => (Waits(Barrier::Child), PROCESSES),
        b"fork" | b"vfork" | b"clone" | b"clone3" | b"ptrace" | b"unshare" | b"setns" => {
            (Waits(Barrier::Process(call())), PROCESSES)
        }
        b"kill" | b"tkill" | b"tgkill" | b"rt_sigqueueinfo" | b"rt_tgsigqueueinfo"
        | b"pidfd_send_signal" | b"rt_sigreturn" | b"sigreturn" => {
            (Waits(Barrier::Signal), SIGNALS)
        }
        _ => (Waits(Barrier::UnknownCall), NONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of x86, 32 and 64 bits, that strace 6.1 knows.
    const CALLS: &str = include_str!("../../../testdata/calls.txt");

    #[test]
    fn each_call_that_strace_knows_has_its_class() {
        let mut classes = std::collections::BTreeMap::<String, Vec<&str>>::new();
        for name in CALLS.lines() {
            let effect = format!("{:?}", classify(name.as_bytes()).0);
            classes.entry(effect).or_default().push(name);
        }
        let lines = classes
            .iter()
            .map(|(effect, names)| format!("{effect}: {}\n", names.join(" ")));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("classes_of_calls", lines.collect::<String>());
        });
    }

    #[test]
    fn a_call_that_nobody_has_heard_of_is_a_barrier() {
        for name in [
            "never_heard_of",
            "",
            "???",
            "process_vm_writev",
            "syscall_0x1ff",
        ] {
            let effect = classify(name.as_bytes()).0;
            assert_eq!(effect, Effect::Waits(Barrier::UnknownCall), "{name}");
        }
    }
}
