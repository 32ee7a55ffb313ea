//! What a call between two transfers means for merging them, by its name.
//!
//! Writes that are merged happen later, reads earlier. So nothing may lie between writes that lets
//! somebody else rely on them, and nothing between reads that waits for somebody else.

use crate::advisor::runs::barriers::Reason;

/// What a call does to runs of transfers that it lies between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It cannot observe the data.
    Harmless,
    /// It may see the size of a file, and crosses writes to files.
    Looks(Reason),
    /// Others may see it and rely on what was written before: it crosses writes.
    Releases(Reason),
    /// It waits, or what it does is not known: it crosses reads and writes.
    Waits(Reason),
}

/// What is known of a call by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    /// What it does.
    pub(crate) effect: Effect,
    /// What it tells of a filter.
    pub(crate) shows: Shown,
}

/// Which calls show in a log, of those that tell whether it was filtered. strace filters by names and by
/// its classes (`-e trace=%process`): who asked for one class does not see the waits of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown(u8);

impl Shown {
    /// Those that a filter for transfers, descriptors and files leaves.
    pub(crate) const NONE: Shown = Shown(0);
    /// `%memory`, but for `mmap`, which is of `%desc`, too.
    const MEMORY: Shown = Shown(1);
    /// `%process`.
    pub(crate) const PROCESSES: Shown = Shown(2);
    /// `%signal`.
    const SIGNALS: Shown = Shown(4);
    /// `%clock`, `%creds`, `%pure`: no waits.
    const ASKS: Shown = Shown(8);
    /// `poll` and its like, which are of `%desc`.
    const POLLS: Shown = Shown(16);
    /// Those of no class, such as `futex` and `nanosleep`.
    pub(crate) const ALL: Shown = Shown(255);

    /// Whether all calls would have shown. Calls of no class do so only where nothing was filtered, and
    /// hardly anybody asks for three of the classes.
    pub(crate) fn is_enough(self) -> bool {
        self == Self::ALL || self.0.count_ones() >= 3
    }
}

