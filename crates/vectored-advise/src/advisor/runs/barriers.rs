//! Barriers: why calls that one call would replace are not counted.

/// The call that set a barrier, if several calls can set it, by its name in the source of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Call(u8);

/// Parts of the names of these calls. If a name contains several parts, the first one counts.
const CALLS: [&str; 38] = [
    "rename",
    "unlink",
    "rmdir",
    "symlink",
    "link",
    "mkdir",
    "mknod",
    "utime",
    "chmod",
    "chown",
    "ftruncate",
    "truncate",
    "fallocate",
    "ioctl",
    "setsockopt",
    "getsockopt",
    "shutdown",
    "setxattr",
    "inotify",
    "timerfd",
    "flock",
    "fcntl",
    "connect",
    "accept",
    "bind",
    "listen",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "poll",
    "select",
    "statfs",
    "fork",
    "execve",
    THREAD_START,
    "lseek(SEEK_END)",
    "open of a FIFO",
    "close of a locked file",
];

/// A garbage collector starts threads of its own: then the program has no line that does.
pub(crate) const THREAD_START: &str = "the start of a thread by the program or its runtime";

impl Call {
    pub(crate) const UNKNOWN: Call = Call(u8::MAX);

    pub(crate) fn of(name: &[u8]) -> Call {
        let holds = |call: &str| name.windows(call.len()).any(|part| part == call.as_bytes());
        let place = CALLS.iter().position(|call| holds(call));
        place.map_or(Call::UNKNOWN, |place| Call(place as u8))
    }

    fn name(self) -> Option<&'static str> {
        CALLS.get(usize::from(self.0)).copied()
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name().unwrap_or("?"))
    }
}

/// A reason why merging two calls changes the program's behaviour, or may do so. [`Barrier::words`] says what each is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Barrier {
    Poll(Call),
    Sleep,
    /// `futex` and other calls that wait for or wake a thread.
    Thread,
    Child,
    /// `fork`, `execve`, the start of a thread.
    Process(Call),
    Signal,
    PeerRead,
    ReadElsewhere,
    /// A file was asked for or read again, or asked for in vain, or read while others write it: the program may wait for it.
    Polled,
    OtherStream,
    StreamClosed,
    /// The descriptor itself was closed: no barrier between transfers, but to a buffer that outlives it.
    Closed,
    /// A transfer on what is no file, pipe or socket, or one that is not tracked.
    OtherTransfer,
    /// `sendfile`, `splice`, `sendmmsg`: a transfer without one buffer or list of the program.
    Moved,
    SyncOwn,
    SyncOther,
    /// Bytes of another file were overwritten: they may tell how far the program is.
    InPlace,
    SyncAll,
    SyncElsewhere,
    BothWays,
    Elsewhere,
    SameFile,
    Observed,
    Announced,
    Watched,
    WakeUp,
    /// `pwrite`, `sendfile` or a call with flags on the same open file description.
    OtherForm,
    Sought,
    TwoDescriptors,
    Mapped,
    Stat,
    Size(Call),
    Position,
    OffsetUsed,
    /// `io_uring_enter`, `io_submit`: the descriptors of the transfers do not show.
    Submitted,
    Reopened,
    Library,
    Datagrams,
    /// Of a stall: too few of the exchanges waited as long as a delayed acknowledgement.
    FewStalls,
    UnevenStalls,
    SlowPeer,
    NoContrast,
    NoFirst,
    UnknownNoDelay,
    LongRoundTrip,
    SeveralWriters,
    Names(Call),
    Created,
    Lock(Call),
    /// `ioctl`, `setsockopt`, `ftruncate`: their effect is not tracked.
    Control(Call),
    Connect(Call),
    #[default]
    UnknownCall,
    Unread,
    Gap,
    ClockSetBack,
    FileOrFifo,
    UnreadFlags,
    SyncFlag,
    Direct,
    More,
    SharedOffset,
    Inherited,
    /// The log does not show how long the read took: it may have waited.
    StreamRead,
    ReadWaited,
    Request,
    OtherReaders,
    Spliced,
    ControlData,
    InheritedReader,
    UnknownTarget,
    NoTimes,
    CoarseTimes,
    Filtered,
}

