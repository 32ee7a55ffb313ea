//! Logs in files.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::counts::Counts;
use crate::error::LogError;
use crate::event::Event;

mod input;
mod log_files;

/// An item of a log.
#[derive(Debug)]
// An item is passed on and matched, never kept: boxing each event would cost more than moving it.
#[expect(clippy::large_enum_variant)]
pub enum Item<'a> {
    /// A log begins. No thread or descriptor of an earlier log goes on.
    Begin,
    /// A system call, a signal, or the end of a thread.
    Event(Event<'a>),
    /// The log ends, with the counts of its lines.
    End(&'a Counts),
}

/// Reads each log from beginning to end and calls `on_item` for each item.
///
/// The path `-` is standard input. Files `PREFIX.12` and `PREFIX.34`, as `strace -ff -o PREFIX` writes them, are the
/// parts of one log, of the threads 12 and 34: their events are ordered by the time at which calls began or, without
/// absolute times, file by file. Files compressed by gzip are decompressed. Logs of `perf trace`, `perf script` and bpftrace
/// are read as [`Rewritten`](crate::Rewritten).
///
/// `on_item` stops it by returning [`ControlFlow::Break`].
///
/// Returns the counts of all logs together, as far as they were read.
///
/// # Errors
///
/// The first file that cannot be opened or read, is compressed but not by gzip, is in UTF-16, or has a table alone
/// (`strace -c`, `perf trace -s`). Events before the error are delivered. A log that ends too early is no error: see
/// [`Counts::truncated`].
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use vectored_strace::{Item, read_logs};
///
/// let path = std::env::temp_dir().join(format!("strace-example-{}", std::process::id()));
/// std::fs::write(&path, "7 sync() = 0\n7 close(3) = 0\n")?;
/// let mut names = Vec::new();
/// let counts = read_logs(std::slice::from_ref(&path), |item| {
///     if let Item::Event(event) = item {
///         names.push(String::from_utf8_lossy(event.name).into_owned());
///     }
///     ControlFlow::Continue(())
/// });
/// std::fs::remove_file(&path)?;
/// assert_eq!(counts?.calls, 2);
/// assert_eq!(names, ["sync", "close"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_logs(
    paths: &[PathBuf],
    mut on_item: impl FnMut(Item<'_>) -> ControlFlow<()>,
) -> Result<Counts, LogError> {
    log_files::read_all(paths, &mut on_item)
}

/// Receives items; a break ends reading.
type OnItem<'s> = dyn FnMut(Item<'_>) -> ControlFlow<()> + 's;
