//! Events of a log: system calls, signals, and ends of threads.
//!
//! An event borrows from the reader of the log. Names and paths are bytes, since a log may hold any bytes. Paths have the
//! escapes of strace (`\"`, `\n`, `\303`), except hexadecimal escapes of plain characters, which are decoded.

/// A system call, a signal, or the end of a thread.
///
/// Events of a log come in the order in which calls returned. If the log is in parts (`-ff`) with absolute times,
/// events come in the order in which calls began. A call whose effect is unknown is an [`Action::Unread`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The thread that made the call. 0 in a log that names no threads. If a log names threads (`[pid 12]`) only while
    /// there are several, 0 is the first thread.
    pub thread: u32,
    /// When the call began, in ns since an origin that all events of a log share. `None` without `-t`, `-tt`, `-ttt` or
    /// `-r`.
    pub began_ns: Option<u64>,
    /// Resolution of `began_ns`, in ns: 1,000,000,000 with `-t`, 1000 with `-tt`, `-ttt` and `-r`; 0 without times.
    pub clock_ns: u64,
    /// Duration of the call (`-T`), in ns. The duration includes the work of strace.
    pub took_ns: Option<u64>,
    /// The time since the thread's last event in which the thread was ready to run but had no CPU, in ns. 0 in a log.
    pub delayed_ns: u64,
    /// The name of the call (`write`) or signal (`SIGCHLD`); `exited` or `killed` for the end of a thread. Empty for
    /// [`Action::Name`], and for events about processes that ran before the recording began.
    pub name: &'a [u8],
    pub action: Action<'a>,
    /// The call site (`-k`): the innermost stack frame outside the C library, as written in the log.
    pub site: Option<&'a [u8]>,
}

impl<'a> Event<'a> {
    /// A call of thread 0, without times and call site: for tests of programs that read events.
    pub fn new(name: &'a [u8], action: Action<'a>) -> Event<'a> {
        Event {
            thread: 0,
            began_ns: None,
            clock_ns: 0,
            took_ns: None,
            delayed_ns: 0,
            name,
            action,
            site: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    pub number: i32,
    /// The path or address of the descriptor, as `-y` or `-yy` shows it between `<` and `>`: `/tmp/x`, `pipe:[123]`,
    /// `TCP:[127.0.0.1:4->127.0.0.1:5]`, `/dev/null<char 1:3>`.
    pub leads_to: Option<&'a [u8]>,
}

impl Descriptor<'_> {
    /// The number of `AT_FDCWD`: the working folder of the process.
    pub const WORKING_FOLDER: i32 = -100;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The path, relative to `folder`. Empty for the file of the descriptor `folder` itself.
    pub path: &'a [u8],
    pub folder: Option<Descriptor<'a>>,
}

