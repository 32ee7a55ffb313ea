//! Runs whose calls are counted and whose outputs are kept.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, PipeReader, Read as _, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use vectored_machine::platform::command_run::{LEFT_BEHIND_LIMIT, RunError, run};
use vectored_report::words::{enumerated, grouped};
use vectored_strace::Reader;
use vectored_versus::model::{Difference, File as RunFile, Stdout};
use vectored_versus::{
    Captured, Counter, Stacks, Varying, capture, difference, stacks, sum, varying,
};

use super::command::{Program, Surroundings, discarded};
use crate::strace::{log_pipe, tracer_of_all_calls, tracer_of_stacks};

/// The most varying lines that are named. Further ones are only counted.
const NAMED_LINES: usize = 5;

/// What a run did.
pub struct Observed {
    pub status: ExitStatus,
    /// Standard output, standard error and the files of `--same`, with their names.
    outputs: Vec<(String, State)>,
    /// `None` if calls cannot be counted.
    pub counter: Option<Counter>,
}

/// An output after a run.
enum State {
    Missing,
    /// The run has not changed it.
    Untouched,
    Written(Written),
}

struct Written {
    whole: Captured,
    /// What follows the earlier bytes of the file, if they are still there: the run appended it, or wrote everything
    /// anew.
    appended: Option<Captured>,
}

impl Observed {
    /// The last line of standard error.
    pub fn last_error(&self) -> String {
        let output = self.written("standard error");
        output.map_or_else(String::new, |output| output.whole.last_line())
    }

    fn written(&self, name: &str) -> Option<&Written> {
        let found = self.outputs.iter().find(|(known, _)| known == name);
        match found {
            Some((_, State::Written(output))) => Some(output),
            _ => None,
        }
    }

    /// The outputs that the run has written.
    pub fn all_written(&self) -> impl Iterator<Item = &str> {
        let written = self
            .outputs
            .iter()
            .filter(|(_, state)| matches!(state, State::Written(_)));
        written.map(|(name, _)| &**name)
    }
}

/// How runs are counted.
pub struct Counting<'a> {
    pub surroundings: &'a Surroundings,
    pub stdout: Stdout,
    pub same: &'a [PathBuf],
    /// Whether strace works here.
    pub is_traced: bool,
    pub limit: Option<Duration>,
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// Why an output of a run is unknown.
const UNREAD: &str = "its output cannot be read";

fn failed(what: &str) -> impl FnOnce(io::Error) -> RunError + use<> {
    let what = what.to_owned();
    |error| RunError::Io(what, error)
}

/// Runs a command under strace, and keeps its outputs.
pub fn observe(program: &Program, counting: &Counting<'_>) -> Result<Observed, RunError> {
    let log = counting.is_traced.then(log_pipe).transpose();
    let log = log.map_err(failed(UNREAD))?;
    let mut words = log
        .as_ref()
        .map_or_else(Vec::new, |(_, writer)| tracer_of_all_calls(writer));
    words.extend(program.words.iter().cloned());
    let command = counting.surroundings.command(&words);
    let mut command = command.map_err(failed("its standard input cannot be opened"))?;
    let (stderr, writer) = io::pipe().map_err(failed(UNREAD))?;
    command.stderr(writer);
    let (stdout, file) = if let Stdout::File = counting.stdout {
        let file = tempfile::tempfile().map_err(failed("no temporary file can be made"))?;
        command.stdout(file.try_clone().map_err(failed(UNREAD))?);
        (None, Some(file))
    } else {
        let (reader, writer) = io::pipe().map_err(failed(UNREAD))?;
        command.stdout(writer);
        (Some(reader), None)
    };
    let named = counting.surroundings.named(program);
    let same = counting.same.iter();
    let before: Vec<_> = same.map(|path| (identity(path), held(path))).collect();
    let read = thread::scope(|scope| {
        let stderr = started(scope, || capture(stderr))?;
        let stdout = started(scope, || stdout.map(capture).transpose())?;
        let (reader, writer) = log.unzip();
        let counter = started(scope, || reader.map(|log| count(log, &named)).transpose())?;
        let ended = run(
            command,
            counting.limit,
            LEFT_BEHIND_LIMIT,
            counting.is_stopped,
        );
        // strace has opened the pipe, and has ended.
        drop(writer);
        Ok((ended, joined(stdout), joined(stderr), joined(counter)))
    });
    let (ended, stdout, stderr, counter) = read?;
    let status = ended?.status;
    let written = |output: io::Result<Captured>| {
        let whole = output.map_err(failed(UNREAD))?;
        let appended = None;
        Ok::<_, RunError>(State::Written(Written { whole, appended }))
    };
    let stdout = match file {
        Some(mut file) => file.rewind().and_then(|()| capture(file)),
        None => stdout.map(|piped| piped.expect("it is a pipe or a file")),
    };
    let mut outputs = vec![
        ("standard output".to_owned(), written(stdout)?),
        ("standard error".to_owned(), written(stderr)?),
    ];
    for (path, (before, held)) in counting.same.iter().zip(before) {
        outputs.push((name_of(path), state(path, before, held)?));
    }
    let counter = counter.map_err(failed("the log of strace cannot be read"))?;
    Ok(Observed {
        status,
        outputs,
        counter,
    })
}

