//! Barriers: the reasons why calls that one call would replace are not counted.

/// The name of the call that set a barrier, as the source of a program writes it. Only a barrier that several calls can
/// set has a `Call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call(pub(crate) &'static str);

/// Parts of the names of the calls that set such barriers. If a name contains several parts, the first part in this
/// list counts.
const CALLS: &str = "rename unlink rmdir symlink link mkdir mknod utime chmod chown ftruncate truncate fallocate ioctl \
    setsockopt getsockopt shutdown setxattr inotify timerfd flock fcntl connect accept bind listen epoll_ctl epoll_wait \
    epoll_pwait poll select statfs fork execve";

/// The runtime starts a thread for its garbage collector, for example. No line of the program starts that thread.
pub(crate) const THREAD_START: &str = "the start of a thread by the program or its runtime";

impl Call {
    pub(crate) const UNKNOWN: Call = Call("");

    pub(crate) fn of(name: &[u8]) -> Call {
        let holds = |call: &&str| name.windows(call.len()).any(|part| part == call.as_bytes());
        CALLS.split(' ').find(holds).map_or(Call::UNKNOWN, Call)
    }
}

/// The kind of a barrier, besides its words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Own,
    /// The log lacks information; the program may have done nothing that prevents a merge.
    OfTheLog,
    /// Another thread or process set the barrier. The thread whose calls are counted makes no call there, so it cannot
    /// empty its buffer first.
    Elsewhere,
    /// A library may have made the call, so that no line of the program names the call.
    Implicit,
    /// Bytes that are in a buffer at the barrier may be written twice or elsewhere. Or they are not on the disk when
    /// the program relies on them.
    Strong,
}

macro_rules! barriers {
    (@class) => { Class::Own };
    (@class $class:ident) => { Class::$class };
    ($($name:ident $(($call:ident))? $($class:ident)? = $words:expr;)*) => {
        /// A reason why merging two calls may change the program's behaviour.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Barrier {
            $($name $(($call))?,)*
        }

        impl Barrier {
            pub(crate) fn class(self) -> Class {
                match self {
                    $(Barrier::$name { .. } => barriers!(@class $($class)?),)*
                }
            }

            fn words(self) -> &'static str {
                match self {
                    $(Barrier::$name { .. } => $words,)*
                }
            }

            fn call(&mut self) -> Option<&mut Call> {
                match self {
                    $($(Barrier::$name(call) => Some::<&mut $call>(call),)?)*
                    _ => None,
                }
            }
        }
    };
}

