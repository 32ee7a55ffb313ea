//! From a call to what it did.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use crate::call::arguments::Arguments;
use crate::call::call_prefix::First;
use crate::call::call_result::{Outcome, is_success, outcome, thread};
use crate::call::descriptors;
use crate::call::names::Name;
use crate::call::transfers::{Body, Segments, is_cut, transfer};
use crate::counts::Reason;
use crate::event::{Action, Named};
use crate::text::numbers::{leading, leading_any};

/// What a call did, and why not all of it is known.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) action: Action<'a>,
    pub(crate) missing: Option<Reason>,
}

impl<'a> Read<'a> {
    fn whole(action: Action<'a>) -> Self {
        Self {
            action,
            missing: None,
        }
    }
}

/// What a call did. What cannot be read becomes [`Action::Other`], with the reason.
pub(crate) fn call<'a>(body: Body<'a>, segments: &'a mut Segments) -> Read<'a> {
    let action = match body.beginning.name {
        Name::Transfer(shape, direction) => {
            return match transfer(shape, direction, body, segments) {
                Ok(transfer) => Read {
                    missing: is_cut(&transfer, body.text).then_some(Reason::ListCut),
                    action: Action::Transfer(transfer),
                },
                // It never returned, so neither did its arguments.
                Err(_) if body.result().starts_with(b"?") => Read::whole(other(body)),
                Err(reason) => Read {
                    action: other(body),
                    missing: Some(reason),
                },
            };
        }
        Name::Other => Ok(None),
        name => action(name, body),
    };
    match action {
        Ok(Some(action)) => Read::whole(action),
        Ok(None) => Read::whole(other(body)),
        Err(reason) => Read {
            action: other(body),
            missing: Some(reason),
        },
    }
}

/// The thread that a call made, if it is one that makes threads.
pub(crate) fn child(body: Body) -> Option<u32> {
    (body.beginning.name.makes_threads() && is_success(body.result()))
        .then(|| thread(body.result()).ok())?
}

/// What a call that moves no bytes did; `None` if it is of no interest, or failed.
fn action(name: Name, body: Body<'_>) -> Result<Option<Action<'_>>, Reason> {
    let mut arguments = body.arguments();
    match name {
        Name::Open => descriptors::open(arguments, false),
        Name::OpenAt => descriptors::open(arguments, true),
        Name::Create => descriptors::create(arguments),
        Name::Pipe => descriptors::pipe(arguments),
        Name::Socket => descriptors::socket(arguments),
        Name::SocketPair => descriptors::socket_pair(arguments),
        Name::Accept => descriptors::accept(arguments),
        Name::Duplicate => descriptors::duplicate(arguments, false),
        Name::Duplicate3 => descriptors::duplicate(arguments, true),
        Name::Control => descriptors::control(arguments),
        Name::DeviceControl => descriptors::device_control(arguments),
        Name::Close => descriptors::close(arguments),
        Name::CloseRange => descriptors::close_range(arguments),
        Name::Seek if is_refused_seek(body) => fifo(Name::Status, arguments),
        Name::Seek => descriptors::seek(arguments),
        Name::Seek32 => descriptors::seek_32(arguments),
        Name::Sync => Ok(Some(Action::Sync(Some(arguments.descriptor()?)))),
        Name::SyncAll => Ok(Some(Action::Sync(None))),
        Name::Map if is_success(body.result()) => descriptors::map(arguments),
        Name::Map => Ok(None),
        Name::Status | Name::StatusAt | Name::StatusOfPath => match tells_of_fifo(body) {
            true => fifo(name, arguments),
            false => status(name, arguments),
        },
        Name::Truncate => by_path(arguments, true),
        Name::Link if is_success(body.result()) => link(arguments),
        Name::Link => Ok(None),
        Name::Wait => Ok(waited(body)),
        Name::WaitId => Ok(waited_by_id(body)),
        Name::Submit => Ok(Some(Action::Submit { unseen: false })),
        Name::Ring => Ok(ring(body)),
        Name::Execute => execute(arguments, false, body),
        Name::ExecuteAt => execute(arguments, true, body),
        Name::Exit | Name::ExitGroup => Ok(Some(Action::Exit {
            process_ended: name == Name::ExitGroup,
        })),
        Name::Fork | Name::Clone => fork(name, body),
        Name::Transfer(..) | Name::Other => Ok(None),
    }
}

/// `lseek(3, 0, SEEK_CUR) = -1 ESPIPE (Illegal seek)`.
fn is_refused_seek(body: Body) -> bool {
    matches!(outcome(body.result()), Ok(Outcome::Error(b"ESPIPE")))
}

/// Whether a call, successful, has `st_mode=S_IFIFO|0644` or the like.
fn tells_of_fifo(body: Body) -> bool {
    // To prepare a search takes as long as to search a line.
    static FIFO: LazyLock<Finder> = LazyLock::new(|| Finder::new(b"S_IFIFO|"));
    FIFO.find(body.text).is_some() && is_success(body.result())
}

/// `fstat(3, …)`, `newfstatat(AT_FDCWD, "x", …)`, `newfstatat(3, "", …)`, `stat("x", …)`.
fn fifo<'a>(name: Name, mut arguments: Arguments<'a>) -> Result<Option<Action<'a>>, Reason> {
    if name == Name::StatusOfPath {
        return Ok(Some(Action::Fifo(Named::Path(arguments.string()?))));
    }
    let mut after = arguments;
    if name == Name::StatusAt {
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

/// `stat("x", …)`, `newfstatat(AT_FDCWD, "x", …)`; `None` of a descriptor alone.
fn status<'a>(name: Name, mut arguments: Arguments<'a>) -> Result<Option<Action<'a>>, Reason> {
    match name {
        Name::Status => return Ok(None),
        Name::StatusAt => {
            arguments.any()?;
            arguments.comma()?;
        }
        _ => {}
    }
    by_path(arguments, false)
}

