//! The named input and output of a copy.

use std::cell::Cell;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use anyhow::{Context, anyhow};
use rustix::fs::{fstat, fsync, ftruncate, tell};
use rustix::io::{Errno, retry_on_intr};
use vectored_machine::platform::files::{
    ProvisionalFile, Standard, close, close_standard_output, was_closed,
};

use crate::atomic_file::{parent, sync_open_directory};
use crate::failure::Failure;

const WHAT_IS_COPIED: &str = "only files, pipes, sockets and devices can be copied";

pub struct Input {
    /// The name in the message `cannot read NAME`.
    pub name: String,
    file: Option<File>,
    metadata: Option<Metadata>,
}

impl Input {
    /// `None` and `-` mean standard input.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = named(path) else {
            let name = "standard input".to_owned();
            if was_closed(Standard::Input) {
                return Err(anyhow!("{name} is closed").into());
            }
            let stdin = rustix::stdio::stdin();
            let metadata = stdin.try_clone_to_owned().map(File::from);
            let metadata = metadata.and_then(|file| file.metadata()).ok();
            return Input::of(name, None, metadata);
        };
        let name = format!("'{}'", path.display());
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(|error| cannot_open(&name, &error))?;
        Input::of(name, Some(file), Some(metadata))
    }

    fn of(name: String, file: Option<File>, metadata: Option<Metadata>) -> Result<Self, Failure> {
        if metadata.as_ref().is_some_and(Metadata::is_dir) {
            return Err(Failure::usage(format!(
                "{name} is a directory: {WHAT_IS_COPIED}"
            )));
        }
        Ok(Input {
            name,
            file,
            metadata,
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        match &self.file {
            Some(file) => file.as_fd(),
            None => rustix::stdio::stdin(),
        }
    }

    /// Returns the number of bytes from the position to the end of a file.
    pub fn bytes_left(&self) -> Option<u64> {
        let file = self.metadata.as_ref().filter(|found| found.is_file())?;
        let position = rustix::fs::tell(self.fd()).ok()?;
        Some(file.len().saturating_sub(position))
    }

    /// The mode of a new output file before the umask is applied.
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

pub struct Output {
    /// The name in the message `cannot write to NAME`.
    pub name: String,
    kind: Kind,
    /// Whether the file still has its old bytes. The copy cuts off these bytes after its start.
    has_old_bytes: Cell<bool>,
    /// The directory of a new file, which `--sync` must also sync.
    directory: Option<File>,
}

enum Kind {
    Standard,
    Present(File),
    Made(ProvisionalFile),
}

impl Output {
    /// Creates or opens the output. `None` and `-` mean standard output. An existing file is not changed here.
    /// `check` runs before a new file is created and may refuse the copy.
    pub fn open(
        path: Option<&Path>,
        from: &Input,
        force: bool,
        sync: bool,
        check: impl FnOnce(&str) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let mut output = Output {
            name: "standard output".to_owned(),
            kind: Kind::Standard,
            has_old_bytes: Cell::new(false),
            directory: None,
        };
        match named(path) {
            None if was_closed(Standard::Output) => {
                return Err(anyhow!("{} is closed", output.name).into());
            }
            None => {}
            Some(path) => {
                output.name = format!("'{}'", path.display());
                match fs::symlink_metadata(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        check(&output.name)?;
                        output.make(path, from, sync)?;
                    }
                    _ => output.open_present(path, from, force)?,
                }
            }
        }
        if sync {
            output.check_sync()?;
        }
        Ok(output)
    }

    fn make(&mut self, path: &Path, from: &Input, sync: bool) -> Result<(), Failure> {
        let name = &self.name;
        let cannot = |error: io::Error| {
            let remedy = if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) {
                "raise the limit with ulimit -n"
            } else {
                "choose another file"
            };
            Failure::usage(format!("cannot make {name}: {error}; {remedy}"))
        };
        if sync {
            let directory = File::open(parent(path)).map_err(cannot)?;
            self.directory = Some(directory);
        }
        self.kind = Kind::Made(ProvisionalFile::make(path, from.mode()).map_err(cannot)?);
        Ok(())
    }

    /// Opens an existing output. A regular file or a block device is overwritten, and needs `force`.
    fn open_present(&mut self, path: &Path, from: &Input, force: bool) -> Result<(), Failure> {
        let name = &self.name;
        let cannot = |error| cannot_open(name, &error);
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
        // The path may lead to another file after the first check.
        if opened.is_file() && from.is(&opened) {
            return Err(same());
        }
        self.has_old_bytes.set(opened.is_file() && opened.len() > 0);
        self.kind = Kind::Present(file);
        Ok(())
    }

    /// Before the copy, refuses an output that fsync(2) cannot sync. A file is not tried, because fsync(2) may take
    /// long.
    fn check_sync(&self) -> Result<(), Failure> {
        let found =
            fstat(self.fd()).map(|found| rustix::fs::FileType::from_raw_mode(found.st_mode));
        let is_file = found.is_ok_and(|kind| kind.is_file() || kind.is_block_device());
        if !is_file && let Err(error) = retry_on_intr(|| fsync(self.fd())) {
            let why = "--sync works only on files and block devices";
            return Err(Failure::usage(format!(
                "cannot synchronise {}: {error}; {why}",
                self.name
            )));
        }
        Ok(())
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Standard => rustix::stdio::stdout(),
            Kind::Present(file) => file.as_fd(),
            Kind::Made(made) => made.file().as_fd(),
        }
    }

    pub fn has_old_bytes(&self) -> bool {
        self.has_old_bytes.get()
    }

    /// Cuts off the old bytes after the first `written` bytes.
    pub fn cut_old_bytes(&self, written: u64) -> io::Result<()> {
        if self.has_old_bytes() {
            retry_on_intr(|| ftruncate(self.fd(), written))?;
            self.has_old_bytes.set(false);
        }
        Ok(())
    }

    pub fn uncut(&self, error: &io::Error) -> Failure {
        let name = &self.name;
        anyhow!("cannot cut off the old bytes of {name}: {error}; remove it first").into()
    }

    /// If no byte was written, the file keeps its old bytes.
    pub fn cut_after_failure(&self) {
        if let Ok(written @ 1..) = tell(self.fd()) {
            let _ = self.cut_old_bytes(written);
        }
    }

    /// Keeps the file and its `written` bytes. Some file systems report missing space only at fsync(2) or close(2).
    /// Standard output is therefore closed, and not a duplicate: the system may refuse to make a duplicate.
    pub fn finish(self, written: u64, sync: bool) -> Result<(), Failure> {
        let name = &self.name;
        self.cut_old_bytes(written)
            .map_err(|error| self.uncut(&error))?;
        if sync {
            let synced = retry_on_intr(|| fsync(self.fd()));
            synced.with_context(|| format!("cannot synchronise {name}"))?;
        }
        let closed = match self.kind {
            Kind::Standard => close_standard_output(),
            Kind::Present(file) => close(file.into()),
            Kind::Made(made) => made.keep(),
        };
        closed.with_context(|| format!("cannot close {name}"))?;
        if let Some(directory) = self.directory {
            let synced = sync_open_directory(&directory);
            synced.with_context(|| {
                format!("{name} is complete, but its directory cannot be synchronised")
            })?;
        }
        Ok(())
    }
}

fn cannot_open(name: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot open {name}: {error}"))
}

fn named(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}
