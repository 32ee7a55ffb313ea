//! Connects the advisor to log files, to strace and to prices.

use std::collections::HashSet;
use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl};
use vectored_advise::advisor::{
    Analysis, Options, Seen as SeenFile, Tallies, advise, interprets_others, merge, operation_of,
    runtime_of_executable, unescaped,
};
use vectored_advise::model::{Advisory, Runtime, Skipped, Watched};
use vectored_live::Seen;
use vectored_machine::MonotonicClock;
use vectored_machine::host::{Environment, allowed_cpus};
use vectored_machine::model::{DescriptorKind, Host, Operation, Price};
use vectored_measure::measure::{check_directory, measure_prices};
use vectored_results::model::Target;
use vectored_strace::event::Action;
use vectored_strace::{Counts, Event};

use crate::failure::Failure;
use crate::notes::Notes;
use crate::proof::Ran;
use crate::results_store::unmatched;
use crate::strace;

pub enum Costs {
    /// A saved result, with its name as typed.
    Saved(Box<Advisory>, String),
    Measured(PathBuf),
}

impl Costs {
    /// The costs will be measured with files in `directory`. The default is the working directory.
    pub fn measured(directory: Option<&Path>) -> Result<Self, Failure> {
        let Some(directory) = directory else {
            return Ok(Costs::Measured(PathBuf::from(".")));
        };
        check_directory(directory, Target::File, 0).map_err(Failure::of_directory)?;
        Ok(Costs::Measured(directory.to_owned()))
    }
}

pub struct Observed {
    tallies: Tallies,
    pub ran: Ran,
    /// What is known about the run, without its calls.
    pub about: Advisory,
}

impl Observed {
    fn new(analysis: Analysis, counts: &Counts) -> Self {
        Observed {
            tallies: analysis.finish(),
            ran: Ran::default(),
            about: Advisory {
                skipped: counts.skipped().into_iter().map(Skipped::from).collect(),
                complete: !counts.truncated,
                ..Advisory::default()
            },
        }
    }
}

/// Reads the files. `-` is standard input.
pub fn follow_logs(paths: &[PathBuf], options: Options) -> Result<Observed, Failure> {
    let mut analysis = Analysis::new(options);
    let counts = analysis.read_logs(paths).map_err(|error| {
        let kind = error.error.kind();
        let remedy = match (command_meant(paths, &error.path), kind) {
            (Some(to_run), ErrorKind::NotFound) => to_run,
            // The message of this error contains the remedy.
            (_, ErrorKind::Unsupported | ErrorKind::InvalidData) => String::new(),
            _ => format!(
                "{}; expected a log that strace -o wrote",
                unmatched(&error.path, &error.error)
            ),
        };
        Failure {
            error: anyhow::anyhow!("{error}{remedy}"),
            code: match kind {
                ErrorKind::NotFound | ErrorKind::IsADirectory => 2,
                _ => 1,
            },
        }
    })?;
    if counts.calls == 0 {
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(anyhow::anyhow!(
            "no system calls in '{}': expected a log that `strace -f -s1 -v -yy -ttt -T -o FILE COMMAND` wrote{}",
            names.join("', '"),
            command_meant(paths, &paths[0]).unwrap_or_default()
        )
        .into());
    }
    Ok(Observed::new(analysis, &counts))
}

/// The first word of `vectored advise python3 x.py` is a program and not a log. The hint is then `vectored advise --
/// python3 x.py`.
fn command_meant(paths: &[PathBuf], not_read: &Path) -> Option<String> {
    let first = paths.first().filter(|first| *first == not_read)?;
    strace::find(first.as_os_str()).ok()?;
    let words = paths.iter().map(|path| path.display().to_string());
    let words: Vec<String> = words.collect();
    Some(format!(
        "; to run it as a command, put -- before it: vectored advise -- {}",
        words.join(" ")
    ))
}

pub struct Follower {
    analysis: Analysis,
    programs: HashSet<Vec<u8>>,
    accepted: u64,
    connected: u64,
}

impl Follower {
    pub fn new(options: Options) -> Follower {
        Follower {
            analysis: Analysis::new(options),
            programs: HashSet::new(),
            accepted: 0,
            connected: 0,
        }
    }

