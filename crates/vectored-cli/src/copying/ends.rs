//! The input and the output of a copy, by their names.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use anyhow::{Context, anyhow};
use vectored_machine::platform::files::{Standard, close, was_closed};

use super::made::{MadeFile, Watch};
use crate::failure::Failure;

/// The input of a copy.
pub struct Input {
    /// As in `cannot read NAME`.
    pub name: String,
    file: Option<File>,
    metadata: Option<Metadata>,
}

impl Input {
    /// Opens a file; without a name and for `-` it is standard input.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = named(path) else {
            let name = "standard input".to_owned();
            if was_closed(Standard::Input) {
                return Err(anyhow!("{name} is closed").into());
            }
            let metadata = metadata_of(io::stdin().as_fd()).ok();
            return Ok(Input {
                name,
                file: None,
                metadata,
            });
        };
        let name = format!("'{}'", path.display());
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) =
            opened.map_err(|error| Failure::usage(format!("cannot open {name}: {error}")))?;
        if metadata.is_dir() {
            let why = "only files, pipes, sockets and devices can be copied";
            return Err(Failure::usage(format!("{name} is a directory: {why}")));
        }
        Ok(Input {
            name,
            file: Some(file),
            metadata: Some(metadata),
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        // The handle of standard input has no lifetime of its own.
        match &self.file {
            Some(file) => file.as_fd(),
            None => rustix::stdio::stdin(),
        }
    }

    /// The bytes of a file from its position on.
    pub fn bytes_left(&self) -> Option<u64> {
        let file = self.metadata.as_ref().filter(|found| found.is_file())?;
        let position = rustix::fs::tell(self.fd()).ok()?;
        Some(file.len().saturating_sub(position))
    }

    /// The mode of a file that is made of it, before the umask.
    fn mode(&self) -> u32 {
        match &self.metadata {
            Some(found) if found.is_file() => found.mode() & 0o777,
            _ => 0o666,
        }
    }

    fn is(&self, other: &Metadata) -> bool {
        let id = |found: &Metadata| (found.dev(), found.ino());
        self.metadata.as_ref().map(id) == Some(id(other))
    }
}

/// The output of a copy.
pub struct Output {
    /// As in `cannot write to NAME`.
    pub name: String,
    kind: Kind,
}

enum Kind {
    Standard,
    /// A file that was there.
    Present(File),
    /// A file that this copy makes.
    Made(MadeFile),
}

impl Output {
    /// Makes or opens a file; without a name and for `-` it is standard output.
    pub fn open(path: Option<&Path>, from: &Input, force: bool) -> Result<Self, Failure> {
        let Some(path) = named(path) else {
            let name = "standard output".to_owned();
            if was_closed(Standard::Output) {
                return Err(anyhow!("{name} is closed").into());
            }
            return Ok(Output {
                name,
                kind: Kind::Standard,
            });
        };
        let name = format!("'{}'", path.display());
        let cannot = |error: io::Error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => {
                    "its directory does not exist; make that first, or".to_owned()
                }
                _ => format!("{error};"),
            };
            Failure::usage(format!("cannot make {name}: {why} choose another file"))
        };
        let watch = Watch::new().context("cannot watch for signals")?;
        let kind = match watch.make(path, from.mode()) {
            Ok(made) => Kind::Made(made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Kind::Present(open_present(path, &name, from, force)?)
            }
            Err(error) => return Err(cannot(error)),
        };
        Ok(Output { name, kind })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Standard => rustix::stdio::stdout(),
            Kind::Present(file) => file.as_fd(),
            Kind::Made(made) => made.file().as_fd(),
        }
    }

    /// Keeps the file. Some file systems report only when a file is synchronised or closed that its bytes have no room.
    pub fn finish(self, sync: bool) -> Result<(), Failure> {
        let name = self.name.clone();
        if sync {
            rustix::fs::fsync(self.fd()).map_err(|error| {
                let where_it_works = "--sync works only on files and block devices";
                anyhow!("cannot synchronise {name}: {error}; {where_it_works}")
            })?;
        }
        // A duplicate: it is closed to hear of errors, while the file can still be removed.
        let duplicate = self.fd().try_clone_to_owned();
        duplicate
            .and_then(close)
            .with_context(|| format!("cannot close {name}"))?;
        if let Kind::Made(made) = self.kind {
            let path = made.keep();
            if sync {
                let of_directory =
                    crate::atomic_file::sync_directory(crate::atomic_file::parent(&path));
                of_directory
                    .with_context(|| format!("cannot synchronise the directory of {name}"))?;
            }
        }
        Ok(())
    }
}

/// Opens a file that exists. A regular file and a block device are overwritten.
fn open_present(path: &Path, name: &str, from: &Input, force: bool) -> Result<File, Failure> {
    let cannot = |error| Failure::usage(format!("cannot open {name}: {error}"));
    let same = || Failure::usage(format!("{} and {name} are the same file", from.name));
    let found = fs::metadata(path).map_err(cannot)?;
    if found.is_dir() {
        return Err(Failure::usage(format!(
            "{name} is a directory: name a file in it"
        )));
    }
    let is_overwritten = found.is_file() || found.file_type().is_block_device();
    if is_overwritten && from.is(&found) {
        return Err(same());
    }
    if is_overwritten && !force {
        let remedy = "choose another name, or overwrite it with --force";
        return Err(Failure::usage(format!("{name} exists: {remedy}")));
    }
    let file = File::options().write(true).open(path).map_err(cannot)?;
    let opened = file.metadata().map_err(cannot)?;
    if opened.is_file() {
        // It may have become another file since.
        if from.is(&opened) {
            return Err(same());
        }
        file.set_len(0).map_err(cannot)?;
    }
    Ok(file)
}

fn named(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

fn metadata_of(fd: BorrowedFd<'_>) -> io::Result<Metadata> {
    File::from(fd.try_clone_to_owned()?).metadata()
}
