//! The table of the calls whose arguments are read.

use crate::call::body::Body;
use crate::call::call_result::{Tail, thread};
use crate::call::calls::{
    ask, change_folder, execute, fork, link, make_folder, poll, ring, sync, truncate, waited, watch,
};
use crate::call::descriptors::{self as fds, Found};
use crate::call::transfers::{ArgumentShape, Segments, lack_of_list, transfer};
use crate::counts::SkipReason;
use crate::event::{Action, Direction, LinkKind};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Syscall {
    Transfer(ArgumentShape, Direction),
    Fork,
    /// The function that reads the action of the call, and a bit for each argument that is a path.
    Read(for<'a> fn(Body<'a>) -> Found<'a>, u8),
    Other,
}

impl Syscall {
    pub(crate) fn makes_threads(self) -> bool {
        matches!(self, Self::Fork)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CallName {
    pub(crate) call: Syscall,
    pub(crate) bytes: usize,
}

impl CallName {
    /// The name at the beginning of `text`; `None` unless `text` begins with a name and a `(`.
    #[inline]
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let bytes = name_bytes(text);
        if bytes == 0 || text.get(bytes) != Some(&b'(') {
            return None;
        }
        let call = syscall(&text[..bytes]);
        Some(Self { call, bytes })
    }

    pub(crate) fn child(self, text: &[u8], tail: Tail) -> Option<u32> {
        let body = Body::new(text, self.bytes + 1, tail);
        (self.call.makes_threads() && body.succeeded()).then(|| thread(body.result()).ok())?
    }

    /// The action of a call, and the reason why a part of the call could not be read. If the arguments cannot be read,
    /// the action is [`Action::Unread`].
    pub(crate) fn action<'a>(
        self,
        text: &'a [u8],
        tail: Tail,
        segments: &'a mut Segments,
    ) -> (Action<'a>, Option<SkipReason>) {
        let body = Body::new(text, self.bytes + 1, tail);
        let (read, paths) = match self.call {
            Syscall::Transfer(shape, direction) => {
                return match transfer(shape, direction, body, segments) {
                    Ok(transfer) => {
                        let missing = lack_of_list(&transfer, body.text);
                        (Action::Transfer(transfer), missing)
                    }
                    Err(reason) => unread(body, reason),
                };
            }
            Syscall::Other => (Ok(Some(body.other())), 0),
            Syscall::Fork => (fork(body), 0),
            Syscall::Read(read, paths) => (read(body), paths),
        };
        if body.lacks_path(paths) {
            // If the log does not show a path, the effect of the call is unknown. The calls around this call are then
            // not merged.
            let action = match read {
                Ok(action) => action.unwrap_or(Action::Lost),
                Err(_) => Action::Unread { descriptor: None },
            };
            return (action, Some(SkipReason::NotShown));
        }
        match read {
            // A call that never returned may have done anything.
            Ok(None | Some(Action::Ask(_))) if body.result() == b"?" => {
                unread(body, SkipReason::Unreadable)
            }
            Ok(action) => (action.unwrap_or_else(|| body.other()), None),
            Err(reason) => unread(body, reason),
        }
    }
}

fn unread(body: Body<'_>, reason: SkipReason) -> (Action<'_>, Option<SkipReason>) {
    let descriptor = body.first_descriptor();
    // If a call never returned, strace does not write the arguments that the kernel fills in.
    let missing = (!body.result().starts_with(b"?")).then_some(reason);
    (Action::Unread { descriptor }, missing)
}

/// The length of the name at the beginning of `text`: lower-case letters, digits, `_` and `?`. If strace does not know
/// a call, it writes `???`.
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

/// The length of the longest name in the table below.
const MAX_NAME_BYTES: usize = 16;

/// A name as one number, for a comparison in one step; 0 if the name is longer than `MAX_NAME_BYTES`.
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

macro_rules! names {
    ($given:expr, $($($name:literal)|+ => $value:expr),+ $(,)?) => {{
        let given = $given;
        $($(if const { key($name) } == given { return $value; })+)+
        Syscall::Other
    }};
}

