//! Calls that create, change and close descriptors.
//!
//! Each function returns the action of such a call; `None` if it failed or has no action of its own.

use crate::call::arguments::Arguments;
use crate::call::call_result::is_success;
use crate::counts::SkipReason;
use crate::event::{Action, Ask, Descriptor, Named, OpenFlags, SocketKind, TcpOption};
use crate::text::numbers::leading_any;

type Found<'a> = Result<Option<Action<'a>>, SkipReason>;

/// `open("x", O_RDONLY) = 3`, `openat(AT_FDCWD, "x", O_RDONLY|O_CREAT, 0666) = 3`,
/// `openat2(AT_FDCWD, "x", {flags=O_RDONLY, resolve=0}, 24) = 3`.
pub(crate) fn open<'a>(mut arguments: Arguments<'a>, from_folder: bool) -> Found<'a> {
    let folder = if from_folder { folder(&mut arguments)? } else { None };
    let is_shown = arguments.rest().starts_with(b"\"");
    let path = if is_shown { arguments.string()? } else { arguments.any().map(|_| &b""[..])? };
    arguments.comma()?;
    let flags = arguments.any()?;
    Ok(Some(match returned(arguments)? {
        Some(descriptor) => Action::Open {
            descriptor,
            path,
            folder,
            flags: open_flags(flags),
        },
        // An address instead of a string.
        None if !is_shown => return Ok(None),
        None => failed(path, folder),
    }))
}

/// A call that failed, which asked for a name.
pub(crate) fn failed<'a>(path: &'a [u8], folder: Option<Descriptor<'a>>) -> Action<'a> {
    Action::Ask(Ask {
        file: Named::Path(path),
        folder,
        sees_size: false,
        size: None,
        failed: true,
        is_regular: false,
        inode: None,
    })
}

/// Reads the descriptor of a folder: `AT_FDCWD</home>`, `3</tmp>`; `None` if it is no number.
pub(crate) fn folder<'a>(
    arguments: &mut Arguments<'a>,
) -> Result<Option<Descriptor<'a>>, SkipReason> {
    let mut start = *arguments;
    let text = arguments.any()?;
    arguments.comma()?;
    let Some(shown) = text.strip_prefix(b"AT_FDCWD") else {
        return Ok(start.descriptor().ok());
    };
    let shown = shown.strip_prefix(b"<");
    Ok(Some(Descriptor {
        number: Descriptor::WORKING_FOLDER,
        leads_to: shown.and_then(|shown| shown.strip_suffix(b">")),
    }))
}

/// `creat("x", 0666) = 3`.
pub(crate) fn create<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let is_shown = arguments.rest().starts_with(b"\"");
    let path = if is_shown { arguments.string()? } else { b"" };
    Ok(returned(arguments)?.map(|descriptor| Action::Open {
        descriptor,
        path,
        folder: None,
        flags: OpenFlags {
            creates: true,
            truncates: true,
            ..OpenFlags::default()
        },
    }))
}

/// `pipe2([3, 4], O_CLOEXEC) = 0`.
pub(crate) fn pipe<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    if !arguments.rest().starts_with(b"[") {
        return Ok(None);
    }
    let [read, write] = arguments.two_descriptors()?;
    let flags = rest_of_arguments(&mut arguments)?;
    Ok(succeeded(arguments)?.then_some(Action::Pipe {
        read,
        write,
        // The number of O_DIRECT differs between machines: any but the numbers of O_CLOEXEC and O_NONBLOCK may be it.
        packets: has(flags, b"O_DIRECT", !0x8_0800),
        close_on_exec: has(flags, b"O_CLOEXEC", 0x8_0000),
    }))
}

/// `socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 3`.
pub(crate) fn socket<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let (kind, close_on_exec) = kind_of_socket(&mut arguments)?;
    Ok(returned(arguments)?.map(|descriptor| Action::Socket {
        descriptor,
        kind: Some(kind),
        from: None,
        close_on_exec,
    }))
}

