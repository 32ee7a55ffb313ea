//! Groups files into logs and merges the parts of a log by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::counts::Counts;
use crate::error::LogError;
use crate::files::input::Input;
use crate::files::{Item, OnItem};
use crate::foreign::Rewritten;
use crate::line::line_reader::BUFFER_BYTES;
use crate::reader::{ReadOptions, Reader};

/// Initial buffers of all parts of a log together, in bytes.
const PARTS_BUFFER_BYTES: usize = 32 << 20;

/// Reads each log, until a break. Returns the counts of all that was read.
pub(super) fn read_all(paths: &[PathBuf], on_item: &mut OnItem) -> Result<Counts, LogError> {
    let mut all = Counts::default();
    for log in logs(paths) {
        let (counts, flow) = read_log(&log, on_item)?;
        all.add(&counts);
        if flow.is_break() || on_item(Item::End(&counts)).is_break() {
            break;
        }
    }
    Ok(all)
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part<'a> {
    path: &'a Path,
    thread: Option<u32>,
}

/// Groups files into logs, in the order of the first file of each.
fn logs(paths: &[PathBuf]) -> Vec<Vec<Part<'_>>> {
    let mut logs: Vec<(Option<&[u8]>, Vec<Part>)> = Vec::new();
    for path in paths {
        let named = prefix_and_thread(path);
        let part = Part {
            path,
            thread: named.map(|(_, thread)| thread),
        };
        let prefix = named.map(|(prefix, _)| prefix);
        let same = logs
            .iter_mut()
            .find(|log| prefix.is_some() && log.0 == prefix);
        match same {
            Some((_, parts)) => {
                // A child's number is usually greater than its parent's.
                let at = parts.partition_point(|known| known.thread <= part.thread);
                parts.insert(at, part);
            }
            None => logs.push((prefix, vec![part])),
        }
    }
    logs.into_iter().map(|(_, parts)| parts).collect()
}

/// Splits `PREFIX.12` or `PREFIX.12.gz` into `PREFIX` and 12.
fn prefix_and_thread(path: &Path) -> Option<(&[u8], u32)> {
    let name = path.as_os_str().as_encoded_bytes();
    let name = name.strip_suffix(b".gz").unwrap_or(name);
    let dot = memchr::memrchr(b'.', name)?;
    let digits = &name[dot + 1..];
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let thread = str::from_utf8(digits).ok()?.parse().ok()?;
    Some((&name[..dot], thread))
}

type Open<'a> = (&'a Path, Reader<Rewritten<Input>>);