    /// Records the state that a command inherits from this process.
    pub fn begin_here(&mut self) {
        let standard = (io::stdin(), io::stdout(), io::stderr());
        let standard = [standard.0.as_fd(), standard.1.as_fd(), standard.2.as_fd()];
        for (number, own) in standard.into_iter().enumerate() {
            let descriptor = format!("/proc/self/fd/{number}");
            if look(descriptor.as_bytes()).is_some_and(|seen| seen.is_fifo)
                && let Ok(name) = fs::read_link(&descriptor)
            {
                self.analysis.name_fifo(name.as_os_str().as_bytes());
            }
            if fcntl_getfl(own).is_ok_and(|flags| !flags.contains(OFlags::APPEND)) {
                self.analysis.own_standard(number);
            }
        }
        // strace escapes other characters. If the directory is unknown, the open of a relative path shows the
        // directory.
        let here = env::current_dir().unwrap_or_default();
        let here = here.as_os_str().as_bytes();
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !b"\"\\<>".contains(byte);
        if here.iter().all(is_plain) {
            self.analysis.begin_in(here);
        }
    }

    pub fn follow(&mut self, event: &Event<'_>) {
        if let Action::Execute { program } = event.action {
            let program = self.analysis.path_of(event.thread, program);
            if !self.programs.contains(&program) {
                if let Some(runtime) = runtime_of(&unescaped(&program)) {
                    self.analysis.name_runtime(&program, runtime);
                }
                self.programs.insert(program);
            }
        }
        match event.action {
            Action::Socket { from: Some(_), .. } => self.accepted += 1,
            Action::Connect { .. } => self.connected += 1,
            _ => {}
        }
        self.analysis.follow(event);
    }

    pub fn watched(self, seen: &Seen) -> Observed {
        let mut observed = self.finish(&Counts::default());
        observed.about.watch = Some(Watched {
            wall_s: seen.wall.as_secs_f64(),
            cpu_s: seen.cpu.as_secs_f64(),
            lost: seen.lost,
        });
        observed
    }

    pub fn finish(self, counts: &Counts) -> Observed {
        let accepts = self.accepted > self.connected;
        let programs = self.programs.iter().map(|path| unescaped(path)).collect();
        let mut observed = Observed::new(self.analysis, counts);
        observed.ran = Ran::here(mem::take(&mut observed.tallies.files), programs, accepts);
        observed
    }
}

