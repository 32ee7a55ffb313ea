//! The names of the calls whose arguments are read.

use crate::event::{Direction, LinkKind};

/// The arguments of a call that transfers bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentShape {
    /// `read(fd, buffer, count)`, and with an offset.
    Plain { positional: bool },
    /// `sendto(fd, buffer, count, flags, …)`.
    Message,
    /// `readv(fd, list, count)`, with an offset, and with flags.
    List { positional: bool },
    /// `sendmsg(fd, header, flags)`.
    MessageList,
    /// `sendmmsg(fd, messages, count, flags)`.
    Messages,
    /// `sendfile(to, from, offset, count)`.
    FromSecond,
    /// `splice(from, offset, to, …, count, flags)`.
    ToThird,
    /// `tee(from, to, count, flags)`.
    ToSecond,
    /// `vmsplice(to, list, count, flags)`.
    Mapped,
}

/// A call, or several with the same arguments. `Other` is any call whose arguments are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syscall {
    Transfer(ArgumentShape, Direction),
    Open,
    OpenAt,
    Create,
    Pipe,
    Socket,
    SocketPair,
    Accept,
    Connect,
    Poll,
    Duplicate,
    Duplicate3,
    Control,
    DeviceControl,
    Close,
    CloseRange,
    Seek,
    Seek32,
    Sync,
    SyncAll,
    Map,
    Status,
    StatusAt,
    StatusOfPath,
    Truncate,
    AskPath,
    AskAt,
    ChangeFolder,
    MakeFolder,
    Link(LinkKind),
    Watch,
    SetOption,
    Wait,
    WaitId,
    Submit,
    Ring,
    Execute,
    ExecuteAt,
    Exit,
    ExitGroup,
    Fork,
    Clone,
    Other,
}

impl Syscall {
    /// Whether a call without a result may have done anything. Of all other calls, the name alone tells the effect.
    pub(crate) fn needs_result(self) -> bool {
        !matches!(self, Self::Poll | Self::Connect | Self::Other)
    }

    /// Whether the call creates threads.
    pub(crate) fn makes_threads(self) -> bool {
        matches!(self, Self::Fork | Self::Clone)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallName {
    pub(crate) call: Syscall,
    /// Length of its name in the text.
    pub(crate) bytes: usize,
}

impl CallName {
    /// The name at the beginning of `text`; `None` if no name with a `(` after it is there.
    #[inline]
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let bytes = name_bytes(text);
        if bytes == 0 || text.get(bytes) != Some(&b'(') {
            return None;
        }
        let call = syscall(&text[..bytes]);
        Some(Self { call, bytes })
    }
}

/// Length of the name at the beginning of `text`: lower-case letters, digits, `_`, and `?`, as strace writes `???` for a
/// call that it does not know.
#[inline]
pub(crate) fn name_bytes(text: &[u8]) -> usize {
    let is_of_name = |byte: &u8| NAME_BYTES[usize::from(*byte)];
    text.iter()
        .position(|byte| !is_of_name(byte))
        .unwrap_or(text.len())
}

const NAME_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 255 {
        table[byte as usize] =
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'?';
        byte += 1;
    }
    table
};

/// Longest name in the table below.
const MAX_NAME_BYTES: usize = 16;

/// A name as one number, for comparison in one step; 0 if it is longer than `MAX_NAME_BYTES`.
const fn key(name: &[u8]) -> u128 {
    if name.len() > MAX_NAME_BYTES {
        return 0;
    }
    let mut key = 0_u128;
    let mut index = name.len();
    while index > 0 {
        index -= 1;
        key = key << 8 | name[index] as u128;
    }
    key
}

/// Returns the value of the name that equals a key.
macro_rules! names {
    ($given:expr, $($($name:literal)|+ => $value:expr),+ $(,)?) => {{
        let given = $given;
        $($(if const { key($name) } == given { return $value; })+)+
        Syscall::Other
    }};
}

