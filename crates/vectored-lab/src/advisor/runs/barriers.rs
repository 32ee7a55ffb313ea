//! Why calls that one call would replace are not counted.

/// What makes it change the program's behaviour to merge two calls, or unknown whether it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// `poll`, `select`, `epoll_wait`.
    Poll,
    /// `nanosleep`, `pause`, `sched_yield`.
    Sleep,
    /// `futex` and other calls that wait for or wake a thread.
    Thread,
    /// `wait4`, `waitid`.
    Child,
    /// `fork`, `execve`.
    Process,
    /// A signal was delivered, or sent.
    Signal,
    /// Bytes came from a pipe or socket.
    PeerRead,
    /// Bytes went to another pipe or socket.
    OtherStream,
    /// A pipe or socket was closed.
    StreamClosed,
    /// Bytes went to or came from what is no file, pipe or socket, or in a way not followed.
    OtherTransfer,
    /// `fsync` of the same file.
    SyncOwn,
    /// A sync of something else.
    SyncOther,
    /// The same opening was read and written.
    BothWays,
    /// The same file was used through another opening.
    SameFile,
    /// The file is mapped into memory.
    Mapped,
    /// A file's size may have been asked for.
    Looked,
    /// The result tells how much was written: `lseek(SEEK_END)`, `statfs`.
    Size,
    /// The result tells how far the calls moved the offset: `lseek(fd, 0, SEEK_CUR)`.
    Position,
    /// `io_uring_enter`, `io_submit`: which descriptors the transfers used does not show.
    Submitted,
    /// The file was closed and opened again.
    Reopened,
    /// Each call is a datagram.
    Datagrams,
    /// Several threads or processes write to the same file, pipe or socket.
    SeveralWriters,
    /// Names changed: `rename`, `unlink`, `mkdir`.
    Names,
    /// Locks, `fcntl`.
    Lock,
    /// `ioctl`, `setsockopt`, `ftruncate`: what was asked for is not followed.
    Control,
    /// `connect`, `accept`, `listen`.
    Connect,
    /// A call that is not in the list of those that are known.
    UnknownCall,
    /// Too long.
    Gap,
    /// `O_SYNC`, `O_DSYNC` or the like of one call.
    SyncFlag,
    /// `O_DIRECT`.
    Direct,
    /// `MSG_MORE`.
    More,
    /// Processes that do not show may write to the same FIFO.
    OtherWriters,
    /// Another thread or process uses the same offset.
    SharedOffset,
    /// It was open before the log began, so that another process may do that.
    Inherited,
    /// How long a read of a pipe or socket took is not known: it may have waited.
    StreamRead,
    /// A read of a pipe or socket waited.
    ReadWaited,
    /// What was written between two reads may be what the second one's bytes answer.
    Asked,
    /// Another process or thread reads the same pipe or socket, or may.
    OtherReaders,
    /// `sendfile`, `splice` or `tee` moves bytes from what is read, too.
    Copied,
    /// Descriptors or credentials come with the bytes of a socket.
    ControlData,
    /// A pipe or socket was open before the log began, so that another process may read it.
    InheritedReader,
    /// Nothing says what the descriptor leads to.
    UnknownTarget,
    /// The log has no times.
    NoTimes,
    /// The log's times are too coarse.
    CoarseTimes,
    /// The log may have been filtered.
    Filtered,
}

impl Reason {
    /// Whether it is a lack of the log, not something that the program did.
    pub(crate) fn is_of_the_log(self) -> bool {
        matches!(
            self,
            Reason::UnknownTarget
                | Reason::StreamRead
                | Reason::NoTimes
                | Reason::CoarseTimes
                | Reason::Filtered
        )
    }

