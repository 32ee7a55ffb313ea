//! The directory of saved results, and saving into it.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;

use crate::atomic_file::{check_creation, create, replace};
use crate::failure::Failure;
use crate::results_store::kind::ResultKind;

/// The place where results are saved.
#[derive(Debug)]
pub enum Store {
    /// A directory that exists and is writable.
    In(PathBuf),
    /// None, because of `--no-save`.
    Unwanted,
    /// None, because no environment variable names a directory.
    NoDirectory,
}

#[derive(Debug)]
pub enum SaveOutcome {
    /// Saved in this file.
    As(PathBuf),
    /// Not saved, because of `--no-save`.
    Unwanted,
    /// Not saved, for this reason.
    NoDirectory(&'static str),
}

/// The reason why there are no saved results.
#[cfg(windows)]
const NO_DIRECTORY: &str = "neither LOCALAPPDATA nor USERPROFILE names a directory, so no results are saved: set LOCALAPPDATA, \
 or name a file";

/// The reason why there are no saved results.
#[cfg(unix)]
const NO_DIRECTORY: &str = "neither XDG_STATE_HOME nor HOME names a directory, so no results are saved: set XDG_STATE_HOME, \
 or name a file";

/// The reason why a result is not saved.
#[cfg(windows)]
const NOT_SAVED: &str = "the result is not saved, because neither LOCALAPPDATA nor USERPROFILE names a directory: set \
 LOCALAPPDATA, or write the JSON to a file with --format json --output FILE";

/// The reason why a result is not saved.
#[cfg(unix)]
const NOT_SAVED: &str = "the result is not saved, because neither XDG_STATE_HOME nor HOME names a directory: set \
 XDG_STATE_HOME, or write the JSON to a file with --format json --output FILE";

impl Store {
    /// Opens the directory of saved results, unless `no_save`. It is created if necessary, and checked by
    /// creating a file in it.
    pub fn open(no_save: bool) -> Result<Self, Failure> {
        if no_save {
            return Ok(Store::Unwanted);
        }
        let Ok(directory) = results_directory() else {
            return Ok(Store::NoDirectory);
        };
        let usable = || -> io::Result<()> {
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            // The base directory specification asks for this mode.
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&directory)?;
            check_creation(&directory)
        };
        match usable() {
            Ok(()) => Ok(Store::In(directory)),
            // The home of a service account may not exist.
            Err(_) if absolute_path_from(STATE_HOME).is_none() && !home_exists() => {
                Ok(Store::NoDirectory)
            }
            Err(error) => Err(Failure::from(anyhow::anyhow!(
                "cannot save results in '{}': {error}; make it writable, choose another directory with \
                 {STATE_HOME}, or add --no-save",
                directory.display()
            ))),
        }
    }

    /// Saves a result of a command under a new name, which contains the time.
    pub fn save(
        &self,
        kind: ResultKind,
        started_at: &str,
        json: &str,
    ) -> anyhow::Result<SaveOutcome> {
        match self {
            Store::In(directory) => {
                save_result(directory, kind, started_at, json).map(SaveOutcome::As)
            }
            Store::Unwanted => Ok(SaveOutcome::Unwanted),
            Store::NoDirectory => Ok(SaveOutcome::NoDirectory(NOT_SAVED)),
        }
    }
}

/// The result of a measurement that is saved several times while it goes on: always the same file, replaced atomically.
#[derive(Debug)]
pub struct GrowingResult<'a> {
    store: &'a Store,
    path: Option<PathBuf>,
}

impl<'a> GrowingResult<'a> {
    /// Nothing is saved yet.
    pub fn of(store: &'a Store) -> Self {
        GrowingResult { store, path: None }
    }

    pub fn save(&mut self, started_at: &str, json: &str) -> anyhow::Result<SaveOutcome> {
        let Some(path) = &self.path else {
            let saved = self.store.save(ResultKind::Measure, started_at, json)?;
            if let SaveOutcome::As(path) = &saved {
                self.path = Some(path.clone());
            }
            return Ok(saved);
        };
        replace(path, json)
            .with_context(|| format!("cannot save the result as '{}'", path.display()))?;
        Ok(SaveOutcome::As(path.clone()))
    }