fn runtime_of(program: &Path) -> Option<Runtime> {
    if interprets_others(program.as_os_str().as_bytes()) {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(program).ok()?;
    file.take(MOST_PROGRAM_BYTES).read_to_end(&mut bytes).ok()?;
    runtime_of_executable(&bytes)
}

const MOST_PROGRAM_BYTES: u64 = 32 << 20;

/// Returns the file at a path on this machine. A log of strace contains neither the kind nor other names of a file.
pub fn look(path: &[u8]) -> Option<SeenFile> {
    let metadata = fs::metadata(unescaped(path)).ok()?;
    Some(SeenFile {
        inode: (metadata.dev(), metadata.ino()),
        is_fifo: metadata.file_type().is_fifo(),
    })
}

/// Prices the findings. Findings without a price are listed and not counted, and a note gives the reason.
pub fn conclude(observed: Observed, costs: &Costs, notes: &Notes) -> Advisory {
    let mut wanted: Vec<(DescriptorKind, Operation)> = Vec::new();
    let tallies = &observed.tallies;
    for (key, _) in tallies.counted() {
        let price = (key.target, operation_of(key));
        if !wanted.contains(&price) {
            wanted.push(price);
        }
    }
    let counted = wanted.len();
    for (key, tally) in tallies.listed() {
        let price = (key.target, operation_of(key));
        let has_price = !matches!(
            key.target,
            DescriptorKind::Datagram | DescriptorKind::Unknown
        );
        if has_price && tally.calls >= MIN_LISTED_CALLS && !wanted.contains(&price) {
            wanted.push(price);
        }
    }
    let (host, prices) = prices(costs, &wanted, counted, notes);
    let about = Advisory {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        ..observed.about
    };
    advise(observed.tallies, &prices, about)
}

/// The smallest number of calls of a listed pattern whose price is measured.
const MIN_LISTED_CALLS: u64 = 100;

/// The first `counted` kinds need a price.
fn prices(
    costs: &Costs,
    wanted: &[(DescriptorKind, Operation)],
    counted: usize,
    notes: &Notes,
) -> (Host, Vec<Price>) {
    let (host, prices, missing) = match costs {
        Costs::Saved(advisory, name) => (
            advisory.host.clone(),
            advisory.prices.clone(),
            format!("'{name}' has no costs for"),
        ),
        Costs::Measured(directory) => measured(directory, wanted, notes),
    };
    let is_known = |&(target, operation): &(DescriptorKind, Operation)| {
        let mut known = prices.iter();
        known.any(|price| (price.target, price.operation) == (target, operation))
    };
    let lacking: Vec<String> = wanted[..counted]
        .iter()
        .filter(|one| !is_known(one))
        .map(|&(target, operation)| to_transfer(target, operation))
        .collect();
    if !lacking.is_empty() {
        notes.note(&format!(
            "{missing} {}: such calls are listed, but not counted",
            lacking.join(" and ")
        ));
    }
    (host, prices)
}

/// Measures the kinds of targets separately, so that an error affects one kind only. The returned string is the start
/// of the note on missing prices.
fn measured(
    directory: &Path,
    wanted: &[(DescriptorKind, Operation)],
    notes: &Notes,
) -> (Host, Vec<Price>, String) {
    let mut targets: Vec<DescriptorKind> = Vec::new();
    for (target, _) in wanted {
        if !targets.contains(target) {
            targets.push(*target);
        }
    }
    let mut directory = directory.to_owned();
    let mut prices = Vec::new();
    for target in targets {
        let of_target = wanted.iter().filter(|one| one.0 == target).copied();
        let of_target: Vec<(DescriptorKind, Operation)> = of_target.collect();
        let mut found = measure_prices(&directory, &of_target, &MonotonicClock);
        if let (Err(error), DescriptorKind::File) = (&found, target) {
            // The directory may be read-only. The command may have filled or removed the directory.
            let temporary = env::temp_dir();
            if temporary != directory {
                notes.note(&format!(
                    "file costs are measured in '{}', because they cannot be measured in '{}': \
                     {error}",
                    temporary.display(),
                    directory.display()
                ));
                directory = temporary;
                found = measure_prices(&directory, &of_target, &MonotonicClock);
            }
        }
        match found {
            Ok(found) => prices.extend(found),
            Err(error) => notes.note(&format!("cannot measure costs: {error}")),
        }
    }
    let files = wanted
        .iter()
        .any(|(target, _)| *target == DescriptorKind::File);
    let described = files.then(|| check_directory(&directory, Target::File, 0).ok());
    let environment = Environment::capture(described.flatten(), (None, None), allowed_cpus());
    (
        environment.finish(),
        prices,
        "could not measure the costs of".to_owned(),
    )
}

fn to_transfer(target: DescriptorKind, operation: Operation) -> String {
    let operation = match operation {
        Operation::Read => "reading from",
        Operation::Write => "writing to",
    };
    let target = match target {
        DescriptorKind::File => "file",
        DescriptorKind::Pipe => "pipe",
        DescriptorKind::Unix => "Unix socket",
        DescriptorKind::Tcp => "TCP socket",
        DescriptorKind::Datagram => "datagram socket",
        DescriptorKind::Unknown => "descriptor of unknown kind",
    };
    format!("{operation} a {target}")
}

/// Merges results. The prices come from the first result or from `costs`.
pub fn merged(mut loaded: Vec<Advisory>, costs: &Costs, started_at: String) -> Advisory {
    if let Costs::Saved(advisory, _) = costs {
        for one in &mut loaded {
            one.prices.clone_from(&advisory.prices);
            one.host = advisory.host.clone();
        }
    }
    let mut all = merge(&loaded);
    all.started_at = started_at;
    env!("CARGO_PKG_VERSION").clone_into(&mut all.version);
    all
}