/// The call with a name. The most frequent names come first.
fn syscall(name: &[u8]) -> Syscall {
    use ArgumentShape::{List, Mapped, Message, MessageList, Messages, Plain};
    use Direction::{Read, Write};
    use Syscall::Transfer;
    const fn plain(direction: Direction, positional: bool) -> Syscall {
        Transfer(Plain { positional }, direction)
    }
    const fn list(direction: Direction, positional: bool) -> Syscall {
        Transfer(List { positional }, direction)
    }
    const fn between(from: usize, to: usize, count: usize) -> Syscall {
        Transfer(ArgumentShape::Between { from, to, count }, Write)
    }
    if name == b"inotify_add_watch" {
        // These names are longer than `MAX_NAME_BYTES`.
        return Syscall::Read(watch, 0b10);
    }
    names!(key(name),
        b"write" => plain(Write, false),
        b"read" => plain(Read, false),
        b"sendto" | b"send" => Transfer(Message, Write),
        b"recvfrom" | b"recv" => Transfer(Message, Read),
        b"writev" => list(Write, false),
        b"readv" => list(Read, false),
        b"pread64" | b"pread" => plain(Read, true),
        b"pwrite64" | b"pwrite" => plain(Write, true),
        b"sendmsg" => Transfer(MessageList, Write),
        b"recvmsg" => Transfer(MessageList, Read),
        b"lseek" => Syscall::Read(|call| fds::seek(call, false), 0),
        b"close" => Syscall::Read(fds::close, 0),
        b"openat" | b"openat2" => Syscall::Read(|call| fds::open(call, 1, false), 0b10),
        b"open" => Syscall::Read(|call| fds::open(call, 0, false), 1),
        b"preadv" | b"preadv2" => list(Read, true),
        b"pwritev" | b"pwritev2" => list(Write, true),
        b"recvmmsg" | b"recvmmsg_time64" => Transfer(Messages, Read),
        b"sendmmsg" => Transfer(Messages, Write),
        b"sendfile" | b"sendfile64" => between(1, 0, 3),
        b"splice" | b"copy_file_range" => between(0, 2, 4),
        b"tee" => between(0, 1, 2),
        b"vmsplice" => Transfer(Mapped, Write),
        b"creat" => Syscall::Read(|call| fds::open(call, 0, true), 1),
        b"pipe" | b"pipe2" => Syscall::Read(|call| fds::pair(call, 0), 1),
        b"socket" => Syscall::Read(|call| fds::socket(call, false), 0),
        b"socketpair" => Syscall::Read(|call| fds::pair(call, 3), 0b1000),
        b"accept" | b"accept4" => Syscall::Read(|call| fds::socket(call, true), 0),
        b"connect" => Syscall::Read(fds::connect, 0),
        b"poll" | b"ppoll" | b"select" | b"_newselect" | b"pselect6" | b"epoll_wait" | b"epoll_pwait" | b"epoll_pwait2" => Syscall::Read(poll, 0),
        b"dup" | b"dup2" | b"dup3" => Syscall::Read(fds::duplicate, 0),
        b"fcntl" | b"fcntl64" => Syscall::Read(fds::control, 0),
        b"ioctl" => Syscall::Read(fds::device_control, 0),
        b"close_range" => Syscall::Read(fds::close_range, 0),
        b"_llseek" => Syscall::Read(|call| fds::seek(call, true), 0),
        b"fsync" | b"fdatasync" | b"sync_file_range" | b"sync_file_range2" => Syscall::Read(sync, 0),
        b"sync" | b"syncfs" | b"msync" => Syscall::Read(|_| Ok(Some(Action::Sync(None))), 0),
        b"mmap" | b"mmap2" => Syscall::Read(fds::map, 0),
        b"fstat" | b"fstat64" => Syscall::Read(|call| ask(call, None, true), 0),
        b"newfstatat" | b"fstatat64" | b"statx" | b"mknodat" => Syscall::Read(|call| ask(call, Some(1), true), 0b10),
        b"stat" | b"stat64" | b"lstat" | b"lstat64" | b"mknod" => Syscall::Read(|call| ask(call, Some(0), true), 1),
        b"access" | b"readlink" | b"getxattr" | b"lgetxattr" => Syscall::Read(|call| ask(call, Some(0), false), 1),
        b"faccessat" | b"faccessat2" | b"readlinkat" => Syscall::Read(|call| ask(call, Some(1), false), 0b10),
        b"chdir" | b"fchdir" => Syscall::Read(change_folder, 1),
        b"mkdir" => Syscall::Read(make_folder, 1),
        b"mkdirat" => Syscall::Read(make_folder, 0b10),
        b"truncate" | b"truncate64" => Syscall::Read(truncate, 1),
        b"link" => Syscall::Read(|call| link(call, LinkKind::Hard), 0b11),
        b"linkat" => Syscall::Read(|call| link(call, LinkKind::Hard), 0b1010),
        b"symlink" => Syscall::Read(|call| link(call, LinkKind::Symbolic), 0b11),
        b"symlinkat" => Syscall::Read(|call| link(call, LinkKind::Symbolic), 0b101),
        b"rename" => Syscall::Read(|call| link(call, LinkKind::Rename), 0b11),
        b"renameat" | b"renameat2" => Syscall::Read(|call| link(call, LinkKind::Rename), 0b1010),
        b"fanotify_mark" => Syscall::Read(watch, 0b1_0000),
        b"setsockopt" => Syscall::Read(fds::set_option, 0),
        b"wait4" | b"waitpid" | b"waitid" => Syscall::Read(waited, 0),
        b"io_uring_enter" | b"io_submit" => Syscall::Read(|_| Ok(Some(Action::Submit { unseen: false })), 0),
        b"io_uring_setup" => Syscall::Read(ring, 0),
        b"execve" | b"execveat" => Syscall::Read(execute, 0),
        b"exit" => Syscall::Read(|_| Ok(Some(Action::Exit { process_ended: false })), 0),
        b"exit_group" => Syscall::Read(|_| Ok(Some(Action::Exit { process_ended: true })), 0),
        b"fork" | b"vfork" | b"clone" | b"clone3" | b"__clone2" => Syscall::Fork,
    )
}
