//! Files that the user names for output.

use std::fs;
use std::io;
use std::path::{Path, PathBuf, is_separator};

use anyhow::Context;

use crate::atomic_file::{check_creation, parent, replace};
use crate::failure::Failure;
use crate::results_store::results_directory;
use crate::terminal::write_whole;

/// A file that the user named for output.
#[derive(Debug)]
pub struct OutputFile {
    /// The path as typed, for messages.
    named: PathBuf,
    /// The file to write, with symbolic links resolved.
    path: PathBuf,
    /// A device or FIFO, which is written to; a file is replaced. It is open from the check on: to a FIFO without a reader
    /// nothing can be written, and one whose only writer closes it ends for its reader.
    special: Option<fs::File>,
}

impl OutputFile {
    /// Checks, without changing it, that the file named with `option` can be written. A read-only file is
    /// refused although it could be replaced, because its mode protects its content.
    pub fn check(named: &Path, option: &str) -> Result<Self, Failure> {
        let failed = |why: &str, remedy: &str| {
            let named = named.display();
            Failure::usage(format!(
                "cannot write to '{named}': {why}; {remedy}choose another file with {option}"
            ))
        };
        let refused = |why: &str| failed(why, "");
        let mut output = OutputFile {
            named: named.to_owned(),
            path: named.to_owned(),
            special: None,
        };
        match fs::metadata(named) {
            Ok(metadata) if metadata.is_dir() => return Err(refused("it is a directory")),
            Ok(metadata) => {
                if let Some(why) = system::refusal(&metadata) {
                    return Err(refused(why));
                }
                if system::is_read_only(&metadata) {
                    let command = system::make_writable(named);
                    let remedy = format!("make it writable with {command}, or ");
                    return Err(failed("it is read-only", &remedy));
                }
                // The mode may allow writing only to another user, and the file may be immutable.
                system::check_access(named).map_err(|error| refused(&error.to_string()))?;
                if metadata.is_file() {
                    system::check_owner(&metadata).map_err(|why| refused(&why))?;
                    output.path = named.canonicalize().map_err(|e| refused(&e.to_string()))?;
                } else {
                    // The link of a pipe behind /dev/stdout cannot be resolved.
                    let opened = system::open_special(named);
                    output.special = Some(opened.map_err(|error| refused(&error.to_string()))?);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if named.is_symlink() {
                    return Err(refused(
                        "it is a symbolic link to a file that does not exist",
                    ));
                }
            }
            Err(error) => return Err(refused(&error.to_string())),
        }
        if output.special.is_none() {
            let last = output.path.as_os_str().as_encoded_bytes().last();
            let is_name = last.is_none_or(|&last| !is_separator(char::from(last)));
            if !is_name || output.path.file_name().is_none() {
                return Err(refused("it is not a file name"));
            }
            if is_saved_result(&output.path) {
                return Err(refused(
                    "it is a saved result, and those are never overwritten",
                ));
            }
            check_creation(parent(&output.path)).map_err(|error| {
                refused(&format!(
                    "no file can be created in its directory ({error})"
                ))
            })?;
        }
        Ok(output)
    }

    /// Refuses two outputs that are the same file, and an output that is also an input: a lost result
    /// cannot be measured again.
    pub fn check_distinct(outputs: &[&OutputFile], inputs: &[PathBuf]) -> Result<(), Failure> {
        let is_file = |output: &&&OutputFile| output.special.is_none();
        let mut seen: Vec<PathBuf> = Vec::new();
        for output in outputs.iter().filter(is_file) {
            let path = resolved(&output.path);
            let named = output.named.display();
            if inputs.iter().any(|input| is_same_file(input, &path)) {
                return Err(Failure::usage(format!(
                    "output '{named}' is also an input, and would be overwritten: choose another \
                     file for the output"
                )));
            }
            if seen.iter().any(|known| is_same_file(known, &path)) {
                return Err(Failure::usage(format!(
                    "'{named}' is given for two outputs: choose another file for one of them"
                )));
            }
            seen.push(path);
        }
        Ok(())
    }

    /// Replaces the file by one with these contents, atomically.
    pub fn write(&self, contents: &str) -> anyhow::Result<()> {
        let written = match &self.special {
            Some(file) => write_whole(file, contents),
            None => replace(&self.path, contents),
        };
        written.with_context(|| format!("cannot write to '{}'", self.named.display()))
    }
}

/// What the systems do differently.
#[cfg(unix)]
mod system {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    use std::path::Path;

