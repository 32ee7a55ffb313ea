//! What was open before the watch began, from `/proc`.

use std::cell::LazyCell;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use vectored_strace::escaped;
use vectored_strace::event::{Action, Descriptor, Event, OpenFlags, Place};
use vectored_strace::x86_64::open_flags;

use crate::socket_names::sockets_of;

pub(crate) fn threads_of(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// A process and all its descendants.
pub(crate) fn tree_of(process: u32) -> Vec<u32> {
    let of_thread = |thread: u32| {
        let path = format!("/proc/{process}/task/{thread}/children");
        fs::read_to_string(path).unwrap_or_default()
    };
    let children: String = threads_of(process).into_iter().map(of_thread).collect();
    let children = children
        .split_whitespace()
        .filter_map(|word| word.parse().ok());
    [process]
        .into_iter()
        .chain(children.flat_map(tree_of))
        .collect()
}

struct Open {
    number: i32,
    leads_to: Vec<u8>,
    flags: OpenFlags,
    is_fifo: bool,
}

/// The path of the program that a process runs. If a symbolic link in the program's folder started the process, the
/// path of the link: `python3`, not `python3.11`.
fn program_of(process: u32) -> io::Result<PathBuf> {
    let program = fs::read_link(format!("/proc/{process}/exe"))?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let link = program.with_file_name(name.trim_end());
    let is_it = fs::canonicalize(&link).is_ok_and(|path| path == program);
    Ok(if is_it { link } else { program })
}

/// Passes on events that describe a process: its threads, its program, its folder, and its open files. The events
/// have no names, because no calls made them. Until a command begins its program, the command has the open files of
/// this process.
pub(crate) fn tell(
    process: u32,
    is_command: bool,
    follow: &mut dyn FnMut(&Event<'_>),
) -> io::Result<()> {
    let read = if is_command { std::process::id() } else { process };
    // `/proc` is read first: `follow` may take long, and the process runs on meanwhile.
    let link = |name: &str| {
        fs::read_link(format!("/proc/{read}/{name}"))
            .map(|path| escaped(path.as_os_str().as_bytes()))
    };
    let (folder, mut threads) = (link("cwd"), threads_of(read));
    threads.retain(|&thread| thread != process && !is_command);
    let program = program_of(process).map(|path| escaped(path.as_os_str().as_bytes()));
    let open = open_of(read)?;
    let mut tell = |action: Action<'_>| {
        let mut event = Event::new(b"", action);
        event.thread = process;
        follow(&event);
    };
    // A process that has ended has no program and no folder; a thread of the kernel has no program.
    if let (false, Ok(program)) = (is_command, program) {
        tell(Action::Execute { program: &program });
    }
    if let Ok(folder) = folder {
        tell(Action::ChangeFolder(Place::of_path(&folder)));
    }
    for thread in threads {
        tell(Action::Fork {
            child: thread,
            same_process: true,
            shares_descriptors: true,
        });
    }
    for one in open {
        let descriptor = Descriptor {
            number: one.number,
            leads_to: Some(&one.leads_to),
        };
        tell(Action::SetFlags {
            descriptor,
            flags: one.flags,
        });
        if one.flags.close_on_exec {
            tell(Action::SetCloseOnExec {
                descriptor,
                close_on_exec: true,
            });
        }
        if one.is_fifo {
            tell(Action::Fifo(Place::of(descriptor)));
        }
    }
    Ok(())
}

fn open_of(process: u32) -> io::Result<Vec<Open>> {
    let mut all = Vec::new();
    // The kernel's tables of sockets are long: they are read only if a descriptor is a socket.
    let sockets = LazyCell::new(|| sockets_of(process));
    for entry in fs::read_dir(format!("/proc/{process}/fd"))?.flatten() {
        let number = entry
            .file_name()
            .to_str()
            .and_then(|text| text.parse().ok());
        let (Some(number), Ok(target)) = (number, fs::read_link(entry.path())) else {
            continue;
        };
        let text = escaped(target.as_os_str().as_bytes());
        let info =
            fs::read_to_string(format!("/proc/{process}/fdinfo/{number}")).unwrap_or_default();
        let field = |name: &str| {
            info.lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        let bits = field("flags:")
            .and_then(|text| u64::from_str_radix(text, 8).ok())
            .unwrap_or(0);
        let is_fifo = text.starts_with(b"/")
            && fs::metadata(entry.path()).is_ok_and(|of| of.file_type().is_fifo());
        all.push(Open {
            number,
            leads_to: if text.starts_with(b"socket:") {
                sockets.get(&text).cloned().unwrap_or(text)
            } else {
                text
            },
            flags: open_flags(bits),
            is_fifo,
        });
    }
    Ok(all)
}
