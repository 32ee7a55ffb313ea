//! Logs of strace become events: real logs against golden files, invented ones against themselves.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use vectored_strace::event::{Action, Descriptor, Named, OpenFlags, Transfer};
use vectored_strace::{Counts, Event, Item, ReadOptions, Reader, read_logs};

/// Each file of `testdata` is a log, each folder the parts of one. A new one makes a new
/// golden file.
#[test]
fn real_logs_become_the_events_of_their_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let cases = list(&folder);
    assert!(cases.len() >= 10);
    for case in cases {
        let name = case.file_stem().unwrap().to_str().unwrap().to_owned();
        let paths = if case.is_dir() {
            list(&case)
        } else {
            vec![case]
        };
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(name, text_of_logs(&paths));
        });
    }
}

#[test]
fn compressed_logs_are_read_and_may_end_early() {
    let folder = tempfile_folder("compressed");
    let log = "1 write(1, \"a\", 1) = 1\n".repeat(5000);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(log.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let path = folder.join("log");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read_logs(std::slice::from_ref(&path), |_| ControlFlow::Continue(())).unwrap()
    };
    let whole = read(&gzip);
    assert_eq!((whole.calls, whole.truncated), (5000, false));
    let cut = read(&gzip[..gzip.len() - 20]);
    assert!(cut.calls <= 5000 && cut.truncated);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_line_without_end_is_passed_over_in_bounded_memory() {
    let long = io::repeat(b'x').take(1 << 30);
    let after = &b"\nwrite(1, \"a\", 1) = 1\n"[..];
    let mut reader = Reader::new(long.chain(after));
    let event = reader.next().unwrap().unwrap();
    assert_eq!(event.name, b"write");
    assert!(reader.next().unwrap().is_none());
    let skipped = reader.counts().skipped();
    assert_eq!(skipped.len(), 1);
    assert_eq!((skipped[0].lines, skipped[0].first_line), (1, 1));
}

#[test]
fn what_is_no_log_is_counted_line_by_line() {
    let junk = b"\x00\x01\x02\nMZ\x90\n\n(((\nwrite\nwrite(\nwrite(1)\nWrite(1) = 1\n<... write resumed>) = 1\n";
    let (events, counts) = events_of(&mut Reader::new(&junk[..]));
    assert_eq!(events, [] as [String; 0]);
    let skipped: u64 = counts.skipped().iter().map(|skipped| skipped.lines).sum();
    assert_eq!((counts.lines, skipped, counts.calls), (9, 9, 0));
}

#[test]
fn a_number_that_overflows_is_counted_and_the_call_remains() {
    let log = b"write(1, \"a\", 99999999999999999999) = 1\n";
    let mut reader = Reader::new(&log[..]);
    let event = reader.next().unwrap().unwrap();
    assert!(matches!(
        event.action,
        Action::Other {
            descriptor: Some(_)
        }
    ));
    assert_eq!(reader.counts().skipped()[0].lines, 1);
}

#[test]
fn a_child_that_runs_before_its_parent_knows_is_told_first() {
    let log = b"1 vfork( <unfinished ...>\n\
                2 close(3) = 0\n\
                2 execve(\"/bin/true\", [\"true\"], 0x1) = 0\n\
                1 <... vfork resumed>) = 2\n";
    let (events, counts) = events_of(&mut Reader::new(&log[..]));
    let names: Vec<&str> = events
        .iter()
        .map(|event| event.split(" = ").next().unwrap())
        .collect();
    assert_eq!(names, ["1 vfork", "2 close", "2 execve", "1 vfork"]);
    assert!(events[0].contains("fork 2"));
    assert!(events[3].contains("other"));
    assert_eq!(counts.calls, 3);
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_are_the_same_events(log in log_like(), pieces in prop::collection::vec(1..40_usize, 1..8)) {
        let whole = events_of(&mut Reader::new(&log[..]));
        let options = ReadOptions { buffer_bytes: 1, ..ReadOptions::default() };
        let pieces = ChunkPolicy { rest: &log, sizes: pieces.iter().cycle() };
        prop_assert_eq!(whole, events_of(&mut Reader::with_options(pieces, options)));
    }

    #[test]
    fn what_a_naive_renderer_writes_is_read_back(calls in prop::collection::vec(call(), 1..40), style in style()) {
        let (log, expected) = render(&calls, &style);
        let (events, counts) = events_of(&mut Reader::new(log.as_bytes()));
        prop_assert_eq!(&events, &expected, "{}", log);
        prop_assert_eq!(counts.skipped(), []);
        prop_assert_eq!(counts.calls, calls.len() as u64);
    }
}

/// Bytes that are more like a log than chance would make them.
fn log_like() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        "[ -~]{0,3}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..3),
        prop::sample::select(WORDS.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

const WORDS: [&str; 41] = [
    "\n",
    "\n",
    "\n",
    "write(",
    "read(",
    "writev(",
    "sendmsg(",
    "pwritev2(",
    "sendmmsg(",
    "clone(",
    "fcntl(",
    "lseek(",
    "openat(",
    "pipe2(",
    "1 ",
    "[pid 2] ",
    "12:00:00 ",
    "1795312736.000001 ",
    "3</tmp/x>",
    "\"a\"...",
    ", ",
    "[{iov_base=\"a\", iov_len=1}]",
    "{msg_iov=",
    "...]",
    "...",
    "]",
    "}",
    ", 10",
    "99999999999999999999",
    ") = 1",
    " = ",
    "? ERESTARTSYS (x)",
    " <0.000012>",
    " <unfinished ...>",
    "<... write resumed>",
    "<... read resumed>",
    "+++ exited with 0 +++",
    "--- SIGHUP {} ---",
    " > /lib/libc.so.6(write+0x1) [0x2]",
    "% time",
    "O_WRONLY|O_APPEND",
];

/// A call that the renderer knows.
#[derive(Clone, Debug)]
struct Call {
    thread: u32,
    kind: Kind,
    descriptor: i32,
    path: Option<usize>,
    took_us: u64,
    result: Result<u64, usize>,
    later_us: u64,
    /// It is in two lines, which what other threads do may part.
    split: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Plain {
        write: bool,
        asked: u64,
        offset: Option<u64>,
        text: String,
    },
    List {
        write: bool,
        segments: Vec<u64>,
        offset: Option<u64>,
    },
    Message {
        write: bool,
        segments: Vec<u64>,
        more: bool,
    },
    Close,
    Seek {
        position: u64,
    },
    Poll,
}

/// How strace was asked to write.
#[derive(Clone, Debug)]
struct Style {
    threads: bool,
    times: u8,
    durations: bool,
    paths: bool,
    padded: bool,
}

const PATHS: [&str; 6] = [
    "/tmp/a b",
    "pipe:[123]",
    "TCP:[127.0.0.1:4->127.0.0.1:5]",
    "TCPv6:[[::1]:4->[::1]:5]",
    "UNIX-STREAM:[1->2, \"/run/\\\"x\"]",
    "/dev/null<char 1:3>",
];
const ERRORS: [&str; 3] = [
    "EAGAIN (Resource temporarily unavailable)",
    "EPIPE (Broken pipe)",
    "EINTR (Interrupted system call)",
];

fn style() -> impl Strategy<Value = Style> {
    (
        any::<bool>(),
        0..4_u8,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(threads, times, durations, paths, padded)| Style {
            threads,
            times,
            durations,
            paths,
            padded,
        })
}

fn call() -> impl Strategy<Value = Call> {
    let sizes = || prop::collection::vec(0..1_u64 << 40, 0..5);
    let kind = prop_oneof![
        (
            any::<bool>(),
            any::<u64>(),
            any::<Option<u64>>(),
            "[ -~]{0,12}"
        )
            .prop_map(|(write, asked, offset, text)| Kind::Plain {
                write,
                asked,
                offset,
                text
            }),
        (any::<bool>(), sizes(), any::<Option<u64>>()).prop_map(|(write, segments, offset)| {
            Kind::List {
                write,
                segments,
                offset,
            }
        }),
        (any::<bool>(), sizes(), any::<bool>()).prop_map(|(write, segments, more)| Kind::Message {
            write,
            segments,
            more
        }),
        Just(Kind::Close),
        any::<u64>().prop_map(|position| Kind::Seek { position }),
        Just(Kind::Poll),
    ];
    let result = prop_oneof![any::<u64>().prop_map(Ok), (0..ERRORS.len()).prop_map(Err)];
    let numbers = (1..5_u32, 0..1000_i32, 0..100_000_000_u64, 0..5_000_000_u64);
    (
        numbers,
        kind,
        prop::option::of(0..PATHS.len()),
        result,
        any::<bool>(),
    )
        .prop_map(
            |((thread, descriptor, took_us, later_us), kind, path, result, split)| Call {
                thread,
                kind,
                descriptor,
                path,
                took_us,
                result,
                later_us,
                split,
            },
        )
}

/// The log of `calls`, and what is to be read from it.
fn render(calls: &[Call], style: &Style) -> (String, Vec<String>) {
    let mut log = String::new();
    let mut expected = Vec::new();
    let mut now_us = 1_795_312_736_000_000_u64;
    let first_us = now_us;
    let mut line_us = now_us;
    // Threads in a call: what is still to be written of it.
    let mut open: Vec<(u32, String, String)> = Vec::new();
    let prefix = |thread: u32, now_us: u64, line_us: &mut u64| {
        let mut prefix = String::new();
        if style.threads {
            write!(prefix, "{thread:<5} ").unwrap();
        }
        let (seconds, micros) = (now_us / 1_000_000, now_us % 1_000_000);
        let of_day = seconds % 86400;
        let day = format!(
            "{:02}:{:02}:{:02}",
            of_day / 3600,
            of_day / 60 % 60,
            of_day % 60
        );
        match style.times {
            1 => write!(prefix, "{seconds}.{micros:06} ").unwrap(),
            2 => write!(prefix, "{day}.{micros:06} ").unwrap(),
            3 => {
                let later = now_us - *line_us;
                write!(prefix, "{:>6}.{:06} ", later / 1_000_000, later % 1_000_000).unwrap();
            }
            _ => (),
        }
        *line_us = now_us;
        prefix
    };
    let resume = |open: &mut Vec<(u32, String, String)>,
                  at: usize,
                  log: &mut String,
                  expected: &mut Vec<String>,
                  now_us,
                  line_us: &mut u64| {
        let (thread, rest, event) = open.remove(at);
        *log += &prefix(thread, now_us, line_us);
        *log += &rest;
        expected.push(event);
    };
    for call in calls {
        now_us += call.later_us;
        let thread = if style.threads { call.thread } else { 0 };
        if let Some(at) = open.iter().position(|(busy, ..)| *busy == thread) {
            resume(&mut open, at, &mut log, &mut expected, now_us, &mut line_us);
        }
        let (name, head, rest, event) = parts(call, style);
        let began = match style.times {
            0 => "-".to_owned(),
            1 => (now_us * 1000).to_string(),
            2 => {
                // The first line's midnight is the moment that all share.
                let midnight_us = first_us - first_us % 86_400_000_000;
                ((now_us - midnight_us) * 1000).to_string()
            }
            _ => ((now_us - first_us) * 1000).to_string(),
        };
        let took = style.durations.then(|| call.took_us * 1000);
        let event = format!("{thread} {name} = {event} @{began} {took:?}");
        let mut end = format!(
            "{}= {}",
            if style.padded { "     " } else { " " },
            result(call)
        );
        if style.durations {
            write!(
                end,
                " <{}.{:06}>",
                call.took_us / 1_000_000,
                call.took_us % 1_000_000
            )
            .unwrap();
        }
        log += &prefix(thread, now_us, &mut line_us);
        if call.split && style.threads {
            log += &format!("{name}({head} <unfinished ...>\n");
            open.push((thread, format!("<... {name} resumed>{rest}){end}\n"), event));
        } else {
            log += &format!("{name}({head}{rest}){end}\n");
            expected.push(event);
        }
    }
    while !open.is_empty() {
        resume(&mut open, 0, &mut log, &mut expected, now_us, &mut line_us);
    }
    (log, expected)
}

fn result(call: &Call) -> String {
    match call.result {
        Ok(value) => value.to_string(),
        Err(error) => format!("-1 {}", ERRORS[error]),
    }
}

/// A call's name, its arguments in two parts, and what is to be read of it.
fn parts(call: &Call, style: &Style) -> (&'static str, String, String, String) {
    let path = call.path.filter(|_| style.paths).map(|path| PATHS[path]);
    let annotation = path.map_or(String::new(), |path| format!("<{path}>"));
    let descriptor = format!("{}{annotation}", call.descriptor);
    let outcome = match call.result {
        Ok(value) => format!("Ok({value})"),
        Err(error) => format!("Err({})", ERRORS[error].split(' ').next().unwrap()),
    };
    let list = |segments: &[u64]| {
        let one = |bytes: &u64| format!("{{iov_base=\"x\\\"]\"..., iov_len={bytes}}}");
        format!(
            "[{}]",
            segments.iter().map(one).collect::<Vec<_>>().join(", ")
        )
    };
    let transfer = |form: &str, write: bool, segments: &[u64], offset: Option<u64>, more: bool| {
        let direction = if write { "Write" } else { "Read" };
        let more = if more { " more" } else { "" };
        let asked: u64 = segments.iter().sum();
        let count = segments.len();
        format!(
            "{direction} {form} {descriptor} {segments:?} of {count}, asked Some({asked}), {outcome}, at {offset:?}{more}"
        )
    };
    match &call.kind {
        Kind::Plain {
            write,
            asked,
            offset,
            text,
        } => {
            let name = match (write, offset) {
                (true, None) => "write",
                (true, Some(_)) => "pwrite64",
                (false, None) => "read",
                (false, Some(_)) => "pread64",
            };
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            let at = offset.map_or(String::new(), |offset| format!(", {offset}"));
            let rest = format!("\"{text}\"..., {asked}{at}");
            let event = transfer("Plain", *write, &[*asked], *offset, false);
            (name, format!("{descriptor}, "), rest, event)
        }
        Kind::List {
            write,
            segments,
            offset,
        } => {
            let name = match (write, offset) {
                (true, None) => "writev",
                (true, Some(_)) => "pwritev",
                (false, None) => "readv",
                (false, Some(_)) => "preadv",
            };
            let at = offset.map_or(String::new(), |offset| format!(", {offset}"));
            let rest = format!("{}, {}{at}", list(segments), segments.len());
            let event = transfer("List", *write, segments, *offset, false);
            (name, format!("{descriptor}, "), rest, event)
        }
        Kind::Message {
            write,
            segments,
            more,
        } => {
            let name = if *write { "sendmsg" } else { "recvmsg" };
            let flags = if *more { "MSG_NOSIGNAL|MSG_MORE" } else { "0" };
            let rest = format!(
                "{{msg_name=NULL, msg_namelen=0, msg_iov={}, msg_iovlen={}, msg_controllen=0, msg_flags=0}}, {flags}",
                list(segments),
                segments.len()
            );
            let event = transfer("List", *write, segments, None, *more);
            (name, format!("{descriptor}, "), rest, event)
        }
        Kind::Close => {
            let leads_to = path.unwrap_or("-");
            let event = format!("close {0}..={0} {leads_to}", call.descriptor);
            ("close", descriptor, String::new(), event)
        }
        Kind::Seek { position } => {
            let event = match call.result {
                Ok(value) => format!("seek {descriptor} to {value} false"),
                Err(_) => format!("other {descriptor}"),
            };
            (
                "lseek",
                descriptor,
                format!(", {position}, SEEK_SET"),
                event,
            )
        }
        Kind::Poll => {
            let rest = format!("[{{fd={descriptor}, events=POLLIN}}], 1, -1");
            ("poll", String::new(), rest, "other -".to_owned())
        }
    }
}

/// An input that returns as many bytes at a time as it is told.
struct ChunkPolicy<'a, S> {
    rest: &'a [u8],
    sizes: S,
}

impl<'s, S: Iterator<Item = &'s usize>> Read for ChunkPolicy<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = (*self.sizes.next().unwrap())
            .min(buffer.len())
            .min(self.rest.len());
        let (piece, rest) = self.rest.split_at(bytes);
        buffer[..bytes].copy_from_slice(piece);
        self.rest = rest;
        Ok(bytes)
    }
}

