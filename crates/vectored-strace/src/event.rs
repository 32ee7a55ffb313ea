//! One system call, as far as it matters for moving bytes.
//!
//! An event borrows from the reader of the log and is lent to whoever follows; names and paths are
//! bytes, since a log may hold anything.

/// A system call that returned (or never did), or the end of a thread.
///
/// Events of a log come in the order in which calls returned; of a log in parts (`-ff`), in the order
/// in which they began. A call whose line could not be read comes as [`Action::Other`] under its name,
/// `write` for one, so that nothing is taken for silence that was not.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// The thread that made it. 0 where the log names none: it then is of one thread.
    pub thread: u32,
    /// When it began, in ns since a moment that all events of a log share. `None` without `-t`,
    /// `-tt`, `-ttt` or `-r`.
    pub began_ns: Option<u64>,
    /// How exact `began_ns` is, in ns: 1,000,000,000 with `-t`, 1000 with `-tt`, `-ttt` and `-r`;
    /// 0 without times.
    pub clock_ns: u64,
    /// How long it took, with `-T`, in ns. strace's own work is in it.
    pub took_ns: Option<u64>,
    /// The call's name, `write`; of a signal its own, `SIGCHLD`; of an end `exited` or `killed`.
    pub name: &'a [u8],
    /// What it did.
    pub action: Action<'a>,
    /// Who called, with `-k`: the innermost frame outside the C library, as the log has it.
    pub site: Option<&'a [u8]>,
}

/// A number of a descriptor, and what the log says that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// The number.
    pub number: i32,
    /// What `-y` or `-yy` shows between `<` and `>`: `/tmp/x`, `pipe:[123]`,
    /// `TCP:[127.0.0.1:4->127.0.0.1:5]`, `/dev/null<char 1:3>`.
    pub leads_to: Option<&'a [u8]>,
}