impl<'a> Place<'a> {
    pub fn of_path(path: &'a [u8]) -> Place<'a> {
        Place { path, folder: None }
    }

    pub fn of(descriptor: Descriptor<'a>) -> Place<'a> {
        Place {
            path: b"",
            folder: Some(descriptor),
        }
    }

    /// The descriptor that leads to the file itself; `None` if there is a path.
    pub fn descriptor(self) -> Option<Descriptor<'a>> {
        self.folder.filter(|_| self.path.is_empty())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    Hard,
    /// `symlink`. A relative old name begins in the folder of the new name.
    Symbolic,
    /// `rename`: the old name no longer exists.
    Rename,
}

#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action<'a> {
    /// A call that moves bytes, successful or not.
    Transfer(Transfer<'a>),
    /// `open`, `openat`, `openat2`, `creat`, successful.
    Open {
        descriptor: Descriptor<'a>,
        /// The path that the program passed; empty if the log does not show the path.
        path: &'a [u8],
        folder: Option<Descriptor<'a>>,
        flags: OpenFlags,
    },
    /// `chdir`, `fchdir`, successful.
    ChangeFolder(Place<'a>),
    /// `socket`, `accept`, `accept4`, successful.
    Socket {
        descriptor: Descriptor<'a>,
        /// The kind of the socket. `None` for `accept`: the new socket has the kind of `from`.
        kind: Option<SocketKind>,
        /// The listening socket, for `accept`.
        from: Option<Descriptor<'a>>,
        close_on_exec: bool,
    },
    /// `pipe`, `pipe2`, `socketpair`, successful.
    Pair {
        /// Both ends. The read end of a pipe is the first.
        ends: [Descriptor<'a>; 2],
        kind: SocketKind,
        close_on_exec: bool,
    },
    /// `dup`, `dup2`, `dup3`, `fcntl(F_DUPFD…)`, successful.
    Duplicate {
        from: Descriptor<'a>,
        /// The new descriptor. If the number was open, the call closed it first.
        to: Descriptor<'a>,
        close_on_exec: bool,
    },
    /// `close` with any result; `close_range`, successful, without `CLOSE_RANGE_CLOEXEC`.
    Close {
        first: i32,
        last: i32,
        leads_to: Option<&'a [u8]>,
    },
    /// `fcntl(F_SETFL)`, successful.
    SetFlags {
        descriptor: Descriptor<'a>,
        flags: OpenFlags,
    },
    /// `fcntl(F_SETFD)`, `ioctl(FIOCLEX)`, `ioctl(FIONCLEX)`, successful.
    SetCloseOnExec {
        descriptor: Descriptor<'a>,
        close_on_exec: bool,
    },
    /// `fork`, `vfork`, `clone`, `clone3`, successful, in the parent.
    ///
    /// If the child has lines before the call returns, this event comes before these lines. But if several such calls
    /// are unfinished at once, the child's events may come first.
    Fork {
        child: u32,
        /// `CLONE_THREAD`: the new thread is in the same process.
        same_process: bool,
        /// `CLONE_FILES`: the child shares the table of descriptors.
        shares_descriptors: bool,
    },
    /// `execve`, `execveat`, successful.
    Execute { program: &'a [u8] },
    /// No call. `-Y` shows a new name beside the thread.
    Name {
        /// The name of the thread. This is the name of its program, unless the thread has set another name.
        program: &'a [u8],
    },
    /// A call that asks for the flags of a descriptor or the settings of a terminal, with any result: `fcntl(F_GETFD)`,
    /// `fcntl(F_GETFL)`, `ioctl(TCGETS)`, `ioctl(TCGETS2)`, `ioctl(TIOCGWINSZ)`.
    Query,
    /// `lseek`, successful.
    Seek(Seek<'a>),
    /// `mmap` of a file, successful. A close of the descriptor does not end the mapping.
    Map {
        descriptor: Descriptor<'a>,
        /// Whether writes to the memory reach the file (`MAP_SHARED` with `PROT_WRITE`).
        writes_through: bool,
    },
    /// A call that asks for a file, with any result: `stat`, `fstat`, `statx`, `access`, `readlink`, `getxattr`. Also
    /// an `open` that failed.
    Ask(Ask<'a>),
    /// `mkdir`, successful.
    MakeFolder(Place<'a>),
    /// `truncate` of a path.
    Truncate { path: &'a [u8] },
    /// `link`, `symlink`, `rename` and similar calls, successful. The file then has two names, or a new name.
    Link {
        from: Place<'a>,
        to: Place<'a>,
        kind: LinkKind,
    },
    /// `inotify_add_watch`, `fanotify_mark` or `fcntl(F_NOTIFY)` for writes, successful.
    Watch {
        /// The file or folder; empty for a whole file system.
        path: &'a [u8],
    },
    /// `setsockopt(TCP_CORK)` or `setsockopt(TCP_NODELAY)`, successful.
    SetTcpOption {
        descriptor: Descriptor<'a>,
        option: TcpOption,
        on: bool,
    },
    /// `connect`, successful.
    Connect { descriptor: Descriptor<'a> },
    /// `poll`, `ppoll`, `select`, `pselect6`, `epoll_wait`, `epoll_pwait` and `epoll_pwait2`, successful.
    Poll {
        /// The number of descriptors that are ready; 0 if the time was up.
        ready: u64,
    },
    /// `wait4`, `waitpid`, `waitid`, if the call returned a child.
    Wait { child: u32 },
    /// `io_uring_enter`, `io_submit`, or `io_uring_setup` with `IORING_SETUP_SQPOLL`. The log does not show the
    /// transfers or their descriptors.
    Submit {
        /// Whether the kernel polls the queue from now on (`IORING_SETUP_SQPOLL`). Later transfers then need no call.
        unseen: bool,
    },
    /// A call that shows a FIFO, or a descriptor that cannot seek: `mknod`, `fstat`, `stat`, a refused `lseek`.
    Fifo(Place<'a>),
    /// `fsync`, `fdatasync`, `sync_file_range`, with their descriptor. `None` for `sync`, `syncfs` and `msync`.
    Sync(Option<Descriptor<'a>>),
    /// Any other call, or a failed call of the other kinds.
    Other { descriptor: Option<Descriptor<'a>> },
    /// A call of the other kinds whose arguments could not be read, or whose end is missing. The call may have done
    /// anything.
    ///
    /// An event without a name stands for a line that could not be read: its thread and its call are unknown.
    Unread { descriptor: Option<Descriptor<'a>> },
    /// Calls of any threads are missing. The missing calls may have moved bytes and waited, but changed no descriptor.
    /// In a log, this event stands for a call whose path is not shown.
    Lost,
    /// The delivery of a signal.
    Signal,
    /// The end of a thread. This event may come twice: for the call `exit` or `exit_group`, and for the end itself.
    Exit {
        /// Whether the process also ended (`exit_group`, killed by a signal).
        process_ended: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seek<'a> {
    pub descriptor: Descriptor<'a>,
    /// The new offset, in bytes from the start of the file.
    pub position: u64,
    /// Whether the call only asked for the offset: `lseek(fd, 0, SEEK_CUR)`.
    pub only_asked: bool,
    /// Whether the new offset depends on the offset before: `SEEK_CUR`.
    pub relative: bool,
    /// Whether the new offset depends on the contents of the file: `SEEK_END`, `SEEK_DATA`, `SEEK_HOLE`.
    pub asks_size: bool,
}

/// A call that asks for a file: see [`Action::Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask<'a> {
    pub file: Place<'a>,
    /// Whether the result shows the size of the file.
    pub sees_size: bool,
    /// The size, if the result shows the size and the file is a regular file.
    pub size: Option<u64>,
    pub failed: bool,
    pub is_regular: bool,
    /// Device and inode of the file, if the result shows them (`-v`).
    pub inode: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Transfer<'a> {
    /// The direction. A call between two descriptors is a write.
    pub direction: Direction,
    pub descriptor: Descriptor<'a>,
    /// The source of a call between two descriptors: `sendfile`, `splice`, `tee`, `copy_file_range`.
    pub from: Option<Descriptor<'a>>,
    pub form: Form,
    /// The length of each segment, in bytes. [`Form::Plain`] has one length. `None` for [`Form::Opaque`], and if the
    /// log does not show all lengths (strace without `-v` cuts lists).
    pub segment_bytes: Option<&'a [u64]>,
    /// The number of bytes that the program asked for; `None` if the log does not show all segments.
    pub asked_bytes: Option<u64>,
    /// The number of moved bytes, or the name of the error (`EAGAIN`). The name is `?` if the call never returned.
    pub result: Result<u64, &'a [u8]>,
    /// The offset of a positional call (`pwrite64`), in bytes from the start of the file.
    pub offset: Option<u64>,
    /// Whether a flag distinguishes this call from several shorter calls. Such flags are `MSG_PEEK`, `MSG_OOB`,
    /// `MSG_EOR`, `RWF_SYNC`, `RWF_ATOMIC`, and any unknown flag. `MSG_NOSIGNAL`, `MSG_DONTWAIT`, `MSG_MORE` and others
    /// are no such flags.
    pub special: bool,
    /// Whether `MSG_MORE` was set: the kernel joins the bytes with the bytes of the next call.
    pub more: bool,
    pub sync: bool,
    /// Whether the call has an address (`sendto`, `sendmsg`) or control data.
    pub addressed: bool,
}

impl<'a> Transfer<'a> {
    /// A successful transfer of a list without flags, for tests of programs that read events. The transfer moved all
    /// bytes. Its form is [`Form::Plain`] for one segment, otherwise [`Form::List`].
    pub fn new(
        direction: Direction,
        descriptor: Descriptor<'a>,
        segment_bytes: &'a [u64],
    ) -> Transfer<'a> {
        let bytes = segment_bytes.iter().sum();
        Transfer {
            direction,
            descriptor,
            from: None,
            form: match segment_bytes.len() {
                1 => Form::Plain,
                _ => Form::List,
            },
            segment_bytes: Some(segment_bytes),
            asked_bytes: Some(bytes),
            result: Ok(bytes),
            offset: None,
            special: false,
            more: false,
            sync: false,
            addressed: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Form {
    /// One buffer: `write`, `read`, `pwrite64`, `send`, `recvfrom` …
    Plain,
    /// A list: `writev`, `readv`, `pwritev2`, `sendmsg` …
    List,
    /// Several messages (`sendmmsg`, `recvmmsg`), pages (`vmsplice`), or a call without a buffer of the program
    /// (`sendfile`, `splice`, `tee`, `copy_file_range`).
    Opaque,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OpenFlags {
    pub append: bool,
    /// `O_SYNC` or `O_DSYNC`.
    pub sync: bool,
    pub direct: bool,
    pub close_on_exec: bool,
    pub path_only: bool,
    pub directory: bool,
    pub creates: bool,
    pub exclusive: bool,
    pub truncates: bool,
    /// The log has the flags as a number (`-X raw`). The meaning of the number depends on the machine, so any flag may
    /// be set.
    pub unread: bool,
}

/// A TCP option that decides when the kernel sends (tcp(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TcpOption {
    /// `TCP_CORK`: the kernel gathers written bytes.
    Cork,
    /// `TCP_NODELAY`: the kernel sends a short segment although earlier segments are not acknowledged.
    NoDelay,
}

/// A kind of socket, by its domain and type, or a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SocketKind {
    Pipe,
    UnixStream,
    /// `AF_INET` or `AF_INET6`, `SOCK_STREAM`, TCP.
    Tcp,
    /// `SOCK_DGRAM` of `AF_INET`, `AF_INET6` or `AF_UNIX`: each call is a datagram.
    Datagram,
    /// Any other or unknown kind, such as a pipe with `O_DIRECT`. Such a socket or pipe may keep messages apart.
    Other,
}
