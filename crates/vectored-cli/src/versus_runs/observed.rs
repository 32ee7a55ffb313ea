//! The commands, and counted runs with their outputs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, PipeReader, Read as _, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use vectored_machine::platform::command_run::RunError;
use vectored_report::sort::sort;
use vectored_report::words::{enumerated, grouped};
use vectored_strace::Reader;
use vectored_versus::model::{Difference, File as RunFile, Side, Stdout};
use vectored_versus::{
    Captured, Counter, Stacks, Varying, capture, difference, split, stacks, sum, varying,
};

use crate::args::VersusArgs;
use crate::failure::Failure;
use crate::strace::{self, log_pipe, path_of, stack_tracer, tracer};

/// The largest number of varying lines that a message names.
const NAMED_LINES: usize = 5;

pub struct Program {
    pub name: String,
    pub typed: String,
    pub words: Vec<String>,
}

impl Program {
    /// With `shell`, the shell gets the command as one word.
    pub fn new(name: String, typed: &str, shell: Option<&str>) -> Result<Self, Failure> {
        let words = match shell {
            Some(shell) => vec![shell.to_owned(), "-c".to_owned(), typed.to_owned()],
            None => split(typed)
                .map_err(|error| Failure::usage(format!("cannot run '{typed}': {error}")))?,
        };
        strace::find(words[0].as_ref())?;
        Ok(Program {
            name,
            typed: typed.to_owned(),
            words,
        })
    }

    /// Returns canonical paths of the files that the command names. With a shell, the words of the shell command are
    /// searched.
    fn named(&self) -> Vec<PathBuf> {
        let words = self.typed.split(|c: char| " \t\n'\"|<>;&()".contains(c));
        let words = words.chain(self.words.iter().map(String::as_str));
        words
            .filter_map(|word| fs::canonicalize(word).ok())
            .collect()
    }
}

/// The outputs of the command go to `/dev/null`.
pub fn command(words: &[String], input: Option<&PathBuf>) -> io::Result<Command> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.stdin(match input {
        Some(path) => File::open(path)?.into(),
        None => Stdio::null(),
    });
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

pub fn discarded(stdout: Stdout) -> io::Result<Stdio> {
    Ok(match stdout {
        Stdout::Null => Stdio::null(),
        // A file without a name disappears with its last descriptor.
        Stdout::File => tempfile::tempfile()?.into(),
        Stdout::Pipe => {
            let (mut reader, writer) = io::pipe()?;
            thread::Builder::new().spawn(move || {
                let mut buffer = vec![0; 64 << 10];
                while reader.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
            })?;
            writer.into()
        }
    })
}

pub struct Observed {
    pub status: ExitStatus,
    /// Standard output, standard error, and the files of `--same`, each with its name.
    outputs: Vec<(String, State)>,
    /// `None` if calls cannot be counted.
    pub counter: Option<Counter>,
}

enum State {
    Missing,
    /// The run did not change the file.
    Untouched,
    Written(Captured),
}

impl Observed {
    pub fn last_error(&self) -> String {
        let output = self.written("standard error");
        output.map_or_else(String::new, Captured::last_line)
    }

    pub fn written(&self, name: &str) -> Option<&Captured> {
        match self.outputs.iter().find(|(known, _)| known == name) {
            Some((_, State::Written(output))) => Some(output),
            _ => None,
        }
    }
}

fn failed(error: io::Error) -> RunError {
    RunError::Io(
        "what it reads and writes cannot be handled".to_owned(),
        error,
    )
}

/// `run` runs the program and returns its end.
pub fn observe(
    program: &Program,
    args: &VersusArgs,
    is_traced: bool,
    run: impl FnOnce(Command) -> Result<ExitStatus, RunError>,
) -> Result<Observed, RunError> {
    let log = is_traced.then(log_pipe).transpose().map_err(failed)?;
    let traced = log
        .as_ref()
        .map(|(_, writer)| tracer(&path_of(writer), false));
    let words = [&traced.unwrap_or_default()[..], &program.words].concat();
    let mut command = command(&words, args.input.as_ref()).map_err(failed)?;
    let (stderr, writer) = io::pipe().map_err(failed)?;
    command.stderr(writer);
    let (mut piped, mut file) = (None, None);
    if let Stdout::File = args.stdout {
        let temporary = tempfile::tempfile().map_err(failed)?;
        command.stdout(temporary.try_clone().map_err(failed)?);
        file = Some(temporary);
    } else {
        let (reader, writer) = io::pipe().map_err(failed)?;
        command.stdout(writer);
        piped = Some(reader);
    }
    let before: Vec<_> = args.same.iter().map(|path| identity(path)).collect();
    let named = program.named();
    let (ended, stdout, stderr, counter) = thread::scope(|scope| {
        let stderr = scope.spawn(|| capture(stderr));
        let stdout = scope.spawn(|| piped.map(capture).transpose());
        let (log, writer) = log.unzip();
        let counter = scope.spawn(|| log.map(|log| count(log, &named)).transpose());
        let ended = run(command);
        // strace has opened the pipe and has ended.
        drop(writer);
        let why = "the threads that read do not panic";
        (
            ended,
            stdout.join().expect(why),
            stderr.join().expect(why),
            counter.join().expect(why),
        )
    });
    let status = ended?;
    let stdout = match file {
        Some(mut file) => file.rewind().and_then(|()| capture(file)),
        None => stdout.map(|captured| captured.expect("it is a pipe or a file")),
    };
    let mut outputs = vec![
        (
            "standard output".to_owned(),
            State::Written(stdout.map_err(failed)?),
        ),
        (
            "standard error".to_owned(),
            State::Written(stderr.map_err(failed)?),
        ),
    ];
    for (path, before) in std::iter::zip(&args.same, before) {
        outputs.push((name_of(path), state(path, before)?));
    }
    Ok(Observed {
        status,
        outputs,
        counter: counter.map_err(failed)?,
    })
}