/// What a call did.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<'a> {
    /// It moved bytes, or tried to.
    Transfer(Transfer<'a>),
    /// `open`, `openat`, `openat2`, `creat`, successful.
    Open {
        /// The new one.
        descriptor: Descriptor<'a>,
        /// As the program named it, escapes of strace and all.
        path: &'a [u8],
        /// What was asked for.
        flags: OpenFlags,
    },
    /// `pipe`, `pipe2`, successful.
    Pipe {
        /// The end that is read.
        read: Descriptor<'a>,
        /// The end that is written.
        write: Descriptor<'a>,
        /// `O_DIRECT`: each write is a packet.
        packets: bool,
        /// `O_CLOEXEC`.
        close_on_exec: bool,
    },
    /// `socket`, `accept`, `accept4`, successful.
    Socket {
        /// The new one.
        descriptor: Descriptor<'a>,
        /// What kind it is; `None` after `accept`, which has it from `from`.
        kind: Option<SocketKind>,
        /// The listening socket of `accept`.
        from: Option<Descriptor<'a>>,
        /// `SOCK_CLOEXEC`.
        close_on_exec: bool,
    },
    /// `socketpair`, successful.
    SocketPair {
        /// Both ends.
        descriptors: [Descriptor<'a>; 2],
        /// What kind they are.
        kind: SocketKind,
        /// `SOCK_CLOEXEC`.
        close_on_exec: bool,
    },
    /// `dup`, `dup2`, `dup3`, `fcntl(F_DUPFD…)`, successful.
    Duplicate {
        /// The old one.
        from: Descriptor<'a>,
        /// The new one; what it was before is closed.
        to: Descriptor<'a>,
        /// Whether the new one goes at `execve`.
        close_on_exec: bool,
    },
    /// `close`, whatever it returned; `close_range` as a range.
    Close {
        /// The first that is closed.
        first: i32,
        /// The last that is closed.
        last: i32,
        /// What the log says the first led to.
        leads_to: Option<&'a [u8]>,
    },
    /// `fcntl(F_SETFL)`, successful: the flags that are up from now on.
    SetFlags {
        /// Whose.
        descriptor: Descriptor<'a>,
        /// Those up now.
        flags: OpenFlags,
    },
    /// `fcntl(F_SETFD)`, `ioctl(FIOCLEX)`, successful.
    SetCloseOnExec {
        /// Whose.
        descriptor: Descriptor<'a>,
        /// Up or down.
        close_on_exec: bool,
    },
    /// `fork`, `vfork`, `clone`, `clone3`, successful, in the parent. It comes before the events of
    /// the child where the log allows to tell; when such a call then returns, it is `Other`.
    Fork {
        /// The thread that it made.
        child: u32,
        /// `CLONE_THREAD`: it belongs to the same process.
        same_process: bool,
        /// `CLONE_FILES`: it shares the table of descriptors.
        shares_descriptors: bool,
    },
    /// `execve`, `execveat`, successful.
    Execute {
        /// The program, as it was named.
        program: &'a [u8],
    },
    /// `-Y` shows this name beside the thread for the first time: no call.
    Name {
        /// The name: that of its program, unless the thread has one of its own.
        program: &'a [u8],
    },
    /// `lseek`, successful.
    Seek {
        /// Whose offset.
        descriptor: Descriptor<'a>,
        /// Where it is now, in bytes from the start.
        position: u64,
        /// Whether it only asked (`lseek(fd, 0, SEEK_CUR)`).
        only_asked: bool,
        /// Whether its result depends on what was written: `SEEK_END`, `SEEK_DATA`, `SEEK_HOLE`.
        asks_size: bool,
    },
    /// `mmap` of a file, successful. It stays when the descriptor is closed.
    Map {
        /// Of what.
        descriptor: Descriptor<'a>,
        /// Whether what is written to the memory is written to the file (`MAP_SHARED`, `PROT_WRITE`).
        writes_through: bool,
    },
    /// A call on a file by its path: `stat`, `lstat`, `statx`, `truncate`. It is what its name says
    /// besides.
    Path {
        /// As the program named it.
        path: &'a [u8],
        /// Whether the call changes the file.
        changes: bool,
    },
    /// `link`, `linkat`, successful: a file has another name.
    Link {
        /// The name that it had, as the program named it.
        from: &'a [u8],
        /// The new one.
        to: &'a [u8],
    },
    /// `wait4`, `waitpid`, `waitid`: the call returned the end of this process.
    Wait {
        /// The process, by its number.
        child: u32,
    },
    /// `io_uring_enter`, `io_submit`: the call may move bytes through descriptors that the log does
    /// not name.
    Submit {
        /// Whether the kernel polls the queue from now on, so that later transfers need no call
        /// (`IORING_SETUP_SQPOLL`).
        unseen: bool,
    },
    /// Any call that tells that something is a FIFO: `mknod`, `fstat`, a refused `lseek`. It is what
    /// its name says besides.
    Fifo(Named<'a>),
    /// `fsync`, `fdatasync`, `sync_file_range`, `syncfs`, `msync`; `None` for `sync`.
    Sync(Option<Descriptor<'a>>),
    /// Any other call: the name says whether it matters.
    Other {
        /// Its first argument, where that is a descriptor with a `-y` text or a plain number that
        /// may be one.
        descriptor: Option<Descriptor<'a>>,
    },
    /// A signal was delivered.
    Signal,
    /// The thread has ended. It may come twice: of the call `exit`, and of the end itself.
    Exit {
        /// With its process (`exit_group`, killed).
        process_ended: bool,
    },
}

/// What a call names a file by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// A descriptor.
    Descriptor(Descriptor<'a>),
    /// A path, as the program named it.
    Path(&'a [u8]),
}

/// A call of the families of `read` and `write`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer<'a> {
    /// Which way.
    pub direction: Direction,
    /// Through what.
    pub descriptor: Descriptor<'a>,
    /// Where the bytes that it wrote came from, if not from the program: `sendfile`, `splice`, `tee`,
    /// `copy_file_range`.
    pub from: Option<Descriptor<'a>>,
    /// How it names its bytes.
    pub form: Form,
    /// The lengths of its segments, in bytes, in order; one for a plain call. `None` if strace cut
    /// the list (`-s` limits its entries).
    pub segment_bytes: Option<&'a [u64]>,
    /// How many segments it was given (1,024 at most succeed).
    pub segment_count: u64,
    /// What it was asked to move, in bytes; `None` if the list was cut.
    pub asked_bytes: Option<u64>,
    /// What it moved, in bytes, or why it did not.
    pub result: Result<u64, &'a [u8]>,
    /// Where, for the positional calls, in bytes from the start.
    pub offset: Option<u64>,
    /// A flag that gives the single call a meaning of its own was set: `MSG_PEEK`, `MSG_OOB`,
    /// `MSG_EOR`, `RWF_SYNC`, `RWF_ATOMIC` …; not `MSG_NOSIGNAL`, `MSG_DONTWAIT`, `MSG_MORE`.
    pub special: bool,
    /// `MSG_MORE`, which gathers in the kernel already.
    pub more: bool,
    /// `RWF_DSYNC` or `RWF_SYNC`.
    pub sync: bool,
    /// It named an address (`sendto`, `sendmsg`) or carried control data.
    pub addressed: bool,
}

impl<'a> Transfer<'a> {
    /// What most calls are: one buffer of so many bytes, of which some were moved, and no more to say.
    #[inline(always)]
    pub(crate) fn plain(
        direction: Direction,
        descriptor: Descriptor<'a>,
        asked_bytes: &'a u64,
        moved_bytes: u64,
        offset: Option<u64>,
    ) -> Self {
        Self {
            direction,
            descriptor,
            from: None,
            form: Form::Plain,
            segment_bytes: Some(std::slice::from_ref(asked_bytes)),
            segment_count: 1,
            asked_bytes: Some(*asked_bytes),
            result: Ok(moved_bytes),
            offset,
            special: false,
            more: false,
            sync: false,
            addressed: false,
        }
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// To the program.
    Read,
    /// From it.
    Write,
}

/// How a transfer names its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// One buffer: `write`, `read`, `pwrite64`, `send`, `recvfrom` …
    Plain,
    /// A list: `writev`, `readv`, `pwritev2`, `sendmsg` …
    List,
    /// Messages (`sendmmsg`, `recvmmsg`) or no buffer of the program (`sendfile`, `splice`,
    /// `copy_file_range`): it counts as something that moved the bytes, and nothing is merged.
    Opaque,
}

/// What `open`, `fcntl(F_SETFL)` say of a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// `O_APPEND`.
    pub append: bool,
    /// `O_SYNC` or `O_DSYNC`.
    pub sync: bool,
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_NONBLOCK`.
    pub nonblocking: bool,
    /// `O_CLOEXEC`.
    pub close_on_exec: bool,
    /// `O_PATH`.
    pub path_only: bool,
    /// `O_DIRECTORY`.
    pub directory: bool,
    /// `O_CREAT`: the call may make a name that other processes wait for.
    pub creates: bool,
}

/// A kind of socket, by its domain and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketKind {
    /// `AF_UNIX`, `SOCK_STREAM`.
    UnixStream,
    /// `AF_INET` or `AF_INET6`, `SOCK_STREAM`, TCP.
    Tcp,
    /// `SOCK_DGRAM` of `AF_INET`, `AF_INET6` or `AF_UNIX`: each call is a datagram.
    Datagram,
    /// Keeps messages apart otherwise, or is not known.
    Other,
}
