//! From a call to its [`Action`], as `vectored-strace` makes it from a line.

use libc::{
    AF_INET, AF_INET6, AF_UNIX, F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_NOTIFY, F_SETFD, F_SETFL,
    IPPROTO_TCP, MAP_ANONYMOUS, O_CLOEXEC, O_DIRECT, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_STREAM,
};
use vectored_strace::event::{
    Action, Ask, Descriptor, Direction, Form, LinkKind, Named, OpenFlags, Place, SocketKind, TcpOption, Transfer,
};

use crate::record::{Record, Slot};

/// A call, with what its extension holds.
pub(crate) struct Call<'a> {
    pub(crate) name: &'static str,
    pub(crate) record: &'a Record,
    /// Lists and structures.
    pub(crate) data: &'a [Slot],
    /// The paths.
    pub(crate) texts: &'a [Vec<u8>],
    /// Lengths of segments.
    pub(crate) segments: &'a [u64],
}

/// `ERESTARTSYS` and the like, from this number on: the call is made again, or never returned.
const RESTARTED: i64 = 512;

/// Requests of `ioctl` on x86. Their type in `libc` is another one with musl.
const TCGETS: u64 = 0x5401;
const TCGETS2: u64 = 0x802c_542a;
const TIOCGWINSZ: u64 = 0x5413;
const FIOCLEX: u64 = 0x5451;
const FIONCLEX: u64 = 0x5450;

pub(crate) fn fd(number: i64) -> Descriptor<'static> {
    Descriptor {
        number: number as i32,
        leads_to: None,
    }
}

/// The folder argument of a call; none for `AT_FDCWD` is not told apart from its number, as in logs.
fn folder(number: i32) -> Option<Descriptor<'static>> {
    Some(fd(number.into()))
}

fn has(bits: u64, bit: i32) -> bool {
    bits & bit as u32 as u64 != 0
}

pub(crate) fn open_flags(bits: u64) -> OpenFlags {
    let mut flags = OpenFlags::default();
    flags.both_ways = bits & libc::O_ACCMODE as u64 == libc::O_RDWR as u64;
    flags.append = has(bits, libc::O_APPEND);
    flags.sync = has(bits, libc::O_SYNC);
    flags.direct = has(bits, O_DIRECT);
    flags.nonblocking = has(bits, libc::O_NONBLOCK);
    flags.close_on_exec = has(bits, O_CLOEXEC);
    flags.path_only = has(bits, libc::O_PATH);
    flags.directory = has(bits, libc::O_DIRECTORY);
    flags.creates = has(bits, libc::O_CREAT);
    flags.exclusive = has(bits, libc::O_EXCL);
    flags.truncates = has(bits, libc::O_TRUNC);
    flags
}

fn errno(result: i64) -> &'static [u8] {
    match -result {
        RESTARTED.. => b"?",
        number if number == i64::from(libc::EAGAIN) => b"EAGAIN",
        number if number == i64::from(libc::EINTR) => b"EINTR",
        number if number == i64::from(libc::EPIPE) => b"EPIPE",
        number if number == i64::from(libc::ECONNRESET) => b"ECONNRESET",
        number if number == i64::from(libc::ESPIPE) => b"ESPIPE",
        number if number == i64::from(libc::EINPROGRESS) => b"EINPROGRESS",
        _ => b"error",
    }
}

fn socket_kind(domain: i32, kind: u64, protocol: u64) -> SocketKind {
    match (domain, kind as i32 & 0xf, protocol as i32) {
        (AF_UNIX | AF_INET | AF_INET6, SOCK_DGRAM, _) => SocketKind::Datagram,
        (AF_UNIX, SOCK_STREAM, _) => SocketKind::UnixStream,
        (AF_INET | AF_INET6, SOCK_STREAM, 0 | IPPROTO_TCP) => SocketKind::Tcp,
        _ => SocketKind::Other,
    }
}

