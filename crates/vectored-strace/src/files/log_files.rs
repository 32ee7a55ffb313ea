//! Groups files into logs and merges the parts of a log by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};

use crate::counts::Counts;
use crate::error::LogError;
use crate::event::Event;
use crate::files::input::Input;
use crate::foreign::Rewritten;
use crate::line::line_reader::BUFFER_BYTES;
use crate::reader::Reader;

/// The bytes of the initial buffers of all parts of a log together.
const PARTS_BUFFER_BYTES: usize = 32 << 20;

/// Receives the events of a log. `None` begins a log: threads and descriptors of earlier logs do not count in the new
/// log.
type OnEvent<'s> = dyn FnMut(Option<Event<'_>>) + 's;

/// Reads each log from beginning to end. Hands `None`, and then the events of the log, to `on_event`.
///
/// The path `-` is standard input. `strace -ff -o PREFIX` writes files such as `PREFIX.12` and `PREFIX.34`: they are
/// the parts of one log, for the threads 12 and 34. Events of such a log come in the order in which calls began or,
/// without absolute times, file by file. Files compressed by gzip are decompressed. Logs of `perf trace`, `perf script`
/// and bpftrace are read as [`Rewritten`].
///
/// # Errors
///
/// The first file that cannot be opened or read, is compressed but not by gzip, is in UTF-16, or has only a table
/// (`strace -c`, `perf trace -s`). Events before the error are delivered. A log that ends too early is no error: see
/// [`Counts::truncated`].
pub fn read_logs(
    paths: &[PathBuf],
    mut on_event: impl FnMut(Option<Event<'_>>),
) -> Result<Counts, LogError> {
    let mut all = Counts::default();
    for log in logs(paths) {
        all.add(read_log(&log, &mut on_event)?);
    }
    Ok(all)
}

/// A file. If the file is a part of a log: the thread of that part.
type Part<'a> = (&'a Path, Option<u32>);

/// Groups files into logs. The logs are in the order of their first files.
fn logs(paths: &[PathBuf]) -> Vec<Vec<Part<'_>>> {
    let mut logs: Vec<(Option<&[u8]>, Vec<Part>)> = Vec::new();
    for path in paths {
        let named = prefix_and_thread(path);
        let thread = named.map(|(_, thread)| thread);
        let prefix = named.map(|(prefix, _)| prefix);
        let same = logs
            .iter_mut()
            .find(|log| prefix.is_some() && log.0 == prefix);
        match same {
            Some((_, parts)) => {
                // A child's number is usually greater than its parent's.
                let at = parts.partition_point(|known| known.1 <= thread);
                parts.insert(at, (path, thread));
            }
            None => logs.push((prefix, vec![(path, thread)])),
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

fn read_log(parts: &[Part<'_>], on_event: &mut OnEvent) -> Result<Counts, LogError> {
    let buffer_bytes = (PARTS_BUFFER_BYTES / parts.len()).clamp(4096, BUFFER_BYTES);
    let mut open_parts = Vec::new();
    for &(path, thread) in parts {
        let input = Rewritten::new(Input::open(path).map_err(|error| failed(path, error))?);
        let reader = Reader::with_options(input, thread.unwrap_or_default(), buffer_bytes);
        open_parts.push((path, reader));
    }
    on_event(None);
    read_parts(&mut open_parts, on_event)?;
    let mut counts = Counts::default();
    for (path, reader) in &open_parts {
        let mut of_part = reader.counts();
        of_part.truncated |= reader.input().inner().is_cut;
        of_part.set_file(path);
        counts.add(of_part);
    }
    Ok(counts)
}

/// Reads the parts of a log, merged by time. Parts without absolute times are read one after the other.
fn read_parts(parts: &mut [Open<'_>], on_event: &mut OnEvent) -> Result<(), LogError> {
    let mut next_events = BinaryHeap::new();
    let mut have_times = true;
    let is_one = parts.len() == 1;
    for (index, part) in parts.iter_mut().enumerate() {
        if advance(part)? {
            have_times &= part.1.has_absolute_time() || is_one;
            next_events.push(Reverse((part.1.began_ns(), index)));
        }
    }
    if !have_times {
        for part in parts {
            part.1.forget_times();
            deliver(part, on_event);
            while advance(part)? {
                deliver(part, on_event);
            }
        }
        return Ok(());
    }
    while let Some(Reverse((_, index))) = next_events.pop() {
        let until_ns = next_events.peek().map(|Reverse((began_ns, _))| *began_ns);
        let part = &mut parts[index];
        loop {
            deliver(part, on_event);
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
    Ok(())
}

fn deliver((_, reader): &mut Open, on_event: &mut OnEvent) {
    if let Some(event) = reader.event() {
        on_event(Some(event));
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

    #[test]
    fn events_before_an_error_are_delivered() {
        let folder = std::env::temp_dir().join(format!("vectored-error-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, broken, missing) = (folder.join("log"), folder.join("gz"), folder.join("none"));
        std::fs::write(&path, "sync() = 0\n").unwrap();
        // A block of a type that does not exist.
        std::fs::write(&broken, b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x07").unwrap();
        for failing in [missing, broken] {
            let mut delivered = Vec::new();
            let error = read_logs(&[path.clone(), failing.clone()], |event| {
                delivered.push(event.is_some());
            });
            assert_eq!(delivered[..2], [false, true]);
            assert_eq!(error.unwrap_err().path, failing);
        }
        std::fs::remove_dir_all(&folder).unwrap();
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
                    .map(|part| (part.0.to_str().unwrap(), part.1))
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
