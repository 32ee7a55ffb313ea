//! Names of saved results, and reading them.

use std::cmp::Reverse;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use anyhow::Context;
#[cfg(unix)]
use vectored_measure::model::Advisory;
use vectored_measure::model::{Results, Saved};
use vectored_measure::report::parse_saved;

use super::store::results_directory;
use crate::failure::Failure;

/// Limit on the size of a result. Results have a few MB.
const MAX_BYTES: u64 = 1 << 29;

/// A kind of result: the command that saves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// `vectored measure`.
    Measure,
    /// `vectored reproduce`.
    Reproduce,
    /// `vectored advise`.
    Advise,
}

impl ResultKind {
    pub const ALL: [ResultKind; 3] = [
        ResultKind::Measure,
        ResultKind::Reproduce,
        ResultKind::Advise,
    ];

    /// The name of the newest result.
    pub fn newest(self) -> &'static str {
        match self {
            ResultKind::Measure => "latest",
            ResultKind::Reproduce => "experiments",
            ResultKind::Advise => "advice",
        }
    }

    /// The start of its file names.
    pub fn prefix(self) -> &'static str {
        match self {
            ResultKind::Measure => "measure-",
            ResultKind::Reproduce => "reproduce-",
            ResultKind::Advise => "advise-",
        }
    }

    /// The name of the subcommand.
    pub fn command(self) -> &'static str {
        self.prefix().trim_end_matches('-')
    }
}

/// A result as typed: a file, or the name of a saved result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultName {
    /// A file.
    File(PathBuf),
    /// A saved result of a kind, by its age: 0 is the newest.
    Recent(ResultKind, usize),
}

impl FromStr for ResultName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        for kind in ResultKind::ALL {
            let Some(rest) = text.strip_prefix(kind.newest()) else {
                continue;
            };
            if rest.is_empty() {
                return Ok(ResultName::Recent(kind, 0));
            }
            if let Some(age) = rest.strip_prefix('~') {
                let age = age.parse().map_err(|_| {
                    format!(
                        "'{text}' has no number after '~': use {0}~1 for the result before {0}, \
                         or ./{text} for a file",
                        kind.newest()
                    )
                })?;
                return Ok(ResultName::Recent(kind, age));
            }
        }
        match text {
            "" => Err(
                "the name is empty: expected a file, or a name such as latest or latest~1"
                    .to_owned(),
            ),
            _ => Ok(ResultName::File(PathBuf::from(text))),
        }
    }
}

/// The saved results of one kind in a directory, newest first; none if the directory does not exist.
pub fn saved_files(directory: &Path, kind: ResultKind) -> Result<Vec<PathBuf>, Failure> {
    let cannot = || format!("cannot list '{}'", directory.display());
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        outcome => outcome.with_context(cannot)?,
    };
    let mut files: Vec<(Reverse<String>, Reverse<SystemTime>, PathBuf)> = Vec::new();
    for entry in entries {
        let entry = entry.with_context(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(kind.prefix()) else {
            continue;
        };
        if rest.ends_with(".json") {
            // Reading a FIFO of that name would block.
            if fs::metadata(entry.path()).is_ok_and(|metadata| !metadata.is_file()) {
                continue;
            }
            // Names end with the time and a random number.
            let begun = rest.split('-').next().unwrap_or_default().to_owned();
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            let changed = changed.unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((Reverse(begun), Reverse(changed), entry.path()));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, _, path)| path).collect())
}

