//! What was found, in words: the pattern in one line, what to do about it, and how that is written
//! in several languages.

use crate::model::{FindingKey, FindingKind, Leads, Step, Tally};
use crate::report::{bytes_in_words, escape_control, grouped};

/// Calls of a pattern that are named; the others are counted.
const NAMED_STEPS: usize = 4;

/// A step that moves as much at once is worth referencing instead of copying, in bytes.
const LARGE_BYTES: u64 = 2048;

/// Runs of at most so many calls are records; longer ones are streams.
const RECORD_CALLS: u64 = 16;

/// Characters of the name of a file in a sentence.
const NAMED_CHARACTERS: usize = 60;

/// The pattern in one line: `10,233 × write 8 B + write 4 KiB`, `1.2 M × write 5–90 B`.
///
/// The number tells how often the whole of what follows was repeated.
///
/// # Examples
///
/// ```
/// use vectored_lab::advisor::words::pattern;
/// use vectored_lab::model::{FindingKey, FindingKind, Grade, Leads, Step, Tally};
///
/// let key = FindingKey {
///     kind: FindingKind::AdjacentWrites,
///     grade: Grade::Adjacent,
///     program: "cat".to_owned(),
///     target: Leads::File,
///     site: None,
///     steps: vec![Step { call: "write".to_owned(), size_class: 7 }],
/// };
/// let tally = Tally { calls: 12_000, step_bytes: vec![(70, 90)], ..Tally::default() };
/// assert_eq!(pattern(&key, &tally), "12,000 × write 70–90 B");
/// ```
pub fn pattern(key: &FindingKey, tally: &Tally) -> String {
    let period = key.steps.len().max(1) as u64;
    let times = short_count((tally.calls / period).max(1));
    if key.steps.is_empty() {
        return format!("{times} calls");
    }
    // A period has no first step by itself: the one that most runs began with is named first.
    let most = (0..tally.starts.len())
        .rev()
        .max_by_key(|&index| tally.starts[index]);
    let mut named: Vec<String> = std::iter::zip(0.., &key.steps)
        .cycle()
        .skip(most.unwrap_or(0))
        .take(key.steps.len().min(NAMED_STEPS))
        .map(|(index, step): (usize, _)| step_in_words(step, tally.step_bytes.get(index)))
        .collect();
    let rest = key.steps.len().saturating_sub(NAMED_STEPS);
    if rest > 0 {
        named.push(format!("{rest} more"));
    }
    let mut text = format!("{times} × {}", named.join(" + "));
    let has_lists = matches!(
        key.kind,
        FindingKind::TinySegments | FindingKind::ManySegments
    );
    if has_lists && tally.calls > 0 && tally.segments > tally.calls {
        let segments = (tally.segments as f64 / tally.calls as f64).round() as u64;
        text += &format!(" in {} segments", grouped(segments));
    }
    text
}

fn step_in_words(step: &Step, bytes: Option<&(u64, u64)>) -> String {
    let name = escape_control(&step.call);
    match bytes {
        Some(&(least, most)) if moves_bytes(&step.call) => {
            format!("{name} {}", range_in_words(least, most))
        }
        _ => name,
    }
}

/// Whether a call is of those whose size means something; `lseek` and `fsync` are not.
fn moves_bytes(call: &str) -> bool {
    ["read", "write", "send", "recv"]
        .iter()
        .any(|family| call.contains(family))
}

/// `8 B`, `5–90 B`, `4–64 KiB`.
fn range_in_words(least: u64, most: u64) -> String {
    if least == most {
        return bytes_in_words(least);
    }
    let (low, high) = (bytes_in_words(least), bytes_in_words(most));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((low, unit)), Some((high, same))) if unit == same => format!("{low}–{high} {unit}"),
        _ => format!("{low}–{high}"),
    }
}