impl std::ops::BitOrAssign for Shown {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// What a call of this name means.
pub(crate) fn between(name: &[u8]) -> Between {
    let (effect, shows) = effect_of(name);
    Between { effect, shows }
}

fn effect_of(name: &[u8]) -> (Effect, Shown) {
    use Effect::{Harmless, Looks, Releases, Waits};
    const NONE: Shown = Shown::NONE;
    const ALL: Shown = Shown::ALL;
    match name {
        // Memory of the process itself. `mmap` of a file comes as such.
        b"brk" | b"munmap" | b"mprotect" | b"madvise" | b"mremap" | b"mlock" | b"munlock"
        | b"mincore" | b"membarrier" | b"pkey_mprotect" => (Harmless, Shown::MEMORY),
        b"mmap" | b"mmap2" => (Harmless, NONE),
        // Clocks, and who the process is.
        b"clock_gettime" | b"clock_getres" | b"gettimeofday" | b"time" | b"times" | b"getpid"
        | b"getppid" | b"gettid" | b"getuid" | b"geteuid" | b"getgid" | b"getegid"
        | b"getresuid" | b"getresgid" | b"getgroups" | b"getpgid" | b"getpgrp" | b"getsid"
        | b"capget" => (Harmless, Shown::ASKS),
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
        | b"getitimer" => (Harmless, ALL),
        // Setting up a thread and its signals. A signal that is let in shows as such.
        b"arch_prctl" | b"prctl" | b"set_tid_address" | b"set_robust_list" | b"get_robust_list"
        | b"rseq" | b"umask" => (Harmless, ALL),
        b"rt_sigaction" | b"sigaction" | b"rt_sigprocmask" | b"sigprocmask" | b"rt_sigpending"
        | b"sigaltstack" => (Harmless, Shown::SIGNALS),
        // Names and openings, which show no data. A failed call of these comes here, too.
        b"open" | b"openat" | b"openat2" | b"access" | b"faccessat" | b"faccessat2"
        | b"readlink" | b"readlinkat" | b"getcwd" | b"chdir" | b"fchdir" | b"getdents"
        | b"getdents64" | b"fadvise64" | b"posix_fadvise" | b"readahead" | b"getsockname"
        | b"getpeername" | b"socket" | b"socketpair" | b"pipe" | b"pipe2" | b"dup" | b"dup2"
        | b"dup3" | b"lseek" | b"_llseek" | b"epoll_create" | b"epoll_create1" | b"eventfd"
        | b"eventfd2" | b"timerfd_create" | b"signalfd" | b"signalfd4" | b"inotify_init"
        | b"inotify_init1" | b"memfd_create" | b"getxattr" | b"lgetxattr" | b"fgetxattr"
        | b"listxattr" | b"llistxattr" | b"flistxattr" | b"execve" | b"execveat" | b"close"
        | b"close_range" => (Harmless, NONE),
        // How much is free, and what a socket has sent or met: what was written shows in that.
        b"statfs" | b"statfs64" | b"fstatfs" | b"fstatfs64" | b"ustat" => {
            (Releases(Reason::Size), NONE)
        }
        b"getsockopt" => (Releases(Reason::Control), NONE),
        // Changes the times of a file only.
        b"utimensat" | b"utime" | b"utimes" | b"futimesat" => (Looks(Reason::Looked), NONE),
        b"stat" | b"stat64" | b"lstat" | b"lstat64" | b"fstat" | b"fstat64" | b"newfstatat"
        | b"fstatat64" | b"statx" => (Looks(Reason::Looked), NONE),
        b"rename" | b"renameat" | b"renameat2" | b"unlink" | b"unlinkat" | b"rmdir" | b"mkdir"
        | b"mkdirat" | b"link" | b"linkat" | b"symlink" | b"symlinkat" | b"chmod" | b"fchmod"
        | b"fchmodat" | b"fchmodat2" | b"chown" | b"fchown" | b"lchown" | b"fchownat"
        | b"mknod" | b"mknodat" => (Releases(Reason::Names), NONE),
        b"fsync" | b"fdatasync" | b"sync" | b"syncfs" | b"sync_file_range" | b"msync" => {
            (Releases(Reason::SyncOther), NONE)
        }
        b"truncate" | b"ftruncate" | b"truncate64" | b"ftruncate64" | b"fallocate" | b"ioctl"
        | b"setsockopt" | b"shutdown" | b"setxattr" | b"lsetxattr" | b"fsetxattr"
        | b"epoll_ctl" | b"epoll_ctl_old" | b"inotify_add_watch" | b"inotify_rm_watch"
        | b"timerfd_settime" | b"timerfd_gettime" => (Waits(Reason::Control), NONE),
        b"fcntl" | b"fcntl64" | b"flock" => (Waits(Reason::Lock), NONE),
        b"connect" | b"accept" | b"accept4" | b"bind" | b"listen" => (Waits(Reason::Connect), NONE),
        b"poll" | b"ppoll" | b"select" | b"_newselect" | b"pselect6" | b"epoll_wait"
        | b"epoll_pwait" | b"epoll_pwait2" | b"io_uring_enter" | b"io_getevents"
        | b"io_pgetevents" => (Waits(Reason::Poll), Shown::POLLS),
        b"nanosleep" | b"clock_nanosleep" | b"sched_yield" | b"alarm" | b"setitimer"
        | b"timer_create" | b"timer_settime" | b"restart_syscall" => (Waits(Reason::Sleep), ALL),
        b"pause" | b"rt_sigsuspend" | b"sigsuspend" | b"rt_sigtimedwait" => {
            (Waits(Reason::Sleep), Shown::SIGNALS)
        }
        b"futex" | b"futex_wait" | b"futex_wake" | b"futex_waitv" | b"futex_requeue" => {
            (Waits(Reason::Thread), ALL)
        }
        b"semop" | b"semtimedop" | b"msgsnd" | b"msgrcv" | b"mq_timedsend" | b"mq_timedreceive" => {
            (Waits(Reason::Thread), NONE)
        }
        b"wait4" | b"waitid" | b"waitpid" => (Waits(Reason::Child), Shown::PROCESSES),
        b"fork" | b"vfork" | b"clone" | b"clone3" | b"ptrace" | b"unshare" | b"setns" => {
            (Waits(Reason::Process), Shown::PROCESSES)
        }
        b"kill" | b"tkill" | b"tgkill" | b"rt_sigqueueinfo" | b"rt_tgsigqueueinfo"
        | b"pidfd_send_signal" | b"rt_sigreturn" | b"sigreturn" => {
            (Waits(Reason::Signal), Shown::SIGNALS)
        }
        _ => (Waits(Reason::UnknownCall), NONE),
    }
}

/// The answers for names that came before: a log has few, and each of them often.
#[derive(Debug)]
pub(crate) struct Names {
    slots: Vec<([u8; NAME_BYTES], Between)>,
}

/// Longer names are looked up anew.
const NAME_BYTES: usize = 24;

const SLOTS: usize = 256;

impl Names {
    pub(crate) fn new() -> Names {
        Names {
            slots: vec![([0; NAME_BYTES], between(b"")); SLOTS],
        }
    }

    /// As [`between`].
    pub(crate) fn between(&mut self, name: &[u8]) -> Between {
        let (Some(&first), Some(&last)) = (name.first(), name.last()) else {
            return between(name);
        };
        if name.len() >= NAME_BYTES || name.contains(&0) {
            return between(name);
        }
        let middle = name[name.len() / 2];
        let place = usize::from(first) + 7 * usize::from(last) + 31 * usize::from(middle);
        let slot = &mut self.slots[(place + 11 * name.len()) % SLOTS];
        // A name ends where its zeros begin.
        if slot.0[..name.len()] != *name || slot.0[name.len()] != 0 {
            slot.0 = [0; NAME_BYTES];
            slot.0[..name.len()].copy_from_slice(name);
            slot.1 = between(name);
        }
        slot.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of x86, 32 and 64 bits, that strace 6.1 knows.
    const CALLS: &str = include_str!("../../../testdata/calls.txt");

    /// Each call has the class that was decided for it; a call that is in no class is a barrier. A call that
    /// is new to this list shows in the snapshot.
    #[test]
    fn each_call_that_strace_knows_has_its_class() {
        let mut classes = std::collections::BTreeMap::<String, Vec<&str>>::new();
        for name in CALLS.lines() {
            let effect = format!("{:?}", between(name.as_bytes()).effect);
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
            let effect = between(name.as_bytes()).effect;
            assert_eq!(effect, Effect::Waits(Reason::UnknownCall), "{name}");
        }
    }
}
