//! Turns a call into the [`Action`] of its event.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use crate::call::arguments::Arguments;
use crate::call::body::Body;
use crate::call::call_result::{is_success, outcome, thread};
use crate::call::descriptors::{self, Found};
use crate::counts::SkipReason;
use crate::event::{Action, Ask, LinkKind, Place};
use crate::text::numbers::leading_any;

/// The text after the first occurrence of a literal. The search is prepared once, since the preparation takes as long
/// as the search of a line.
macro_rules! after {
    ($text:expr, $name:literal) => {{
        static FINDER: LazyLock<Finder> = LazyLock::new(|| Finder::new($name));
        FINDER.find($text).map(|at| &$text[at + $name.len()..])
    }};
}

/// `poll([{fd=3, events=POLLIN}], 1, -1) = 1`.
pub(crate) fn poll(body: Body<'_>) -> Found<'_> {
    Ok(Some(match outcome(body.result()) {
        Ok(Ok(ready)) => Action::Poll { ready },
        _ => body.other(),
    }))
}

pub(crate) fn sync(body: Body<'_>) -> Found<'_> {
    Ok(Some(Action::Sync(Some(body.arguments().descriptor()?))))
}

/// A call that asks for a file: `fstat(3, …)`. If the argument `path` is a path: `stat("x", …)`, `access("x", F_OK)`,
/// `newfstatat(AT_FDCWD, "x", …)`. `None` if the arguments cannot be read.
pub(crate) fn ask(body: Body<'_>, path: Option<usize>, sees_size: bool) -> Found<'_> {
    let start = body.arguments();
    let mut file = Place::of_path(b"");
    if let Some(path) = path {
        // Without a path, `getxattr(0x7ffe, "user.x", …)` has a string at another place.
        let begins_with_path = start.rest().starts_with(b"\"");
        file = match place(&mut { start }) {
            Ok(found) if begins_with_path == (path == 0) => found,
            _ => return Ok(None),
        };
    }
    if file.path.is_empty() {
        let Ok(descriptor) = { start }.descriptor() else {
            return Ok(None);
        };
        file = Place::of(descriptor);
    }
    // `st_mode=S_IFIFO|0644`.
    if sees_size && body.succeeded() && after!(body.text, b"S_IFIFO|").is_some() {
        return Ok(Some(Action::Fifo(file)));
    }
    let is_regular = after!(body.text, b"S_IFREG").is_some();
    Ok(Some(Action::Ask(Ask {
        file,
        sees_size,
        size: if is_regular { size(body.text) } else { None },
        failed: !body.succeeded(),
        is_regular,
        inode: inode(body.text),
    })))
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
    // Joins both numbers as `makedev` of Linux joins them.
    let device = (major & 0xffff_f000) << 32
        | (major & 0xfff) << 8
        | (minor & 0xffff_ff00) << 12
        | minor & 0xff;
    Some((device, node))
}

/// `truncate("x", 10) = 0`; `None` if the path cannot be read.
pub(crate) fn truncate(body: Body<'_>) -> Found<'_> {
    let path = body.arguments().string().ok();
    Ok(path.map(|path| Action::Truncate { path }))
}

/// `mkdir("x", 0777) = 0`, `mkdirat(AT_FDCWD, "x", 0777) = 0`. A call that failed only asked for the name.
pub(crate) fn make_folder(body: Body<'_>) -> Found<'_> {
    let made = place(&mut body.arguments()).ok();
    Ok(made.map(|made| {
        if body.succeeded() {
            Action::MakeFolder(made)
        } else {
            descriptors::failed(made)
        }
    }))
}

/// `chdir("x") = 0`, `fchdir(3) = 0`.
pub(crate) fn change_folder(body: Body<'_>) -> Found<'_> {
    if !body.succeeded() {
        return Ok(None);
    }
    let mut arguments = body.arguments();
    let is_path = arguments.rest().starts_with(b"\"");
    Ok(Some(Action::ChangeFolder(if is_path {
        Place::of_path(arguments.string()?)
    } else {
        Place::of(arguments.descriptor()?)
    })))
}

/// `link("a", "b") = 0`, `linkat(AT_FDCWD, "a", AT_FDCWD, "b", 0) = 0`, `symlinkat("a", AT_FDCWD, "b") = 0`.
pub(crate) fn link(body: Body<'_>, kind: LinkKind) -> Found<'_> {
    if !body.succeeded() {
        return Ok(None);
    }
    let mut arguments = body.arguments();
    let from = place(&mut arguments)?;
    arguments.comma()?;
    let to = place(&mut arguments)?;
    Ok(Some(Action::Link { from, to, kind }))
}

/// Reads a path `"a"`, or a folder and a path `3</tmp>, "a"`. `NULL` stands for the folder itself (`AT_EMPTY_PATH`).
fn place<'a>(arguments: &mut Arguments<'a>) -> Result<Place<'a>, SkipReason> {
    let mut folder = None;
    if !arguments.rest().starts_with(b"\"") {
        folder = descriptors::folder(arguments.any()?);
        arguments.comma()?;
    }
    let path = if arguments.eat(b"NULL") { b"" } else { arguments.string()? };
    Ok(Place { path, folder })
}

/// `inotify_add_watch(3, "x", IN_MODIFY) = 1`, `fanotify_mark(3, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, "x") = 0`. `None`
/// if the watch does not report writes.
pub(crate) fn watch(body: Body<'_>) -> Found<'_> {
    let Ok((parts, result)) = body.arguments().parts() else {
        return Ok(None);
    };
    // Flags as a number begin with `0x`, but a descriptor does not.
    let any = |flag: &[u8], bits: u64| {
        let bits = |part: &[u8]| if part.starts_with(b"0x") { bits } else { 0 };
        parts
            .iter()
            .any(|part| descriptors::has(part, flag, bits(part)))
    };
    let all = any(b"FAN_MARK_MOUNT", 0x10) || any(b"FAN_MARK_FILESYSTEM", 0x100);
    let modify = any(b"IN_MODIFY", 2) || any(b"FAN_MODIFY", 2);
    let path = parts.iter().find_map(|part| descriptors::string(part));
    let path = path.filter(|_| !all).unwrap_or_default();
    Ok((modify && is_success(result)).then_some(Action::Watch { path }))
}

/// `wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 12`, or
/// `waitid(P_ALL, 0, {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=12, …}, WEXITED, NULL) = 0`, where `si_pid` is the
/// child.
pub(crate) fn waited(body: Body<'_>) -> Found<'_> {
    let child = thread(after!(body.text, b"si_pid=").unwrap_or(body.result())).ok();
    let child = child.filter(|&child| child > 0 && body.succeeded());
    Ok(child.map(|child| Action::Wait { child }))
}

/// `io_uring_setup(64, {flags=IORING_SETUP_SQPOLL, …}) = 3`.
pub(crate) fn ring(body: Body<'_>) -> Found<'_> {
    let bits = after!(body.text, b"flags=").and_then(|flags| leading_any(flags).ok());
    let polls = after!(body.text, b"IORING_SETUP_SQPOLL").is_some()
        || bits.is_some_and(|(bits, _)| bits & 2 != 0);
    Ok((polls && body.succeeded()).then_some(Action::Submit { unseen: true }))
}

/// `execve("/bin/true", ["true"], …) = 0`, `execveat(3</bin>, "true", ["true"], …) = 0`.
pub(crate) fn execute(body: Body<'_>) -> Found<'_> {
    if !body.succeeded() {
        return Ok(None);
    }
    let program = place(&mut body.arguments())?.path;
    Ok(Some(Action::Execute { program }))
}

/// `clone(child_stack=NULL, flags=CLONE_VM|CLONE_VFORK|SIGCHLD) = 12`.
pub(crate) fn fork(body: Body<'_>) -> Found<'_> {
    if !body.succeeded() {
        return Ok(None);
    }
    let child = thread(body.result())?;
    let arguments = &body.text[..body.equals.min(body.text.len())];
    let flags = after!(arguments, b"flags=").unwrap_or_default();
    // With `-X raw` the flags are a number. The number is the same on all machines.
    let bits = leading_any(flags).map_or(0, |(bits, _)| bits);
    let has = |bit: u64, flag: &[u8]| bits & bit != 0 || memmem::find(flags, flag).is_some();
    Ok(Some(Action::Fork {
        child,
        same_process: has(0x1_0000, b"CLONE_THREAD"),
        shares_descriptors: has(0x400, b"CLONE_FILES"),
    }))
}
