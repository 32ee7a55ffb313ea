//! A naive writer of logs: what it writes is read back.

use std::fmt::Write as _;

use proptest::prelude::*;
use vectored_strace::Reader;

use crate::text::events_of;

proptest! {
    #[test]
    fn rendered_calls_are_read_back(calls in prop::collection::vec(call(), 1..40), style in style()) {
        let (log, expected) = render(&calls, &style);
        let (events, counts) = events_of(&mut Reader::new(log.as_bytes()));
        prop_assert_eq!(&events, &expected, "{}", log);
        prop_assert_eq!(counts.skipped(), []);
        prop_assert_eq!(counts.calls, calls.len() as u64);
    }
}

/// A call to render.
#[derive(Clone, Debug)]
struct Call {
    thread: u32,
    kind: Kind,
    descriptor: i32,
    path: Option<usize>,
    took_us: u64,
    result: Result<u64, usize>,
    later_us: u64,
    /// Whether it is in two lines, with lines of other threads between them.
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

/// Options of strace.
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

/// The log of `calls`, and the expected events as text.
fn render(calls: &[Call], style: &Style) -> (String, Vec<String>) {
    let mut log = String::new();
    let mut expected = Vec::new();
    let mut now_us = 1_795_312_736_000_000_u64;
    let first_us = now_us;
    let mut line_us = now_us;
    // Unfinished calls: thread, rest of the line, expected event.
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
                // The origin is the midnight before the first line.
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

/// A call's name, its arguments in two parts, and the expected action as text.
fn parts(call: &Call, style: &Style) -> (&'static str, String, String, String) {
    let path = call.path.filter(|_| style.paths).map(|path| PATHS[path]);
    let annotation = path.map_or(String::new(), |path| format!("<{path}>"));
    let descriptor = format!("{}{annotation}", call.descriptor);
    let leads_to = format!("{path:?}");
    let shown = format!(
        "Descriptor {{ number: {}, leads_to: {leads_to} }}",
        call.descriptor
    );
    let outcome = match call.result {
        Ok(value) => format!("Ok({value})"),
        Err(error) => format!("Err({:?})", ERRORS[error].split(' ').next().unwrap()),
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
            "{direction} {form} {shown} Some({segments:?}) of {count}, asked Some({asked}), {outcome}, at {offset:?}{more}"
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
            let number = call.descriptor;
            let event =
                format!("Close {{ first: {number}, last: {number}, leads_to: {leads_to} }}");
            ("close", descriptor, String::new(), event)
        }
        Kind::Seek { position } => {
            let event = match call.result {
                Ok(value) => format!(
                    "Seek {{ descriptor: {shown}, position: {value}, only_asked: false, relative: false, asks_size: false }}"
                ),
                Err(_) => format!("Other {{ descriptor: Some({shown}) }}"),
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
            let event = match call.result {
                Ok(ready) => format!("Poll {{ ready: {ready} }}"),
                Err(_) => "Other { descriptor: None }".to_owned(),
            };
            ("poll", String::new(), rest, event)
        }
    }
}