impl<'a> Call<'a> {
    fn path(&self) -> &'a [u8] {
        self.texts.first().map_or(b"", Vec::as_slice)
    }

    fn succeeded(&self) -> bool {
        self.record.result >= 0
    }

    /// The action of the call; `None` if another record has it.
    pub(crate) fn action(&self) -> Option<Action<'a>> {
        if matches!(self.name, "fork" | "vfork" | "clone" | "clone3" | "execve" | "execveat") && self.succeeded() {
            return None;
        }
        if let Some(transfer) = self.transfer() {
            return Some(Action::Transfer(transfer));
        }
        let found = self.of_descriptors().or_else(|| self.of_names()).or_else(|| self.of_others());
        Some(found.unwrap_or(Action::Other { descriptor: self.first_descriptor() }))
    }

    /// The first argument, if it may be a descriptor.
    fn first_descriptor(&self) -> Option<Descriptor<'static>> {
        (self.texts.is_empty() && !matches!(self.name, "mmap" | "rt_sigreturn")).then(|| fd(self.record.a0.into()))
    }

    fn of_descriptors(&self) -> Option<Action<'a>> {
        let Record { result, a0, a1, a2, a3, .. } = *self.record;
        let own = fd(a0.into());
        if self.name == "close" {
            return Some(Action::Close { first: a0, last: a0, leads_to: None });
        }
        if self.name == "fcntl" && matches!(a1 as i32, F_GETFD | F_GETFL) || self.name == "ioctl" && matches!(a1, TCGETS | TIOCGWINSZ | TCGETS2) {
            return Some(Action::Query);
        }
 // Its ends are known already.
        let is_under_way = self.name == "connect" && result == -i64::from(libc::EINPROGRESS);
        if !self.succeeded() && !is_under_way {
            return None;
        }
        Some(match self.name {
            "pipe" | "pipe2" => {
                let flags = if self.name == "pipe2" { a1 } else { 0 };
                Action::Pipe {
                    read: fd(i64::from(a2 as u32)),
                    write: fd((a2 >> 32) as i64),
                    packets: has(flags, O_DIRECT),
                    close_on_exec: has(flags, O_CLOEXEC),
                }
            }
            "socket" => Action::Socket {
                descriptor: fd(result),
                kind: Some(socket_kind(a0, a1, a2)),
                from: None,
                close_on_exec: has(a1, SOCK_CLOEXEC),
            },
            "accept" | "accept4" => Action::Socket {
                descriptor: fd(result),
                kind: None,
                from: Some(own),
                close_on_exec: self.name == "accept4" && has(a3, SOCK_CLOEXEC),
            },
            "socketpair" => Action::SocketPair {
                descriptors: [fd(i64::from(a3 as u32)), fd((a3 >> 32) as i64)],
                kind: socket_kind(a0, a1, a2),
                close_on_exec: has(a1, SOCK_CLOEXEC),
            },
            "dup" | "dup2" | "dup3" => Action::Duplicate {
                from: own,
                to: fd(result),
                close_on_exec: self.name == "dup3" && has(a2, O_CLOEXEC),
            },
            "fcntl" => match a1 as i32 {
                F_DUPFD | F_DUPFD_CLOEXEC => Action::Duplicate {
                    from: own,
                    to: fd(result),
                    close_on_exec: a1 as i32 == F_DUPFD_CLOEXEC,
                },
                F_SETFL => Action::SetFlags { descriptor: own, flags: open_flags(a2) },
                F_SETFD => Action::SetCloseOnExec { descriptor: own, close_on_exec: a2 & 1 != 0 },
                // DN_MODIFY.
                F_NOTIFY if a2 & 2 != 0 => Action::Watch { path: b"" },
                _ => return None,
            },
            "ioctl" if matches!(a1, FIOCLEX | FIONCLEX) => Action::SetCloseOnExec { descriptor: own, close_on_exec: a1 == FIOCLEX },
            // CLOSE_RANGE_CLOEXEC closes nothing yet.
            "close_range" if a2 & 4 == 0 => Action::Close {
                first: a0,
                last: i32::try_from(a1).unwrap_or(i32::MAX),
                leads_to: None,
            },
            "lseek" => Action::Seek {
                descriptor: own,
                position: result as u64,
                only_asked: a1 == 0 && a2 == libc::SEEK_CUR as u64,
                relative: a2 == libc::SEEK_CUR as u64,
                asks_size: a2 > libc::SEEK_CUR as u64,
            },
            // a0 and a1 are the descriptor and the offset.
            "mmap" if a0 >= 0 && !has(a3, MAP_ANONYMOUS) => Action::Map {
                descriptor: own,
                writes_through: has(a3, libc::MAP_SHARED) && has(a2, libc::PROT_WRITE),
            },
            "setsockopt" if a1 == IPPROTO_TCP as u64 && matches!(a2 as i32, libc::TCP_NODELAY | libc::TCP_CORK) => Action::SetTcpOption {
                descriptor: own,
                option: if a2 as i32 == libc::TCP_CORK { TcpOption::Cork } else { TcpOption::NoDelay },
                on: a3 as u32 != 0,
            },
            "connect" => Action::Connect { descriptor: own },
            _ => return self.without_path(),
        })
    }

    /// A file that has no path, as strace shows it with -y.
    fn without_path(&self) -> Option<Action<'a>> {
        let Record { result, a0, a1, a3, .. } = *self.record;
        let (text, flags) = match self.name {
            "eventfd" => ("anon_inode:[eventfd]", 0),
            "eventfd2" => ("anon_inode:[eventfd]", a1),
            "timerfd_create" => ("anon_inode:[timerfd]", a1),
            "signalfd" | "signalfd4" if a0 == -1 => ("anon_inode:[signalfd]", a3),
            "epoll_create" => ("anon_inode:[eventpoll]", 0),
            "epoll_create1" => ("anon_inode:[eventpoll]", a0 as u64),
            "inotify_init" => ("anon_inode:inotify", 0),
            "inotify_init1" => ("anon_inode:inotify", a0 as u64),
            _ => return None,
        };
        let descriptor = Descriptor { number: i32::try_from(result).ok()?, leads_to: Some(text.as_bytes()) };
        let flags = open_flags(libc::O_RDWR as u64 | flags & libc::O_CLOEXEC as u64);
        Some(Action::Open { descriptor, path: b"/", folder: None, flags })
    }

    /// Calls on files by their names.
    fn of_names(&self) -> Option<Action<'a>> {
        let Record { result, a0, a1, a2, .. } = *self.record;
        let path = self.path();
        let at = |has_folder: bool| if has_folder { folder(a0) } else { None };
        let ask = |file, folder, sees_size| {
            Action::Ask(Ask {
                file,
                folder,
                sees_size,
                size: None,
                failed: !self.succeeded(),
                is_regular: false,
                inode: None,
            })
        };
        let named = |has_folder: bool| match path {
            b"" => Named::Descriptor(fd(if has_folder { a0.into() } else { -1 })),
            path => Named::Path(path),
        };
        Some(match self.name {
            "open" | "openat" | "openat2" | "creat" => {
                let folder = at(self.name.starts_with("openat"));
                if !self.succeeded() {
                    return (self.name != "creat" && !path.is_empty()).then(|| ask(Named::Path(path), folder, false));
                }
                let bits = match self.name {
                    "open" => a1,
                    "creat" => (libc::O_CREAT | libc::O_TRUNC) as u64,
                    _ => a2,
                };
                Action::Open { descriptor: fd(result), path, folder, flags: open_flags(bits) }
            }
            "fstat" => self.status(Named::Descriptor(fd(a0.into())), None),
            "stat" | "lstat" => self.status(named(false), None),
            "newfstatat" | "statx" => self.status(named(true), folder(a0)),
            "access" | "readlink" | "getxattr" | "lgetxattr" => ask(named(false), None, false),
            "faccessat" | "faccessat2" | "readlinkat" => ask(named(true), folder(a0), false),
            "mkdir" | "mkdirat" => {
                let folder = at(self.name == "mkdirat");
                if self.succeeded() { Action::MakeFolder(Place { path, folder }) } else { ask(Named::Path(path), folder, false) }
            }
            "truncate" => Action::Truncate { path },
            _ if !self.succeeded() => return None,
            "mknod" | "mknodat" => {
                let mode = if self.name == "mknod" { a1 } else { a2 };
                if mode as u32 & libc::S_IFMT != libc::S_IFIFO {
                    return None;
                }
                Action::Fifo(Named::Path(path))
            }
            "chdir" => Action::ChangeFolder(Named::Path(path)),
            "fchdir" => Action::ChangeFolder(Named::Descriptor(fd(a0.into()))),
            "link" | "linkat" | "symlink" | "symlinkat" | "rename" | "renameat" | "renameat2" => {
                let [from, to] = self.texts else { return None };
                let (from_folder, to_folder) = match self.name {
                    "symlinkat" => (None, folder(a1 as i32)),
                    "linkat" | "renameat" | "renameat2" => (folder(a0), folder(a2 as i32)),
                    _ => (None, None),
                };
                let kind = match self.name {
                    "link" | "linkat" => LinkKind::Hard,
                    "symlink" | "symlinkat" => LinkKind::Symbolic,
                    _ => LinkKind::Rename,
                };
                Action::Link { from: Place { path: from, folder: from_folder }, to: Place { path: to, folder: to_folder }, kind }
            }
            // IN_MODIFY and FAN_MODIFY; FAN_MARK_MOUNT and FAN_MARK_FILESYSTEM mean all files.
            "inotify_add_watch" if a2 & 2 != 0 => Action::Watch { path },
            "fanotify_mark" if a2 & 2 != 0 => Action::Watch { path: if a1 & 0x110 != 0 { b"" } else { path } },
            _ => return None,
        })
    }

    /// A call that asks for the state of a file. The first slot has `struct stat` or `struct statx` up to the size.
    fn status(&self, file: Named<'a>, folder: Option<Descriptor<'a>>) -> Action<'a> {
        let slot = self.data.first().copied().unwrap_or_default();
        let (mode, inode, size, device) = if self.name == "statx" {
            let (major, minor) = (self.record.a3 & 0xffff_ffff, self.record.a3 >> 32);
            ((slot[3] >> 32) as u32 & 0xffff, slot[4], slot[5], libc::makedev(major as u32, minor as u32))
        } else {
            (slot[3] as u32, slot[1], slot[6], slot[0])
        };
        let is_regular = self.succeeded() && mode & libc::S_IFMT == libc::S_IFREG;
        if self.succeeded() && mode & libc::S_IFMT == libc::S_IFIFO {
            return Action::Fifo(file);
        }
        Action::Ask(Ask {
            file,
            folder,
            sees_size: true,
            size: is_regular.then_some(size),
            failed: !self.succeeded(),
            is_regular,
            inode: self.succeeded().then_some((device, inode)),
        })
    }

    fn of_others(&self) -> Option<Action<'a>> {
        let Record { result, a0, a1, .. } = *self.record;
        Some(match self.name {
            "lseek" if errno(result) == b"ESPIPE" => Action::Fifo(Named::Descriptor(fd(a0.into()))),
            "fsync" | "fdatasync" | "sync_file_range" => Action::Sync(Some(fd(a0.into()))),
            "sync" | "syncfs" | "msync" => Action::Sync(None),
            "io_uring_enter" | "io_submit" => Action::Submit { unseen: false },
            _ if !self.succeeded() => return None,
            "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => Action::Poll { ready: result as u64 },
            "wait4" if result > 0 => Action::Wait { child: result as u32 },
            "waitid" if a1 != 0 => Action::Wait { child: a1 as u32 },
            // IORING_SETUP_SQPOLL.
            "io_uring_setup" if a1 & 2 != 0 => Action::Submit { unseen: true },
            _ => return None,
        })
    }

    /// A call that moves bytes; `None` if it moves none.
    fn transfer(&self) -> Option<Transfer<'a>> {
        let Record { result, a0, a1, a2, a3, .. } = *self.record;
        let direction = match self.name {
            "read" | "pread64" | "recvfrom" | "readv" | "preadv" | "preadv2" | "recvmsg" | "recvmmsg" => Direction::Read,
            "write" | "pwrite64" | "sendto" | "writev" | "pwritev" | "pwritev2" | "sendmsg" | "sendmmsg" | "sendfile" | "splice"
            | "tee" | "copy_file_range" | "vmsplice" => Direction::Write,
            _ => return None,
        };
        let mut transfer = Transfer::new(direction, fd(a0.into()), self.segments);
        transfer.result = if result >= 0 { Ok(result as u64) } else { Err(errno(result)) };
        let (mut form, mut count, mut asked) = (Form::Opaque, 1, None);
        let (mut message_flags, mut call_flags) = (0, 0);
        let offset = |offset: u64| (offset as i64 >= 0).then_some(offset);
        match self.name {
            "read" | "write" => form = Form::Plain,
            "pread64" | "pwrite64" => (form, transfer.offset) = (Form::Plain, offset(a3)),
            "sendto" | "recvfrom" => (form, message_flags, transfer.addressed) = (Form::Plain, a3, a1 != 0),
            "readv" | "writev" => (form, count) = (Form::List, a2),
            "preadv" | "pwritev" => (form, count, transfer.offset) = (Form::List, a2, offset(a3)),
            "preadv2" | "pwritev2" => (form, count, transfer.offset, call_flags) = (Form::List, a2, offset(a3), a1),
            "sendmsg" | "recvmsg" if a1 == u64::MAX => (form, count) = (Form::List, 0),
            "sendmsg" | "recvmsg" => (form, count, message_flags, transfer.addressed) = (Form::List, a1, a2, a3 != 0),
            "sendmmsg" | "recvmmsg" => {
                count = a2;
                if result >= 0 {
                    transfer.result = Ok(self.moved_by_messages(result as usize)?);
                }
            }
            "vmsplice" => (count, asked) = (a2, self.whole_list(a2)),
            "sendfile" => (asked, transfer.from) = (Some(a3), Some(fd(a1 as i64))),
            "tee" => (asked, transfer.from, transfer.descriptor) = (Some(a2), Some(fd(a0.into())), fd(a1 as i64)),
            _ => (asked, transfer.from, transfer.descriptor) = (Some(a1), Some(fd(a0.into())), fd(a2 as i64)),
        }
        match form {
            Form::Plain => asked = Some(a2),
            Form::List => asked = self.whole_list(count),
            _ => transfer.segment_bytes = None,
        }
        if asked.is_none() {
            transfer.segment_bytes = None;
        }
        transfer.form = form;
        transfer.segment_count = count;
        transfer.asked_bytes = asked;
        transfer.more = has(message_flags, libc::MSG_MORE);
        let usual = libc::MSG_MORE | libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_CMSG_CLOEXEC;
        transfer.sync = has(call_flags, libc::RWF_DSYNC | libc::RWF_SYNC);
        transfer.special =
            message_flags & !(usual as u64) & 0xffff_ffff != 0 || call_flags & !((libc::RWF_HIPRI | libc::RWF_NOWAIT) as u64) & 0xffff_ffff != 0;
        Some(transfer)
    }

    /// The sum of the segments, if the list is whole.
    fn whole_list(&self, count: u64) -> Option<u64> {
        let mut segments = self.segments.iter();
        let sum = segments.try_fold(0_u64, |sum, segment| sum.checked_add(*segment));
        sum.filter(|_| self.segments.len() as u64 == count)
    }

    /// Bytes of so many messages: each slot has a `struct mmsghdr`, with its length at byte 56.
    fn moved_by_messages(&self, messages: usize) -> Option<u64> {
        let known = self.data.get(..messages)?;
        Some(known.iter().map(|message| message[7] & 0xffff_ffff).sum())
    }
}

