//! Logs in files: reading in one thread, delivery to the sink in another.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread;

use crate::counts::Counts;
use crate::error::LogError;
use crate::event_sink::{EventSink, FnSink, Item};

mod input;
mod log_files;
mod pipeline;

/// Reads each log from beginning to end and calls `on_item` for each item.
///
/// The path `-` is standard input. Files `PREFIX.12` and `PREFIX.34`, as `strace -ff -o PREFIX` writes them, are the
/// parts of one log, of the threads 12 and 34: their events are ordered by the time at which calls began or, without
/// absolute times, file by file. Files compressed by gzip are decompressed here, those by xz, zstd and bzip2 by these
/// programs.
///
/// Parsing runs in a thread of its own, a few thousand events ahead. `on_item` is called in the caller's thread; it
/// stops reading by returning [`ControlFlow::Break`].
///
/// Returns the counts of all logs together, as far as they were read.
///
/// # Errors
///
/// The first file that cannot be opened or read, cannot be decompressed, or was written by another program
/// (`perf trace`, or `strace -c` alone). Events before the error are delivered. A log that ends too early is no error:
/// see [`Counts::truncated`].
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
    on_item: impl FnMut(Item<'_>) -> ControlFlow<()>,
) -> Result<Counts, LogError> {
    read_logs_to(paths, &mut FnSink(on_item))
}

/// Reads logs as [`read_logs`] does, into a sink, which may receive the most common calls without a copy.
///
/// # Errors
///
/// The errors of [`read_logs`].
pub fn read_logs_to(paths: &[PathBuf], sink: &mut impl EventSink) -> Result<Counts, LogError> {
    let Some(first) = paths.first() else {
        return Ok(Counts::default());
    };
    let (mut producer, consumer) = pipeline::new();
    thread::scope(|scope| {
        let reading = thread::Builder::new()
            .spawn_scoped(scope, move || log_files::read_all(paths, &mut producer))
            .map_err(|error| LogError {
                path: first.clone(),
                error,
            })?;
        let of_arguments = consumer.deliver(sink);
        let mut counts = match reading.join() {
            Ok(counts) => counts?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        counts.add(&of_arguments);
        Ok(counts)
    })
}