    /// Removes what is saved, if anything is: its figures cannot be trusted.
    pub fn discard(&mut self) -> anyhow::Result<()> {
        match self.path.take() {
            None => Ok(()),
            Some(path) => ignore_missing(fs::remove_file(&path))
                .with_context(|| format!("cannot remove the partial result '{}'", path.display())),
        }
    }
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The absolute path in an environment variable. The XDG base directory specification requires that
/// relative paths are ignored.
fn absolute_path_from(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

/// The environment variable that names the directory of states.
#[cfg(unix)]
const STATE_HOME: &str = "XDG_STATE_HOME";

/// The environment variable that names the directory of what belongs to this machine and user.
#[cfg(windows)]
const STATE_HOME: &str = "LOCALAPPDATA";

/// The environment variable that names the home, and the directory of states in it.
#[cfg(unix)]
const HOME: (&str, &str) = ("HOME", ".local/state");

/// The environment variable that names the home, and the directory of states in it.
#[cfg(windows)]
const HOME: (&str, &str) = ("USERPROFILE", r"AppData\Local");

/// A note if the variable that names the directory is ignored because its path is relative.
pub fn ignored_state_home() -> Option<String> {
    let named = env::var_os(STATE_HOME).filter(|path| !path.is_empty())?;
    if Path::new(&named).is_absolute() {
        return None;
    }
    let used = match results_directory() {
        Ok(directory) => format!("results are saved in '{}'", directory.display()),
        Err(_) => "no results are saved".to_owned(),
    };
    Some(format!(
        "{STATE_HOME} is ignored, because '{}' is not an absolute path; {used}",
        named.to_string_lossy()
    ))
}

fn home_exists() -> bool {
    absolute_path_from(HOME.0).is_some_and(|home| home.is_dir())
}

/// `$XDG_STATE_HOME`, or `~/.local/state`; `%LOCALAPPDATA%`, or `%USERPROFILE%\AppData\Local`. `None` if neither is known.
fn state_home() -> Option<PathBuf> {
    let default = || Some(absolute_path_from(HOME.0)?.join(HOME.1));
    absolute_path_from(STATE_HOME).or_else(default)
}

/// The directory of saved results, which may not exist yet.
pub fn results_directory() -> Result<PathBuf, &'static str> {
    let home = state_home().ok_or(NO_DIRECTORY)?;
    Ok(home.join("vectored"))
}

/// The time of a result, in UTC: `2026-11-27T12:00:00Z`.
///
/// # Errors
///
/// If the year does not have four digits, or is before 1970.
pub fn time_of(time: SystemTime) -> anyhow::Result<String> {
    let mut text = String::new();
    let is_known = time >= SystemTime::UNIX_EPOCH
        && write!(text, "{}", humantime::format_rfc3339_seconds(time)).is_ok();
    anyhow::ensure!(
        is_known,
        "the clock of this machine is before 1970 or after 9999: set it, by date(1)"
    );
    Ok(text)
}

/// Random names that are tried.
const MAX_NAMES: u32 = 100;

/// Saves a result under a name that contains the time.
fn save_result(
    directory: &Path,
    kind: ResultKind,
    started_at: &str,
    json: &str,
) -> anyhow::Result<PathBuf> {
    let timestamp: String = started_at
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let stem = format!("{}-{timestamp}", kind.command());
    save_numbered(directory, &stem, &mut || fastrand::u16(..), json)
}

/// Saves a result under a name that begins with `stem`, and goes on with the first of these numbers that makes it new.
fn save_numbered(
    directory: &Path,
    stem: &str,
    number: &mut dyn FnMut() -> u16,
    json: &str,
) -> anyhow::Result<PathBuf> {
    for _ in 0..MAX_NAMES {
        let path = directory.join(format!("{stem}-{:04x}.json", number()));
        match create(&path, json) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let cannot = format!("cannot save the result as '{}'", path.display());
                return Err(anyhow::Error::new(error).context(cannot));
            }
        }
    }
    anyhow::bail!("cannot save the result: {MAX_NAMES} names of that time are taken")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_that_is_wrong_is_an_error() {
        let after = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(time_of(after(0)).unwrap(), "1970-01-01T00:00:00Z");
        let last = 253_402_300_799;
        assert_eq!(time_of(after(last)).unwrap(), "9999-12-31T23:59:59Z");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        for wrong in [before, after(last + 1)] {
            let error = time_of(wrong).unwrap_err().to_string();
            assert!(error.contains("set it"), "{error}");
        }
    }

    #[test]
    fn a_name_that_is_taken_is_not_used_again() {
        let directory = tempfile::tempdir().unwrap();
        let save = |last: u16| {
            let mut numbers = (0..last).chain(std::iter::repeat(last));
            let mut number = || numbers.next().unwrap();
            save_numbered(directory.path(), "measure", &mut number, "{}")
        };
        assert_eq!(save(0).unwrap(), directory.path().join("measure-0000.json"));
        assert_eq!(save(1).unwrap(), directory.path().join("measure-0001.json"));
        let error = save(1).unwrap_err();
        assert!(error.to_string().contains("100 names"), "{error}");
    }
}