/// `10,233`; from a million on two digits and a unit: `1.2 M`, `34 G`.
fn short_count(number: u64) -> String {
    const MILLION: u64 = 1_000_000;
    let (scale, unit) = match number {
        0..MILLION => return grouped(number),
        // 999.5 million is a milliard.
        MILLION..999_500_000 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    let scaled = number as f64 / scale;
    match scaled < 9.95 {
        true => format!("{scaled:.1} {unit}"),
        false => format!("{} {unit}", grouped(scaled.round() as u64)),
    }
}

/// What to do, in a sentence that is true of any language; [`idioms`] says how.
pub fn action(key: &FindingKey, tally: &Tally) -> String {
    let what = match key.kind {
        FindingKind::AdjacentWrites if has_large_step(tally) => {
            "Hand the small pieces and the large one to the kernel in one call".to_owned()
        }
        FindingKind::AdjacentWrites if is_record(key, tally) => {
            format!("Write the {} pieces in one call", key.steps.len())
        }
        FindingKind::AdjacentWrites => match key.target {
            Leads::File => "Collect the writes in a buffer, and write that when it is full",
            _ => "Collect the writes in a buffer, and send it when it is full or before waiting",
        }
        .to_owned(),
        FindingKind::SmallReads => "Read more at once, through a larger buffer".to_owned(),
        FindingKind::PositionalWrites => {
            "Write what touches in one call, at the offset of the first".to_owned()
        }
        FindingKind::PositionalReads => {
            "Read what touches in one call, at the offset of the first".to_owned()
        }
        FindingKind::SeekThenTransfer => {
            "Give the offset to the call that moves the bytes, and seek no more".to_owned()
        }
        FindingKind::TinySegments => {
            "Copy the tiny segments into one buffer, and write that".to_owned()
        }
        FindingKind::ManySegments => {
            "Fill each list up to 1,024 segments before it is handed over".to_owned()
        }
        FindingKind::SyncEach => {
            "Sync once for several records, where they may be lost together".to_owned()
        }
        FindingKind::Datagrams => "Send several datagrams in one call, sendmmsg(2)".to_owned(),
    };
    let order = order_in_words(tally);
    if tally.merged_calls > 0 && tally.merged_calls < tally.calls {
        let (left, calls) = (short_count(tally.merged_calls), short_count(tally.calls));
        let of = if tally.merged_calls == 1 {
            "call"
        } else {
            "calls"
        };
        format!("{what}: {left} {of} instead of {calls}.{order}")
    } else {
        format!("{what}.{order}")
    }
}

/// What merging changes besides the number of calls; empty if nothing is known.
fn order_in_words(tally: &Tally) -> String {
    let Some(other) = &tally.order_between else {
        return String::new();
    };
    let named = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let characters = name.chars().take(NAMED_CHARACTERS);
        escape_control(&characters.collect::<String>())
    };
    format!(
        " The program writes {} and {} in turn: merging changes the order in which their bytes \
         reach the kernel.",
        tally.path.as_deref().map_or("this file".to_owned(), named),
        named(other),
    )
}

/// A piece that is better referenced than copied, next to one that is not.
fn has_large_step(tally: &Tally) -> bool {
    let is_large = |&(least, _): &(u64, u64)| least >= LARGE_BYTES;
    tally.step_bytes.iter().any(is_large) && !tally.step_bytes.iter().all(is_large)
}

/// Few calls, and then something else: no stream that a buffer would collect. The pieces come once in
/// most of the runs.
fn is_record(key: &FindingKey, tally: &Tally) -> bool {
    let pieces = key.steps.len() as u64;
    let most = RECORD_CALLS.min(pieces + pieces / 2);
    pieces > 1 && tally.calls <= tally.runs.saturating_mul(most)
}