fn events_of<R: Read>(reader: &mut Reader<R>) -> (Vec<String>, Counts) {
    let mut events = Vec::new();
    while let Some(event) = reader.next().unwrap() {
        events.push(text_of_event(&event));
    }
    (events, reader.counts())
}

fn text_of_logs(paths: &[PathBuf]) -> String {
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

/// `thread name = what @began took, by site`.
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
        Action::Seek {
            descriptor,
            position,
            only_asked,
            asks_size,
        } => {
            let size = if *asks_size { " of the size" } else { "" };
            format!("seek {} to {position} {only_asked}{size}", to(descriptor))
        }
        Action::Path { path, changes } => format!("path {} {changes}", lossy(path)),
        Action::Link { from, to } => format!("link {} to {}", lossy(from), lossy(to)),
        Action::Wait { child } => format!("wait for {child}"),
        Action::Submit { unseen } => format!("submit {unseen}"),
        Action::Sync(descriptor) => format!("sync {}", descriptor.as_ref().map_or("-".into(), to)),
        Action::Map {
            descriptor,
            writes_through,
        } => format!("map {}, writes through {writes_through}", to(descriptor)),
        Action::Fifo(Named::Descriptor(descriptor)) => format!("fifo {}", to(descriptor)),
        Action::Fifo(Named::Path(path)) => format!("fifo {}", lossy(path)),
        Action::Other { descriptor } => {
            format!("other {}", descriptor.as_ref().map_or("-".into(), to))
        }
        Action::Name { program } => format!("name {}", lossy(program)),
        Action::Signal => "signal".to_owned(),
        Action::Exit { process_ended } => format!("exit {process_ended}"),
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

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn tempfile_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("vectored-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_thread_that_strace_lets_go_is_no_surprise() {
    let log = b"7 1795315726.000000 write(1, \"x\"..., 1) = 1 <0.000010>\n\
                7 1795315726.000100 read(0,  <detached ...>\n8 1795315726.000200 <detached ...>\n";
    let mut reader = Reader::new(&log[..]);
    let mut calls = 0;
    while reader.next().unwrap().is_some() {
        calls += 1;
    }
    assert_eq!(calls, 1);
    assert!(
        reader.counts().skipped().is_empty(),
        "{:?}",
        reader.counts().skipped()
    );
}
