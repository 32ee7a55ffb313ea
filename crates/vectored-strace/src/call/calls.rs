//! Turns a call into the [`Action`] of its event.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use crate::call::arguments::Arguments;
use crate::call::body::Body;
use crate::call::call_result::{Outcome, is_success, outcome, thread};
use crate::call::descriptors;
use crate::call::names::Syscall;
use crate::call::transfers::{Segments, lack_of_list, transfer};
use crate::counts::SkipReason;
use crate::event::{Action, Ask, LinkKind, Named, Place};
use crate::text::numbers::{leading, leading_any};

/// The text after the first occurrence of another one. Preparing a search takes as long as searching a line.
macro_rules! after {
    ($text:expr, $name:literal) => {{
        static FINDER: LazyLock<Finder> = LazyLock::new(|| Finder::new($name));
        FINDER.find($text).map(|at| &$text[at + $name.len()..])
    }};
}

/// The action of a call, and the reason if part of the call could not be read.
#[derive(Debug)]
pub(crate) struct ReadCall<'a> {
    pub(crate) action: Action<'a>,
    pub(crate) missing: Option<SkipReason>,
}

/// Reads a call. If its arguments cannot be read, the action is [`Action::Unread`].
pub(crate) fn call<'a>(body: Body<'a>, segments: &'a mut Segments) -> ReadCall<'a> {
    let Syscall::Transfer(shape, direction) = body.call else {
        return without_bytes(body);
    };
    match transfer(shape, direction, body, segments) {
        Ok(transfer) => ReadCall {
            missing: lack_of_list(&transfer, body.text),
            action: Action::Transfer(transfer),
        },
        Err(reason) => unread(body, reason),
    }
}

