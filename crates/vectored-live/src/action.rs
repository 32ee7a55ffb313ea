//! Turns a call into its [`Action`].

use std::fmt::Write;

use libc::{S_IFIFO, S_IFMT, S_IFREG};
use vectored_strace::event::{Action, Descriptor, Direction, Transfer};
use vectored_strace::x86_64::{action_of, error_name, write_line};

use crate::record::{Record, Slot};

pub(crate) struct Call<'a> {
    pub(crate) name: &'static str,
    pub(crate) record: &'a Record,
    pub(crate) data: &'a [Slot],
    pub(crate) texts: &'a [Vec<u8>],
}

/// Memory for the text that strace would show of the call, and for the lengths of the call's segments.
#[derive(Default)]
pub(crate) struct Shown {
    line: Vec<u8>,
    segments: Vec<u64>,
}

pub(crate) fn fd(number: i64) -> Descriptor<'static> {
    Descriptor {
        number: number as i32,
        leads_to: None,
    }
}

impl<'a> Call<'a> {
    pub(crate) fn action(&self, shown: &'a mut Shown) -> Option<Action<'a>> {
        let r = self.record;
        let is_told = matches!(
            self.name,
            "fork" | "vfork" | "clone" | "clone3" | "execve" | "execveat"
        );
        if is_told && r.result >= 0 {
            return None;
        }
        // The ends of a connection are known before it is established.
        if self.name == "connect" && r.result == -i64::from(libc::EINPROGRESS) {
            let descriptor = fd(r.a0.into());
            return Some(Action::Connect { descriptor });
        }
        let Shown { line, segments } = shown;
        if let Some(direction) = self.direction() {
            return Some(Action::Transfer(self.transfer(direction, segments)));
        }
        self.write(line);
        Some(action_of(line, segments))
    }

    /// The direction of a call with one buffer and no flags, the most frequent kind.
    fn direction(&self) -> Option<Direction> {
        match self.name {
            "read" | "pread64" => Some(Direction::Read),
            "write" | "pwrite64" => Some(Direction::Write),
            _ => None,
        }
    }

    fn transfer(&self, direction: Direction, segments: &'a mut Vec<u64>) -> Transfer<'a> {
        let r = self.record;
        segments.clear();
        segments.push(r.a2);
        let mut transfer = Transfer::new(direction, fd(r.a0.into()), segments);
        let is_at = self.name.starts_with('p') && r.a3 as i64 >= 0;
        transfer.offset = is_at.then_some(r.a3);
        let error = || error_name(r.result).as_bytes();
        transfer.result = u64::try_from(r.result).map_err(|_| error());
        transfer
    }

    /// For a file without a path: what `strace -y` shows of the descriptor, and the flags of the file.
    fn without_path(&self) -> Option<(&'static str, u64)> {
        let r = self.record;
        Some(match self.name {
            _ if r.result < 0 => return None,
            "eventfd" => ("anon_inode:[eventfd]", 0),
            "eventfd2" => ("anon_inode:[eventfd]", r.a1),
            "timerfd_create" => ("anon_inode:[timerfd]", r.a1),
            "signalfd" | "signalfd4" if r.a0 == -1 => ("anon_inode:[signalfd]", r.a3),
            "epoll_create" => ("anon_inode:[eventpoll]", 0),
            "epoll_create1" => ("anon_inode:[eventpoll]", r.a0 as u64),
            "inotify_init" => ("anon_inode:inotify", 0),
            "inotify_init1" => ("anon_inode:inotify", r.a0 as u64),
            _ => return None,
        })
    }

    fn write(&self, line: &mut Vec<u8>) {
        let r = self.record;
        if let Some((kind, flags)) = self.without_path() {
            let flags = libc::O_RDWR as u64 | flags & libc::O_CLOEXEC as u64;
            let path = [b"/".to_vec()];
            write_line(line, "open", &[0, flags, 0, 0, 0, 0], &path, "", r.result);
            return line.extend_from_slice(format!("<{kind}>").as_bytes());
        }
        let first = r.a0 as u64;
        let (name, numbers) = match self.name {
            // The flags in `struct open_how` were recorded in place of its address.
            "openat2" => ("openat", [first, r.a1, r.a2, 0, 0, 0]),
            // `r.a1` and `r.a0` are the offset and the descriptor: they were recorded in place of the length and the
            // address.
            "mmap" => ("mmap", [0, 0, r.a2, r.a3, first, r.a1]),
            // `r.a1` was recorded in place of the address of the list or the buffer. It is the flags, the length, or
            // whether an address was given.
            "preadv2" | "pwritev2" => (self.name, [first, 0, r.a2, r.a3, 0, r.a1]),
            "splice" | "copy_file_range" | "sendto" | "recvfrom" => {
                (self.name, [first, 0, r.a2, r.a3, r.a1, 0])
            }
            // `rt_sigreturn` returns with the registers of the interrupted code.
            "rt_sigreturn" => ("rt_sigreturn", [u64::MAX; 6]),
            name => (name, [first, r.a1, r.a2, r.a3, 0, 0]),
        };
        let structure = self.structure().unwrap_or_default();
        write_line(line, name, &numbers, self.texts, &structure, r.result);
    }

    fn structure(&self) -> Option<String> {
        let r = self.record;
        let pair = |both: u64| format!("[{}, {}]", both as i32, (both >> 32) as i32);
        Some(match self.name {
            "mknod" if r.a1 as u32 & S_IFMT == S_IFIFO => "S_IFIFO|0".to_owned(),
            "mknodat" if r.a2 as u32 & S_IFMT == S_IFIFO => "S_IFIFO|0".to_owned(),
            "readv" | "writev" | "preadv" | "pwritev" | "preadv2" | "pwritev2" | "vmsplice" => {
                self.list(r.a2)?
            }
            // The `msghdr` could not be read.
            "sendmsg" | "recvmsg" if r.a1 == u64::MAX => return None,
            "sendmsg" | "recvmsg" => {
                let list = self.list(r.a1).unwrap_or_else(|| "0x1".to_owned());
                let address = if r.a3 == 0 { "NULL" } else { "{}" };
                format!(
                    "{{msg_name={address}, msg_iov={list}, msg_iovlen={}}}",
                    r.a1
                )
            }
            _ if r.result < 0 => return None,
            "sendmmsg" | "recvmmsg" => {
                // Each slot has a `struct mmsghdr`. The length of the message is at byte 56.
                let lengths = self.data.iter().map(|message| message[7] & 0xffff_ffff);
                listed(lengths, "msg_len=")
            }
            "pipe" | "pipe2" => pair(r.a2),
            "socketpair" => pair(r.a3),
            "setsockopt" => format!("[{}]", r.a3 as u32),
            "waitid" if r.a1 != 0 => format!("{{si_pid={}}}", r.a1 as u32),
            "io_uring_setup" => format!("{{flags={:#x}}}", r.a1),
            "fstat" | "stat" | "lstat" | "newfstatat" | "statx" => self.status()?,
            _ => return None,
        })
    }

    /// The state of a file. The slot holds `struct stat` or `struct statx` up to the size.
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

    /// A list of `struct iovec`; `None` if only a part was read.
    fn list(&self, count: u64) -> Option<String> {
        let lengths = self
            .data
            .iter()
            .flat_map(|slot| [slot[1], slot[3], slot[5], slot[7]]);
        let count = usize::try_from(count).ok()?;
        (self.data.len() * 4 >= count)
            .then(|| listed(lengths.take(count), "iov_base=0x1, iov_len="))
    }
}

fn listed(lengths: impl Iterator<Item = u64>, name: &str) -> String {
    let mut text = "[".to_owned();
    for length in lengths {
        let gap = if text.len() > 1 { ", " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{gap}{{{name}{length}}}");
    }
    text + "]"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each call: the name, four arguments, the result, the extension (words of a slot, or paths), and a part of
    /// the action.
    const CALLS: &str = "\
openat -100 0 0 0 = -2 a: Ask(Ask { file: Place { path: [97]
writev 3 0 2 0 = 11 [0,5,0,6,0,0,0,0]: segment_bytes: Some([5, 6])
writev 3 0 3 0 = 11: asked_bytes: None
pwritev2 3 2 1 -1 = 5 [0,5,0,0,0,0,0,0]: offset: None, special: true, more: false, sync: true
pwritev 3 0 1 7 = 5 [0,5,0,0,0,0,0,0]: offset: Some(7)
pwrite64 3 0 9 40 = 9: offset: Some(40)
write 3 0 9 40 = 9: offset: None
sendto 3 0 9 0x8000 = 9: more: true, sync: false, addressed: false
sendto 3 1 9 1 = 9: special: true, more: false, sync: false, addressed: true
sendmsg 3 2 0 1 = 11 [0,5,0,6,0,0,0,0]: segment_bytes: Some([5, 6]), asked_bytes: Some(11), result: Ok(11), offset: None, \
special: false, more: false, sync: false, addressed: true
sendmsg 3 -1 0 0 = -14: form: List, segment_bytes: None
sendmmsg 3 0 2 0 = 1 [0,0,0,0,0,0,0,4]: result: Ok(4)
vmsplice 3 0 1 0 = 5 [0,5,0,0,0,0,0,0]: form: Opaque, segment_bytes: None, asked_bytes: Some(5)
splice 3 100 4 0 = 9: Descriptor { number: 4, leads_to: None }, from: Some(Descriptor { number: 3
splice 3 100 4 0 = 9: asked_bytes: Some(100)
sendfile 3 4 0 100 = 9: Descriptor { number: 3, leads_to: None }, from: Some(Descriptor { number: 4
tee 3 4 100 0 = 9: asked_bytes: Some(100)
read 3 0 9 0 = -11: result: Err([69, 65, 71, 65, 73, 78])
read 3 0 9 0 = -512: result: Err([69, 82, 69, 83, 84,
fstat 3 0 0 0 = 0 [8,12,1,0x81a4,0,0,77,0]: size: Some(77)
newfstatat -100 0 0 0 = 0 [8,12,1,0x11a4,0,0,77,0] f: Fifo(Place { path: [102]
statx -100 0 0 0x100000008 = 0 [0,0,0,0x81a400000000,12,77,0,0] f: size: Some(77), failed: false, is_regular: true, inode: Some((2049, 12))
openat2 -100 0 0x400 0 = 3 a: append: true
mknodat -100 0 0x11a4 0 = 0 f: Fifo(Place { path: [102]
setsockopt 3 6 1 0 = 0: on: false
socketpair 1 1 0 0x600000005 = 0: number: 6
io_uring_setup 8 2 0 0 = 5: Submit { unseen: true }
inotify_add_watch 3 0 0x100 0 = 1 a: Other {
fanotify_mark 3 1 2 -100 = 0 a: Watch { path: [97] }
lseek 3 0 1 0 = -29: Fifo(Place { path: [], folder: Some
lseek 3 0 1 0 = 50: only_asked: true
mmap 3 0 3 1 = 0x10000000000: number: 3, leads_to: None }, writes_through: true
fcntl 3 3 0 0 = -9: Query
close_range 3 0xffffffff 0 0 = 0: last: 2147483647
pipe2 0 0x80000 0x400000003 0 = 0: close_on_exec: true
eventfd2 0 0x80000 0 0 = 4: number: 4, leads_to: Some([97, 110, 111, 110
eventfd2 0 0x80000 0 0 = 4: close_on_exec: true
connect 3 0 16 0 = -115: Connect {
connect 3 0 16 0 = -111: Other {
symlinkat 0 -100 0 0 = 0 a b: kind: Symbolic
renameat 5 0 6 0 = 0 a b: to: Place { path: [98], folder: Some(Descriptor { number: 6
linkat 5 0 6 0 = 0 a b: from: Place { path: [97], folder: Some(Descriptor { number: 5
waitid 0 12 0 0 = 0: Wait { child: 12 }
unknown 3 0 0 0 = 0: Other { descriptor: Some(
execve 0 0 0 0 = 0: None
clone 0 0 0 0 = -11: Other {";

    #[test]
    fn arguments_and_results_become_what_a_line_of_strace_would() {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).unwrap(),
            None => text.parse().unwrap(),
        };
        for row in CALLS.lines() {
            let (call, expected) = row.split_once(": ").unwrap();
            let mut words = call.split(' ');
            let name = words.next().unwrap();
            let [a0, a1, a2, a3, result] =
                [(); 5].map(|()| number(words.by_ref().find(|word| *word != "=").unwrap()));
            let (mut data, mut texts) = (Vec::new(), Vec::new());
            for word in words {
                match word.strip_prefix('[') {
                    Some(list) => data.push(
                        Slot::try_from(
                            list.trim_end_matches(']')
                                .split(',')
                                .map(|word| number(word) as u64)
                                .collect::<Vec<_>>(),
                        )
                        .unwrap(),
                    ),
                    None => texts.push(word.as_bytes().to_vec()),
                }
            }
            let slot = [0, 1 << 32, 1, result, a0 as u32 as i64, a1, a2, a3];
            let record = &Record::read(&slot.map(|word| word as u64));
            let (data, texts) = (&data[..], &texts[..]);
            let call = Call {
                name,
                record,
                data,
                texts,
            };
            let action = format!("{:?}", call.action(&mut Shown::default()));
            assert!(action.contains(expected), "{row}: {action}");
        }
    }
}