barriers! {
    Poll(Call) = "poll, select or epoll_wait between them";
    Sleep = "a sleep or sched_yield between them";
    Thread Implicit = "futex between them: another thread may continue";
    Child = "a wait for a child between them";
    Process(Call) Strong = "fork or execve between them";
    Signal = "a signal between them";
    PeerRead = "a read of a pipe or socket between them";
    ReadElsewhere Elsewhere = "another thread or process reads there between them, and may wait for all that is written";
    Polled = "open, stat or read of a file again or in vain between them, which may be a wait";
    OtherStream = "a write to another pipe or socket between them";
    StreamClosed = "a close of a pipe or socket between them";
    // A close of the descriptor separates no transfers. But a buffer that outlives the descriptor loses its bytes.
    Closed Strong = CLOSE;
    OtherTransfer = "a read or write of a terminal, a device or another special descriptor between them";
    // A transfer without a buffer or a list of the program.
    Moved = "sendfile, splice, sendmmsg or the like between them";
    SyncOwn Strong = "fsync between them";
    SyncOther Strong = "a sync of another file between them";
    // The overwritten bytes may tell how far the program is.
    InPlace = "an overwrite of another file in place between them";
    SyncAll Strong = "sync or syncfs between them";
    SyncElsewhere Elsewhere = "another thread or process syncs the file between them";
    BothWays = "reads and writes of the same open file in turn";
    Elsewhere Elsewhere = "another thread or process uses the same file or descriptor between them";
    SameFile = "a use of the same file through another descriptor between them";
    Observed Elsewhere = "another thread or process reads the file, or asks for its size, while it is written";
    Announced Elsewhere = "another thread or process looks at a file that is written between them, and may wait for that";
    Watched Elsewhere = "inotify or fanotify watches it: each write is an event";
    WakeUp Elsewhere = "the same process reads the other end: each write wakes one of its threads";
    OtherForm = "sendfile, a write at an offset or one with flags to the same descriptor between them";
    Sought = "lseek between them";
    TwoDescriptors = "a call through another descriptor of the same open file between them: with a buffer for each, the order changes";
    Mapped Elsewhere = "the file is mapped into memory, where its bytes can be seen or changed without a call";
    Stat Implicit = "stat between them, which may see the file's size";
    Size(Call) = "lseek(SEEK_END), statfs or the like between them, which shows how much was written";
    Position = "lseek(SEEK_CUR) between them, which shows the offset that the calls moved";
    OffsetUsed = "the offset is used by more than the next call: lseek(SEEK_CUR), sendfile, or a call without a seek before it";
    Submitted = "io_uring or AIO in a process that has it open, whose transfers the log does not show";
    Reopened = REOPENED;
    Library = "a database library of the process makes such calls, not the program: with SQLite, use larger transactions or WAL mode";
    Datagrams = "each call sends a datagram: sendmmsg sends several in one call and keeps them apart";
    // These barriers concern stalls.
    FewStalls = "a delayed acknowledgement makes at least half of the exchanges wait";
    UnevenStalls = "the waits differ more than those for a timer do";
    SlowPeer = SLOW_PEERS[0];
    NoContrast = SLOW_PEERS[1];
    NoFirst = "no first answer of a connection was seen, which would show whether the other end is slow";
    UnknownNoDelay = "TCP_NODELAY may have been set before the log began";
    LongRoundTrip = "a round trip to the peer takes about as long";
    SeveralWriters = "several threads or processes write to it: a merged call changes the order of their bytes";
    Names(Call) = "rename, unlink, utime or the like between them";
    Created = "an open that creates or empties another file between them";
    Lock(Call) = "fcntl or a lock between them";
    // Calls whose effect is not tracked.
    Control(Call) Implicit = "ioctl, setsockopt, ftruncate or the like between them";
    Connect(Call) = "connect, accept, open of a FIFO or the like between them";
    UnknownCall Implicit = "a call between them that is not known to be harmless";
    Unread OfTheLog = "a line between them that could not be read";
    Gap = "a gap";
    ClockSetBack OfTheLog = "the clock was set back between them: the time is not known";
    FileOrFifo OfTheLog = "the log does not show whether it is a file or a FIFO: read the log where its files are";
    UnreadFlags OfTheLog = "the log has the flags of open as numbers: trace again without -X raw";
    SyncFlag = "O_SYNC or O_DSYNC: each call lasts until its bytes are on the disk";
    Direct = "O_DIRECT";
    More = "MSG_MORE or TCP_CORK, which gathers in the kernel already";
    SharedOffset Elsewhere = "another thread or process uses the same offset, and would continue at a different offset";
    Inherited = "open before the log began: another process may share the offset, and read on from it";
    StreamRead OfTheLog = "the log does not say whether the reads waited: trace again with -T";
    ReadWaited = "the reads waited: there was no more to read";
    Request = "a write to a pipe or socket between them, which these bytes may answer";
    OtherReaders = "several threads or processes read the stream, or may: a larger buffer would take bytes meant for another";
    Spliced = "sendfile, splice or tee from it: a larger buffer would take bytes that it is to move";
    ControlData = "descriptors or credentials came with some of its bytes: a larger buffer would lose them";
    InheritedReader = "open before the log began: another process may read the stream, and a larger buffer would take bytes meant for it";
    UnknownTarget OfTheLog = "the log does not say what the descriptor leads to: trace again with -yy";
    NoTimes OfTheLog = "the log has no times: trace again with -ttt";
    CoarseTimes OfTheLog = "the log's times are too coarse: trace again with -ttt";
    Filtered OfTheLog = "the log has few kinds of calls: -e hides waits, and -p what came before: trace again without -e, from the start of the program";
}

/// Adds `times` occurrences of a barrier to a list of barriers with their counts.
pub(crate) fn add_barrier(known: &mut Vec<(Barrier, u64)>, reason: Barrier, times: u64) {
    match known.iter_mut().find(|one| one.0 == reason) {
        Some(one) => one.1 += times,
        None => known.push((reason, times)),
    }
}

impl Barrier {
    pub(crate) fn is_of_the_log(self) -> bool {
        self.class() == Class::OfTheLog
    }

    pub(crate) fn is_elsewhere(self) -> bool {
        self.class() == Class::Elsewhere
    }

    pub(crate) fn of_any_call(mut self) -> Barrier {
        if let Some(call) = self.call() {
            *call = Call::UNKNOWN;
        }
        self
    }

    /// The reason in words. If the log lacks something, the words include the option of strace that adds it.
    pub(crate) fn in_words(self, max_delay_ns: u64) -> String {
        match self {
            Barrier::Gap => format!("a gap of more than {}", delay_in_words(max_delay_ns)),
            other => other.words().to_owned(),
        }
    }

    /// The call of the program before which a buffer must be empty; `None` if there is no such call.
    pub(crate) fn before(mut self, is_read: bool) -> Option<&'static str> {
        if let Some(call) = self.call().filter(|call| **call != Call::UNKNOWN) {
            return Some(call.0);
        }
        match self {
            Barrier::BothWays if is_read => Some("a write to the same open file"),
            Barrier::BothWays => Some("a read of the same open file"),
            Barrier::SameFile if is_read => Some("a write to the file through another descriptor"),
            // `Closed` comes before this barrier, and names the close.
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
}

/// The reasons of [`Barrier::SlowPeer`] and [`Barrier::NoContrast`]: only the time of the waits suggests a stall.
pub(crate) const SLOW_PEERS: [&str; 2] = [
    "exchanges of a single write wait as long: the other end may be slow",
    "no first answer of a connection came sooner: the other end may be slow",
];
/// The name of [`Barrier::Closed`] in a finding.
pub(crate) const CLOSE: &str = "close";
/// The name of [`Barrier::Gap`] until a finding has the length of the gap.
pub(crate) const PAUSE: &str = "a pause of unknown length";
pub(crate) const REOPENED: &str = "the file is closed and opened again between them";

pub(crate) fn delay_in_words(ns: u64) -> String {
    format!("{} ms", ns as f64 / 1e6)
}