fn without_bytes(body: Body<'_>) -> ReadCall<'_> {
    let action = match body.call {
        Syscall::Other => Ok(None),
        _ if !body.shows_path() => return without_path(body),
        name => action(name, body),
    };
    match action {
        Ok(None | Some(Action::Ask(_))) if body.call.needs_result() && body.result() == b"?" => {
            unread(body, SkipReason::Unreadable)
        }
        Ok(action) => ReadCall {
            action: action.unwrap_or(Action::Other {
                descriptor: body.first_descriptor(),
            }),
            missing: None,
        },
        Err(reason) => unread(body, reason),
    }
}

/// A call whose path the log does not show. Unless it is known what it does to any path, calls around it are not merged.
#[cold]
fn without_path(body: Body<'_>) -> ReadCall<'_> {
    let succeeded = is_success(body.result());
    let known = match body.call {
        Syscall::Open | Syscall::OpenAt | Syscall::Create => action(body.call, body).ok().flatten(),
        Syscall::Watch if succeeded => Some(Action::Watch { path: b"" }),
        // The pipe is known when it is used.
        Syscall::Pipe | Syscall::SocketPair => Some(Action::Other { descriptor: None }),
        Syscall::Link(_) | Syscall::ChangeFolder if succeeded => {
            Some(Action::Unread { descriptor: None })
        }
        _ => None,
    };
    ReadCall {
        action: known.unwrap_or(Action::Lost),
        missing: Some(SkipReason::NotShown),
    }
}

fn unread(body: Body<'_>, reason: SkipReason) -> ReadCall<'_> {
    ReadCall {
        action: Action::Unread {
            descriptor: body.first_descriptor(),
        },
        // Of a call that never returned, strace does not write the arguments that the kernel fills in.
        missing: (!body.result().starts_with(b"?")).then_some(reason),
    }
}

/// The thread that a call created, if any.
pub(crate) fn child(body: Body) -> Option<u32> {
    (body.call.makes_threads() && is_success(body.result())).then(|| thread(body.result()).ok())?
}

/// The action of a call that moves no bytes; `None` if it is [`Action::Other`].
fn action(name: Syscall, body: Body<'_>) -> Result<Option<Action<'_>>, SkipReason> {
    let mut arguments = body.arguments();
    match name {
        Syscall::Open => descriptors::open(arguments, false),
        Syscall::OpenAt => descriptors::open(arguments, true),
        Syscall::Create => descriptors::create(arguments),
        Syscall::Pipe => descriptors::pipe(arguments),
        Syscall::Socket => descriptors::socket(arguments),
        Syscall::SocketPair => descriptors::socket_pair(arguments),
        Syscall::Accept => descriptors::accept(arguments),
        Syscall::Connect => Ok(descriptors::connect(arguments).unwrap_or_default()),
        Syscall::Poll => Ok(match outcome(body.result()) {
            Ok(Outcome::Value(ready)) => Some(Action::Poll { ready }),
            _ => None,
        }),
        Syscall::Duplicate => descriptors::duplicate(arguments, false),
        Syscall::Duplicate3 => descriptors::duplicate(arguments, true),
        Syscall::Control => descriptors::control(arguments),
        Syscall::DeviceControl => descriptors::device_control(arguments),
        Syscall::Close => descriptors::close(arguments),
        Syscall::CloseRange => descriptors::close_range(arguments),
        Syscall::Seek if is_refused_seek(body) => fifo(Syscall::Status, arguments),
        Syscall::Seek => descriptors::seek(arguments, false),
        Syscall::Seek32 => descriptors::seek(arguments, true),
        Syscall::Sync => Ok(Some(Action::Sync(Some(arguments.descriptor()?)))),
        Syscall::SyncAll => Ok(Some(Action::Sync(None))),
        Syscall::Map if is_success(body.result()) => descriptors::map(arguments),
        Syscall::Map => Ok(None),
        Syscall::Status | Syscall::StatusAt | Syscall::StatusOfPath => {
            if shows_fifo(body) {
                fifo(name, arguments)
            } else {
                Ok(ask(name, arguments, body))
            }
        }
        Syscall::AskPath | Syscall::AskAt => Ok(ask(name, arguments, body)),
        Syscall::ChangeFolder => Ok(change_folder(arguments, body)),
        Syscall::MakeFolder => Ok(make_folder(arguments, body)),
        Syscall::Truncate => Ok(truncate(arguments)),
        Syscall::Link(kind) if is_success(body.result()) => link(arguments, kind),
        Syscall::Link(_) => Ok(None),
        Syscall::Watch if is_success(body.result()) => Ok(watch(arguments)),
        Syscall::Watch => Ok(None),
        Syscall::SetOption => descriptors::set_option(arguments),
        Syscall::Wait => Ok(waited(body)),
        Syscall::WaitId => Ok(waited_by_id(body)),
        Syscall::Submit => Ok(Some(Action::Submit { unseen: false })),
        Syscall::Ring => Ok(ring(body)),
        Syscall::Execute => execute(arguments, false, body),
        Syscall::ExecuteAt => execute(arguments, true, body),
        Syscall::Exit | Syscall::ExitGroup => Ok(Some(Action::Exit {
            process_ended: name == Syscall::ExitGroup,
        })),
        Syscall::Fork | Syscall::Clone => fork(name, body),
        Syscall::Transfer(..) | Syscall::Other => Ok(None),
    }
}

/// Whether a call failed because the descriptor cannot seek: `lseek(3, 0, SEEK_CUR) = -1 ESPIPE (Illegal seek)`.
fn is_refused_seek(body: Body) -> bool {
    matches!(outcome(body.result()), Ok(Outcome::Error(b"ESPIPE")))
}

/// Whether a call succeeded and shows a FIFO: `st_mode=S_IFIFO|0644`.
fn shows_fifo(body: Body) -> bool {
    after!(body.text, b"S_IFIFO|").is_some() && is_success(body.result())
}

/// A call that shows a FIFO: `fstat(3, …)`, `newfstatat(AT_FDCWD, "x", …)`, `newfstatat(3, "", …)`, `stat("x", …)`, or a
/// refused `lseek(3, …)`.
fn fifo<'a>(name: Syscall, mut arguments: Arguments<'a>) -> Result<Option<Action<'a>>, SkipReason> {
    if name == Syscall::StatusOfPath {
        return Ok(Some(Action::Fifo(Named::Path(arguments.string()?))));
    }
    let mut after = arguments;
    if name == Syscall::StatusAt {
        after.any()?;
        after.comma()?;
        let path = after.string()?;
        if !path.is_empty() {
            return Ok(Some(Action::Fifo(Named::Path(path))));
        }
    }
    let descriptor = arguments.descriptor()?;
    Ok(Some(Action::Fifo(Named::Descriptor(descriptor))))
}

/// A call that asks for a file: `stat("x", …)`, `newfstatat(AT_FDCWD, "x", …)`, `fstat(3, …)`, `access("x", F_OK)`; `None` if
/// it cannot be read.
fn ask<'a>(name: Syscall, mut arguments: Arguments<'a>, body: Body<'a>) -> Option<Action<'a>> {
    let start = arguments;
    let mut folder = None;
    if matches!(name, Syscall::StatusAt | Syscall::AskAt) {
        folder = descriptors::folder(&mut arguments).ok()?;
    }
    let path = match name {
        Syscall::Status => &b""[..],
        // `fstatat(3, NULL, …, AT_EMPTY_PATH)`.
        _ if arguments.rest().starts_with(b"NULL") => b"",
        // An address instead of a string: the call failed.
        _ => arguments.string().ok()?,
    };
    let file = match path {
        b"" => Named::Descriptor({ start }.descriptor().ok()?),
        path => Named::Path(path),
    };
    let is_regular = after!(body.text, b"S_IFREG").is_some();
    Some(Action::Ask(Ask {
        file,
        folder,
        sees_size: !matches!(name, Syscall::AskPath | Syscall::AskAt),
        size: if is_regular { size(body.text) } else { None },
        failed: !is_success(body.result()),
        is_regular,
        inode: inode(body.text),
    }))
}

/// The size in `{…, st_size=12, …}` or `{…, stx_size=12, …}`.
fn size(text: &[u8]) -> Option<u64> {
    let found = after!(text, b"st_size=").or_else(|| after!(text, b"stx_size="))?;
    Some(leading_any(found).ok()?.0)
}

/// Device and inode in `{st_dev=makedev(0x8, 0x1), st_ino=12, …}` or `{…, stx_ino=12, …, stx_dev_major=8, stx_dev_minor=1}`.
fn inode(text: &[u8]) -> Option<(u64, u64)> {
    let number = |text| Some(leading_any(text).ok()?.0);
    let node = after!(text, b"st_ino=").and_then(number);
    let node = node.or_else(|| number(after!(text, b"stx_ino=")?))?;
    let (major, minor) = match after!(text, b"st_dev=makedev(") {
        Some(numbers) => {
            let mut numbers = Arguments::new(numbers);
            let major = numbers.number().ok()?;
            numbers.comma().ok()?;
            (major, numbers.number().ok()?)
        }
        None => (
            number(after!(text, b"stx_dev_major=")?)?,
            number(after!(text, b"stx_dev_minor=")?)?,
        ),
    };
    // Puts them together as `makedev` of Linux does.
    let device = (major & 0xffff_f000) << 32
        | (major & 0xfff) << 8
        | (minor & 0xffff_ff00) << 12
        | minor & 0xff;
    Some((device, node))
}

/// `truncate("x", 10) = 0`; `None` if its path cannot be read.
fn truncate(mut arguments: Arguments<'_>) -> Option<Action<'_>> {
    let path = arguments.string().ok()?;
    Some(Action::Truncate { path })
}

/// `mkdir("x", 0777) = 0`, `mkdirat(AT_FDCWD, "x", 0777) = 0`; one that failed asked for the name.
fn make_folder<'a>(mut arguments: Arguments<'a>, body: Body<'a>) -> Option<Action<'a>> {
    let made = place(&mut arguments).ok()?;
    Some(if is_success(body.result()) {
        Action::MakeFolder(made)
    } else {
        descriptors::failed(made.path, made.folder)
    })
}

/// `chdir("x") = 0`, `fchdir(3) = 0`.
fn change_folder<'a>(mut arguments: Arguments<'a>, body: Body<'a>) -> Option<Action<'a>> {
    let to = if arguments.rest().starts_with(b"\"") {
        Named::Path(arguments.string().ok()?)
    } else {
        Named::Descriptor(arguments.descriptor().ok()?)
    };
    is_success(body.result()).then_some(Action::ChangeFolder(to))
}

/// `link("a", "b") = 0`, `linkat(AT_FDCWD, "a", AT_FDCWD, "b", 0) = 0`, `symlinkat("a", AT_FDCWD, "b") = 0`.
fn link(mut arguments: Arguments<'_>, kind: LinkKind) -> Result<Option<Action<'_>>, SkipReason> {
    let from = place(&mut arguments)?;
    arguments.comma()?;
    let to = place(&mut arguments)?;
    Ok(Some(Action::Link { from, to, kind }))
}

/// `"a"`, or with its folder `3</tmp>, "a"`.
fn place<'a>(arguments: &mut Arguments<'a>) -> Result<Place<'a>, SkipReason> {
    let is_path = arguments.rest().starts_with(b"\"");
    let folder = if is_path { None } else { descriptors::folder(arguments)? };
    let path = arguments.string()?;
    Ok(Place { path, folder })
}

/// `inotify_add_watch(3, "x", IN_MODIFY) = 1`, `fanotify_mark(3, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, "x") = 0`; `None` if
/// the watch does not report writes.
fn watch(mut arguments: Arguments<'_>) -> Option<Action<'_>> {
    let (mut path, mut modify, mut all) = (&b""[..], false, false);
    loop {
        let is_path = arguments.rest().starts_with(b"\"");
        let argument = arguments.any().ok()?;
        if is_path {
            path = argument
                .trim_ascii_end()
                .strip_suffix(b"...")
                .unwrap_or(argument);
            path = path.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        }
        // A descriptor is no number of flags.
        let bits = if argument.starts_with(b"0x") { 2 } else { 0 };
        modify |= descriptors::has(argument, b"IN_MODIFY", bits)
            || descriptors::has(argument, b"FAN_MODIFY", bits);
        all |= descriptors::has(argument, b"FAN_MARK_MOUNT", 0x10)
            || descriptors::has(argument, b"FAN_MARK_FILESYSTEM", 0x100);
        if arguments.comma().is_err() {
            let path = if all { b"" } else { path };
            return modify.then_some(Action::Watch { path });
        }
    }
}

/// `wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 12`.
fn waited(body: Body) -> Option<Action<'static>> {
    let child = thread(body.result()).ok().filter(|&child| child > 0)?;
    is_success(body.result()).then_some(Action::Wait { child })
}

/// `waitid(P_ALL, 0, {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=12, …}, WEXITED, NULL) = 0`.
fn waited_by_id(body: Body) -> Option<Action<'static>> {
    let at = memmem::find(body.text, b"si_pid=")? + b"si_pid=".len();
    let (child, _) = leading(&body.text[at..]).ok()?;
    let child = u32::try_from(child).ok()?;
    is_success(body.result()).then_some(Action::Wait { child })
}

/// `io_uring_setup(64, {flags=IORING_SETUP_SQPOLL, …}) = 3`.
fn ring(body: Body) -> Option<Action<'static>> {
    let bits = memmem::find(body.text, b"flags=0x").map(|at| leading_any(&body.text[at + 6..]));
    let polls = memmem::find(body.text, b"IORING_SETUP_SQPOLL").is_some()
        || bits.is_some_and(|bits| bits.is_ok_and(|(bits, _)| bits & 2 != 0));
    (polls && is_success(body.result())).then_some(Action::Submit { unseen: true })
}

