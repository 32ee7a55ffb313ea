//! Calls that create, change and close descriptors.
//!
//! Each function returns the action of a call; `None` if the call failed or has no action of its own.

use crate::call::arguments::Arguments;
use crate::call::body::Body;
use crate::call::call_result::is_success;
use crate::counts::SkipReason;
use crate::event::{Action, Ask, Descriptor, OpenFlags, Place, Seek, SocketKind, TcpOption};
use crate::text::numbers::leading_any;

pub(crate) type Found<'a> = Result<Option<Action<'a>>, SkipReason>;

/// `open("x", O_RDONLY) = 3`, `openat(AT_FDCWD, "x", O_RDONLY|O_CREAT, 0666) = 3`,
/// `openat2(AT_FDCWD, "x", {flags=O_RDONLY, resolve=0}, 24) = 3`. The argument at `place` is the path. If `is_new`:
/// `creat("x", 0666) = 3`.
pub(crate) fn open(body: Body<'_>, place: usize, is_new: bool) -> Found<'_> {
    let (parts, result) = body.arguments().parts()?;
    let folder = if place == 0 { None } else { folder(parts[0]) };
    let path = string(parts[place]);
    Ok(match (returned(result)?, path) {
        (Some(descriptor), _) => Some(Action::Open {
            descriptor,
            path: path.unwrap_or_default(),
            folder,
            flags: open_flags(if is_new { b"O_CREAT|O_TRUNC" } else { parts[place + 1] }),
        }),
        (None, Some(path)) if !is_new => Some(failed(Place { path, folder })),
        _ => None,
    })
}

/// The action of a failed call: the call only asked for a name.
pub(crate) fn failed(file: Place<'_>) -> Action<'_> {
    Action::Ask(Ask {
        file,
        sees_size: false,
        size: None,
        failed: true,
        is_regular: false,
        inode: None,
    })
}

/// The descriptor of a folder: `AT_FDCWD</home>`, `3</tmp>`; `None` if the text has no number.
pub(crate) fn folder(text: &[u8]) -> Option<Descriptor<'_>> {
    let Some(shown) = text.strip_prefix(b"AT_FDCWD") else {
        return descriptor(text).ok();
    };
    let shown = shown.strip_prefix(b"<");
    Some(Descriptor {
        number: Descriptor::WORKING_FOLDER,
        leads_to: shown.and_then(|shown| shown.strip_suffix(b">")),
    })
}

/// `pipe2([3, 4], O_CLOEXEC) = 0`, `socketpair(AF_UNIX, SOCK_STREAM, 0, [3, 4]) = 0`. The argument at `place` has both
/// ends.
pub(crate) fn pair(body: Body<'_>, place: usize) -> Found<'_> {
    let (parts, result) = body.arguments().parts()?;
    if !parts[place].starts_with(b"[") {
        // The ends become known when they are used.
        return Ok(Some(Action::Other { descriptor: None }));
    }
    let ends = Arguments::new(parts[place]).two_descriptors()?;
    let [domain, flags, protocol, ..] = parts;
    let (kind, close_on_exec) = if place > 0 {
        let kind = kind_of_socket(domain, flags, protocol);
        (kind, has(flags, b"SOCK_CLOEXEC", 0))
    } else {
        // The number of O_DIRECT depends on the machine. Any bit but O_CLOEXEC and O_NONBLOCK may be O_DIRECT.
        let is_packets = has(flags, b"O_DIRECT", !0x8_0800);
        let kind = if is_packets { SocketKind::Other } else { SocketKind::Pipe };
        (kind, has(flags, b"O_CLOEXEC", 0x8_0000))
    };
    Ok(is_success(result).then_some(Action::Pair {
        ends,
        kind,
        close_on_exec,
    }))
}

/// `socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 3`. If it `accepts`:
/// `accept4(3, {sa_family=AF_INET, …}, [16], SOCK_CLOEXEC) = 4`.
pub(crate) fn socket(body: Body<'_>, accepts: bool) -> Found<'_> {
    let ([first, second, third, fourth, ..], result) = body.arguments().parts()?;
    let from = accepts.then(|| descriptor(first)).transpose()?;
    Ok(returned(result)?.map(|descriptor| Action::Socket {
        descriptor,
        kind: (!accepts).then(|| kind_of_socket(first, second, third)),
        from,
        close_on_exec: has(if accepts { fourth } else { second }, b"SOCK_CLOEXEC", 0),
    }))
}

/// `dup(3) = 4`, `dup2(3, 4) = 4`, `dup3(3, 4, O_CLOEXEC) = 4`.
pub(crate) fn duplicate(body: Body<'_>) -> Found<'_> {
    let ([from, _, flags, ..], result) = body.arguments().parts()?;
    let from = descriptor(from)?;
    Ok(returned(result)?.map(|to| Action::Duplicate {
        from,
        to,
        close_on_exec: has(flags, b"O_CLOEXEC", 0),
    }))
}

/// `fcntl(3, F_SETFL, O_RDONLY|O_NONBLOCK) = 0`.
pub(crate) fn control(body: Body<'_>) -> Found<'_> {
    let ([of, command, value, ..], result) = body.arguments().parts()?;
    let descriptor = descriptor(of)?;
    Ok(match command {
        b"F_DUPFD" | b"0" | b"F_DUPFD_CLOEXEC" | b"0x406" => {
            returned(result)?.map(|to| Action::Duplicate {
                from: descriptor,
                to,
                close_on_exec: matches!(command, b"F_DUPFD_CLOEXEC" | b"0x406"),
            })
        }
        b"F_SETFL" | b"0x4" if is_success(result) => Some(Action::SetFlags {
            descriptor,
            flags: open_flags(value),
        }),
        b"F_SETFD" | b"0x2" if is_success(result) => Some(Action::SetCloseOnExec {
            descriptor,
            close_on_exec: has(value, b"FD_CLOEXEC", 1),
        }),
        b"F_GETFD" | b"0x1" | b"F_GETFL" | b"0x3" => Some(Action::Query),
        b"F_NOTIFY" | b"0x402" if has(value, b"DN_MODIFY", 2) => Some(Action::Watch {
            path: descriptor.leads_to.unwrap_or_default(),
        }),
        _ => None,
    })
}

/// `connect(3, {sa_family=AF_INET, …}, 16) = 0`.
pub(crate) fn connect(body: Body<'_>) -> Found<'_> {
    let connected = body.arguments().parts().ok();
    let connected = connected.filter(|(_, result)| is_success(result));
    let descriptor = body.first_descriptor().filter(|_| connected.is_some());
    let action = descriptor.map(|descriptor| Action::Connect { descriptor });
    Ok(Some(action.unwrap_or_else(|| body.other())))
}

/// `setsockopt(3, SOL_TCP, TCP_CORK, [1], 4) = 0`.
pub(crate) fn set_option(body: Body<'_>) -> Found<'_> {
    let ([of, level, option, value, ..], result) = body.arguments().parts()?;
    let descriptor = descriptor(of)?;
    let option = match (level, option) {
        (_, b"TCP_CORK") | (b"0x6", b"0x3") => TcpOption::Cork,
        (_, b"TCP_NODELAY") | (b"0x6", b"0x1") => TcpOption::NoDelay,
        _ => return Ok(None),
    };
    Ok(is_success(result).then_some(Action::SetTcpOption {
        descriptor,
        option,
        on: value != b"[0]",
    }))
}

/// `ioctl(3, FIOCLEX) = 0`.
pub(crate) fn device_control(body: Body<'_>) -> Found<'_> {
    let ([of, request, ..], result) = body.arguments().parts()?;
    let descriptor = descriptor(of)?;
    Ok(match request {
        b"FIOCLEX" | b"FIONCLEX" if is_success(result) => Some(Action::SetCloseOnExec {
            descriptor,
            close_on_exec: request == b"FIOCLEX",
        }),
        b"TIOCGWINSZ" | b"0x5413" | b"TCGETS" | b"TCGETS2" | b"0x5401" => Some(Action::Query),
        _ => None,
    })
}

/// `close(3) = 0`. The kernel frees the number, whatever `close` returns.
pub(crate) fn close(body: Body<'_>) -> Found<'_> {
    let Descriptor { number, leads_to } = body.arguments().descriptor()?;
    Ok(Some(Action::Close {
        first: number,
        last: number,
        leads_to,
    }))
}

/// `close_range(3, 4294967295, 0) = 0`. With `CLOSE_RANGE_CLOEXEC`, the call closes no descriptor.
pub(crate) fn close_range(body: Body<'_>) -> Found<'_> {
    let ([first, last, flags, ..], result) = body.arguments().parts()?;
    let end = |text| -> Result<_, SkipReason> {
        let mut text = Arguments::new(text);
        let number = i32::try_from(text.number()?).unwrap_or(i32::MAX);
        Ok((number, text.annotation()?))
    };
    let ((first, leads_to), (last, _)) = (end(first)?, end(last)?);
    let closes = is_success(result) && !has(flags, b"CLOSE_RANGE_CLOEXEC", 4);
    Ok(closes.then_some(Action::Close {
        first,
        last,
        leads_to,
    }))
}

/// `mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) = 0x7f00`.
pub(crate) fn map(body: Body<'_>) -> Found<'_> {
    if !body.succeeded() {
        return Ok(None);
    }
    let ([_, _, protection, flags, of, _], _) = body.arguments().parts()?;
    if has(flags, b"MAP_ANONYMOUS", 0) {
        return Ok(None);
    }
    let descriptor = descriptor(of)?;
    let is_shared = has(flags, b"MAP_SHARED", 1) || has(flags, b"MAP_SHARED_VALIDATE", 0);
    Ok((descriptor.number >= 0).then_some(Action::Map {
        descriptor,
        writes_through: is_shared && has(protection, b"PROT_WRITE", 2),
    }))
}

/// `lseek(3, 0, SEEK_CUR) = 100`. In 32-bit programs: `_llseek(3, 0, [100], SEEK_CUR) = 0`.
pub(crate) fn seek(body: Body<'_>, is_32: bool) -> Found<'_> {
    let ([of, by, second, third, ..], result) = body.arguments().parts()?;
    let descriptor = descriptor(of)?;
    let (position, whence) = match second.strip_prefix(b"[") {
        Some(position) if is_32 => (position, third),
        None if !is_32 => (result, second),
        _ => return Ok(None),
    };
    let relative = matches!(whence, b"SEEK_CUR" | b"0x1");
    Ok(if is_success(result) {
        Some(Action::Seek(Seek {
            descriptor,
            position: leading_any(position)?.0,
            only_asked: by == b"0" && relative,
            relative,
            // If `whence` is unknown, the new offset may depend on the contents of the file.
            asks_size: !relative && !matches!(whence, b"SEEK_SET" | b"0"),
        }))
    } else if matches!(result.strip_prefix(b"-1 "), Some(error) if error.starts_with(b"ESPIPE")) {
        // The descriptor cannot seek.
        Some(Action::Fifo(Place::of(descriptor)))
    } else {
        None
    })
}

/// The kind of a socket by its arguments: `AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0`.
fn kind_of_socket(domain: &[u8], flags: &[u8], protocol: &[u8]) -> SocketKind {
    match domain {
        b"AF_UNIX" | b"AF_INET" | b"AF_INET6" if has(flags, b"SOCK_DGRAM", 0) => {
            SocketKind::Datagram
        }
        _ if !has(flags, b"SOCK_STREAM", 0) => SocketKind::Other,
        b"AF_UNIX" => SocketKind::UnixStream,
        b"AF_INET" | b"AF_INET6" if matches!(protocol, b"0" | b"IPPROTO_IP" | b"IPPROTO_TCP") => {
            SocketKind::Tcp
        }
        _ => SocketKind::Other,
    }
}

/// Reads `O_WRONLY|O_APPEND`, also within `{flags=…}` and `0x401 /* O_WRONLY|O_APPEND */`.
pub(crate) fn open_flags(text: &[u8]) -> OpenFlags {
    let mut flags = OpenFlags::default();
    let mut named = text == b"0";
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    for word in text.split(|byte| !in_name(byte)) {
        named |= word.starts_with(b"O_");
        match word {
            b"O_APPEND" => flags.append = true,
            b"O_SYNC" | b"O_DSYNC" | b"__O_SYNC" => flags.sync = true,
            b"O_DIRECT" => flags.direct = true,
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

/// Whether `flags` contains the word `flag`. If `flags` is a number (`-X raw`): whether one of the `bits` is set.
pub(crate) fn has(flags: &[u8], flag: &[u8], bits: u64) -> bool {
    flags
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .any(|word| word == flag || leading_any(word).is_ok_and(|(number, _)| number & bits != 0))
}

/// A whole argument as a string, without quotes; `None` if the argument is an address.
pub(crate) fn string(text: &[u8]) -> Option<&[u8]> {
    Arguments::new(text).string().ok()
}

pub(crate) fn descriptor(text: &[u8]) -> Result<Descriptor<'_>, SkipReason> {
    Arguments::new(text).descriptor()
}

fn returned(result: &[u8]) -> Result<Option<Descriptor<'_>>, SkipReason> {
    is_success(result).then(|| descriptor(result)).transpose()
}