/// `socketpair(AF_UNIX, SOCK_STREAM, 0, [3, 4]) = 0`.
pub(crate) fn socket_pair<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let (kind, close_on_exec) = kind_of_socket(&mut arguments)?;
    arguments.comma()?;
    if !arguments.rest().starts_with(b"[") {
        return Ok(None);
    }
    let descriptors = arguments.two_descriptors()?;
    Ok(succeeded(arguments)?.then_some(Action::SocketPair {
        descriptors,
        kind,
        close_on_exec,
    }))
}

/// `accept4(3, {sa_family=AF_INET, …}, [16], SOCK_CLOEXEC) = 4`.
pub(crate) fn accept<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let from = arguments.descriptor()?;
    let rest = rest_of_arguments(&mut arguments)?;
    Ok(returned(arguments)?.map(|descriptor| Action::Socket {
        descriptor,
        kind: None,
        from: Some(from),
        close_on_exec: has(rest, b"SOCK_CLOEXEC", 0),
    }))
}

/// `dup(3) = 4`, `dup2(3, 4) = 4`, `dup3(3, 4, O_CLOEXEC) = 4`.
pub(crate) fn duplicate<'a>(mut arguments: Arguments<'a>, has_flags: bool) -> Found<'a> {
    let from = arguments.descriptor()?;
    let rest = rest_of_arguments(&mut arguments)?;
    Ok(returned(arguments)?.map(|to| Action::Duplicate {
        from,
        to,
        close_on_exec: has_flags && has(rest, b"O_CLOEXEC", 0),
    }))
}

/// `fcntl(3, F_SETFL, O_RDONLY|O_NONBLOCK) = 0`.
pub(crate) fn control<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let descriptor = arguments.descriptor()?;
    arguments.comma()?;
    let command = arguments.any()?;
    let value = match arguments.comma() {
        Ok(()) => arguments.any()?,
        Err(_) => b"",
    };
    match command {
        b"F_DUPFD" | b"0" | b"F_DUPFD_CLOEXEC" | b"0x406" => {
            Ok(returned(arguments)?.map(|to| Action::Duplicate {
                from: descriptor,
                to,
                close_on_exec: matches!(command, b"F_DUPFD_CLOEXEC" | b"0x406"),
            }))
        }
        b"F_SETFL" | b"0x4" if succeeded(arguments)? => Ok(Some(Action::SetFlags {
            descriptor,
            flags: open_flags(value),
        })),
        b"F_SETFD" | b"0x2" if succeeded(arguments)? => Ok(Some(Action::SetCloseOnExec {
            descriptor,
            close_on_exec: has(value, b"FD_CLOEXEC", 1),
        })),
        b"F_GETFD" | b"0x1" | b"F_GETFL" | b"0x3" => Ok(Some(Action::Query)),
        b"F_NOTIFY" | b"0x402" if has(value, b"DN_MODIFY", 2) => Ok(Some(Action::Watch {
            path: descriptor.leads_to.unwrap_or_default(),
        })),
        _ => Ok(None),
    }
}

/// `connect(3, {sa_family=AF_INET, …}, 16) = 0`.
pub(crate) fn connect<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let descriptor = arguments.descriptor()?;
    rest_of_arguments(&mut arguments)?;
    Ok(succeeded(arguments)?.then_some(Action::Connect { descriptor }))
}

/// `setsockopt(3, SOL_TCP, TCP_CORK, [1], 4) = 0`.
pub(crate) fn set_option<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let descriptor = arguments.descriptor()?;
    arguments.comma()?;
    let level = arguments.any()?;
    arguments.comma()?;
    let option = arguments.any()?;
    let value = rest_of_arguments(&mut arguments)?;
    let option = match (level, option) {
        (_, b"TCP_CORK") | (b"0x6", b"0x3") => TcpOption::Cork,
        (_, b"TCP_NODELAY") | (b"0x6", b"0x1") => TcpOption::NoDelay,
        _ => return Ok(None),
    };
    Ok(succeeded(arguments)?.then_some(Action::SetTcpOption {
        descriptor,
        option,
        on: !value.starts_with(b", [0]"),
    }))
}