/// How to do it: a language and what to write in it. What is shown is the call that matters; each may
/// move less than all, unless it says otherwise.
pub fn idioms(kind: FindingKind, target: Leads) -> &'static [(&'static str, &'static str)] {
    let is_socket = matches!(target, Leads::Unix | Leads::Tcp);
    match kind {
        FindingKind::AdjacentWrites if is_socket => &SOCKET_WRITES,
        FindingKind::AdjacentWrites => &WRITES,
        FindingKind::SmallReads if is_socket => &SOCKET_READS,
        FindingKind::SmallReads => &READS,
        FindingKind::PositionalWrites => &WRITES_AT,
        FindingKind::PositionalReads => &READS_AT,
        FindingKind::SeekThenTransfer => &SEEKS,
        FindingKind::TinySegments => &TINY,
        FindingKind::ManySegments => &MANY,
        FindingKind::SyncEach => &SYNCS,
        FindingKind::Datagrams => &DATAGRAMS,
    }
}

/// The language that a program of this name interprets, as [`idioms`] calls it: `python3.11` tells
/// more of what its user can change than any other name.
pub fn language_of(program: &str) -> Option<&'static str> {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(name, "python" | "pypy").then_some("Python")
}

// Each table: what the standard library or the operating system has, see writev(2), setbuf(3), Go's
// `net.Buffers` and `bufio`, Python's `open`, `os.writev` and `socket.sendmsg`.
// `net.Buffers` gathers on connections of `net` only, and writes one by one to anything else.

const DATAGRAMS: [(&str, &str); 4] = [
    (
        "Rust",
        "rustix has no sendmmsg: nix::sys::socket::sendmmsg, or quinn-udp for UDP",
    ),
    ("C", "sendmmsg(fd, messages, count, 0)"),
    (
        "Go",
        "ipv4.NewPacketConn(conn).WriteBatch(messages, 0) of golang.org/x/net/ipv4",
    ),
    (
        "Python",
        "the standard library has no sendmmsg: call it through ctypes, or send fewer, larger datagrams",
    ),
];

const WRITES: [(&str, &str); 5] = [
    (
        "Rust",
        "vectored::GatherWriter::new(file) or BufWriter::new(file), flush() at the end; \
         gather.write_all(&file, &segments) of a vectored::Gather for one record",
    ),
    (
        "C",
        "writev(fd, iov, count) for one record; else a buffer of 64 KiB before write",
    ),
    (
        "C stdio",
        "setvbuf(stream, NULL, _IOFBF, 65536) before the first use; no fflush in between",
    ),
    (
        "Go",
        "w := bufio.NewWriterSize(file, 65536), and w.Flush() at the end",
    ),
    (
        "Python",
        "open(path, \"wb\", buffering=65536), no flush=True and no python3 -u; os.writev(fd, [a, b])",
    ),
];

const SOCKET_WRITES: [(&str, &str); 5] = [
    (
        "Rust",
        "gather.write_all(&stream, &segments) of a vectored::Gather; or \
         vectored::GatherWriter::new(stream) and flush() before waiting",
    ),
    ("C", "writev(fd, iov, count), or sendmsg with MSG_NOSIGNAL"),
    (
        "C stdio",
        "setvbuf(stream, NULL, _IOFBF, 65536) before the first use, and fflush before waiting",
    ),
    (
        "Go",
        "b := net.Buffers{header, body}; b.WriteTo(conn), or bufio.NewWriter(conn) and Flush",
    ),
    (
        "Python",
        "sock.sendmsg([header, body]), or sock.makefile(\"wb\") and flush() before waiting",
    ),
];

const READS: [(&str, &str); 5] = [
    (
        "Rust",
        "BufReader::with_capacity(65536, file), or vectored::ScatterReader::new(file) for records",
    ),
    (
        "C",
        "read(fd, buffer, 65536), and take the pieces from the buffer",
    ),
    (
        "C stdio",
        "setvbuf(stream, NULL, _IOFBF, 65536) before the first use",
    ),
    ("Go", "bufio.NewReaderSize(file, 65536)"),
    ("Python", "open(path, \"rb\", buffering=65536)"),
];