/// Adds a barrier that occurred so often to a list of barriers with their numbers.
pub(crate) fn add_barrier(known: &mut Vec<(Barrier, u64)>, reason: Barrier, times: u64) {
    match known.iter_mut().find(|one| one.0 == reason) {
        Some(one) => one.1 += times,
        None => known.push((reason, times)),
    }
}

impl Barrier {
    /// Whether the log lacks information, rather than that the program did something.
    pub(crate) fn is_of_the_log(self) -> bool {
        matches!(
            self,
            Barrier::UnknownTarget
                | Barrier::FileOrFifo
                | Barrier::ClockSetBack
                | Barrier::StreamRead
                | Barrier::Unread
                | Barrier::UnreadFlags
                | Barrier::NoTimes
                | Barrier::CoarseTimes
                | Barrier::Filtered
        )
    }

    /// Whether another thread or process set it: no call of the own thread comes before it.
    pub(crate) fn is_elsewhere(self) -> bool {
        matches!(
            self,
            Barrier::Elsewhere
                | Barrier::ReadElsewhere
                | Barrier::SyncElsewhere
                | Barrier::Observed
                | Barrier::Announced
                | Barrier::Watched
                | Barrier::Mapped
                | Barrier::SharedOffset
                | Barrier::WakeUp
        )
    }

    /// Whether the program may have made the call without a line of its own that says so.
    pub(crate) fn is_implicit(self) -> bool {
        matches!(
            self,
            Barrier::UnknownCall
                | Barrier::Unread
                | Barrier::Thread
                | Barrier::Control(_)
                | Barrier::Stat
        )
    }

    /// Whether what is in a buffer then is written twice, or elsewhere, or is not on the disk when the program relies on it.
    pub(crate) fn is_strong(self) -> bool {
        matches!(
            self,
            Barrier::Process(_)
                | Barrier::Closed
                | Barrier::SyncOwn
                | Barrier::SyncOther
                | Barrier::SyncAll
        )
    }

    fn call(&mut self) -> Option<&mut Call> {
        match self {
            Barrier::Names(call)
            | Barrier::Control(call)
            | Barrier::Lock(call)
            | Barrier::Connect(call)
            | Barrier::Poll(call)
            | Barrier::Process(call)
            | Barrier::Size(call) => Some(call),
            _ => None,
        }
    }

    /// The barrier as the reason why calls are listed, whichever of its calls set it.
    pub(crate) fn of_any_call(mut self) -> Barrier {
        self.call()
            .into_iter()
            .for_each(|call| *call = Call::UNKNOWN);
        self
    }

    /// The reason in words. If the log lacks something, also the option of strace that adds it.
    pub(crate) fn in_words(self, max_delay_ns: u64) -> String {
        match self {
            Barrier::Gap => format!("a gap of more than {}", delay_in_words(max_delay_ns)),
            other => other.words().to_owned(),
        }
    }