/// `ioctl(3, FIOCLEX) = 0`.
pub(crate) fn device_control<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let descriptor = arguments.descriptor()?;
    arguments.comma()?;
    let close_on_exec = match arguments.any()? {
        b"FIOCLEX" => true,
        b"FIONCLEX" => false,
        b"TIOCGWINSZ" | b"0x5413" | b"TCGETS" | b"TCGETS2" | b"0x5401" => {
            return Ok(Some(Action::Query));
        }
        _ => return Ok(None),
    };
    Ok(succeeded(arguments)?.then_some(Action::SetCloseOnExec {
        descriptor,
        close_on_exec,
    }))
}

/// `close(3) = 0`. The kernel frees the number whatever it returns.
pub(crate) fn close<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let descriptor = arguments.descriptor()?;
    Ok(Some(Action::Close {
        first: descriptor.number,
        last: descriptor.number,
        leads_to: descriptor.leads_to,
    }))
}

/// `close_range(3, 4294967295, 0) = 0`. With `CLOSE_RANGE_CLOEXEC` nothing is closed yet.
pub(crate) fn close_range<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    let as_number = |number: u64| i32::try_from(number).unwrap_or(i32::MAX);
    let first = as_number(arguments.number()?);
    let leads_to = arguments.annotation()?;
    arguments.comma()?;
    let last = as_number(arguments.number()?);
    arguments.annotation()?;
    arguments.comma()?;
    let flags = arguments.any()?;
    let closes = succeeded(arguments)? && !has(flags, b"CLOSE_RANGE_CLOEXEC", 4);
    Ok(closes.then_some(Action::Close {
        first,
        last,
        leads_to,
    }))
}

/// `mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) = 0x7f00`.
pub(crate) fn map<'a>(mut arguments: Arguments<'a>) -> Found<'a> {
    for _ in 0..2 {
        arguments.any()?;
        arguments.comma()?;
    }
    let protection = arguments.any()?;
    arguments.comma()?;
    let flags = arguments.any()?;
    arguments.comma()?;
    if has(flags, b"MAP_ANONYMOUS", 0) {
        return Ok(None);
    }
    let descriptor = arguments.descriptor()?;
    let is_shared = has(flags, b"MAP_SHARED", 1) || has(flags, b"MAP_SHARED_VALIDATE", 0);
    Ok((descriptor.number >= 0).then_some(Action::Map {
        descriptor,
        writes_through: is_shared && has(protection, b"PROT_WRITE", 2),
    }))
}

/// `lseek(3, 0, SEEK_CUR) = 100`, and `_llseek(3, 0, [100], SEEK_CUR) = 0` of 32-bit programs.
pub(crate) fn seek<'a>(mut arguments: Arguments<'a>, is_32: bool) -> Found<'a> {
    let descriptor = arguments.descriptor()?;
    arguments.comma()?;
    let by = arguments.any()?;
    arguments.comma()?;
    let mut position = 0;
    if is_32 {
        if !arguments.eat(b"[") {
            return Ok(None);
        }
        position = arguments.number()?;
        arguments.expect(b"]")?;
        arguments.comma()?;
    }
    let whence = arguments.any()?;
    arguments.close()?;
    if !is_success(arguments.rest()) {
        return Ok(None);
    }
    Ok(Some(Action::Seek {
        descriptor,
        position: if is_32 { position } else { arguments.number()? },
        only_asked: by == b"0" && is_relative(whence),
        relative: is_relative(whence),
        asks_size: asks_size(whence),
    }))
}

fn is_relative(whence: &[u8]) -> bool {
    matches!(whence, b"SEEK_CUR" | b"0x1")
}

