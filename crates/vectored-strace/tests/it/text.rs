//! Events as text, for comparison.

use std::fmt::Write as _;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;

use vectored_strace::event::{Action, Descriptor, Named, OpenFlags, Transfer};
use vectored_strace::{Counts, Event, Item, Reader, read_logs};

pub(crate) fn events_of<R: Read>(reader: &mut Reader<R>) -> (Vec<String>, Counts) {
    let mut events = Vec::new();
    while let Some(event) = reader.next().unwrap() {
        events.push(text_of_event(&event));
    }
    (events, reader.counts())
}

pub(crate) fn text_of_logs(paths: &[PathBuf]) -> String {
    let mut text = String::new();
    let counts = read_logs(paths, |item| {
        match item {
            Item::Begin => text += "begin\n",
            Item::Event(event) => writeln!(text, "{}", text_of_event(&event)).unwrap(),
            Item::End(_) => text += "end\n",
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    writeln!(text, "{} lines, {} calls", counts.lines, counts.calls).unwrap();
    for (seen, what) in [
        (counts.truncated, "truncated"),
        (counts.times, "times"),
        (counts.durations, "durations"),
        (counts.paths, "paths"),
        (counts.sites, "sites"),
    ] {
        if seen {
            writeln!(text, "{what}").unwrap();
        }
    }
    for skipped in counts.skipped() {
        writeln!(
            text,
            "{} × {}, first {}",
            skipped.lines, skipped.reason, skipped.first_line
        )
        .unwrap();
    }
    text
}

/// `thread name = action @began took, by site`.
fn text_of_event(event: &Event) -> String {
    let began = event.began_ns.map_or("-".to_owned(), |ns| ns.to_string());
    let name = lossy(event.name);
    let action = text_of_action(&event.action);
    let mut text = format!(
        "{} {name} = {action} @{began} {:?}",
        event.thread, event.took_ns
    );
    if let Some(site) = event.site {
        write!(text, ", by {}", lossy(site)).unwrap();
    }
    text
}

fn text_of_action(action: &Action) -> String {
    match action {
        Action::Transfer(transfer) => text_of_transfer(transfer),
        Action::Open {
            descriptor,
            path,
            flags,
            ..
        } => {
            format!("open {} {}{}", to(descriptor), lossy(path), flags_up(flags))
        }
        Action::Pipe {
            read,
            write,
            packets,
            close_on_exec,
        } => {
            format!(
                "pipe {} {} packets {packets} {close_on_exec}",
                to(read),
                to(write)
            )
        }
        Action::Socket {
            descriptor,
            kind,
            from,
            close_on_exec,
        } => {
            let from = from.as_ref().map(to);
            format!(
                "socket {} {kind:?} from {from:?} {close_on_exec}",
                to(descriptor)
            )
        }
        Action::SocketPair {
            descriptors: [one, other],
            kind,
            close_on_exec,
        } => {
            format!("pair {} {} {kind:?} {close_on_exec}", to(one), to(other))
        }
        Action::Duplicate {
            from,
            to: other,
            close_on_exec,
        } => {
            format!("duplicate {} {} {close_on_exec}", to(from), to(other))
        }
        Action::Close {
            first,
            last,
            leads_to,
        } => {
            format!(
                "close {first}..={last} {}",
                leads_to.map_or("-".into(), lossy)
            )
        }
        Action::SetFlags { descriptor, flags } => {
            format!("flags {}{}", to(descriptor), flags_up(flags))
        }
        Action::SetCloseOnExec {
            descriptor,
            close_on_exec,
        } => {
            format!("close on exec {} {close_on_exec}", to(descriptor))
        }
        Action::Fork {
            child,
            same_process,
            shares_descriptors,
        } => {
            format!("fork {child} {same_process} {shares_descriptors}")
        }
        Action::Execute { program } => format!("execute {}", lossy(program)),
        Action::Query => "query".to_owned(),
        Action::Seek {
            descriptor,
            position,
            only_asked,
            asks_size,
            ..
        } => {
            let size = if *asks_size { " of the size" } else { "" };
            format!("seek {} to {position} {only_asked}{size}", to(descriptor))
        }
        Action::Ask(ask) => {
            let words = [
                (ask.sees_size, " size"),
                (ask.failed, " failed"),
                (ask.is_regular, " regular"),
            ];
            let words = words
                .into_iter()
                .filter_map(|(up, word)| up.then_some(word));
            let inode = ask
                .inode
                .map_or(String::new(), |inode| format!(" {inode:?}"));
            let folder = ask
                .folder
                .map_or(String::new(), |folder| format!(" in {}", lossy(folder)));
            let words: String = words.collect();
            format!("ask {}{folder}{words}{inode}", named(&ask.file))
        }
        Action::MakeFolder { path } => format!("make {}", lossy(path)),
        Action::Truncate { path } => format!("truncate {}", lossy(path)),
        Action::ChangeFolder(to) => format!("change folder to {}", named(to)),
        Action::Link { from, to, .. } => format!("link {} to {}", lossy(from), lossy(to)),
        Action::Watch { path } => format!("watch {}", lossy(path)),
        Action::SetTcpOption {
            descriptor,
            option,
            on,
        } => format!("{option:?} of {} {on}", to(descriptor)),
        Action::Connect { descriptor } => format!("connect {}", to(descriptor)),
        Action::Poll { ready } => format!("poll {ready}"),
        Action::Wait { child } => format!("wait for {child}"),
        Action::Submit { unseen } => format!("submit {unseen}"),
        Action::Sync(descriptor) => format!("sync {}", descriptor.as_ref().map_or("-".into(), to)),
        Action::Map {
            descriptor,
            writes_through,
        } => format!("map {}, writes through {writes_through}", to(descriptor)),
        Action::Fifo(file) => format!("fifo {}", named(file)),
        Action::Other { descriptor } => {
            format!("other {}", descriptor.as_ref().map_or("-".into(), to))
        }
        Action::Unread { descriptor } => {
            format!("unread {}", descriptor.as_ref().map_or("-".into(), to))
        }
        Action::Name { program } => format!("name {}", lossy(program)),
        Action::Signal => "signal".to_owned(),
        Action::Exit { process_ended } => format!("exit {process_ended}"),
        other => panic!("no text for {other:?}"),
    }
}

fn text_of_transfer(transfer: &Transfer) -> String {
    let Transfer {
        direction,
        form,
        segment_count,
        asked_bytes,
        offset,
        ..
    } = transfer;
    let descriptor = to(&transfer.descriptor);
    let segments = match transfer.segment_bytes {
        Some(segments) => format!("{segments:?}"),
        None => "?".to_owned(),
    };
    let result = match transfer.result {
        Ok(bytes) => format!("Ok({bytes})"),
        Err(error) => format!("Err({})", lossy(error)),
    };
    let mut text = format!(
        "{direction:?} {form:?} {descriptor} {segments} of {segment_count}, asked {asked_bytes:?}, {result}, at {offset:?}"
    );
    if let Some(from) = &transfer.from {
        text.push_str(&format!(" from {}", to(from)));
    }
    for (set, word) in [
        (transfer.special, " special"),
        (transfer.more, " more"),
        (transfer.sync, " sync"),
        (transfer.addressed, " addressed"),
    ] {
        if set {
            text += word;
        }
    }
    text
}

fn named(file: &Named) -> String {
    match file {
        Named::Descriptor(descriptor) => to(descriptor),
        Named::Path(path) => lossy(path),
    }
}

fn to(descriptor: &Descriptor) -> String {
    match descriptor.leads_to {
        Some(leads_to) => format!("{}<{}>", descriptor.number, lossy(leads_to)),
        None => descriptor.number.to_string(),
    }
}

fn flags_up(flags: &OpenFlags) -> String {
    [
        (flags.append, " append"),
        (flags.sync, " sync"),
        (flags.direct, " direct"),
        (flags.nonblocking, " nonblocking"),
        (flags.close_on_exec, " close-on-exec"),
        (flags.path_only, " path-only"),
        (flags.directory, " directory"),
    ]
    .into_iter()
    .filter_map(|(up, word)| up.then_some(word))
    .collect()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
