//! From a call to its [`Action`].

use libc::{S_IFIFO, S_IFMT, S_IFREG};
use vectored_strace::event::{Action, Descriptor, Direction, Form, Transfer};
use vectored_strace::x86_64::{action_of, error_name, open_flags, write_line};

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

pub(crate) fn fd(number: i64) -> Descriptor<'static> {
    Descriptor {
        number: number as i32,
        leads_to: None,
    }
}

fn has(bits: u64, bit: i32) -> bool {
    bits & bit as u32 as u64 != 0
}

impl<'a> Call<'a> {
    /// The action of the call; `None` if another record has it. `line` is memory for the call as strace shows it.
    pub(crate) fn action(&self, line: &'a mut Vec<u8>) -> Option<Action<'a>> {
        let Record { result, a0, .. } = *self.record;
        if matches!(
            self.name,
            "fork" | "vfork" | "clone" | "clone3" | "execve" | "execveat"
        ) && result >= 0
        {
            return None;
        }
        // The ends of a connection are known before it is made.
        if self.name == "connect" && result == -i64::from(libc::EINPROGRESS) {
            return Some(Action::Connect {
                descriptor: fd(a0.into()),
            });
        }
        let transfer = self.transfer().map(Action::Transfer);
        transfer.or_else(|| self.without_path()).or_else(|| {
            self.write(line);
            Some(action_of(line))
        })
    }

    /// A file that has no path, as strace shows it with -y.
    fn without_path(&self) -> Option<Action<'a>> {
        let Record {
            result, a0, a1, a3, ..
        } = *self.record;
        let (kind, flags) = match self.name {
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
        let number = i32::try_from(result).ok().filter(|&number| number >= 0)?;
        let descriptor = Descriptor {
            number,
            leads_to: Some(kind.as_bytes()),
        };
        let flags = open_flags(libc::O_RDWR as u64 | flags & libc::O_CLOEXEC as u64);
        Some(Action::Open {
            descriptor,
            path: b"/",
            folder: None,
            flags,
        })
    }

    /// Writes the call as a line of strace.
    fn write(&self, line: &mut Vec<u8>) {
        let Record {
            result,
            a0,
            a1,
            a2,
            a3,
            ..
        } = *self.record;
        let first = a0 as u64;
        let (name, numbers) = match self.name {
            // The flags of its structure were recorded in its place.
            "openat2" => ("openat", [first, a1, a2, 0, 0, 0]),
            // The descriptor and the offset were recorded in place of the address and the length.
            "mmap" => ("mmap", [0, 0, a2, a3, first, a1]),
            // It returns with any registers.
            "rt_sigreturn" => ("rt_sigreturn", [u64::MAX; 6]),
            name => (name, [first, a1, a2, a3, 0, 0]),
        };
        let structure = self.structure().unwrap_or_default();
        write_line(line, name, &numbers, self.texts, &structure, result);
    }

    /// The structure that a call has in memory.
    fn structure(&self) -> Option<String> {
        let Record {
            result, a1, a2, a3, ..
        } = *self.record;
        let pair = |both: u64| format!("[{}, {}]", both as i32, (both >> 32) as i32);
        Some(match self.name {
            "mknod" if a1 as u32 & S_IFMT == S_IFIFO => "S_IFIFO|0".to_owned(),
            "mknodat" if a2 as u32 & S_IFMT == S_IFIFO => "S_IFIFO|0".to_owned(),
            _ if result < 0 => return None,
            "pipe" | "pipe2" => pair(a2),
            "socketpair" => pair(a3),
            "setsockopt" => format!("[{}]", a3 as u32),
            "waitid" if a1 != 0 => format!("{{si_pid={}}}", a1 as u32),
            "io_uring_setup" => format!("{{flags={a1:#x}}}"),
            "fstat" | "stat" | "lstat" | "newfstatat" | "statx" => self.status()?,
            _ => return None,
        })
    }

    /// The state of a file. The slot has `struct stat` or `struct statx` up to the size.
    fn status(&self) -> Option<String> {
        let slot = self.data.first()?;
        let (mode, inode, size, device) = if self.name == "statx" {
            let (major, minor) = (self.record.a3 as u32, (self.record.a3 >> 32) as u32);
            ((slot[3] >> 32) as u32, slot[4], slot[5], (major, minor))
        } else {
            let device = (libc::major(slot[0]), libc::minor(slot[0]));
            (slot[3] as u32, slot[1], slot[6], device)
        };
        let kind = match mode & S_IFMT {
            S_IFREG => "S_IFREG",
            S_IFIFO => "S_IFIFO",
            _ => "0",
        };
        let (major, minor) = device;
        Some(format!(
            "{{st_dev=makedev({major}, {minor}), st_ino={inode}, st_mode={kind}|0, st_size={size}}}"
        ))
    }

    /// A call that moves bytes; `None` if it moves none.
    fn transfer(&self) -> Option<Transfer<'a>> {
        let Record {
            result,
            a0,
            a1,
            a2,
            a3,
            ..
        } = *self.record;
        let direction = match self.name {
            "read" | "pread64" | "recvfrom" | "readv" | "preadv" | "preadv2" | "recvmsg"
            | "recvmmsg" => Direction::Read,
            "write" | "pwrite64" | "sendto" | "writev" | "pwritev" | "pwritev2" | "sendmsg"
            | "sendmmsg" | "sendfile" | "splice" | "tee" | "copy_file_range" | "vmsplice" => {
                Direction::Write
            }
            _ => return None,
        };
        let mut transfer = Transfer::new(direction, fd(a0.into()), self.segments);
        transfer.result =
            if result >= 0 { Ok(result as u64) } else { Err(error_name(result).as_bytes()) };
        let (mut form, mut count, mut asked) = (Form::Opaque, 1, None);
        let (mut message_flags, mut call_flags) = (0, 0);
        let offset = |offset: u64| (offset as i64 >= 0).then_some(offset);
        match self.name {
            "read" | "write" => form = Form::Plain,
            "pread64" | "pwrite64" => (form, transfer.offset) = (Form::Plain, offset(a3)),
            "sendto" | "recvfrom" => {
                (form, message_flags, transfer.addressed) = (Form::Plain, a3, a1 != 0);
            }
            "readv" | "writev" => (form, count) = (Form::List, a2),
            "preadv" | "pwritev" => (form, count, transfer.offset) = (Form::List, a2, offset(a3)),
            "preadv2" | "pwritev2" => {
                (form, count, transfer.offset, call_flags) = (Form::List, a2, offset(a3), a1);
            }
            "sendmsg" | "recvmsg" if a1 == u64::MAX => (form, count) = (Form::List, 0),
            "sendmsg" | "recvmsg" => {
                (form, count, message_flags, transfer.addressed) = (Form::List, a1, a2, a3 != 0);
            }
            "sendmmsg" | "recvmmsg" => {
                count = a2;
                if result >= 0 {
                    transfer.result = Ok(self.moved_by_messages(result as usize)?);
                }
            }
            "vmsplice" => (count, asked) = (a2, self.whole_list(a2)),
            "sendfile" => (asked, transfer.from) = (Some(a3), Some(fd(a1 as i64))),
            "tee" => {
                (asked, transfer.from, transfer.descriptor) =
                    (Some(a2), Some(fd(a0.into())), fd(a1 as i64));
            }
            _ => {
                (asked, transfer.from, transfer.descriptor) =
                    (Some(a1), Some(fd(a0.into())), fd(a2 as i64));
            }
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
        let usual = libc::MSG_MORE
            | libc::MSG_NOSIGNAL
            | libc::MSG_DONTWAIT
            | libc::MSG_WAITALL
            | libc::MSG_CMSG_CLOEXEC;
        transfer.sync = has(call_flags, libc::RWF_DSYNC | libc::RWF_SYNC);
        transfer.special = message_flags & !(usual as u64) & 0xffff_ffff != 0
            || call_flags & !((libc::RWF_HIPRI | libc::RWF_NOWAIT) as u64) & 0xffff_ffff != 0;
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
    let words = data
        .iter()
        .flat_map(|slot| [slot[1], slot[3], slot[5], slot[7]]);
    into.extend(words.take(usize::try_from(count).unwrap_or(usize::MAX)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kind;

    /// A call with these arguments and this result, and what its extension holds.
    fn shown(
        name: &'static str,
        arguments: [u64; 4],
        result: i64,
        data: &[Slot],
        texts: &[&str],
    ) -> String {
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
            lengths(
                data,
                if name.contains("msg") { a1 } else { a2 },
                &mut segments,
            );
        }
        let call = Call {
            name,
            record: &record,
            data,
            texts: &texts,
            segments: &segments,
        };
        format!("{:?}", call.action(&mut Vec::new()))
    }

    fn check(rows: &[(String, &str)]) {
        for (call, expected) in rows {
            assert!(call.contains(expected), "{expected}: {call}");
        }
    }

    #[test]
    fn arguments_of_transfers_become_what_a_line_of_strace_would() {
        let cwd = libc::AT_FDCWD as u64;
        // Two entries of `struct iovec`.
        let list = [[0, 5, 0, 6, 0, 0, 0, 0]];
        check(&[
            (
                shown("openat", [cwd, 0, 0, 0], -2, &[], &["a"]),
                "Ask(Ask { file: Path([97])",
            ),
            (
                shown("writev", [3, 0, 2, 0], 11, &list, &[]),
                "segment_bytes: Some([5, 6])",
            ),
            (
                shown("writev", [3, 0, 3, 0], 11, &list[..0], &[]),
                "asked_bytes: None",
            ),
            (
                shown("pwrite64", [3, 0, 9, 40], 9, &[], &[]),
                "offset: Some(40)",
            ),
            (
                shown("sendto", [3, 0, 9, libc::MSG_MORE as u64], 9, &[], &[]),
                "more: true",
            ),
            (
                shown("sendmsg", [3, 2, 0, 1], 11, &list, &[]),
                "addressed: true",
            ),
            (
                shown(
                    "sendmmsg",
                    [3, 0, 2, 0],
                    1,
                    &[[0, 0, 0, 0, 0, 0, 0, 4]],
                    &[],
                ),
                "result: Ok(4)",
            ),
            (
                shown("read", [3, 0, 9, 0], -11, &[], &[]),
                "result: Err([69, 65, 71, 65, 73, 78])",
            ),
            (
                shown("read", [3, 0, 9, 0], -512, &[], &[]),
                "result: Err([69, 82, 69, 83, 84,",
            ),
        ]);
    }

    #[test]
    fn arguments_of_other_calls_become_what_a_line_of_strace_would() {
        let cwd = libc::AT_FDCWD as u64;
        let mode = |kind: u32| u64::from(kind | 0o644);
        let status = |kind| [[8, 12, 1, mode(kind), 0, 0, 77, 0]];
        check(&[
            (
                shown("fstat", [3, 0, 0, 0], 0, &status(libc::S_IFREG), &[]),
                "size: Some(77)",
            ),
            (
                shown(
                    "newfstatat",
                    [cwd, 0, 0, 0],
                    0,
                    &status(libc::S_IFIFO),
                    &["f"],
                ),
                "Fifo(Path([102]))",
            ),
            (
                shown(
                    "openat2",
                    [cwd, 0, libc::O_APPEND as u64, 0],
                    3,
                    &[],
                    &["a"],
                ),
                "append: true",
            ),
            (
                shown(
                    "statx",
                    [cwd, 0, 0, 1 << 32 | 8],
                    0,
                    &[[0, 0, 0, mode(libc::S_IFREG) << 32, 12, 77, 0, 0]],
                    &["f"],
                ),
                "size: Some(77), failed: false, is_regular: true, inode: Some((2049, 12))",
            ),
            (
                shown("mknodat", [cwd, 0, mode(libc::S_IFIFO), 0], 0, &[], &["f"]),
                "Fifo(Path([102]))",
            ),
            (shown("setsockopt", [3, 6, 1, 0], 0, &[], &[]), "on: false"),
            (
                shown("socketpair", [1, 1, 0, 6 << 32 | 5], 0, &[], &[]),
                "number: 6",
            ),
            (
                shown("io_uring_setup", [8, 2, 0, 0], 5, &[], &[]),
                "Submit { unseen: true }",
            ),
            (
                shown("inotify_add_watch", [3, 0, 0x100, 0], 1, &[], &["a"]),
                "Other {",
            ),
            (
                shown("fanotify_mark", [3, 1, 2, cwd], 0, &[], &["a"]),
                "Watch { path: [97] }",
            ),
            (
                shown("lseek", [3, 0, 1, 0], -29, &[], &[]),
                "Fifo(Descriptor(",
            ),
            (
                shown("mmap", [3, 0, 3, 1], 1 << 40, &[], &[]),
                "number: 3, leads_to: None }, writes_through: true",
            ),
            (
                shown("lseek", [3, 0, 1, 0], 50, &[], &[]),
                "only_asked: true",
            ),
            (
                shown("fcntl", [3, libc::F_GETFL as u64, 0, 0], -9, &[], &[]),
                "Query",
            ),
            (
                shown("close_range", [3, u64::from(u32::MAX), 0, 0], 0, &[], &[]),
                "last: 2147483647",
            ),
            (
                shown(
                    "pipe2",
                    [0, libc::O_CLOEXEC as u64, 4 << 32 | 3, 0],
                    0,
                    &[],
                    &[],
                ),
                "close_on_exec: true",
            ),
            (
                shown("eventfd2", [0, libc::O_CLOEXEC as u64, 0, 0], 4, &[], &[]),
                "number: 4, leads_to: Some([97, 110, 111, 110",
            ),
        ]);
    }

    #[test]
    fn results_of_other_calls_become_what_a_line_of_strace_would() {
        let cwd = libc::AT_FDCWD as u64;
        check(&[
            (shown("connect", [3, 0, 16, 0], -115, &[], &[]), "Connect {"),
            (shown("connect", [3, 0, 16, 0], -111, &[], &[]), "Other {"),
            (
                shown("symlinkat", [0, cwd, 0, 0], 0, &[], &["a", "b"]),
                "kind: Symbolic",
            ),
            (
                shown("waitid", [0, 12, 0, 0], 0, &[], &[]),
                "Wait { child: 12 }",
            ),
            (
                shown("unknown", [3, 0, 0, 0], 0, &[], &[]),
                "Other { descriptor: Some(",
            ),
            (shown("execve", [0, 0, 0, 0], 0, &[], &[]), "None"),
            (shown("clone", [0, 0, 0, 0], -11, &[], &[]), "Other {"),
        ]);
    }
}