    /// In words; what to do about it, where the log is to blame.
    pub(crate) fn in_words(self, max_delay_ns: u64) -> String {
        let words = match self {
            Reason::Poll => "poll, select or epoll_wait between them",
            Reason::Sleep => "a sleep between them",
            Reason::Thread => "futex between them: another thread may go on",
            Reason::Child => "a wait for a child between them",
            Reason::Process => "fork or execve between them",
            Reason::Signal => "a signal between them",
            Reason::PeerRead => "a read of a pipe or socket between them",
            Reason::OtherStream => "a write to another pipe or socket between them",
            Reason::StreamClosed => "a pipe or socket closed between them",
            Reason::OtherTransfer => {
                "a read or write between them on a terminal, a device or another special descriptor"
            }
            Reason::SyncOwn => "fsync between them",
            Reason::SyncOther => "a sync of something else between them",
            Reason::BothWays => "reads and writes of the same opening in turn",
            Reason::SameFile => "the same file used through another opening between them",
            Reason::Mapped => {
                "the file is mapped into memory, where its bytes can be seen or changed without a call"
            }
            Reason::Looked => "stat between them, which may see the file's size",
            Reason::Size => {
                "lseek(SEEK_END), statfs or the like between them, which tells how much was written"
            }
            Reason::Position => {
                "lseek(SEEK_CUR) between them, which tells the offset that the calls moved"
            }
            Reason::Submitted => {
                "io_uring or AIO in the same process, whose transfers the log does not show"
            }
            Reason::Reopened => "the file is closed and opened again between them",
            Reason::Datagrams => {
                "each call sends a datagram: sendmmsg sends several in one call and keeps them apart"
            }
            Reason::SeveralWriters => {
                "several threads or processes write to it: a merged call changes the order of their bytes"
            }
            Reason::Names => "rename, unlink or the like between them",
            Reason::Lock => "fcntl or a lock between them",
            Reason::Control => "ioctl, setsockopt, ftruncate or the like between them",
            Reason::Connect => "connect, accept or the like between them",
            Reason::UnknownCall => "a call between them that is not known to be harmless",
            Reason::Gap => return format!("a gap of more than {}", delay_in_words(max_delay_ns)),
            Reason::SyncFlag => {
                "O_SYNC or O_DSYNC: each call lasts until its bytes are on the disk"
            }
            Reason::Direct => "O_DIRECT",
            Reason::More => "MSG_MORE, which gathers in the kernel already",
            Reason::OtherWriters => {
                "other processes may write to the same FIFO, and a write of more than PIPE_BUF may be split"
            }
            Reason::SharedOffset => {
                "another thread or process uses the same offset, and would go on from another place"
            }
            Reason::Inherited => {
                "open before the log began: another process may share the offset, and read on from it"
            }
            Reason::StreamRead => {
                "the log does not say whether the reads waited: trace again with -T"
            }
            Reason::ReadWaited => "the reads waited: there was no more to read",
            Reason::Asked => {
                "a write to a pipe or socket between them, which these bytes may answer"
            }
            Reason::OtherReaders => {
                "several threads or processes read the stream, or may: a larger buffer would take \
                 what another is to read"
            }
            Reason::Copied => {
                "sendfile, splice or tee from it: a larger buffer would take what that is to move"
            }
            Reason::ControlData => {
                "descriptors or credentials came with some of its bytes: a larger buffer would lose them"
            }
            Reason::InheritedReader => {
                "open before the log began: another process may read the stream, and a larger \
                 buffer would take what it is to read"
            }
            Reason::UnknownTarget => {
                "the log does not say what the descriptor leads to: trace again with -yy"
            }
            Reason::NoTimes => "the log has no times: trace again with -ttt",
            Reason::CoarseTimes => "the log's times are too coarse: trace again with -ttt",
            Reason::Filtered => {
                "no call shows that the log was not filtered, and waits would not show: trace again \
                 without -e"
            }
        };
        words.to_owned()
    }
}

/// `10 ms`, `1.5 ms`.
fn delay_in_words(ns: u64) -> String {
    format!("{} ms", ns as f64 / 1e6)
}