/// Runs a command under `strace -k`, and counts the stacks of these calls.
pub fn observe_stacks(
    program: &Program,
    calls: &[String],
    counting: &Counting<'_>,
) -> Result<Stacks, RunError> {
    let unread = || failed("the log of strace cannot be read");
    let (reader, writer) = log_pipe().map_err(unread())?;
    let mut words = tracer_of_stacks(calls, &writer);
    words.extend(program.words.iter().cloned());
    let command = counting.surroundings.command(&words);
    let mut command = command.map_err(failed("its standard input cannot be opened"))?;
    let stdout = discarded(counting.stdout);
    command.stdout(stdout.map_err(failed("no file or pipe can be made for its output"))?);
    thread::scope(|scope| {
        let found = started(scope, || stacks(BufReader::new(reader)))?;
        let ended = run(
            command,
            counting.limit,
            LEFT_BEHIND_LIMIT,
            counting.is_stopped,
        );
        drop(writer);
        let found = joined(found).map_err(unread());
        ended?;
        found
    })
}

fn started<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    read: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, RunError> {
    let thread = Builder::new().spawn_scoped(scope, read);
    thread.map_err(failed("no thread can be started"))
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().expect("the threads that read do not panic")
}

/// The file of a path after a run, by what it was before.
fn state(
    path: &Path,
    before: Option<Identity>,
    held: Option<(u64, String)>,
) -> Result<State, RunError> {
    // To open a FIFO would wait for a writer.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let what = format!("'{}' cannot be compared", path.display());
        return Err(failed(&what)(io::Error::other("it is no regular file")));
    }
    Ok(match identity(path) {
        None => State::Missing,
        now if now == before => State::Untouched,
        _ => {
            let what = format!("'{}' cannot be read", path.display());
            State::Written(written(path, held).map_err(failed(&what))?)
        }
    })
}

fn count(log: PipeReader, named: &[PathBuf]) -> io::Result<Counter> {
    let mut counter = Counter::default();
    let mut reader = Reader::new(log);
    while let Some(event) = reader.next()? {
        counter.follow(&event, named);
    }
    let skipped = reader.counts().skipped();
    counter.skipped_lines = skipped.iter().map(|one| one.lines).sum();
    Ok(counter)
}

/// The name of a file of `--same` among the outputs.
pub fn name_of(path: &Path) -> String {
    format!("file '{}'", path.display())
}

/// What changes when a file is written: device, number, size, times.
pub type Identity = (u64, u64, u64, (i64, i64), (i64, i64));

