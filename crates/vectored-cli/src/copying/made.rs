//! A file that is removed unless it is finished.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use vectored_machine::platform::processes::is_ignored;

/// A new file. If it is dropped, or a signal ends this program before it is kept, it is removed.
pub struct MadeFile {
    file: File,
    /// The name while the file is to be removed. A thread that has taken it ends the program.
    name: Arc<Mutex<Option<PathBuf>>>,
}

impl MadeFile {
    /// Watches for signals from here on. One that was ignored when this program started stays ignored.
    pub fn new(path: &Path, file: File) -> io::Result<Self> {
        let name = Arc::new(Mutex::new(Some(path.to_owned())));
        let made = MadeFile { file, name };
        let mut watched = Vec::new();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            if !is_ignored(signal)? {
                watched.push(signal);
            }
        }
        let mut signals = Signals::new(watched)?;
        let (name, file) = (Arc::clone(&made.name), made.file.try_clone()?);
        thread::spawn(move || {
            for signal in signals.forever() {
                let name = lock(&name);
                if let Some(path) = &*name {
                    remove(path, &file);
                }
                // The lock is held until the program has ended.
                let _ = emulate_default_handler(signal);
            }
        });
        Ok(made)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Lets the file be, and returns its name.
    pub fn keep(self) -> PathBuf {
        let name = lock(&self.name).take();
        name.expect("a file is kept or dropped once")
    }
}

impl Drop for MadeFile {
    fn drop(&mut self) {
        if let Some(path) = lock(&self.name).take() {
            remove(&path, &self.file);
        }
    }
}

fn lock(name: &Mutex<Option<PathBuf>>) -> std::sync::MutexGuard<'_, Option<PathBuf>> {
    name.lock().unwrap_or_else(PoisonError::into_inner)
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
