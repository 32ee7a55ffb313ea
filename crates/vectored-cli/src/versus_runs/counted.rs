//! Runs whose calls are counted and whose outputs are kept.

use std::fs::{self, File};
use std::io::{self, PipeReader, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use vectored_machine::platform::command_run::{RunError, run};
use vectored_strace::Reader;
use vectored_versus::model::{Difference, File as RunFile, Stdout};
use vectored_versus::{Captured, Counter, capture, difference, sum};

use super::command::{Program, Surroundings};
use crate::strace::{log_pipe, tracer_of_all_calls};

/// What a run did.
pub struct Observed {
    pub status: ExitStatus,
    stdout: Captured,
    stderr: Captured,
    /// The files of `--same`, with their names.
    files: Vec<(String, FileState)>,
    /// Unless calls cannot be counted.
    pub counter: Option<Counter>,
}

/// A file of `--same` after a run.
enum FileState {
    Missing,
    /// The run has not changed it.
    Untouched,
    Written(Captured),
}

/// How runs are counted.
pub struct Counting<'a> {
    pub surroundings: &'a Surroundings,
    pub stdout: Stdout,
    pub same: &'a [PathBuf],
    /// Whether strace works here.
    pub is_traced: bool,
    pub limit: Option<Duration>,
    pub stop: &'a AtomicBool,
}

/// Runs a command under strace, and keeps its outputs.
pub fn observe(program: &Program, counting: &Counting<'_>) -> Result<Observed, RunError> {
    let failed = |what: &str| {
        let what = what.to_owned();
        |error| RunError::Io(what, error)
    };
    let no_pipe = "its output cannot be read";
    let log = if counting.is_traced {
        Some(log_pipe().map_err(failed(no_pipe))?)
    } else {
        None
    };
    let mut words = log
        .as_ref()
        .map_or_else(Vec::new, |(_, writer)| tracer_of_all_calls(writer));
    words.extend(program.words.iter().cloned());
    let input = "its standard input cannot be opened";
    let mut command = counting
        .surroundings
        .command(&words)
        .map_err(failed(input))?;
    let (stderr, stderr_writer) = io::pipe().map_err(failed(no_pipe))?;
    let stdout = match counting.stdout {
        Stdout::File => {
            let file = tempfile::tempfile().map_err(failed("no temporary file can be made"))?;
            command.stdout(file.try_clone().map_err(failed(no_pipe))?);
            Output::File(file)
        }
        Stdout::Null | Stdout::Pipe => {
            let (reader, writer) = io::pipe().map_err(failed(no_pipe))?;
            command.stdout(Stdio::from(writer));
            Output::Pipe(reader)
        }
    };
    command.stderr(Stdio::from(stderr_writer));
    let before: Vec<Option<Identity>> = counting.same.iter().map(|path| identity(path)).collect();
    let (ended, stdout, stderr, counter) = thread::scope(|scope| {
        let stderr = scope.spawn(|| capture(stderr));
        let stdout = scope.spawn(|| stdout.capture_pipe());
        let (reader, writer) = log.map_or((None, None), |(reader, writer)| {
            (Some(reader), Some(writer))
        });
        let counter = reader.map(|reader| scope.spawn(|| count(reader, &program.words)));
        let ended = run(command, counting.limit, counting.stop);
        // strace has opened the pipe, and has ended.
        drop(writer);
        let join = "the threads that read do not panic";
        let counter = counter.map(|thread| thread.join().expect(join));
        (
            ended,
            stdout.join().expect(join),
            stderr.join().expect(join),
            counter,
        )
    });
    let ended = ended?;
    let mut files = Vec::new();
    for (path, before) in counting.same.iter().zip(before) {
        let state = match identity(path) {
            None => FileState::Missing,
            now if now == before => FileState::Untouched,
            _ => {
                let what = format!("'{}' cannot be read", path.display());
                let file = File::open(path).and_then(capture);
                FileState::Written(file.map_err(failed(&what))?)
            }
        };
        files.push((path.display().to_string(), state));
    }
    Ok(Observed {
        status: ended.status,
        stdout: stdout.and_then(Output::whole).map_err(failed(no_pipe))?,
        stderr: stderr.map_err(failed(no_pipe))?,
        files,
        counter: counter
            .transpose()
            .map_err(failed("the log of strace cannot be read"))?,
    })
}

