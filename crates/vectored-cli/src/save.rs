//! Where results are kept, and how files are written: completely or not at
//! all.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

use crate::failure::Failure;

/// The directory of saved results, made if it is not there, and surely
/// writable.
pub fn state_directory() -> Result<PathBuf, Failure> {
    let directory = state_home()?.join("vectored");
    let usable = || -> io::Result<()> {
        // The base directory specification asks for this mode.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)?;
        // Unnamed where the file system can do that: nothing to clean up.
        tempfile::tempfile_in(&directory).map(drop)
    };
    usable().with_context(|| {
        format!(
            "cannot save results in '{}': make it writable, or name another place with \
             XDG_STATE_HOME",
            directory.display()
        )
    })?;
    Ok(directory)
}

/// `$XDG_STATE_HOME`, or `~/.local/state`. A relative path there is invalid
/// and ignored, as the XDG base directory specification has it.
pub fn state_home() -> Result<PathBuf, Failure> {
    let path_in = |name| env::var_os(name).map(PathBuf::from);
    if let Some(home) = path_in("XDG_STATE_HOME").filter(|path| path.is_absolute()) {
        return Ok(home);
    }
    match path_in("HOME").filter(|path| path.is_absolute()) {
        Some(home) => Ok(home.join(".local/state")),
        None => Err(Failure::from(anyhow::anyhow!(
            "no place for saved results: neither XDG_STATE_HOME nor HOME names an absolute path; \
             set one of them"
        ))),
    }
}

/// Saves a result of a command under a new name that tells its time; returns its
/// path.
pub fn save_result(
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
    /// Finds out whether the file that was named with this option can be written, without touching it.
    pub fn check(named: &Path, option: &str) -> Result<Self, Failure> {
        let refused = |why: &str| {
            Failure::usage(format!(
                "cannot write to '{}': {why}; name another file with {option}",
                named.display()
            ))
        };
        let mut output = OutputFile {
            named: named.to_owned(),
            place: named.to_owned(),
            is_special: false,
            mode: 0o666,
        };
        match fs::metadata(named) {
            Ok(metadata) if metadata.is_dir() => return Err(refused("it is a directory")),
            Ok(metadata) => {
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
            if inputs.iter().any(|input| final_place(input) == place) {
                return Err(Failure::usage(format!(
                    "'{named}' is read here and would be replaced: name another file for the output"
                )));
            }
            if places.contains(&place) {
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

/// Whether it is a file among the saved results.
fn is_kept(place: &Path) -> bool {
    // Without a place for results none is kept.
    let directory = state_home().ok();
    let directory = directory.and_then(|home| home.join("vectored").canonicalize().ok());
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

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
