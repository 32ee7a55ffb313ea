//! Logs made by hand: each function makes a line.

use crate::advisor::findings::tallies::Tallies;
use crate::advisor::{Analysis, Options};
use vectored_strace::event::{
    Action, Descriptor, Direction, Event, Form, LinkKind, OpenFlags, Place, SocketKind, Transfer,
};

/// A line of a log, with its own memory.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Thread, 1 by default.
    pub(super) thread: u32,
    /// Time since the begin of the line before, in ns: 1 µs by default.
    pub(super) after_ns: u64,
    /// The call's name.
    pub(super) name: &'static str,
    /// Its action.
    pub(super) action: Action<'static>,
    /// Its call site.
    pub(super) site: Option<&'static [u8]>,
}

impl Line {
    pub(super) fn by(self, thread: u32) -> Line {
        Line { thread, ..self }
    }

    pub(super) fn after(self, after_ns: u64) -> Line {
        Line { after_ns, ..self }
    }

    pub(super) fn at_site(self, site: &'static str) -> Line {
        let site = Some(site.as_bytes());
        Line { site, ..self }
    }

    /// Changes a transfer.
    pub(super) fn but(mut self, change: impl FnOnce(&mut Transfer<'static>)) -> Line {
        if let Action::Transfer(transfer) = &mut self.action {
            change(transfer);
        }
        self
    }

    /// With what `-y` shows of a transfer's descriptor.
    pub(super) fn to(self, text: &'static str) -> Line {
        self.but(|transfer| transfer.descriptor.leads_to = Some(text.as_bytes()))
    }
}

pub(super) fn line(name: &'static str, action: Action<'static>) -> Line {
    Line {
        thread: 1,
        after_ns: 1000,
        name,
        action,
        site: None,
    }
}

pub(super) fn fd(number: i32) -> Descriptor<'static> {
    Descriptor {
        number,
        leads_to: None,
    }
}

/// Leaked: the tests are few and short.
fn kept(bytes: Vec<u64>) -> &'static [u64] {
    Vec::leak(bytes)
}

fn transfer(
    direction: Direction,
    number: i32,
    segments: Vec<u64>,
    moved: u64,
) -> Transfer<'static> {
    let mut transfer = Transfer::new(direction, fd(number), kept(segments));
    transfer.form = Form::Plain;
    transfer.result = Ok(moved);
    transfer
}

pub(super) fn write(number: i32, bytes: u64) -> Line {
    let transfer = transfer(Direction::Write, number, vec![bytes], bytes);
    line("write", Action::Transfer(transfer))
}

pub(super) fn read(number: i32, bytes: u64) -> Line {
    let transfer = transfer(Direction::Read, number, vec![bytes], bytes);
    line("read", Action::Transfer(transfer))
}

/// A read that returned less than it asked for.
pub(super) fn read_part(number: i32, asked: u64, moved: u64) -> Line {
    read(number, asked).but(|transfer| transfer.result = Ok(moved))
}

pub(super) fn pwrite(number: i32, bytes: u64, offset: u64) -> Line {
    let mut line = write(number, bytes).but(|transfer| transfer.offset = Some(offset));
    line.name = "pwrite64";
    line
}

pub(super) fn pread(number: i32, bytes: u64, offset: u64) -> Line {
    let mut line = read(number, bytes).but(|transfer| transfer.offset = Some(offset));
    line.name = "pread64";
    line
}

pub(super) fn writev(number: i32, segments: &[u64]) -> Line {
    let bytes = segments.iter().sum();
    let mut transfer = transfer(Direction::Write, number, segments.to_vec(), bytes);
    transfer.form = Form::List;
    line("writev", Action::Transfer(transfer))
}

/// Opens a file by a path of its own.
pub(super) fn open(number: i32) -> Line {
    const PATHS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    open_at(number, PATHS[number as usize % 10])
}

pub(super) fn open_at(number: i32, path: &'static str) -> Line {
    line(
        "openat",
        Action::Open {
            descriptor: fd(number),
            path: path.as_bytes(),
            folder: None,
            flags: OpenFlags::default(),
        },
    )
}

pub(super) fn socket(number: i32, kind: SocketKind) -> Line {
    line(
        "socket",
        Action::Socket {
            descriptor: fd(number),
            kind: Some(kind),
            from: None,
            close_on_exec: false,
        },
    )
}

pub(super) fn pipe(read: i32, write: i32) -> Line {
    line(
        "pipe2",
        Action::Pipe {
            read: fd(read),
            write: fd(write),
            packets: false,
            close_on_exec: false,
        },
    )
}

