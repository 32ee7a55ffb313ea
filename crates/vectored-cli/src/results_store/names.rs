//! Finds saved results by name, and reads them.

use std::cmp::Reverse;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use anyhow::Context;
use vectored_report::words::count;
use vectored_report::{ParseError, SavedResult, parse, sort};

use crate::failure::Failure;
use crate::results_store::saved::{ResultKind, Saved};
use crate::results_store::store::results_directory;

/// The limit for the size of a file. Results have a few MB.
const MAX_BYTES: u64 = 1 << 29;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultName {
    File(PathBuf),
    /// The kind and the age of a saved result. The newest result has the age 0. `None` means the kind that the
    /// command takes.
    Recent(Option<ResultKind>, usize),
}

const LATEST: &str = "latest";

impl FromStr for ResultName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err(
                "the name is empty: expected a file, or a name such as latest or latest~1"
                    .to_owned(),
            );
        }
        let (name, age) = text.split_once('~').unwrap_or((text, "0"));
        let mut kinds = ResultKind::ALL.into_iter();
        let kind = match kinds.find(|kind| kind.command() == name) {
            None if name != LATEST => return Ok(ResultName::File(PathBuf::from(text))),
            kind => kind,
        };
        let age = age.parse().map_err(|_| {
            format!(
                "'{text}' has no number after '~': use {name}~1 for the result before {name}, \
                 or ./{text} for a file"
            )
        })?;
        Ok(ResultName::Recent(kind, age))
    }
}

pub struct SavedFile {
    pub kind: ResultKind,
    pub path: PathBuf,
    /// The time in the name, and the modification time. Results are ordered by both.
    age: (Reverse<String>, Reverse<SystemTime>),
}

impl SavedFile {
    /// Returns `None` if the name is not the name of a result, or the file is not regular. Reading a FIFO would
    /// block.
    fn of(entry: &fs::DirEntry) -> Option<Self> {
        let name = entry.file_name().to_string_lossy().into_owned();
        let (command, rest) = name.strip_suffix(".json")?.split_once('-')?;
        let mut kinds = ResultKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.command() == command)?;
        if fs::metadata(entry.path()).is_ok_and(|metadata| !metadata.is_file()) {
            return None;
        }
        // The name ends with the time and a random number.
        let begun = rest.split('-').next().unwrap_or_default().to_owned();
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let changed = changed.unwrap_or(SystemTime::UNIX_EPOCH);
        let age = (Reverse(begun), Reverse(changed));
        let path = entry.path();
        Some(SavedFile { kind, path, age })
    }
}

/// The newest file is first. The list is empty if the directory does not exist.
pub fn saved_files(directory: &Path) -> Result<Vec<SavedFile>, Failure> {
    let cannot = || format!("cannot list '{}'", directory.display());
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        outcome => outcome.with_context(cannot)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        files.extend(SavedFile::of(&entry.with_context(cannot)?));
    }
    sort::sort_by(&mut files, |a, b| (&a.age, &a.path).cmp(&(&b.age, &b.path)));
    Ok(files)
}

impl ResultName {
    /// `taken` is the kind that the command takes. `None` means all kinds.
    pub fn path(&self, taken: Option<ResultKind>) -> Result<PathBuf, Failure> {
        let (kind, age) = match self {
            ResultName::File(path) => return Ok(path.clone()),
            ResultName::Recent(kind, age) => (kind.or(taken), *age),
        };
        let directory = results_directory().map_err(|why| {
            Failure::usage(format!("no saved result '{}': {why}", self.in_words()))
        })?;
        let mut files = saved_files(&directory)?;
        files.retain(|file| kind.is_none_or(|kind| kind == file.kind));
        let found = files.len();
        files.into_iter().nth(age).map(|file| file.path).ok_or_else(|| {
            let of = kind.map_or(String::new(), |kind| format!(" of `vectored {}`", kind.command()));
            let command = kind.unwrap_or(ResultKind::Measure).command();
            Failure::usage(format!(
                "no saved result '{}': found {}{of} in '{}'; `vectored history` lists them, and `vectored {command}` saves one",
                self.in_words(),
                count(found, "result"),
                directory.display()
            ))
        })
    }

    pub fn in_words(&self) -> String {
        let (kind, age) = match self {
            ResultName::File(path) => return path.display().to_string(),
            ResultName::Recent(kind, age) => (kind, age),
        };
        let name = kind.map_or(LATEST, ResultKind::command);
        match age {
            0 => name.to_owned(),
            age => format!("{name}~{age}"),
        }
    }

    pub fn load(&self, taken: Option<ResultKind>) -> Result<Saved, Failure> {
        self.load_by(taken, Saved::parse)
    }

    /// Refuses results of other subcommands.
    pub fn load_as<T: SavedResult>(&self) -> Result<T, Failure> {
        let mut kinds = ResultKind::ALL.into_iter();
        self.load_by(kinds.find(|kind| kind.schema() == T::SCHEMA), parse)
    }

    fn load_by<R>(
        &self,
        taken: Option<ResultKind>,
        parse: impl Fn(&str) -> Result<R, ParseError>,
    ) -> Result<R, Failure> {
        let path = self.path(taken)?;
        let of = taken.map_or(String::new(), |kind| {
            format!(" of `vectored {}`", kind.command())
        });
        let text = read(&path).map_err(|error| Failure {
            code: match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => 2,
                _ => 1,
            },
            error: anyhow::anyhow!(
                "cannot read '{}': {error}{}; expected a result{of} that vectored saved, or a name \
                 such as latest",
                path.display(),
                unmatched(&path, &error)
            ),
        })?;
        parse(&text).map_err(|error| {
            let path = path.display();
            let why =
                format!("cannot use '{path}': {error}; name a saved result{of}, such as latest");
            anyhow::anyhow!(why).into()
        })
    }
}

/// A shell passes a pattern without a match unchanged, so the missing file may be a pattern. The returned text says
/// that.
pub fn unmatched(path: &Path, error: &io::Error) -> &'static str {
    let name = path.as_os_str().as_encoded_bytes();
    let is_pattern = name.iter().any(|byte| b"*?".contains(byte));
    match error.kind() {
        io::ErrorKind::NotFound if is_pattern => " (no file matches this pattern)",
        _ => "",
    }
}

pub fn paths(names: &[ResultName], taken: Option<ResultKind>) -> Result<Vec<PathBuf>, Failure> {
    names.iter().map(|name| name.path(taken)).collect()
}

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
        let recent = |kind, age| Ok(ResultName::Recent(kind, age));
        assert_eq!(parse("latest"), recent(None, 0));
        assert_eq!(parse("latest~12"), recent(None, 12));
        assert_eq!(parse("advise"), recent(Some(ResultKind::Advise), 0));
        assert_eq!(parse("reproduce~1"), recent(Some(ResultKind::Reproduce), 1));
        for file in ["./latest", "latest.json", "a/b.json", "latest-1", "a~1"] {
            assert_eq!(parse(file), Ok(ResultName::File(file.into())));
        }
        assert!(parse("latest~").is_err());
        assert!(parse("latest~-1").is_err());
        assert!(parse("").is_err());
    }
}
