//! What a call's name says.

use crate::event::Direction;

/// What of a transfer is told by its call's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
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

/// What a call is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Transfer(Shape, Direction),
    Open,
    OpenAt,
    Create,
    Pipe,
    Socket,
    SocketPair,
    Accept,
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
    Link,
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

impl Name {
    /// Whether such a call makes threads.
    pub(crate) fn makes_threads(self) -> bool {
        matches!(self, Self::Fork | Self::Clone)
    }
}

/// The name of a call, and its length; `None` if `text` does not begin with one and its bracket.
#[inline]
pub(crate) fn name(text: &[u8]) -> Option<(Name, usize)> {
    let length = name_bytes(text);
    if length == 0 || text.get(length) != Some(&b'(') {
        return None;
    }
    Some((kind(&text[..length]), length))
}

/// How many bytes of a name `text` begins with: small letters, digits, `_`; what strace does not
/// know is `???`.
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

/// The longest name that is of interest.
const LONGEST: usize = 16;

/// A name as one number, so that it is compared at once; 0 if it is longer than any of interest.
const fn key(name: &[u8]) -> u128 {
    if name.len() > LONGEST {
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

macro_rules! names {
    ($given:expr, $($($name:literal)|+ => $value:expr),+ $(,)?) => {{
        let given = $given;
        $($(if const { key($name) } == given { return $value; })+)+
        Name::Other
    }};
}

fn kind(name: &[u8]) -> Name {
    use Direction::{Read, Write};
    const fn plain(direction: Direction, positional: bool) -> Name {
        Name::Transfer(Shape::Plain { positional }, direction)
    }
    const fn list(direction: Direction, positional: bool) -> Name {
        Name::Transfer(Shape::List { positional }, direction)
    }
    names!(key(name),
        b"write" => plain(Write, false),
        b"read" => plain(Read, false),
        b"sendto" | b"send" => Name::Transfer(Shape::Message, Write),
        b"recvfrom" | b"recv" => Name::Transfer(Shape::Message, Read),
        b"writev" => list(Write, false),
        b"readv" => list(Read, false),
        b"pread64" | b"pread" => plain(Read, true),
        b"pwrite64" | b"pwrite" => plain(Write, true),
        b"sendmsg" => Name::Transfer(Shape::MessageList, Write),
        b"recvmsg" => Name::Transfer(Shape::MessageList, Read),
        b"lseek" => Name::Seek,
        b"close" => Name::Close,
        b"openat" | b"openat2" => Name::OpenAt,
        b"open" => Name::Open,
        b"preadv" | b"preadv2" => list(Read, true),
        b"pwritev" | b"pwritev2" => list(Write, true),
        b"recvmmsg" | b"recvmmsg_time64" => Name::Transfer(Shape::Messages, Read),
        b"sendmmsg" => Name::Transfer(Shape::Messages, Write),
        b"sendfile" | b"sendfile64" => Name::Transfer(Shape::FromSecond, Write),
        b"splice" | b"copy_file_range" => Name::Transfer(Shape::ToThird, Write),
        b"tee" => Name::Transfer(Shape::ToSecond, Write),
        b"vmsplice" => Name::Transfer(Shape::Mapped, Write),
        b"creat" => Name::Create,
        b"pipe" | b"pipe2" => Name::Pipe,
        b"socket" => Name::Socket,
        b"socketpair" => Name::SocketPair,
        b"accept" | b"accept4" => Name::Accept,
        b"dup" | b"dup2" => Name::Duplicate,
        b"dup3" => Name::Duplicate3,
        b"fcntl" | b"fcntl64" => Name::Control,
        b"ioctl" => Name::DeviceControl,
        b"close_range" => Name::CloseRange,
        b"_llseek" => Name::Seek32,
        b"fsync" | b"fdatasync" | b"syncfs" | b"sync_file_range" | b"sync_file_range2" => Name::Sync,
        b"sync" | b"msync" => Name::SyncAll,
        b"mmap" | b"mmap2" => Name::Map,
        b"fstat" | b"fstat64" => Name::Status,
        b"newfstatat" | b"fstatat64" | b"statx" | b"mknodat" => Name::StatusAt,
        b"stat" | b"stat64" | b"lstat" | b"lstat64" | b"mknod" => Name::StatusOfPath,
        b"truncate" | b"truncate64" => Name::Truncate,
        b"link" | b"linkat" => Name::Link,
        b"wait4" | b"waitpid" => Name::Wait,
        b"waitid" => Name::WaitId,
        b"io_uring_enter" | b"io_submit" => Name::Submit,
        b"io_uring_setup" => Name::Ring,
        b"execve" => Name::Execute,
        b"execveat" => Name::ExecuteAt,
        b"exit" => Name::Exit,
        b"exit_group" => Name::ExitGroup,
        b"fork" | b"vfork" => Name::Fork,
        b"clone" | b"clone3" | b"__clone2" => Name::Clone,
    )
}
