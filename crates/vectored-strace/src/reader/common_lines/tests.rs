//! Lines of common form give the same events in their own loop as line by line.

use std::ops::ControlFlow;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::counts::Counts;
use crate::event_sink::{FnSink, Item};
use crate::files::read_logs;
use crate::reader::ReadOptions;

/// Lines of common form, or nearly so.
const NEARLY_COMMON: &str = concat!(
    r"(9658|9659|12345|123456|1234567|7)",
    r" {1,5}(1795312736|1795312737|17953127360|0000000000|\x00{10})\.[0-9]{6} ",
    r"(write|read|pwrite64|pread64|futex|epoll_wait|recvfrom|close|lseek|clone|_llseek|what)",
    r"\((-|0x|)[0-9]{1,3}(|<[a-z/:>\[\]]{0,80}>|<pipe:\[7\]>)(|\(deleted\))(, |,|)",
    "(\"[a-z\\\\\"]{0,3}\"\\.\\.\\., |)",
    r"[0-9]{1,9}(|, [0-9]{1,21}|, -1| <unfinished \.\.\.>)",
    r"\) {1,4}= (-?[0-9]{1,9}|-1 EAGAIN \(a = 2\)|\?|3</a>)(| <[0-9]{1,2}\.[0-9]{5,7}>|\r)",
);

/// Lines that affect how later lines are read.
const OTHERS: [&str; 12] = [
    "9658  1795312736.000001 write(3, <unfinished ...>",
    "9658  1795312736.000002 <... write resumed>\"a\", 1) = 1 <0.000003>",
    "9658  1795312736.000003 +++ exited with 0 +++",
    "9659  1795312736.000004 --- SIGCHLD {si_signo=SIGCHLD} ---",
    "9658  1795312736.000005 clone(flags=SIGCHLD <unfinished ...>",
    "9658  1795312736.000006 clone(flags=SIGCHLDstrace: Process 12345 attached",
    ", child_tidptr=0x7f) = 12345 <0.000009>",
    " > /usr/bin/cat(main+0x10) [0x2345]",
    "strace: Process 7 attached",
    "% time     seconds  usecs/call     calls    errors syscall",
    "9659       0.000007 read(4, \"a\", 1) = 1 <0.000004>",
    "12:00:00.000008 read(4, \"a\", 1) = 1 <0.000004>",
];

/// A line, in which one byte may be replaced.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let common = r#"(9658|9659)  1795312736\.[0-9]{6} (write|read)\([34]</srv/[ab]>, "x"\.\.\., [0-9]{1,4}\) = [0-9]{1,4} <0\.[0-9]{6}>"#;
    let line = prop_oneof![
        4 => common,
        4 => NEARLY_COMMON,
        1 => proptest::sample::select(&OTHERS[..]).prop_map(str::to_owned),
    ];
    let other_byte = proptest::option::weighted(0.3, (any::<Index>(), any::<u8>()));
    (line, other_byte).prop_map(|(line, other_byte)| {
        let mut line = line.into_bytes();
        if let Some((at, byte)) = other_byte {
            *at.get_mut(&mut line) = byte;
        }
        line
    })
}

fn log(lines: &[Vec<u8>], ended: bool) -> Vec<u8> {
    let mut log = lines.join(&b'\n');
    log.extend_from_slice(if ended { b"\n" } else { b"" });
    log
}

/// The events as text and the counts, read line by line.
fn line_by_line(log: &[u8]) -> (Vec<String>, Counts) {
    let mut reader = Reader::new(log);
    let mut events = Vec::new();
    while let Some(event) = reader.next().unwrap() {
        events.push(format!("{event:?}"));
    }
    (events, reader.counts())
}

/// The events as text and the counts, with the loop for common lines; also the number of calls that this loop read.
fn with_common_lines(log: &[u8], options: ReadOptions) -> (Vec<String>, Counts, u64) {
    let mut reader = Reader::with_options(log, options);
    let mut events = Vec::new();
    let mut counts = Counts::default();
    let mut segments = Vec::new();
    let mut number = 0;
    let mut common_calls = 0;
    while reader.advance().unwrap() {
        number += 1;
        let mut batch = Batch::numbered(number);
        let (line, text, site) = reader.parsed_line();
        batch.push(line, text, site);
        let before = reader.counts().calls;
        reader.read_common_lines(&mut batch);
        common_calls += reader.counts().calls - before;
        let mut each = FnSink(|item: Item<'_>| {
            if let Item::Event(event) = item {
                events.push(format!("{event:?}"));
            }
            ControlFlow::Continue(())
        });
        let flow = batch.deliver(&mut segments, &mut counts, &mut each);
        assert!(flow.is_continue());
    }
    counts.add(&reader.counts());
    (events, counts, common_calls)
}

proptest! {
    #[test]
    fn common_lines_give_the_events_of_reading_line_by_line(
        lines in proptest::collection::vec(line(), 1..40),
        ended: bool,
        buffer_bytes in 1..2000_usize,
    ) {
        let log = log(&lines, ended);
        let options = ReadOptions { buffer_bytes, ..ReadOptions::default() };
        let (events, counts, _) = with_common_lines(&log, options);
        let (expected_events, expected_counts) = line_by_line(&log);
        prop_assert_eq!(events, expected_events);
        prop_assert_eq!(counts, expected_counts);
    }
}

#[test]
fn most_lines_have_the_common_form() {
    let line = "9658  1795312736.000001 write(3</srv/a>, \"x\"..., 9)       = 9 <0.000012>\n\
        9658  1795312736.000002 pwrite64(3</srv/a>, \"x\"..., 9, 123456789012) = 9 <0.000012>\n\
        9658  1795312736.000003 futex(0x7f7b10116990, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000012>\n\
        9658  1795312736.000004 recvfrom(4, \"x\"..., 9, 0, NULL, NULL) = 9 <0.000012>\n";
    let (_, counts, common_calls) =
        with_common_lines(line.repeat(100).as_bytes(), ReadOptions::default());
    assert_eq!(counts.lines, 400);
    // The first line of each call has a new prefix, and too few bytes follow the last line.
    assert!(common_calls > 390, "{common_calls}");
}

#[test]
fn events_of_many_batches_keep_their_order() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut log = String::new();
    for number in 0..30_000_u64 {
        let thread = 100 + random.u32(..5);
        let time = format!("1795312736.{number:06}");
        let path = random.u32(..2000);
        log += &match random.u32(..10) {
            0 => format!(
                "{thread:<5} {time} read(3</a/{path}>, 0x7f, 9) = -1 EAGAIN (x) <0.000012>\n"
            ),
            1 => format!(
                "{thread:<5} {time} sendto(3</a/{path}>, \"x\"..., {number}, 0, NULL, 0) = {number} <0.000012>\n"
            ),
            _ => format!(
                "{thread:<5} {time} write(3</a/{path}>, \"x\"..., {number}) = {number} <0.000012>\n"
            ),
        };
    }
    let path = std::env::temp_dir().join(format!("vectored-batches-{}", std::process::id()));
    std::fs::write(&path, &log).unwrap();
    let mut events = Vec::new();
    let counts = read_logs(&[PathBuf::from(&path)], |item| {
        if let Item::Event(event) = item {
            events.push(format!("{event:?}"));
        }
        ControlFlow::Continue(())
    });
    std::fs::remove_file(&path).unwrap();
    let (expected_events, expected_counts) = line_by_line(log.as_bytes());
    assert_eq!(events, expected_events);
    assert_eq!(counts.unwrap(), expected_counts);
}