/// Where standard output of a counted run goes.
enum Output {
    File(File),
    Pipe(PipeReader),
    Read(Captured),
}

impl Output {
    /// Reads a pipe to its end, while the command runs.
    fn capture_pipe(self) -> io::Result<Output> {
        Ok(match self {
            Output::Pipe(reader) => Output::Read(capture(reader)?),
            other => other,
        })
    }

    /// All of it, after the end of the command.
    fn whole(self) -> io::Result<Captured> {
        match self {
            Output::File(mut file) => {
                file.rewind()?;
                capture(file)
            }
            Output::Pipe(reader) => capture(reader),
            Output::Read(captured) => Ok(captured),
        }
    }
}

fn count(log: PipeReader, words: &[String]) -> io::Result<Counter> {
    let mut counter = Counter::default();
    let mut reader = Reader::new(log);
    while let Some(event) = reader.next()? {
        counter.follow(&event, words);
    }
    let skipped = reader.counts().skipped();
    counter.skipped_lines = skipped.iter().map(|one| one.lines).sum();
    Ok(counter)
}

/// What changes when a file is written: device, number, size, times.
type Identity = (u64, u64, u64, (i64, i64), (i64, i64));

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    let changed = (found.ctime(), found.ctime_nsec());
    Some((
        found.dev(),
        found.ino(),
        found.size(),
        (found.mtime(), found.mtime_nsec()),
        changed,
    ))
}

/// How two runs differ.
pub fn differences(old: &Observed, new: &Observed) -> Vec<Difference> {
    let status = (old.status != new.status).then(|| {
        format!(
            "{} instead of {}",
            end_in_words(new.status),
            end_in_words(old.status)
        )
    });
    let mut found = vec![
        ("exit status".to_owned(), status),
        (
            "standard output".to_owned(),
            difference(&old.stdout, &new.stdout),
        ),
        (
            "standard error".to_owned(),
            difference(&old.stderr, &new.stderr),
        ),
    ];
    for ((name, old), (_, new)) in old.files.iter().zip(&new.files) {
        let how = match (old, new) {
            (FileState::Written(old), FileState::Written(new)) => difference(old, new),
            (FileState::Missing, FileState::Missing)
            | (FileState::Untouched, FileState::Untouched) => None,
            (_, FileState::Missing) => Some("it does not exist".to_owned()),
            (FileState::Missing, _) => {
                Some("it exists, and does not after a run of old".to_owned())
            }
            (_, FileState::Untouched) => Some("it is not written".to_owned()),
            (FileState::Untouched, _) => Some("it is written, and not by old".to_owned()),
        };
        found.push((format!("file '{name}'"), how));
    }
    let found = found.into_iter();
    found
        .filter_map(|(of, how)| Some(Difference { of, how: how? }))
        .collect()
}

/// `exit status 0`, `signal 11 (SIGSEGV)`.
pub fn end_in_words(status: ExitStatus) -> String {
    status
        .to_string()
        .replace("exit status: ", "exit status ")
        .replace("signal: ", "signal ")
}

/// The files of a counter with their sums; devices and folders are left out. Relative paths are those of a program that is in
/// `directory`.
pub fn files(counter: &Counter, directory: Option<&Path>) -> Vec<RunFile> {
    let files = counter.files.iter().filter_map(|(path, as_what)| {
        let found = directory.map_or_else(|| PathBuf::from(path), |directory| directory.join(path));
        if fs::metadata(&found).is_ok_and(|found| !found.is_file()) {
            return None;
        }
        let sum = File::open(&found).and_then(|file| sum(file, |_| {}));
        Some(RunFile {
            path: path.clone(),
            as_what: *as_what,
            sha256: sum.ok(),
        })
    });
    files.collect()
}
