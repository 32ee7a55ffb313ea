//! Where results are kept, and how files are written: completely or not at
//! all.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{Access, access};
use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Where a result is saved, if it is.
#[derive(Debug)]
pub enum Store {
    /// In this directory, which exists and is writable.
    In(PathBuf),
    /// Nowhere: `--no-save`.
    Unwanted,
    /// Nowhere: no variable names a place.
    NoPlace,
}

/// What became of a result.
#[derive(Debug)]
pub enum Saved {
    /// It is in this file.
    As(PathBuf),
    /// It was not to be saved.
    Unwanted,
    /// It was not saved, for this reason.
    NoPlace(&'static str),
}

/// Why no results can be found.
const NO_PLACE: &str = "\
neither XDG_STATE_HOME nor HOME names a directory, so none are saved: set XDG_STATE_HOME, or name a file";

/// The same, of a result.
const NOT_SAVED: &str = "\
the result is not saved, since neither XDG_STATE_HOME nor HOME names a directory: set XDG_STATE_HOME, \
or keep the JSON with --format json --output FILE";

impl Store {
    /// The directory of saved results, made if it does not exist and tried by a file, unless results
    /// are not to be saved.
    pub fn open(no_save: bool) -> Result<Self, Failure> {
        if no_save {
            return Ok(Store::Unwanted);
        }
        let Ok(directory) = results_directory() else {
            return Ok(Store::NoPlace);
        };
        let usable = || -> io::Result<()> {
            // The base directory specification asks for this mode.
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&directory)?;
            // Unnamed where the file system can do that: nothing to clean up.
            tempfile::tempfile_in(&directory).map(drop)
        };
        match usable() {
            Ok(()) => Ok(Store::In(directory)),
            // Accounts of services have a home that does not exist.
            Err(_) if path_in("XDG_STATE_HOME").is_none() && !home_exists() => Ok(Store::NoPlace),
            Err(error) => Err(error)
                .with_context(|| {
                    format!(
                        "cannot save results in '{}': make it writable, name another place with \
                         XDG_STATE_HOME, or add --no-save",
                        directory.display()
                    )
                })
                .map_err(Failure::from),
        }
    }

    /// Saves a result of a command under a new name that has the time in it.
    pub fn save(&self, command: &str, started_at: &str, json: &str) -> anyhow::Result<Saved> {
        match self {
            Store::In(directory) => {
                save_result(directory, command, started_at, json).map(Saved::As)
            }
            Store::Unwanted => Ok(Saved::Unwanted),
            Store::NoPlace => Ok(Saved::NoPlace(NOT_SAVED)),
        }
    }
}

/// The absolute path that a variable names. A relative path is invalid and ignored, as the XDG base
/// directory specification has it.
fn path_in(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

/// That the variable is set to a path that is ignored, and what is used.
pub fn ignored_state_home() -> Option<String> {
    let named = env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty())?;
    if Path::new(&named).is_absolute() {
        return None;
    }
    let used = match results_directory() {
        Ok(directory) => format!("results are in '{}'", directory.display()),
        Err(_) => "no results are saved".to_owned(),
    };
    Some(format!(
        "XDG_STATE_HOME is ignored, since '{}' is not an absolute path: {used}",
        named.to_string_lossy()
    ))
}

fn home_exists() -> bool {
    path_in("HOME").is_some_and(|home| home.is_dir())
}

/// `$XDG_STATE_HOME`, or `~/.local/state`. `None` if neither names a place.
fn state_home() -> Option<PathBuf> {
    let default = || Some(path_in("HOME")?.join(".local/state"));
    path_in("XDG_STATE_HOME").or_else(default)
}

/// The directory of saved results, which need not exist; or why there is none.
pub fn results_directory() -> Result<PathBuf, &'static str> {
    let home = state_home().ok_or(NO_PLACE)?;
    Ok(home.join("vectored"))
}

fn save_result(
    directory: &Path,
    command: &str,
    started_at: &str,
    json: &str,
) -> anyhow::Result<PathBuf> {
    let timestamp: String = started_at
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let mut attempts = 0;
    loop {
        let name = format!("{command}-{timestamp}-{:04x}.json", fastrand::u16(..));
        let path = directory.join(name);
        let saved = write_beside(&path, json, 0o666)
            // Never over another result.
            .and_then(|file| file.persist_noclobber(&path).map_err(|error| error.error));
        match saved {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < 100 => {
                attempts += 1;
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot save the result as '{}'", path.display()));
            }
        }
    }
}

/// A file that the user named for the output.
#[derive(Debug)]
pub struct OutputFile {
    /// As it was typed, for messages.
    named: PathBuf,
    /// Where the bytes go: the end of a chain of symbolic links.
    place: PathBuf,
    /// A device or FIFO is written to; only a file can be replaced.
    is_special: bool,
    mode: u32,
}