    use rustix::fs::{Access, Mode, OFlags, access, open};
    use rustix::io::Errno;
    use rustix::process::{getegid, geteuid, getgroups};

    /// Why a kind of file is never written to.
    pub fn refusal(metadata: &Metadata) -> Option<&'static str> {
        let kind = metadata.file_type();
        if kind.is_block_device() {
            Some("it is a block device, and writing would destroy what is on it")
        } else if kind.is_socket() {
            Some("it is a socket")
        } else {
            None
        }
    }

    /// Whether nobody may write to it.
    pub fn is_read_only(metadata: &Metadata) -> bool {
        metadata.permissions().mode() & 0o222 == 0
    }

    /// The command that makes a file writable.
    pub fn make_writable(path: &Path) -> String {
        format!("chmod u+w {}", super::quoted(path))
    }

    /// Whether this user may write to it.
    pub fn check_access(path: &Path) -> io::Result<()> {
        Ok(access(path, Access::WRITE_OK)?)
    }

    /// Refuses a file whose replacement could not have its owner.
    pub fn check_owner(metadata: &Metadata) -> Result<(), String> {
        let (user, group) = (metadata.uid(), metadata.gid());
        let groups = || getgroups().unwrap_or_default();
        let is_mine = geteuid().as_raw() == user;
        let is_ours =
            || getegid().as_raw() == group || groups().iter().any(|g| g.as_raw() == group);
        if geteuid().is_root() || is_mine && is_ours() {
            return Ok(());
        }
        Err(format!(
            "it belongs to user {user} and group {group}, and a file that replaces it would not"
        ))
    }

    /// Opens a device or FIFO for writing.
    ///
    /// # Errors
    ///
    /// Also if nobody has the FIFO open for reading: open(2) would wait for a reader.
    pub fn open_special(path: &Path) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = match open(path, flags, Mode::empty()) {
            Err(Errno::NXIO) => {
                let why = "no process reads it: start the reader first";
                return Err(io::Error::new(io::ErrorKind::NotFound, why));
            }
            opened => opened?.into(),
        };
        rustix::io::ioctl_fionbio(&file, false)?;
        Ok(file)
    }

    /// Identifies the file: no other one has the same.
    pub fn identity(path: &Path) -> Option<(u64, u64)> {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }
}

/// What the systems do differently.
#[cfg(windows)]
mod system {
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::Path;

    /// Why a kind of file is never written to.
    pub fn refusal(_metadata: &Metadata) -> Option<&'static str> {
        None
    }

    /// Whether nobody may write to it.
    pub fn is_read_only(metadata: &Metadata) -> bool {
        metadata.permissions().readonly()
    }

    /// The command that makes a file writable.
    pub fn make_writable(path: &Path) -> String {
        format!("attrib -r \"{}\"", path.display())
    }

    /// Whether this user may write to it.
    pub fn check_access(path: &Path) -> io::Result<()> {
        File::options().write(true).open(path).map(drop)
    }

    /// The standard library offers no owner.
    pub fn check_owner(_metadata: &Metadata) -> Result<(), String> {
        Ok(())
    }

    /// Opens a device for writing.
    pub fn open_special(path: &Path) -> io::Result<File> {
        File::options().write(true).open(path)
    }

    /// The standard library does not offer it.
    pub fn identity(_path: &Path) -> Option<(u64, u64)> {
        None
    }
}

#[cfg(unix)]
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=~".contains(c);
    match text.chars().all(is_plain) && !text.starts_with(['-', '~']) {
        true => text,
        // A path that looks like an option needs a directory in front.
        false if text.starts_with('-') => quoted(&Path::new(".").join(path)),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Whether the path is a file in the directory of saved results.
fn is_saved_result(path: &Path) -> bool {
    // Without that directory there are no saved results.
    let directory = results_directory().ok();
    let directory = directory.and_then(|directory| directory.canonicalize().ok());
    directory.is_some_and(|directory| path.is_file() && parent(path) == directory)
}

/// The canonical path. For a file that does not exist yet, only its directory is resolved.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    match (parent(path).canonicalize(), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
    }
}

/// Whether two paths name the same file, through symbolic or hard links, or because both would create it.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (system::identity(one), system::identity(other)) {
        (Some(one), Some(other)) => one == other,
        _ => resolved(one) == resolved(other),
    }
}