const SOCKET_READS: [(&str, &str); 5] = [
    (
        "Rust",
        "vectored::ScatterReader::new(stream), or BufReader::with_capacity(65536, stream)",
    ),
    (
        "C",
        "recv(fd, buffer, 65536, 0) takes what is there; take the pieces from the buffer",
    ),
    (
        "C stdio",
        "setvbuf(stream, NULL, _IOFBF, 65536) before the first use",
    ),
    ("Go", "bufio.NewReaderSize(conn, 65536)"),
    ("Python", "sock.makefile(\"rb\", buffering=65536)"),
];

const WRITES_AT: [(&str, &str); 4] = [
    (
        "Rust",
        "gather.write_all_at(&file, &segments, offset) of a vectored::Gather",
    ),
    ("C", "pwritev(fd, iov, count, offset)"),
    (
        "Go",
        "unix.Pwritev(fd, [][]byte{a, b}, offset) of golang.org/x/sys",
    ),
    ("Python", "os.pwritev(fd, [a, b], offset)"),
];

const READS_AT: [(&str, &str); 4] = [
    (
        "Rust",
        "scatter.read_exact_at(&file, &mut segments, offset) of a vectored::Scatter",
    ),
    ("C", "preadv(fd, iov, count, offset)"),
    (
        "Go",
        "file.ReadAt(large, offset), or unix.Preadv of golang.org/x/sys",
    ),
    ("Python", "os.preadv(fd, [a, b], offset) into bytearrays"),
];

const SEEKS: [(&str, &str); 4] = [
    (
        "Rust",
        "FileExt::write_all_at(&file, bytes, offset), read_exact_at (std::os::unix::fs)",
    ),
    (
        "C",
        "pwrite(fd, bytes, count, offset), pread(fd, buffer, count, offset)",
    ),
    (
        "Go",
        "file.WriteAt(bytes, offset), file.ReadAt(buffer, offset)",
    ),
    (
        "Python",
        "os.pwrite(fd, data, offset), os.pread(fd, count, offset)",
    ),
];

const TINY: [(&str, &str); 4] = [
    (
        "Rust",
        "gather.write_all(&fd, &segments) of a vectored::Gather copies the small ones",
    ),
    ("C", "memcpy into one buffer, then write"),
    (
        "Go",
        "append to one []byte or a bufio.Writer instead of net.Buffers",
    ),
    (
        "Python",
        "b\"\".join(parts), and one write, instead of os.writev",
    ),
];

const MANY: [(&str, &str); 4] = [
    (
        "Rust",
        "vectored::write_all_vectored(&fd, &segments) takes lists of any length",
    ),
    ("C", "sysconf(_SC_IOV_MAX) segments a writev"),
    ("Go", "net.Buffers of any length on a connection"),
    ("Python", "os.sysconf(\"SC_IOV_MAX\") buffers an os.writev"),
];