impl OutputFile {
    /// Finds out whether the file that was named with this option can be written, without touching
    /// it. A file that is read-only is refused although it could be replaced: the mode says that its
    /// content is to stay.
    pub fn check(named: &Path, option: &str) -> Result<Self, Failure> {
        let failed = |why: &str, remedy: &str| {
            let named = named.display();
            Failure::usage(format!(
                "cannot write to '{named}': {why}; {remedy}name another file with {option}"
            ))
        };
        let refused = |why: &str| failed(why, "");
        let mut output = OutputFile {
            named: named.to_owned(),
            place: named.to_owned(),
            is_special: false,
            mode: 0o666,
        };
        match fs::metadata(named) {
            Ok(metadata) if metadata.is_dir() => return Err(refused("it is a directory")),
            Ok(metadata) if metadata.file_type().is_block_device() => {
                return Err(refused(
                    "it is a block device, and writing would destroy what is on it",
                ));
            }
            Ok(metadata) if metadata.file_type().is_socket() => {
                return Err(refused("it is a socket"));
            }
            Ok(metadata) => {
                if metadata.permissions().mode() & 0o222 == 0 {
                    let chmod = format!("chmod u+w {}", quoted(named));
                    let remedy = format!("make it writable with {chmod}, or ");
                    return Err(failed("it is read-only", &remedy));
                }
                // Of those with a mode that allows it to somebody else, or that are immutable.
                access(named, Access::WRITE_OK)
                    .map_err(|error| refused(&io::Error::from(error).to_string()))?;
                output.is_special = !metadata.is_file();
                // The name of a pipe behind /dev/stdout leads nowhere.
                if !output.is_special {
                    output.place = named.canonicalize().map_err(|e| refused(&e.to_string()))?;
                }
                output.mode = metadata.permissions().mode() & 0o777;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if named.is_symlink() {
                    return Err(refused("it is a symbolic link to nothing"));
                }
            }
            Err(error) => return Err(refused(&error.to_string())),
        }
        if !output.is_special {
            let is_name = !output.place.as_os_str().as_encoded_bytes().ends_with(b"/");
            if !is_name || output.place.file_name().is_none() {
                return Err(refused("it is no name of a file"));
            }
            if is_kept(&output.place) {
                return Err(refused(
                    "it is a saved result, which cannot be measured again",
                ));
            }
            tempfile::tempfile_in(parent(&output.place))
                .map_err(|error| refused(&format!("no file can be made beside it ({error})")))?;
        }
        Ok(output)
    }

    /// Refuses to write one file twice, and to write over what is read: a saved
    /// result that is gone cannot be measured again.
    pub fn are_apart(outputs: &[&OutputFile], inputs: &[PathBuf]) -> Result<(), Failure> {
        let is_file = |output: &&&OutputFile| !output.is_special;
        let mut places: Vec<PathBuf> = Vec::new();
        for output in outputs.iter().filter(is_file) {
            let place = final_place(&output.place);
            let named = output.named.display();
            if inputs.iter().any(|input| is_same_file(input, &place)) {
                return Err(Failure::usage(format!(
                    "'{named}' is read here and would be replaced: name another file for the output"
                )));
            }
            if places.iter().any(|known| is_same_file(known, &place)) {
                return Err(Failure::usage(format!(
                    "'{named}' is named for two outputs: name another file for one of them"
                )));
            }
            places.push(place);
        }
        Ok(())
    }

    /// Replaces the file by one with these contents, at once.
    pub fn write(&self, contents: &str) -> anyhow::Result<()> {
        let written = if self.is_special {
            fs::File::options()
                .write(true)
                .open(&self.place)
                .and_then(|mut file| file.write_all(contents.as_bytes()))
        } else {
            write_beside(&self.place, contents, self.mode).and_then(|file| {
                let persisted = file.persist(&self.place);
                persisted.map(drop).map_err(|error| error.error)
            })
        };
        written.with_context(|| format!("cannot write to '{}'", self.named.display()))
    }
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=~".contains(c);
    match text.chars().all(is_plain) && !text.starts_with(['-', '~']) {
        true => text,
        // An option is no path.
        false if text.starts_with('-') => quoted(&Path::new(".").join(path)),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Whether it is a file among the saved results.
fn is_kept(place: &Path) -> bool {
    // Without a place for results none is kept.
    let directory = results_directory().ok();
    let directory = directory.and_then(|directory| directory.canonicalize().ok());
    directory.is_some_and(|directory| place.is_file() && parent(place) == directory)
}

/// A temporary file in the same directory, with these contents. It is gone
/// unless it is given its name. `mode` is subject to the umask.
fn write_beside(path: &Path, contents: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".vectored-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(parent(path))?;
    file.write_all(contents.as_bytes())?;
    Ok(file)
}

/// The same for every name of one file; of a file that is not there yet by its
/// directory.
fn final_place(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    match (parent(path).canonicalize(), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
    }
}

/// Whether two paths lead to one file, by links of any kind or because both would make it.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    match (identity(one), identity(other)) {
        (Some(one), Some(other)) => one == other,
        _ => final_place(one) == final_place(other),
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
