//! A file that is removed unless it is finished.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use vectored_machine::platform::processes::is_ignored;

/// A name and the file that was made by it, while it is to be removed.
type ToRemove = Arc<Mutex<Option<(PathBuf, File)>>>;

/// Watches for the signals that end this program. One that was ignored when it started stays ignored.
pub struct Watch(ToRemove);

impl Watch {
    pub fn new() -> io::Result<Self> {
        let to_remove = ToRemove::default();
        let mut watched = Vec::new();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            if !is_ignored(signal)? {
                watched.push(signal);
            }
        }
        let mut signals = Signals::new(watched)?;
        let of_thread = Arc::clone(&to_remove);
        thread::spawn(move || {
            for signal in signals.forever() {
                let made = lock(&of_thread);
                if let Some((path, file)) = &*made {
                    remove(path, file);
                }
                // The lock is held until the program has ended.
                let _ = emulate_default_handler(signal);
            }
        });
        Ok(Watch(to_remove))
    }

    /// Makes a file that is not there yet. A signal that comes meanwhile is heard afterwards.
    pub fn make(self, path: &Path, mode: u32) -> io::Result<MadeFile> {
        let mut options = File::options();
        options.write(true).create_new(true).mode(mode);
        let mut made = lock(&self.0);
        let file = options.open(path)?;
        let removed = file.try_clone().inspect_err(|_| remove(path, &file))?;
        *made = Some((path.to_owned(), removed));
        drop(made);
        let to_remove = self.0;
        Ok(MadeFile { file, to_remove })
    }
}

/// A new file. If it is dropped, or a signal ends this program before it is kept, it is removed.
pub struct MadeFile {
    file: File,
    to_remove: ToRemove,
}

impl MadeFile {
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Lets the file be, and returns its name.
    pub fn keep(self) -> PathBuf {
        let made = lock(&self.to_remove).take();
        made.expect("a file is kept or dropped once").0
    }
}

impl Drop for MadeFile {
    fn drop(&mut self) {
        if let Some((path, file)) = lock(&self.to_remove).take() {
            remove(&path, &file);
        }
    }
}

fn lock<T>(made: &Mutex<T>) -> MutexGuard<'_, T> {
    made.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the name if it is still that of the file. An error leaves a part behind, of which the error that ended the copy
/// tells.
fn remove(path: &Path, file: &File) {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    let is_same = match (fs::symlink_metadata(path), file.metadata()) {
        (Ok(by_name), Ok(opened)) => id(by_name) == id(opened),
        _ => false,
    };
    if is_same {
        let _ = fs::remove_file(path);
    }
}
