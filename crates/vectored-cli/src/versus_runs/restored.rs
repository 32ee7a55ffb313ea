//! Restores the files of `--same` before each run. Without this, a program that edits a file in place would read the
//! result of the run before.

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};

use vectored_versus::sum;

use super::observed::{Identity, identity};

pub struct Restored {
    path: PathBuf,
    /// The regular file before the first run.
    before: Option<Kept>,
}

struct Kept {
    /// The file has no name and disappears with this process.
    copy: File,
    sha256: String,
    times: FileTimes,
    permissions: Permissions,
    /// The identity of the file after the last restoration.
    identity: Option<Identity>,
}

impl Restored {
    /// The copy is in the directory of the file, or in the directory for temporary files.
    pub fn new(path: &Path) -> io::Result<Restored> {
        let before = match fs::metadata(path) {
            Ok(found) if found.is_file() => Some(Kept::new(path, &found)?),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => None,
        };
        Ok(Restored {
            path: path.to_owned(),
            before,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Restores the file. A file that did not exist is removed, except after the last run.
    pub fn restore(&mut self, is_last: bool) -> io::Result<()> {
        match &mut self.before {
            Some(kept) => kept.restore(&self.path),
            // A symbolic link is kept. Only its target is removed.
            None if !is_last && self.path.is_file() => fs::remove_file(self.path.canonicalize()?),
            None => Ok(()),
        }
    }
}

impl Kept {
    fn new(path: &Path, found: &fs::Metadata) -> io::Result<Kept> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let copy = tempfile::tempfile_in(folder.unwrap_or(Path::new(".")));
        let mut copy = copy.or_else(|_| tempfile::tempfile())?;
        io::copy(&mut File::open(path)?, &mut copy)?;
        copy.rewind()?;
        Ok(Kept {
            sha256: sum(&copy, |_| ())?,
            copy,
            times: FileTimes::new()
                .set_accessed(found.accessed()?)
                .set_modified(found.modified()?),
            permissions: found.permissions(),
            identity: identity(path),
        })
    }

    /// Writes the bytes only if they differ. The times are always set, because a program may compare times of files.
    fn restore(&mut self, path: &Path) -> io::Result<()> {
        if self.identity.is_some() && identity(path) == self.identity {
            return Ok(());
        }
        let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
        let is_equal = is_file && sum(File::open(path)?, |_| ())? == self.sha256;
        if !is_equal {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            let opened = options.open(path).or_else(|error| match error.kind() {
                // A read-only file cannot be opened for writing, so the file is replaced.
                io::ErrorKind::PermissionDenied => {
                    fs::remove_file(path)?;
                    options.open(path)
                }
                _ => Err(error),
            });
            self.copy.rewind()?;
            io::copy(&mut self.copy, &mut opened?)?;
            fs::set_permissions(path, self.permissions.clone())?;
        }
        // The owner may set the times of a read-only file.
        File::open(path)?.set_times(self.times)?;
        self.identity = identity(path);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    type Change = fn(&Path) -> io::Result<()>;

    const CHANGES: [(&str, Change); 6] = [
        ("nothing", |_| Ok(())),
        ("bytes in place", |path| {
            io::Write::write_all(&mut OpenOptions::new().write(true).open(path)?, b"X")
        }),
        ("appended", |path| {
            io::Write::write_all(&mut OpenOptions::new().append(true).open(path)?, b"more")
        }),
        ("same bytes", |path| fs::write(path, "bytes")),
        ("replaced", |path| {
            fs::write(path.with_extension("new"), "other")?;
            fs::rename(path.with_extension("new"), path)
        }),
        ("removed", |path| fs::remove_file(path)),
    ];

    #[test]
    fn each_run_finds_what_the_first_found() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        fs::write(&real, "bytes").unwrap();
        let link = dir.path().join("link");
        symlink("real", &link).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        for path in [&real, &link] {
            fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
            File::open(&real)
                .unwrap()
                .set_times(FileTimes::new().set_modified(old))
                .unwrap();
            let mut restored = Restored::new(path).unwrap();
            for is_last in [false, true] {
                for (name, change) in CHANGES {
                    change(&real).unwrap();
                    restored.restore(is_last).unwrap();
                    let found = fs::metadata(path).unwrap();
                    assert_eq!(fs::read(path).unwrap(), b"bytes", "{name}");
                    assert_eq!(found.modified().unwrap(), old, "{name}");
                    assert_eq!(found.permissions().mode() & 0o777, 0o640, "{name}");
                }
            }
        }
        // The copies have no names in the directory.
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_did_not_exist_is_removed_before_each_run_and_stays_after_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let [new, link, target] = ["new", "link", "target"].map(|name| dir.path().join(name));
        symlink("target", &link).unwrap();
        for (path, made) in [(&new, &new), (&link, &target)] {
            let mut restored = Restored::new(path).unwrap();
            for (is_last, stays) in [(false, false), (true, true)] {
                fs::write(made, "made").unwrap();
                restored.restore(is_last).unwrap();
                assert_eq!(made.exists(), stays);
            }
        }
        assert!(link.is_symlink());
        let mut folder = Restored::new(dir.path()).unwrap();
        folder.restore(false).unwrap();
        assert!(dir.path().is_dir());
    }
}