/// The call of a name. The most frequent names come first.
fn syscall(name: &[u8]) -> Syscall {
    use Direction::{Read, Write};
    const fn plain(direction: Direction, positional: bool) -> Syscall {
        Syscall::Transfer(ArgumentShape::Plain { positional }, direction)
    }
    const fn list(direction: Direction, positional: bool) -> Syscall {
        Syscall::Transfer(ArgumentShape::List { positional }, direction)
    }
    if name == b"inotify_add_watch" {
        // Longer than `MAX_NAME_BYTES`.
        return Syscall::Watch;
    }
    names!(key(name),
        b"write" => plain(Write, false),
        b"read" => plain(Read, false),
        b"sendto" | b"send" => Syscall::Transfer(ArgumentShape::Message, Write),
        b"recvfrom" | b"recv" => Syscall::Transfer(ArgumentShape::Message, Read),
        b"writev" => list(Write, false),
        b"readv" => list(Read, false),
        b"pread64" | b"pread" => plain(Read, true),
        b"pwrite64" | b"pwrite" => plain(Write, true),
        b"sendmsg" => Syscall::Transfer(ArgumentShape::MessageList, Write),
        b"recvmsg" => Syscall::Transfer(ArgumentShape::MessageList, Read),
        b"lseek" => Syscall::Seek,
        b"close" => Syscall::Close,
        b"openat" | b"openat2" => Syscall::OpenAt,
        b"open" => Syscall::Open,
        b"preadv" | b"preadv2" => list(Read, true),
        b"pwritev" | b"pwritev2" => list(Write, true),
        b"recvmmsg" | b"recvmmsg_time64" => Syscall::Transfer(ArgumentShape::Messages, Read),
        b"sendmmsg" => Syscall::Transfer(ArgumentShape::Messages, Write),
        b"sendfile" | b"sendfile64" => Syscall::Transfer(ArgumentShape::FromSecond, Write),
        b"splice" | b"copy_file_range" => Syscall::Transfer(ArgumentShape::ToThird, Write),
        b"tee" => Syscall::Transfer(ArgumentShape::ToSecond, Write),
        b"vmsplice" => Syscall::Transfer(ArgumentShape::Mapped, Write),
        b"creat" => Syscall::Create,
        b"pipe" | b"pipe2" => Syscall::Pipe,
        b"socket" => Syscall::Socket,
        b"socketpair" => Syscall::SocketPair,
        b"accept" | b"accept4" => Syscall::Accept,
        b"connect" => Syscall::Connect,
        b"poll" | b"ppoll" | b"select" | b"_newselect" | b"pselect6" | b"epoll_wait" | b"epoll_pwait" | b"epoll_pwait2" => Syscall::Poll,
        b"dup" | b"dup2" => Syscall::Duplicate,
        b"dup3" => Syscall::Duplicate3,
        b"fcntl" | b"fcntl64" => Syscall::Control,
        b"ioctl" => Syscall::DeviceControl,
        b"close_range" => Syscall::CloseRange,
        b"_llseek" => Syscall::Seek32,
        b"fsync" | b"fdatasync" | b"sync_file_range" | b"sync_file_range2" => Syscall::Sync,
        b"sync" | b"syncfs" | b"msync" => Syscall::SyncAll,
        b"mmap" | b"mmap2" => Syscall::Map,
        b"fstat" | b"fstat64" => Syscall::Status,
        b"newfstatat" | b"fstatat64" | b"statx" | b"mknodat" => Syscall::StatusAt,
        b"stat" | b"stat64" | b"lstat" | b"lstat64" | b"mknod" => Syscall::StatusOfPath,
        b"access" | b"readlink" | b"getxattr" | b"lgetxattr" => Syscall::AskPath,
        b"faccessat" | b"faccessat2" | b"readlinkat" => Syscall::AskAt,
        b"chdir" | b"fchdir" => Syscall::ChangeFolder,
        b"mkdir" | b"mkdirat" => Syscall::MakeFolder,
        b"truncate" | b"truncate64" => Syscall::Truncate,
        b"link" | b"linkat" => Syscall::Link(LinkKind::Hard),
        b"symlink" | b"symlinkat" => Syscall::Link(LinkKind::Symbolic),
        b"rename" | b"renameat" | b"renameat2" => Syscall::Link(LinkKind::Rename),
        b"fanotify_mark" => Syscall::Watch,
        b"setsockopt" => Syscall::SetOption,
        b"wait4" | b"waitpid" => Syscall::Wait,
        b"waitid" => Syscall::WaitId,
        b"io_uring_enter" | b"io_submit" => Syscall::Submit,
        b"io_uring_setup" => Syscall::Ring,
        b"execve" => Syscall::Execute,
        b"execveat" => Syscall::ExecuteAt,
        b"exit" => Syscall::Exit,
        b"exit_group" => Syscall::ExitGroup,
        b"fork" | b"vfork" => Syscall::Fork,
        b"clone" | b"clone3" | b"__clone2" => Syscall::Clone,
    )
}
