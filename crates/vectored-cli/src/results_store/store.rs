//! The directory of saved results, and saving into the directory.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::Context;

use crate::atomic_file::{check_creation, create, replace};
use crate::failure::Failure;
use crate::results_store::saved::ResultKind;

#[derive(Clone, Debug)]
pub enum Store {
    /// A writable directory.
    In(PathBuf),
    /// A file that already has a name.
    As(PathBuf),
    /// The option `--no-save` was given.
    Unwanted,
    /// No environment variable names a directory.
    NoDirectory,
}

impl Store {
    /// Opens the directory of saved results. The function creates a missing directory, and tests it by creating a
    /// file.
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
            // The XDG base directory specification asks for this mode.
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&directory)?;
            check_creation(&directory)
        };
        let home_exists = || absolute_path_from(HOME.0).is_some_and(|home| home.is_dir());
        match usable() {
            Ok(()) => Ok(Store::In(directory)),
            // The home directory of a service account may not exist.
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

    /// Saves a result and returns its place. In a directory, the new file name contains the time. A file that already
    /// has a name is replaced atomically.
    pub fn save(&self, kind: ResultKind, started_at: &str, json: &str) -> anyhow::Result<Store> {
        match self {
            Store::In(directory) => {
                let timestamp = started_at.replace(['-', ':'], "");
                let stem = format!("{}-{timestamp}-", kind.command());
                let mut name = tempfile::Builder::new();
                let name = name.prefix(&stem).suffix(".json").rand_bytes(4);
                let made = name.make_in(directory, |path| create(path, json));
                let kept = made.and_then(|made| made.keep().map_err(|error| error.error));
                let cannot = || format!("cannot save the result in '{}'", directory.display());
                Ok(Store::As(kept.with_context(cannot)?.1))
            }
            Store::As(path) => {
                let cannot = || format!("cannot save the result as '{}'", path.display());
                replace(path, json).with_context(cannot)?;
                Ok(self.clone())
            }
            Store::Unwanted | Store::NoDirectory => Ok(self.clone()),
        }
    }

    /// For results whose figures are wrong.
    pub fn discard(&self) -> anyhow::Result<()> {
        let Store::As(path) = self else { return Ok(()) };
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed
                .with_context(|| format!("cannot remove the partial result '{}'", path.display())),
        }
    }
}

/// The XDG base directory specification requires that relative paths are ignored.
fn absolute_path_from(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

#[cfg(unix)]
pub const STATE_HOME: &str = "XDG_STATE_HOME";

#[cfg(windows)]
pub const STATE_HOME: &str = "LOCALAPPDATA";

#[cfg(unix)]
const HOME: (&str, &str) = ("HOME", ".local/state");

#[cfg(windows)]
const HOME: (&str, &str) = ("USERPROFILE", r"AppData\Local");

pub fn results_directory() -> Result<PathBuf, String> {
    let default = || Some(absolute_path_from(HOME.0)?.join(HOME.1));
    let home = absolute_path_from(STATE_HOME).or_else(default);
    home.map(|home| home.join("vectored")).ok_or_else(|| {
        format!(
            "neither {STATE_HOME} nor {} names a directory: set {STATE_HOME}, or name a file",
            HOME.0
        )
    })
}

/// The format is `2026-11-27T12:00:00Z`, in UTC.
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
}