/// The lengths in an array of `struct iovec`.
pub(crate) fn lengths(data: &[Slot], count: u64, into: &mut Vec<u64>) {
    into.clear();
    let words = data.iter().flat_map(|slot| [slot[1], slot[3], slot[5], slot[7]]);
    into.extend(words.take(usize::try_from(count).unwrap_or(usize::MAX)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kind;

    /// A call with these arguments and this result, and what its extension holds.
    fn shown(name: &'static str, arguments: [u64; 4], result: i64, data: &[Slot], texts: &[&str]) -> String {
        let [a0, a1, a2, a3] = arguments;
        let record = Record {
            end_ns: 0,
            waited_us: 0,
            thread: 1,
            process: 1,
            number: 0,
            kind: Kind::Call,
            extension: 0,
            result,
            a0: a0 as i32,
            stack: 0,
            a1,
            a2,
            a3,
            delayed_ns: 0,
        };
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let mut segments = vec![a2];
        if name.contains('v') || name.contains("msg") {
            lengths(data, if name.contains("msg") { a1 } else { a2 }, &mut segments);
        }
        let call = Call { name, record: &record, data, texts: &texts, segments: &segments };
        format!("{:?}", call.action())
    }

    #[test]
    fn arguments_become_what_a_line_of_strace_would() {
        let creates = (libc::O_CREAT | libc::O_WRONLY | libc::O_APPEND) as u64;
        let cwd = libc::AT_FDCWD as u64;
        // Two entries of `struct iovec`.
        let list = [[0, 5, 0, 6, 0, 0, 0, 0]];
        let mode = |kind: u32| u64::from(kind | 0o644);
        let status = |kind| [[8, 12, 1, mode(kind), 0, 0, 77, 0]];
        for (call, expected) in [
            (shown("openat", [cwd, 0, creates, 0], 3, &[], &["a"]), "append: true"),
            (shown("openat", [cwd, 0, 0, 0], -2, &[], &["a"]), "Ask(Ask { file: Path([97])"),
            (shown("writev", [3, 0, 2, 0], 11, &list, &[]), "segment_bytes: Some([5, 6])"),
            (shown("writev", [3, 0, 3, 0], 11, &list[..0], &[]), "asked_bytes: None"),
            (shown("pwrite64", [3, 0, 9, 40], 9, &[], &[]), "offset: Some(40)"),
            (shown("sendto", [3, 0, 9, libc::MSG_MORE as u64], 9, &[], &[]), "more: true"),
            (shown("sendmsg", [3, 2, 0, 1], 11, &list, &[]), "addressed: true"),
            (shown("sendmmsg", [3, 0, 2, 0], 1, &[[0, 0, 0, 0, 0, 0, 0, 4]], &[]), "result: Ok(4)"),
            (shown("read", [3, 0, 9, 0], -11, &[], &[]), "result: Err([69, 65, 71, 65, 73, 78])"),
            (shown("read", [3, 0, 9, 0], -512, &[], &[]), "result: Err([63])"),
            (shown("fstat", [3, 0, 0, 0], 0, &status(libc::S_IFREG), &[]), "size: Some(77)"),
            (shown("newfstatat", [cwd, 0, 0, 0], 0, &status(libc::S_IFIFO), &["f"]), "Fifo(Path([102]))"),
            (shown("lseek", [3, 0, 1, 0], 50, &[], &[]), "only_asked: true"),
            (shown("lseek", [3, 0, 1, 0], -29, &[], &[]), "Fifo(Descriptor("),
            (shown("mmap", [3, 0, 3, 1], 1 << 40, &[], &[]), "writes_through: true"),
            (shown("close_range", [3, u64::from(u32::MAX), 0, 0], 0, &[], &[]), "last: 2147483647"),
            (shown("pipe2", [0, libc::O_CLOEXEC as u64, 4 << 32 | 3, 0], 0, &[], &[]), "close_on_exec: true"),
            (shown("eventfd2", [0, libc::O_CLOEXEC as u64, 0, 0], 4, &[], &[]), "number: 4, leads_to: Some([97, 110, 111, 110"),
            (shown("connect", [3, 0, 16, 0], -115, &[], &[]), "Connect {"),
            (shown("connect", [3, 0, 16, 0], -111, &[], &[]), "Other {"),
            (shown("symlinkat", [0, cwd, 0, 0], 0, &[], &["a", "b"]), "kind: Symbolic"),
            (shown("fcntl", [3, libc::F_GETFL as u64, 0, 0], -9, &[], &[]), "Query"),
            (shown("waitid", [0, 12, 0, 0], 0, &[], &[]), "Wait { child: 12 }"),
            (shown("unknown", [3, 0, 0, 0], 0, &[], &[]), "Other { descriptor: Some("),
            (shown("execve", [0, 0, 0, 0], 0, &[], &[]), "None"),
            (shown("clone", [0, 0, 0, 0], -11, &[], &[]), "Other {"),
        ] {
            assert!(call.contains(expected), "{expected}: {call}");
        }
    }
}