impl ResultName {
    /// The path of the file.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        match self {
            ResultName::File(path) => Ok(path.clone()),
            ResultName::Recent(kind, age) => {
                let directory = results_directory().map_err(|why| {
                    Failure::usage(format!("no saved result '{}': {why}", self.in_words()))
                })?;
                let files = saved_files(&directory, *kind)?;
                let count = files.len();
                files.into_iter().nth(*age).ok_or_else(|| {
                    let command = kind.command();
                    let results = if count == 1 { "result" } else { "results" };
                    let remedy = match count {
                        0 => format!("run `vectored {command}` first, or name a file"),
                        _ => "`vectored history` lists them".to_owned(),
                    };
                    Failure::usage(format!(
                        "no saved result '{}': found {count} {results} of `vectored {command}` in \
                         '{}'; {remedy}",
                        self.in_words(),
                        directory.display()
                    ))
                })
            }
        }
    }

    /// The name as typed.
    pub fn in_words(&self) -> String {
        match self {
            ResultName::File(path) => path.display().to_string(),
            ResultName::Recent(kind, 0) => kind.newest().to_owned(),
            ResultName::Recent(kind, age) => format!("{}~{age}", kind.newest()),
        }
    }

    /// Reads the result.
    pub fn load(&self) -> Result<Saved, Failure> {
        let path = self.path()?;
        let text = read(&path).map_err(|error| {
            let message = format!(
                "cannot read '{}': {error}{}; expected a result that vectored saved, or a name \
                 such as latest",
                path.display(),
                unmatched(&path, &error)
            );
            match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => Failure::usage(message),
                _ => Failure::from(anyhow::anyhow!("{message}")),
            }
        })?;
        parse_saved(&text).map_err(|error| {
            Failure::from(anyhow::anyhow!(
                "cannot use '{}': {error}; name a saved result, such as latest",
                path.display()
            ))
        })
    }

    /// Reads a result of `vectored measure`, and refuses any other.
    pub fn load_results(&self) -> Result<Results, Failure> {
        match self.load()? {
            Saved::Results(results) => Ok(*results),
            other => Err(self.of_another_command(&other, ResultKind::Measure)),
        }
    }

    /// Reads a result of `vectored advise`, and refuses any other.
    #[cfg(unix)]
    pub fn load_advisory(&self) -> Result<Advisory, Failure> {
        match self.load()? {
            Saved::Advisory(advisory) => Ok(*advisory),
            other => Err(self.of_another_command(&other, ResultKind::Advise)),
        }
    }

    fn of_another_command(&self, found: &Saved, wanted: ResultKind) -> Failure {
        let found = match found {
            Saved::Results(_) => ResultKind::Measure,
            Saved::Experiments(_) => ResultKind::Reproduce,
            Saved::Advisory(_) => ResultKind::Advise,
        };
        Failure::usage(format!(
            "'{}' is a result of `vectored {}`: expected a result of `vectored {}`",
            self.in_words(),
            found.command(),
            wanted.command()
        ))
    }
}

/// An addition to the error for a file that does not exist: a shell passes on a pattern that no file
/// matches.
pub fn unmatched(path: &Path, error: &io::Error) -> &'static str {
    let name = path.as_os_str().as_encoded_bytes();
    let is_pattern = name.iter().any(|byte| b"*?".contains(byte));
    match error.kind() {
        io::ErrorKind::NotFound if is_pattern => " (no file matches this pattern)",
        _ => "",
    }
}

/// The paths of the files.
pub fn paths(names: &[ResultName]) -> Result<Vec<PathBuf>, Failure> {
    names.iter().map(ResultName::path).collect()
}

/// Reads a file as text.
pub fn read(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let mut text = String::new();
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => io::Error::new(error.kind(), "it is not a text file"),
        _ => error,
    })?;
    if text.trim().is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty"));
    }
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is larger than 512 MiB, the limit for results",
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ages_or_files() {
        let parse = |text: &str| text.parse::<ResultName>();
        assert_eq!(
            parse("latest"),
            Ok(ResultName::Recent(ResultKind::Measure, 0))
        );
        assert_eq!(
            parse("latest~12"),
            Ok(ResultName::Recent(ResultKind::Measure, 12))
        );
        let advice = Ok(ResultName::Recent(ResultKind::Advise, 0));
        assert_eq!(parse("advice"), advice);
        let experiments = Ok(ResultName::Recent(ResultKind::Reproduce, 1));
        assert_eq!(parse("experiments~1"), experiments);
        for file in ["./latest", "latest.json", "a/b.json"] {
            assert_eq!(parse(file), Ok(ResultName::File(file.into())));
        }
        assert!(parse("latest~").is_err());
        assert!(parse("latest~-1").is_err());
        assert!(parse("").is_err());
    }

    #[test]
    fn the_newest_comes_first() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "measure-20260101T000000Z-ffff.json",
            "measure-20261231T235959Z-0000.json",
            "reproduce-20270101T000000Z-0000.json",
            "measure-20260601T000000Z-8888.json",
            ".vectored-x.tmp",
        ] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let files = saved_files(directory.path(), ResultKind::Measure).unwrap();
        let names: Vec<_> = files
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "measure-20261231T235959Z-0000.json",
                "measure-20260601T000000Z-8888.json",
                "measure-20260101T000000Z-ffff.json"
            ]
        );
        let nowhere = directory.path().join("nowhere");
        assert_eq!(
            saved_files(&nowhere, ResultKind::Measure).unwrap(),
            Vec::<PathBuf>::new()
        );
    }
}
