//! Reads logs in one thread and hands their items over in another.

mod input;
mod log_files;
mod pipeline;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread;

use crate::counts::Counts;
use crate::event_sink::{Each, EventSink};
use crate::files::log_files::read_all;
use crate::files::pipeline::ahead;
use crate::item::{Item, LogError};

/// Reads each log from its beginning to its end, and tells `follow` what is in it.
///
/// `-` is standard input. Files `PREFIX.12`, `PREFIX.34` are one log, as `strace -ff -o PREFIX`
/// writes it: of the threads 12 and 34, ordered by the beginnings of the calls if they have times,
/// else file by file. What `gzip` compressed is read as it was, and with their programs what `xz`, `zstd`
/// and `bzip2` did.
///
/// The logs are read in a thread of their own, a little ahead of `follow`, which is called in this
/// one.
///
/// Returns what was read of all logs together.
///
/// # Errors
///
/// The first file that cannot be opened or read, whose compression is broken, or that another program
/// wrote: `perf trace`, or `strace -c`. A log that only ends too early is no error.
pub fn read_logs(
    paths: &[PathBuf],
    follow: impl FnMut(Item<'_>) -> ControlFlow<()>,
) -> Result<Counts, LogError> {
    read_logs_to(paths, &mut Each(follow))
}

/// As [`read_logs`], for a sink that has a shorter way for the most common calls.
///
/// # Errors
///
/// As [`read_logs`].
pub fn read_logs_to(paths: &[PathBuf], follower: &mut impl EventSink) -> Result<Counts, LogError> {
    let Some(first) = paths.first() else {
        return Ok(Counts::default());
    };
    let (mut ahead, behind) = ahead();
    thread::scope(|scope| {
        let reading = thread::Builder::new()
            .spawn_scoped(scope, move || read_all(paths, &mut ahead))
            .map_err(|error| LogError {
                path: first.clone(),
                error,
            })?;
        let showed = behind.follow(follower);
        let mut counts = match reading.join() {
            Ok(counts) => counts?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        counts.add(&showed);
        Ok(counts)
    })
}