    /// The call before which a buffer must be empty, if the program makes one.
    pub(crate) fn before(mut self, is_read: bool) -> Option<&'static str> {
        if let Some(call) = self.call().and_then(|call| call.name()) {
            return Some(call);
        }
        match self {
            Barrier::BothWays if is_read => Some("a write to the same open file"),
            Barrier::BothWays => Some("a read of the same open file"),
            Barrier::SameFile if is_read => Some("a write to the file through another descriptor"),
            // The close comes before it.
            Barrier::Reopened => None,
            Barrier::Closed => Some(CLOSE),
            Barrier::Thread => Some("waiting for or waking another thread"),
            Barrier::Submitted => Some("io_uring_enter or io_submit"),
            Barrier::Gap => Some(PAUSE),
            Barrier::ClockSetBack => Some("a pause"),
            Barrier::Unread => Some("a call that could not be read"),
            Barrier::UnknownCall => Some("a call that is not known to be harmless"),
            other if other.is_of_the_log() => None,
            other => Some(other.words().split_once(" between them")?.0),
        }
    }

    fn doubt_of_a_stall(self) -> &'static str {
        match self {
            Barrier::FewStalls => {
                "a delayed acknowledgement makes at least half of the exchanges wait"
            }
            Barrier::UnevenStalls => "the waits differ more than those for a timer do",
            Barrier::SlowPeer => SLOW_PEERS[0],
            Barrier::NoContrast => SLOW_PEERS[1],
            Barrier::NoFirst => {
                "no first answer of a connection was seen, which would show whether the other end is slow"
            }
            Barrier::UnknownNoDelay => "TCP_NODELAY may have been set before the log began",
            _ => "a round trip to the peer takes about as long",
        }
    }

    fn lack_of_the_log(self) -> &'static str {
        match self {
            Barrier::UnknownTarget => {
                "the log does not say what the descriptor leads to: trace again with -yy"
            }
            Barrier::FileOrFifo => {
                "the log does not show whether it is a file or a FIFO: read the log where its files are"
            }
            Barrier::ClockSetBack => "the clock was set back between them: the time is not known",
            Barrier::NoTimes => "the log has no times: trace again with -ttt",
            Barrier::CoarseTimes => "the log's times are too coarse: trace again with -ttt",
            Barrier::Filtered => {
                "the log has few kinds of calls: -e hides waits, and -p what came before: trace again without -e, from the start of the program"
            }
            Barrier::StreamRead => {
                "the log does not say whether the reads waited: trace again with -T"
            }
            _ => "the log has the flags of open as numbers: trace again without -X raw",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Barrier::Poll(_) => "poll, select or epoll_wait between them",
            Barrier::Sleep => "a sleep or sched_yield between them",
            Barrier::Thread => "futex between them: another thread may continue",
            Barrier::Child => "a wait for a child between them",
            Barrier::Process(_) => "fork or execve between them",
            Barrier::Signal => "a signal between them",
            Barrier::PeerRead => "a read of a pipe or socket between them",
            Barrier::ReadElsewhere => READ_ELSEWHERE,
            Barrier::Polled => POLLED,
            Barrier::OtherStream => "a write to another pipe or socket between them",
            Barrier::Closed => CLOSE,
            Barrier::StreamClosed => "a close of a pipe or socket between them",
            Barrier::OtherTransfer => OTHER_TRANSFER,
            Barrier::Moved => "sendfile, splice, sendmmsg or the like between them",
            Barrier::SyncOwn => "fsync between them",
            Barrier::SyncOther => "a sync of another file between them",
            Barrier::InPlace => "an overwrite of another file in place between them",
            Barrier::SyncAll => "sync or syncfs between them",
            Barrier::SyncElsewhere => "another thread or process syncs the file between them",
            Barrier::BothWays => "reads and writes of the same open file in turn",
            Barrier::Elsewhere => ELSEWHERE,
            Barrier::SameFile => "a use of the same file through another descriptor between them",
            Barrier::Observed => OBSERVED,
            Barrier::Announced => ANNOUNCED,
            Barrier::Watched => "inotify or fanotify watches it: each write is an event",
            Barrier::WakeUp => {
                "the same process reads the other end: each write wakes one of its threads"
            }
            Barrier::OtherForm => OTHER_FORM,
            Barrier::Sought => "lseek between them",
            Barrier::TwoDescriptors => TWO_DESCRIPTORS,
            Barrier::Mapped => {
                "the file is mapped into memory, where its bytes can be seen or changed without a call"
            }
            Barrier::Stat => "stat between them, which may see the file's size",
            Barrier::Size(_) => {
                "lseek(SEEK_END), statfs or the like between them, which shows how much was written"
            }
            Barrier::Position => {
                "lseek(SEEK_CUR) between them, which shows the offset that the calls moved"
            }
            Barrier::OffsetUsed => OFFSET_USED,
            Barrier::Submitted => SUBMITTED,
            Barrier::Reopened => REOPENED,
            Barrier::UnknownTarget
            | Barrier::NoTimes
            | Barrier::CoarseTimes
            | Barrier::Filtered
            | Barrier::StreamRead
            | Barrier::FileOrFifo
            | Barrier::ClockSetBack
            | Barrier::UnreadFlags => self.lack_of_the_log(),
            Barrier::FewStalls
            | Barrier::UnevenStalls
            | Barrier::SlowPeer
            | Barrier::NoContrast
            | Barrier::NoFirst
            | Barrier::UnknownNoDelay
            | Barrier::LongRoundTrip => self.doubt_of_a_stall(),
            Barrier::Library => LIBRARY,
            Barrier::Datagrams => {
                "each call sends a datagram: sendmmsg sends several in one call and keeps them apart"
            }
            Barrier::SeveralWriters => {
                "several threads or processes write to it: a merged call changes the order of their bytes"
            }
            Barrier::Names(_) => "rename, unlink, utime or the like between them",
            Barrier::Created => "an open that creates or empties another file between them",
            Barrier::Lock(_) => "fcntl or a lock between them",
            Barrier::Control(_) => "ioctl, setsockopt, ftruncate or the like between them",
            Barrier::Connect(_) => "connect, accept, open of a FIFO or the like between them",
            Barrier::UnknownCall => "a call between them that is not known to be harmless",
            Barrier::Unread => "a line between them that could not be read",
            Barrier::Gap => "a gap",
            Barrier::SyncFlag => SYNC_FLAG,
            Barrier::Direct => "O_DIRECT",
            Barrier::More => "MSG_MORE or TCP_CORK, which gathers in the kernel already",
            Barrier::SharedOffset => {
                "another thread or process uses the same offset, and would continue at a different offset"
            }
            Barrier::Inherited => {
                "open before the log began: another process may share the offset, and read on from it"
            }
            Barrier::ReadWaited => "the reads waited: there was no more to read",
            Barrier::Request => REQUEST,
            Barrier::OtherReaders => {
                "several threads or processes read the stream, or may: a larger buffer would take \
                 bytes meant for another"
            }
            Barrier::Spliced => SPLICED,
            Barrier::ControlData => {
                "descriptors or credentials came with some of its bytes: a larger buffer would lose them"
            }
            Barrier::InheritedReader => INHERITED_READER,
        }
    }
}