const SYNCS: [(&str, &str); 4] = [
    (
        "Rust",
        "write several records, then file.sync_data(), then answer for all of them",
    ),
    ("C", "fdatasync(fd) once for several records"),
    ("Go", "file.Sync() once for several records"),
    ("Python", "os.fdatasync(fd) once for several records"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Grade;

    fn found(kind: FindingKind, steps: &[(&str, (u64, u64))], calls: u64) -> (FindingKey, Tally) {
        let key = FindingKey {
            kind,
            grade: Grade::Adjacent,
            program: "x".to_owned(),
            target: Leads::File,
            site: None,
            steps: steps
                .iter()
                .map(|(call, _)| Step {
                    call: (*call).to_owned(),
                    size_class: 0,
                })
                .collect(),
        };
        let tally = Tally {
            calls,
            runs: 1,
            step_bytes: steps.iter().map(|(_, bytes)| *bytes).collect(),
            ..Tally::default()
        };
        (key, tally)
    }

    #[test]
    fn a_pattern_is_a_count_and_its_period() {
        let check = |kind, steps: &[(&str, (u64, u64))], calls, expected: &str| {
            let (key, tally) = found(kind, steps, calls);
            assert_eq!(pattern(&key, &tally), expected);
        };
        let writes = FindingKind::AdjacentWrites;
        let pair = [("write", (8, 8)), ("write", (4096, 4096))];
        check(writes, &pair, 20_466, "10,233 × write 8 B + write 4 KiB");
        check(
            writes,
            &[("write", (5, 90))],
            1_234_567,
            "1.2 M × write 5–90 B",
        );
        check(
            writes,
            &[("send", (0, 0))],
            34_500_000_000,
            "35 G × send 0 B",
        );
        check(
            writes,
            &[("read", (4096, 65_536))],
            999_999,
            "999,999 × read 4–64 KiB",
        );
        check(writes, &[("read", (100, 4096))], 3, "3 × read 100 B–4 KiB");
        let seek = [("lseek", (0, 0)), ("read", (512, 512))];
        check(
            FindingKind::SeekThenTransfer,
            &seek,
            10,
            "5 × lseek + read 512 B",
        );
        let six = [("write", (1, 1)); 6];
        check(
            writes,
            &six,
            12,
            "2 × write 1 B + write 1 B + write 1 B + write 1 B + 2 more",
        );
        check(writes, &[], 7, "7 calls");
        check(
            writes,
            &[("w\x1b[2Jrite", (1, 1))],
            1,
            "1 × w\\u{1b}[2Jrite",
        );
    }

    #[test]
    fn lists_tell_their_segments() {
        let (key, mut tally) = found(FindingKind::TinySegments, &[("writev", (1600, 1600))], 10);
        tally.segments = 1000;
        assert_eq!(pattern(&key, &tally), "10 × writev 1600 B in 100 segments");
    }

    #[test]
    fn what_is_to_be_done_depends_on_the_sizes_and_on_the_length_of_runs() {
        let pair = [("write", (8, 8)), ("write", (4096, 4096))];
        let (key, mut tally) = found(FindingKind::AdjacentWrites, &pair, 20_466);
        tally.merged_calls = 10_233;
        assert_eq!(
            action(&key, &tally),
            "Hand the small pieces and the large one to the kernel in one call: \
             10,233 calls instead of 20,466."
        );
        tally.step_bytes = vec![(8, 8), (90, 90)];
        tally.runs = 10_233;
        assert!(action(&key, &tally).starts_with("Write the 2 pieces in one call: "));
        tally.runs = 1;
        tally.merged_calls = 1;
        assert!(action(&key, &tally).ends_with("when it is full: 1 call instead of 20,466."));
    }

    #[test]
    fn every_kind_has_its_idioms() {
        for kind in [
            FindingKind::AdjacentWrites,
            FindingKind::SmallReads,
            FindingKind::PositionalWrites,
            FindingKind::PositionalReads,
            FindingKind::SeekThenTransfer,
            FindingKind::TinySegments,
            FindingKind::ManySegments,
            FindingKind::SyncEach,
            FindingKind::Datagrams,
        ] {
            for target in [Leads::File, Leads::Pipe, Leads::Unix, Leads::Tcp] {
                let languages: Vec<_> = idioms(kind, target).iter().map(|(l, _)| *l).collect();
                for language in ["Rust", "C", "Go", "Python"] {
                    assert!(languages.contains(&language), "{kind:?} lacks {language}");
                }
            }
        }
    }

    #[test]
    fn an_interpreter_tells_the_language() {
        assert_eq!(language_of("python3.11"), Some("Python"));
        assert_eq!(language_of("python"), Some("Python"));
        assert_eq!(language_of("pythonic"), None);
        assert_eq!(language_of(""), None);
    }
}