fn read_log(
    parts: &[Part<'_>],
    on_item: &mut OnItem,
) -> Result<(Counts, ControlFlow<()>), LogError> {
    let buffer_bytes = (PARTS_BUFFER_BYTES / parts.len()).clamp(4096, BUFFER_BYTES);
    let mut open_parts = Vec::new();
    for part in parts {
        let options = ReadOptions {
            thread: part.thread.unwrap_or_default(),
            buffer_bytes,
        };
        let input = Input::open(part.path).map_err(|error| failed(part.path, error))?;
        open_parts.push((
            part.path,
            Reader::with_options(Rewritten::new(input), options),
        ));
    }
    let mut flow = on_item(Item::Begin);
    if flow.is_continue() {
        flow = match &mut open_parts[..] {
            [only] => read_to_end(only, on_item)?,
            parts => read_parts(parts, on_item)?,
        };
    }
    let mut counts = Counts::default();
    for (path, reader) in &open_parts {
        let mut of_part = reader.counts();
        of_part.truncated |= reader.input().inner().is_cut();
        of_part.set_file(path);
        counts.add(&of_part);
    }
    Ok((counts, flow))
}

/// Reads the parts of a log: merged by time, or one after the other if they have no absolute times.
fn read_parts(parts: &mut [Open<'_>], on_item: &mut OnItem) -> Result<ControlFlow<()>, LogError> {
    // The next event of each part.
    let mut next_events = BinaryHeap::new();
    let mut have_times = true;
    for (index, part) in parts.iter_mut().enumerate() {
        if advance(part)? {
            let reader = &part.1;
            have_times &= reader.has_absolute_time();
            next_events.push(Reverse((reader.began_ns(), index)));
        }
    }
    if !have_times {
        for part in parts {
            part.1.forget_times();
            if deliver(part, on_item).is_break() || read_to_end(part, on_item)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    while let Some(Reverse((_, index))) = next_events.pop() {
        let until_ns = next_events.peek().map(|Reverse((began_ns, _))| *began_ns);
        let part = &mut parts[index];
        loop {
            if deliver(part, on_item).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if !advance(part)? {
                break;
            }
            let began_ns = part.1.began_ns();
            if until_ns.is_some_and(|until_ns| began_ns > until_ns) {
                next_events.push(Reverse((began_ns, index)));
                break;
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn read_to_end(part: &mut Open<'_>, on_item: &mut OnItem) -> Result<ControlFlow<()>, LogError> {
    while advance(part)? {
        if deliver(part, on_item).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Passes on the event that a part reached.
fn deliver((_, reader): &mut Open, on_item: &mut OnItem) -> ControlFlow<()> {
    match reader.event() {
        Some(event) => on_item(Item::Event(event)),
        None => ControlFlow::Continue(()),
    }
}

fn advance((path, reader): &mut Open) -> Result<bool, LogError> {
    reader.advance().map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> LogError {
    LogError {
        path: path.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Item, read_logs};

    #[test]
    fn the_sink_may_stop_at_any_event() {
        let path = std::env::temp_dir().join(format!("vectored-stop-{}", std::process::id()));
        std::fs::write(&path, "sync() = 0\n".repeat(20_000)).unwrap();
        for wanted in [1, 1023, 1024, 1025, 19_999, 20_000] {
            let mut seen = 0;
            let read = read_logs(std::slice::from_ref(&path), |item| {
                seen += usize::from(matches!(item, Item::Event(_)));
                if seen == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert_eq!(seen, wanted);
            assert!(read.unwrap().lines >= wanted as u64);
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn events_before_an_error_are_delivered() {
        let folder = std::env::temp_dir().join(format!("vectored-error-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("log");
        std::fs::write(&path, "sync() = 0\n").unwrap();
        let mut delivered = Vec::new();
        let error = read_logs(&[path, folder.join("missing")], |item| {
            delivered.push(match item {
                Item::Begin => "begin",
                Item::Event(_) => "event",
                Item::End(_) => "end",
            });
            ControlFlow::Continue(())
        });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(delivered, ["begin", "event", "end"]);
        assert_eq!(error.unwrap_err().path, folder.join("missing"));
    }

    #[test]
    fn events_before_broken_data_are_delivered() {
        let path = std::env::temp_dir().join(format!("vectored-broken-{}", std::process::id()));
        // The first 4 KiB are read at once. After a stored block of 9900 bytes comes one of a type that does not exist.
        let header = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
        let lines = b"sync() = 0\n".repeat(900);
        let bytes = [&header[..], b"\0\xac\x26\x53\xd9", &lines, b"\x07"].concat();
        std::fs::write(&path, bytes).unwrap();
        let mut events = 0;
        let error = read_logs(std::slice::from_ref(&path), |item| {
            events += usize::from(matches!(item, Item::Event(_)));
            ControlFlow::Continue(())
        });
        std::fs::remove_file(&path).unwrap();
        assert_eq!(error.unwrap_err().path, path);
        assert!((300..900).contains(&events), "{events}");
    }

    #[test]
    fn files_of_one_prefix_are_one_log() {
        let paths = [
            "a.100", "-", "b.7", "a.99.gz", "a.log", "a.98.gz", "b", "x.1y",
        ]
        .map(PathBuf::from);
        let found: Vec<Vec<(&str, Option<u32>)>> = logs(&paths)
            .iter()
            .map(|log| {
                log.iter()
                    .map(|part| (part.path.to_str().unwrap(), part.thread))
                    .collect()
            })
            .collect();
        let alone = |path| vec![(path, None)];
        let expected = [
            vec![
                ("a.98.gz", Some(98)),
                ("a.99.gz", Some(99)),
                ("a.100", Some(100)),
            ],
            alone("-"),
            vec![("b.7", Some(7))],
            alone("a.log"),
            alone("b"),
            alone("x.1y"),
        ];
        assert_eq!(found, expected);
    }
}