/// The reasons of [`Barrier::SlowPeer`] and [`Barrier::NoContrast`]: nothing speaks for a stall but the time.
pub(crate) const SLOW_PEERS: [&str; 2] = [
    "exchanges of a single write wait as long: the other end may be slow",
    "no first answer of a connection came sooner: the other end may be slow",
];
/// What [`Barrier::Closed`] is called in a finding.
pub(crate) const CLOSE: &str = "close";
/// What [`Barrier::Gap`] is called until a finding has its length.
pub(crate) const PAUSE: &str = "a pause of unknown length";
/// The reason of [`Barrier::Reopened`].
pub(crate) const REOPENED: &str = "the file is closed and opened again between them";
const READ_ELSEWHERE: &str =
    "another thread or process reads there between them, and may wait for all that is written";
const POLLED: &str =
    "open, stat or read of a file again or in vain between them, which may be a wait";
const ELSEWHERE: &str = "another thread or process uses the same file or descriptor between them";
const OBSERVED: &str =
    "another thread or process reads the file, or asks for its size, while it is written";
const ANNOUNCED: &str =
    "another thread or process looks at a file that is written between them, and may wait for that";
const OTHER_FORM: &str =
    "sendfile, a write at an offset or one with flags to the same descriptor between them";
const SYNC_FLAG: &str = "O_SYNC or O_DSYNC: each call lasts until its bytes are on the disk";
const OFFSET_USED: &str = "the offset is used by more than the next call: lseek(SEEK_CUR), sendfile, or a call without a seek before it";
const SUBMITTED: &str =
    "io_uring or AIO in a process that has it open, whose transfers the log does not show";
const LIBRARY: &str = "a database library of the process makes such calls, not the program: with SQLite, use larger transactions or WAL mode";
const REQUEST: &str = "a write to a pipe or socket between them, which these bytes may answer";
/// The reason of [`Barrier::InheritedReader`].
const INHERITED_READER: &str = "open before the log began: another process may read the stream, and a larger buffer would take bytes meant for it";

const SPLICED: &str =
    "sendfile, splice or tee from it: a larger buffer would take bytes that it is to move";
const OTHER_TRANSFER: &str =
    "a read or write of a terminal, a device or another special descriptor between them";
const TWO_DESCRIPTORS: &str = "a call through another descriptor of the same open file between them: with a buffer for each, the \
    order changes";

/// `10 ms`, `1.5 ms`.
pub(crate) fn delay_in_words(ns: u64) -> String {
    format!("{} ms", ns as f64 / 1e6)
}