/// `run` runs the program under `strace -k`. The function counts the stacks of the named calls.
pub fn stacks_of(
    program: &Program,
    args: &VersusArgs,
    calls: &[String],
    run: impl FnOnce(Command) -> Result<ExitStatus, RunError>,
) -> Result<Stacks, RunError> {
    let (reader, writer) = log_pipe().map_err(failed)?;
    let words = [&stack_tracer(&path_of(&writer), calls)[..], &program.words].concat();
    let mut command = command(&words, args.input.as_ref()).map_err(failed)?;
    command.stdout(discarded(args.stdout).map_err(failed)?);
    thread::scope(|scope| {
        let found = scope.spawn(|| stacks(BufReader::new(reader)));
        let ended = run(command);
        drop(writer);
        let found = found.join().expect("the thread that reads does not panic");
        ended?;
        found.map_err(failed)
    })
}

fn state(path: &Path, before: Option<Identity>) -> Result<State, RunError> {
    let what = format!("'{}' cannot be compared", path.display());
    // open(2) of a FIFO would block.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(RunError::Io(
            what,
            io::Error::other("it is no regular file"),
        ));
    }
    Ok(match identity(path) {
        None => State::Missing,
        now if now == before => State::Untouched,
        _ => {
            let captured = File::open(path).and_then(capture);
            State::Written(captured.map_err(|error| RunError::Io(what, error))?)
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

pub fn name_of(path: &Path) -> String {
    format!("file '{}'", path.display())
}

/// A write changes one of these values: device, inode, size, modification time, change time.
pub type Identity = (u64, u64, u64, (i64, i64), (i64, i64));

pub fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    let changed = (found.ctime(), found.ctime_nsec());
    let modified = (found.mtime(), found.mtime_nsec());
    Some((found.dev(), found.ino(), found.size(), modified, changed))
}

/// The varying parts of the old command's outputs, by the name of the output.
pub type Unstable = BTreeMap<String, Varying>;

/// Compares one run of the old command with its other runs.
pub fn unstable<'a>(old: &Observed, others: impl IntoIterator<Item = &'a Observed>) -> Unstable {
    let mut all = Unstable::new();
    for other in others {
        for Difference { of, .. } in differences(old, other, &Unstable::new()) {
            let outputs = old.written(&of).zip(other.written(&of));
            let varies = outputs.and_then(|(old, other)| varying(old, other));
            let varies = varies.unwrap_or(Varying::All);
            all.entry(of)
                .and_modify(|known| known.join(&varies))
                .or_insert(varies);
        }
    }
    all
}

/// For example `lines 3 and 7 of standard output`.
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

/// The parts in `unstable` are ignored.
pub fn differences(old: &Observed, new: &Observed, unstable: &Unstable) -> Vec<Difference> {
    let pairs = std::iter::zip(&old.outputs, &new.outputs);
    let found = pairs.filter_map(|((of, old), (_, new))| {
        let how = match (old, new, unstable.get(of)) {
            (_, _, Some(Varying::All)) => return None,
            (State::Written(old), State::Written(new), None) => difference(old, new)?,
            (State::Written(old), State::Written(new), Some(varying)) => {
                let how = difference(&old.without(varying), &new.without(varying))?;
                how + match varying {
                    Varying::Order => ", of the sorted lines",
                    Varying::Numbers => ", with 0 for each number",
                    Varying::Lines(_) | Varying::All => "",
                }
            }
            (State::Missing, State::Missing, _) | (State::Untouched, State::Untouched, _) => {
                return None;
            }
            (_, State::Missing, _) => "it does not exist".to_owned(),
            (State::Missing, ..) => "it exists, and does not after a run of old".to_owned(),
            (_, State::Untouched, _) => "it is not written".to_owned(),
            (State::Untouched, ..) => "it is written, and not by old".to_owned(),
        };
        Some(Difference {
            of: of.clone(),
            how,
        })
    });
    found.collect()
}

/// Devices and directories are omitted.
pub fn files(counter: &Counter) -> Vec<RunFile> {
    let files = counter.files.iter().filter_map(|(path, as_what)| {
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return None;
        }
        let sum = File::open(path).and_then(|file| sum(file, |_| {}));
        Some(RunFile {
            path: path.clone(),
            as_what: *as_what,
            sha256: sum.ok(),
        })
    });
    files.collect()
}

pub fn sums(side: &Side) -> Vec<Option<&String>> {
    let mut sums: Vec<_> = side.files.iter().map(|file| file.sha256.as_ref()).collect();
    sort(&mut sums);
    sums.dedup();
    sums
}

/// Returns true only if the contents of all files are known.
pub fn same_files(one: &Side, other: &Side) -> bool {
    let [one, other] = [one, other].map(sums);
    one == other && !one.is_empty() && !one.contains(&None)
}