/// `execve("/bin/true", ["true"], …) = 0`.
fn execute<'a>(
    mut arguments: Arguments<'a>,
    from_folder: bool,
    body: Body,
) -> Result<Option<Action<'a>>, SkipReason> {
    if !is_success(body.result()) {
        return Ok(None);
    }
    if from_folder {
        arguments.any()?;
        arguments.comma()?;
    }
    let program = arguments.string()?;
    Ok(Some(Action::Execute { program }))
}

/// `clone(child_stack=NULL, flags=CLONE_VM|CLONE_VFORK|SIGCHLD) = 12`.
fn fork<'a>(name: Syscall, body: Body) -> Result<Option<Action<'a>>, SkipReason> {
    if !is_success(body.result()) {
        return Ok(None);
    }
    let child = thread(body.result())?;
    let arguments = &body.text[..body.equals.min(body.text.len())];
    let (bits, flags) = match memmem::find(arguments, b"flags=") {
        Some(at) if name == Syscall::Clone => {
            let flags = &arguments[at + 6..];
            // With `-X raw` the flags are a number, the same on all machines.
            (leading_any(flags).map_or(0, |(bits, _)| bits), flags)
        }
        _ => (0, &[][..]),
    };
    let has = |bit: u64, flag: &[u8]| bits & bit != 0 || memmem::find(flags, flag).is_some();
    Ok(Some(Action::Fork {
        child,
        same_process: has(0x1_0000, b"CLONE_THREAD"),
        shares_descriptors: has(0x400, b"CLONE_FILES"),
    }))
}
