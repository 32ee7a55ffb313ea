//! Checks and writes the output files that the user names.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf, is_separator};

use anyhow::Context;

use crate::atomic_file::{check_creation, parent, replace};
use crate::failure::Failure;
use crate::results_store::results_directory;
use crate::terminal::{print, write_whole};

#[derive(Debug)]
pub struct OutputFile {
    named: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Standard output, named `-`.
    Standard,
    /// A file that will be replaced. Symbolic links are resolved.
    Path(PathBuf),
    /// A device or FIFO. Opening fails if no process reads the FIFO. The file stays open after the check, because the
    /// reader gets the end of file when the last writer closes.
    Special(File),
}

impl OutputFile {
    /// Checks that the file of `option` can be written, and changes nothing. A read-only file could be replaced, but
    /// is refused because its mode protects the content.
    pub fn check(named: &Path, option: &str) -> Result<Self, Failure> {
        let named = named.to_owned();
        match Self::place(&named) {
            Ok(place) => Ok(OutputFile { named, place }),
            Err(why) => Err(Failure::usage(format!(
                "cannot write to '{}': {why}; choose another file with {option}",
                named.display()
            ))),
        }
    }

    fn place(named: &Path) -> Result<Place, String> {
        if named == Path::new("-") {
            return Ok(Place::Standard);
        }
        let in_words = |error: io::Error| error.to_string();
        let mut path = named.to_owned();
        match fs::metadata(named) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(in_words(error)),
            Err(_) if named.is_symlink() => {
                return Err("it is a symbolic link to a file that does not exist".to_owned());
            }
            Err(_) => {}
            Ok(found) if found.is_dir() => return Err("it is a directory".to_owned()),
            Ok(found) if found.permissions().readonly() => {
                return Err("it is read-only".to_owned());
            }
            Ok(found) => {
                // Only open(2) tells whether the file can be written: the file may be immutable, or writable for
                // another user only.
                let opened = open(named, &found).map_err(in_words)?;
                if !found.is_file() {
                    // /dev/stdout may be a link to a pipe, which has no path.
                    return Ok(Place::Special(opened));
                }
                path = named.canonicalize().map_err(in_words)?;
            }
        }
        let last = path.as_os_str().as_encoded_bytes().last();
        let is_name = last.is_none_or(|&last| !is_separator(char::from(last)));
        if !is_name || path.file_name().is_none() {
            return Err("it is not a file name".to_owned());
        }
        if is_saved_result(&path) {
            return Err("it is a saved result, and those are never overwritten".to_owned());
        }
        match check_creation(parent(&path)) {
            Ok(()) => Ok(Place::Path(path)),
            Err(error) => Err(format!("no file can be created in its directory ({error})")),
        }
    }

    /// Refuses an output that is also another output or an input. A lost result cannot be measured again.
    pub fn check_distinct(outputs: &[&OutputFile], inputs: &[PathBuf]) -> Result<(), Failure> {
        let inputs: Vec<PathBuf> = inputs.iter().map(|input| resolved(input)).collect();
        let mut seen: Vec<PathBuf> = Vec::new();
        for output in outputs {
            let path = match &output.place {
                Place::Special(_) => continue,
                Place::Standard => output.named.clone(),
                Place::Path(path) => resolved(path),
            };
            let why = match (inputs.contains(&path), seen.contains(&path)) {
                (true, _) => "is also an input, and would be overwritten",
                (_, true) => "is given for two outputs",
                _ => {
                    seen.push(path);
                    continue;
                }
            };
            let named = output.named.display();
            return Err(Failure::usage(format!(
                "'{named}' {why}: choose another file for the output"
            )));
        }
        Ok(())
    }

    pub fn is_standard(&self) -> bool {
        matches!(self.place, Place::Standard)
    }

    pub fn write(&self, contents: &str) -> anyhow::Result<()> {
        let written = match &self.place {
            Place::Standard => return print(contents),
            Place::Special(file) => write_whole(file, contents),
            Place::Path(path) => replace(path, contents),
        };
        written.with_context(|| format!("cannot write to '{}'", self.named.display()))
    }
}

/// Opens an existing file for writing.
///
/// # Errors
///
/// Block devices are refused. A FIFO without a reader is refused, because open(2) would block.
#[cfg(unix)]
fn open(path: &Path, found: &fs::Metadata) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    use rustix::fs::OFlags;
    use rustix::io::Errno;

    if found.file_type().is_block_device() {
        let why = "it is a block device, and writing would destroy what is on it";
        return Err(io::Error::other(why));
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let mut options = File::options();
    let opened = options.write(true).custom_flags(flags.cast_signed());
    let file = opened.open(path).map_err(|error| {
        if Errno::from_io_error(&error) == Some(Errno::NXIO) {
            io::Error::other("no process reads it: start the reader first")
        } else {
            error
        }
    })?;
    rustix::io::ioctl_fionbio(&file, false)?;
    Ok(file)
}

#[cfg(windows)]
fn open(path: &Path, _: &fs::Metadata) -> io::Result<File> {
    File::options().write(true).open(path)
}

fn is_saved_result(path: &Path) -> bool {
    // If no directory of results exists, no result is saved there.
    let directory = results_directory().ok();
    let directory = directory.and_then(|directory| directory.canonicalize().ok());
    directory.is_some_and(|directory| path.is_file() && parent(path) == directory)
}

/// If the file does not exist, only its directory is resolved.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    match (parent(path).canonicalize(), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
    }
}