/// A path that is not empty.
fn by_path<'a>(mut arguments: Arguments<'a>, changes: bool) -> Result<Option<Action<'a>>, Reason> {
    if !arguments.rest().starts_with(b"\"") {
        // An address: the call failed.
        return Ok(None);
    }
    // What cannot be read may be any path: then the call's name decides.
    let path = arguments.string().unwrap_or_default();
    Ok((!path.is_empty()).then_some(Action::Path { path, changes }))
}

/// `link("a", "b") = 0`, `linkat(AT_FDCWD, "a", AT_FDCWD, "b", 0) = 0`.
fn link<'a>(mut arguments: Arguments<'a>) -> Result<Option<Action<'a>>, Reason> {
    let mut from = None;
    loop {
        if arguments.rest().starts_with(b"\"") {
            let path = arguments.string()?;
            match from {
                None => from = Some(path),
                Some(from) => return Ok(Some(Action::Link { from, to: path })),
            }
        } else {
            arguments.any()?;
        }
        if arguments.comma().is_err() {
            return Ok(None);
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
    let polls = memmem::find(body.text, b"IORING_SETUP_SQPOLL").is_some();
    (polls && is_success(body.result())).then_some(Action::Submit { unseen: true })
}

/// `execve("/bin/true", ["true"], …) = 0`.
fn execute<'a>(
    mut arguments: Arguments<'a>,
    from_folder: bool,
    body: Body,
) -> Result<Option<Action<'a>>, Reason> {
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
fn fork<'a>(name: Name, body: Body) -> Result<Option<Action<'a>>, Reason> {
    if !is_success(body.result()) {
        return Ok(None);
    }
    let child = thread(body.result())?;
    let arguments = &body.text[..body.equals.min(body.text.len())];
    let (bits, flags) = match memmem::find(arguments, b"flags=") {
        Some(at) if name == Name::Clone => {
            let flags = &arguments[at + 6..];
            // The same on all machines; named, unless with `-X raw`.
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

/// A call of no interest, but for the descriptor that it may be about.
fn other(body: Body<'_>) -> Action<'_> {
    Action::Other {
        descriptor: match body.beginning.first {
            First::Other => None,
            First::Unread | First::Descriptor { .. } => body.arguments().descriptor().ok(),
        },
    }
}