pub(super) fn close(number: i32) -> Line {
    line(
        "close",
        Action::Close {
            first: number,
            last: number,
            leads_to: None,
        },
    )
}

pub(super) fn dup(from: i32, to: i32) -> Line {
    line(
        "dup2",
        Action::Duplicate {
            from: fd(from),
            to: fd(to),
            close_on_exec: false,
        },
    )
}

fn child_of(name: &'static str, child: u32, is_thread: bool) -> Line {
    let action = Action::Fork {
        child,
        same_process: is_thread,
        shares_descriptors: is_thread,
    };
    line(name, action)
}

pub(super) fn fork(child: u32) -> Line {
    child_of("clone", child, false)
}

pub(super) fn thread(child: u32) -> Line {
    child_of("clone3", child, true)
}

pub(super) fn execve(program: &'static str) -> Line {
    let program = program.as_bytes();
    line("execve", Action::Execute { program })
}

pub(super) fn rename(from: &'static str, to: &'static str) -> Line {
    let [from, to] = [from, to].map(|path| Place {
        path: path.as_bytes(),
        folder: None,
    });
    let kind = LinkKind::Rename;
    line("rename", Action::Link { from, to, kind })
}

pub(super) fn exit() -> Line {
    let process_ended = true;
    line("exit_group", Action::Exit { process_ended })
}

fn lseek(number: i32, position: u64, only_asked: bool, asks_size: bool) -> Line {
    let action = Action::Seek {
        descriptor: fd(number),
        position,
        only_asked,
        relative: only_asked,
        asks_size,
    };
    line("lseek", action)
}

pub(super) fn seek(number: i32, position: u64) -> Line {
    lseek(number, position, false, false)
}

/// `lseek(fd, 0, SEEK_END)`.
pub(super) fn seek_end(number: i32, position: u64) -> Line {
    lseek(number, position, false, true)
}

/// `lseek(fd, 0, SEEK_CUR)`.
pub(super) fn tell(number: i32, position: u64) -> Line {
    lseek(number, position, true, false)
}

pub(super) fn map(number: i32) -> Line {
    let action = Action::Map {
        descriptor: fd(number),
        writes_through: false,
    };
    line("mmap", action)
}

pub(super) fn fsync(number: i32) -> Line {
    line("fsync", Action::Sync(Some(fd(number))))
}

/// A call without a descriptor.
pub(super) fn call(name: &'static str) -> Line {
    line(name, Action::Other { descriptor: None })
}

pub(super) fn call_on(name: &'static str, number: i32) -> Line {
    let descriptor = Some(fd(number));
    line(name, Action::Other { descriptor })
}

/// A harmless call.
pub(super) fn brk() -> Line {
    call("brk")
}

/// Adds lines; each takes 1 µs.
pub(super) fn feed(analysis: &mut Analysis, lines: &[Line]) {
    let mut now_ns = 1_000_000_000;
    for line in lines {
        now_ns += line.after_ns;
        let mut event = Event::new(line.name.as_bytes(), line.action.clone());
        event.thread = line.thread;
        event.began_ns = Some(now_ns);
        event.clock_ns = 1000;
        event.took_ns = Some(1000);
        event.site = line.site;
        analysis.follow(&event);
        now_ns += 1000;
    }
}

/// The tallies of one log, which holds every call.
pub(super) fn analysed(lines: &[Line]) -> Tallies {
    let options = Options {
        shows_all: true,
        ..Options::default()
    };
    let mut analysis = Analysis::new(options);
    analysis.begin_log();
    feed(&mut analysis, lines);
    analysis.finish()
}

/// A name as JSON has it.
fn word(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).unwrap();
    json.trim_matches('"').to_owned()
}

/// The findings, one a line: `adjacent-writes adjacent 5→1: write 4`.
pub(super) fn summary(tallies: &Tallies) -> Vec<String> {
    let finding = |key: &crate::model::FindingKey, tally: &crate::model::Tally| {
        let steps: Vec<String> = key
            .steps
            .iter()
            .map(|step| match step.size_class {
                crate::model::Step::ANY_SIZE => step.call.clone(),
                class => format!("{} {class}", step.call),
            })
            .collect();
        format!(
            "{} {} {}→{}: {}",
            word(&key.kind),
            word(&key.target),
            tally.calls,
            tally.merged_calls,
            steps.join(", ")
        )
    };
    let found = tallies.findings.iter().map(|(key, tally)| {
        let grade = word(&key.grade);
        format!("{} [{grade}]", finding(key, tally))
    });
    let uncounted = tallies
        .uncounted
        .iter()
        .map(|((key, reason), tally)| format!("{} ({reason})", finding(key, tally)));
    found.chain(uncounted).collect()
}