pub fn identity(path: &Path) -> Option<Identity> {
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

/// The number of bytes in a file before a run, and their SHA-256 sum; `None` if it is no regular file or cannot be read.
fn held(path: &Path) -> Option<(u64, String)> {
    // To open a FIFO would wait for a writer.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = 0;
    let sum = sum(File::open(path).ok()?, |read| bytes += read.len() as u64).ok()?;
    Some((bytes, sum))
}

/// What a run wrote to a file that held these bytes before.
fn written(path: &Path, held: Option<(u64, String)>) -> io::Result<Written> {
    let mut file = File::open(path)?;
    let (bytes, before) = held.unwrap_or_default();
    let is_longer = bytes > 0 && file.metadata()?.len() > bytes;
    let begins_so = is_longer && sum((&mut file).take(bytes), |_| ())? == before;
    let appended = if begins_so { Some(capture(&file)?) } else { None };
    file.rewind()?;
    let whole = capture(file)?;
    let appended = if bytes == 0 { Some(whole.clone()) } else { appended };
    Ok(Written { whole, appended })
}

impl Written {
    /// What is compared of two runs: what both appended, unless all of both is equal.
    fn beside<'a>(&'a self, other: &'a Written) -> (&'a Captured, &'a Captured) {
        match (&self.appended, &other.appended) {
            (Some(one), Some(another)) if self.whole != other.whole => (one, another),
            _ => (&self.whole, &other.whole),
        }
    }
}

/// What differs between runs of the old command, by the name of the output.
pub type Unstable = BTreeMap<String, Varying>;

/// What differs between a run of the old command and others of it.
pub fn unstable<'a>(old: &Observed, others: impl IntoIterator<Item = &'a Observed>) -> Unstable {
    let mut all = Unstable::new();
    for other in others {
        for Difference { of, .. } in differences(old, other, &Unstable::new()) {
            let outputs = old.written(&of).zip(other.written(&of));
            let varies = outputs.and_then(|(old, other)| {
                let (old, other) = old.beside(other);
                varying(old, other)
            });
            let varies = varies.unwrap_or(Varying::All);
            all.entry(of)
                .and_modify(|known| known.join(&varies))
                .or_insert(varies);
        }
    }
    all
}

/// `lines 3 and 7 of standard output`.
pub fn unstable_in_words(unstable: &Unstable) -> Vec<String> {
    let in_words = |(of, varying): (&String, &Varying)| match varying {
        Varying::All => of.clone(),
        Varying::Order => format!("the order of the lines of {of}"),
        Varying::Numbers => format!("the numbers in {of}"),
        Varying::Lines(lines) if lines.len() > NAMED_LINES => {
            format!("{} lines of {of}", grouped(lines.len() as u64))
        }
        Varying::Lines(lines) => {
            let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
            let noun = if lines.len() == 1 { "line" } else { "lines" };
            format!("{noun} {} of {of}", enumerated(&numbers))
        }
    };
    unstable.iter().map(in_words).collect()
}

/// How the outputs of two runs differ, but for what is unstable.
pub fn differences(old: &Observed, new: &Observed, unstable: &Unstable) -> Vec<Difference> {
    let mut found = Vec::new();
    for ((name, old), (_, new)) in old.outputs.iter().zip(&new.outputs) {
        let how = match (old, new) {
            (State::Written(old), State::Written(new)) => {
                let (old, new) = old.beside(new);
                match unstable.get(name) {
                    Some(varying) => {
                        difference(&old.without(varying), &new.without(varying)).map(|how| {
                            how + match varying {
                                Varying::Order => ", of the sorted lines",
                                Varying::Numbers => ", with 0 for each number",
                                Varying::Lines(_) | Varying::All => "",
                            }
                        })
                    }
                    None => difference(old, new),
                }
            }
            (State::Missing, State::Missing) | (State::Untouched, State::Untouched) => None,
            (_, State::Missing) => Some("it does not exist".to_owned()),
            (State::Missing, _) => Some("it exists, and does not after a run of old".to_owned()),
            (_, State::Untouched) => Some("it is not written".to_owned()),
            (State::Untouched, _) => Some("it is written, and not by old".to_owned()),
        };
        found.push((name.clone(), how));
    }
    let found = found.into_iter();
    found
        .filter(|(of, _)| unstable.get(of) != Some(&Varying::All))
        .filter_map(|(of, how)| Some(Difference { of, how: how? }))
        .collect()
}

/// The files of a counter with their sums; devices and folders are left out. Relative paths belong to a program that is in
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
