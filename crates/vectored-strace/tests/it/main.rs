//! Events of logs: real logs against golden files, and arbitrary bytes in pieces of any size.

mod any_bytes;
mod text;

use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use vectored_strace::{Reader, read_logs};

use crate::text::{events_of, text_of_logs};

/// Each file of `testdata` is a log. Each folder has the parts of a log. A new log makes a new golden file.
#[test]
fn real_logs_give_the_events_of_their_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let cases = list(&folder);
    assert!(cases.len() >= 10);
    for case in cases {
        let name = case.file_stem().unwrap().to_str().unwrap().to_owned();
        let paths = if case.is_dir() { list(&case) } else { vec![case] };
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(name, text_of_logs(&paths));
        });
    }
}

#[test]
fn compressed_logs_are_read_even_if_they_end_early() {
    let folder = tempfile_folder("compressed");
    let log = "1 write(1, \"a\", 1) = 1\n".repeat(5000);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(log.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let path = folder.join("log");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read_logs(std::slice::from_ref(&path), |_| {}).unwrap()
    };
    let whole = read(&gzip);
    assert_eq!((whole.calls, whole.truncated), (5000, false));
    // Without the last bytes of the gzip trailer, the log still has all lines.
    for missing in [4, 20] {
        assert!(read(&gzip[..gzip.len() - missing]).truncated);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_line_of_a_gibibyte_is_skipped_in_bounded_memory() {
    let long = io::repeat(b'x').take(1 << 30);
    let after = &b"\nwrite(1, \"a\", 1) = 1\n"[..];
    let mut reader = Reader::new(long.chain(after));
    for name in [&b""[..], b"write"] {
        assert_eq!(reader.next().unwrap().unwrap().name, name);
    }
    assert!(reader.next().unwrap().is_none());
    let skipped = reader.counts().skipped();
    assert_eq!(skipped.len(), 1);
    assert_eq!((skipped[0].lines, skipped[0].first_line), (1, 1));
}

#[test]
fn lines_that_are_not_of_strace_are_counted() {
    let junk = b"\x00\x01\x02\nMZ\x90\n\n(((\nwrite\nwrite(\nwrite(1)\nWrite(1) = 1\n<... write resumed>) = 1\n\
                 write(1, \"a\", 99999999999999999999) = 1\n";
    let (events, counts) = events_of(&mut Reader::new(&junk[..]));
    assert_eq!(events.len(), 10, "{events:?}");
    assert!(
        events[9].starts_with("0 write = Unread { descriptor: Some("),
        "{events:?}"
    );
    assert!(events.iter().all(|event| event.contains("Unread")));
    let skipped: u64 = counts.skipped().iter().map(|skipped| skipped.lines).sum();
    assert_eq!((counts.lines, skipped, counts.calls), (10, 10, 3));
}

#[test]
fn lines_that_could_not_be_used_name_their_file() {
    let folder = tempfile_folder("skipped");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let log = write(
        "log",
        "sync() = 0\nwrite(1, \"a\", 99999999999999999999) = 1\n",
    );
    let no_log = write("no-log", "junk\nmore junk\n");
    let parts = [
        write("part.1", "1.000000 sync() = 0\n"),
        write("part.2", "1.000000 sync() = 0\njunk\n"),
    ];
    let first_files = |paths: &[PathBuf]| -> Vec<(&str, Option<PathBuf>)> {
        let counts = read_logs(paths, |_| {}).unwrap();
        let skipped = counts.skipped().into_iter();
        skipped.map(|one| (one.reason, one.first_file)).collect()
    };
    let not_a_line = || "not a line of strace";
    let overflow = || "a number does not fit 64 bits";
    assert_eq!(
        first_files(&[log.clone(), no_log.clone()]),
        [(not_a_line(), Some(no_log)), (overflow(), Some(log))]
    );
    assert_eq!(
        first_files(&parts),
        [(not_a_line(), Some(parts[1].clone()))]
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_fork_comes_before_the_lines_of_a_child_that_runs_before_the_call_returns() {
    let log = b"1 vfork( <unfinished ...>\n\
                1 <... vfork resumed>) = 3\n\
                1 vfork( <unfinished ...>\n\
                2 close(3) = 0\n\
                5 close(3) = 0\n\
                2 execve(\"/bin/true\", [\"true\"], 0x1) = 0\n\
                1 <... vfork resumed>) = 2\n";
    let (events, counts) = events_of(&mut Reader::new(&log[..]));
    let names: Vec<&str> = events
        .iter()
        .map(|event| event.split(" = ").next().unwrap())
        .collect();
    assert_eq!(
        names,
        ["1 vfork", "1 vfork", "2 close", "5 close", "2 execve"]
    );
    assert!(events[1].contains("Fork { child: 2"), "{events:?}");
    assert_eq!(counts.calls, 5);
}

#[test]
fn a_thread_that_was_announced_is_not_the_first_one() {
    for announcement in [
        "clone(flags=SIGCHLD) = 12",
        "strace: Process 12 attached",
        // While process 12 is in a call, the other process begins a call.
        "vfork( <unfinished ...>",
    ] {
        let log = format!("{announcement}\n[pid 12] close(3) = 0\n");
        let (events, _) = events_of(&mut Reader::new(log.as_bytes()));
        assert!(events.last().unwrap().starts_with("12 close"), "{events:?}");
    }
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
fn lines_of_a_detached_thread_are_not_counted_as_unusable() {
    let log = b"7 1795315726.000000 write(1, \"x\"..., 1) = 1 <0.000010>\n\
                7 1795315726.000100 read(0,  <detached ...>\n8 1795315726.000200 <detached ...>\n";
    let (events, counts) = events_of(&mut Reader::new(&log[..]));
    assert_eq!(events.len(), 2, "the read may have moved bytes: {events:?}");
    assert_eq!(counts.skipped(), []);
}

#[test]
fn times_have_the_resolution_of_their_digits_and_padded_times_are_relative() {
    for (time, began_ns, clock_ns) in [
        ("00:00:01", 1_000_000_000, 1_000_000_000),
        ("00:00:01.000002", 1_000_002_000, 1000),
        ("1795315726.000002", 1_795_315_726_000_002_000, 1000),
        ("1795315726", 1_795_315_726_000_000_000, 1_000_000_000),
        ("     0.000001 sync() = 0\n     0.000002", 3000, 1000),
    ] {
        let log = format!("{time} sync() = 0\n");
        let mut reader = Reader::new(log.as_bytes());
        let mut last = None;
        while let Some(event) = reader.next().unwrap() {
            last = Some((event.began_ns, event.clock_ns));
        }
        assert_eq!(last, Some((Some(began_ns), clock_ns)), "{time}");
    }
}