/// Whether the result of a seek depends on the contents of the file. An unknown `whence` counts as such.
fn asks_size(whence: &[u8]) -> bool {
    !matches!(whence, b"SEEK_SET" | b"0" | b"SEEK_CUR" | b"0x1")
}

/// Reads `AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0`. Returns the kind, and whether the socket closes at `execve`.
fn kind_of_socket(arguments: &mut Arguments) -> Result<(SocketKind, bool), SkipReason> {
    let domain = arguments.any()?;
    arguments.comma()?;
    let flags = arguments.any()?;
    arguments.comma()?;
    let protocol = arguments.any()?;
    let kind = match domain {
        b"AF_UNIX" | b"AF_INET" | b"AF_INET6" if has(flags, b"SOCK_DGRAM", 0) => {
            SocketKind::Datagram
        }
        _ if !has(flags, b"SOCK_STREAM", 0) => SocketKind::Other,
        b"AF_UNIX" => SocketKind::UnixStream,
        b"AF_INET" | b"AF_INET6" if matches!(protocol, b"0" | b"IPPROTO_IP" | b"IPPROTO_TCP") => {
            SocketKind::Tcp
        }
        _ => SocketKind::Other,
    };
    Ok((kind, has(flags, b"SOCK_CLOEXEC", 0)))
}

/// Reads `O_WRONLY|O_APPEND`, also within `{flags=…}` and `0x401 /* O_WRONLY|O_APPEND */`.
pub(crate) fn open_flags(text: &[u8]) -> OpenFlags {
    let mut flags = OpenFlags::default();
    let mut named = text == b"0";
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    for word in text.split(|byte| !in_name(byte)) {
        named |= word.starts_with(b"O_");
        match word {
            b"O_RDWR" => flags.both_ways = true,
            b"O_APPEND" => flags.append = true,
            b"O_SYNC" | b"O_DSYNC" | b"__O_SYNC" => flags.sync = true,
            b"O_DIRECT" => flags.direct = true,
            b"O_NONBLOCK" | b"O_NDELAY" => flags.nonblocking = true,
            b"O_CLOEXEC" => flags.close_on_exec = true,
            b"O_PATH" => flags.path_only = true,
            b"O_DIRECTORY" => flags.directory = true,
            b"O_CREAT" => flags.creates = true,
            b"O_EXCL" => flags.exclusive = true,
            b"O_TRUNC" => flags.truncates = true,
            _ => (),
        }
    }
    flags.unread = !named;
    flags.creates |= !named;
    flags.truncates |= !named;
    flags
}

/// Whether `flags` has the word `flag`, or as a number (`-X raw`) one of its `bits`.
pub(crate) fn has(flags: &[u8], flag: &[u8], bits: u64) -> bool {
    flags
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .any(|word| word == flag || leading_any(word).is_ok_and(|(number, _)| number & bits != 0))
}

/// Skips the arguments that are left and returns their text.
fn rest_of_arguments<'a>(arguments: &mut Arguments<'a>) -> Result<&'a [u8], SkipReason> {
    let start = arguments.rest();
    while arguments.comma().is_ok() {
        arguments.any()?;
    }
    Ok(&start[..start.len() - arguments.rest().len()])
}

/// The descriptor that a call returned, if it succeeded. Skips the arguments that are left.
fn returned<'a>(mut arguments: Arguments<'a>) -> Result<Option<Descriptor<'a>>, SkipReason> {
    if !skip_to_result(&mut arguments)? {
        return Ok(None);
    }
    arguments.descriptor().map(Some)
}

/// Whether a call succeeded. Skips the arguments that are left.
fn succeeded(mut arguments: Arguments) -> Result<bool, SkipReason> {
    skip_to_result(&mut arguments)
}

/// Skips the arguments that are left, up to the result, and returns whether the call succeeded.
fn skip_to_result(arguments: &mut Arguments) -> Result<bool, SkipReason> {
    rest_of_arguments(arguments)?;
    arguments.close()?;
    Ok(is_success(arguments.rest()))
}
