//! A program that writes a file, measured on its thread.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::programs::clock::thread_cpu_ns;
use crate::programs::harness::Harness;
use crate::programs::session::Session;

/// The change of the file before each slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The file is truncated, and the program appends to it: a log, a new archive.
    Truncate,
    /// The file keeps its blocks, and the program writes it anew from the start: a segment of a log that is recycled.
    Overwrite,
}

/// Writes all bytes of a request, by its number from 0.
pub type Write = Box<dyn FnMut(usize) -> io::Result<()>>;

/// The most bytes of a file: a slice of more bytes starts the file anew.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file without a name, and the program that writes it.
struct Written {
    file: Rc<File>,
    reuse: Reuse,
    write: Write,
    request: usize,
}

/// A session of the program that `write` makes for a new file.
pub fn session(
    harness: &Harness,
    reuse: Reuse,
    write: impl FnOnce(Rc<File>) -> Write,
) -> io::Result<Box<dyn Session>> {
    let append = match reuse {
        Reuse::Truncate => OFlags::APPEND,
        Reuse::Overwrite => OFlags::empty(),
    };
    let file = Rc::new(unnamed(harness.directory(), append)?);
    Ok(Box::new(Written {
        write: write(Rc::clone(&file)),
        file,
        reuse,
        request: 0,
    }))
}

impl Written {
    fn start_anew(&mut self) -> io::Result<()> {
        if self.reuse == Reuse::Truncate {
            self.file.set_len(0)?;
        }
        (&*self.file).rewind()
    }

    fn write(&mut self, requests: usize) -> io::Result<()> {
        for _ in 0..requests {
            (self.write)(self.request)?;
            self.request += 1;
        }
        Ok(())
    }
}

impl Session for Written {
    fn deliver(&mut self, requests: usize) -> io::Result<Vec<u8>> {
        self.start_anew()?;
        self.write(requests)?;
        let mut all = Vec::new();
        (&*self.file).rewind()?;
        (&*self.file).read_to_end(&mut all)?;
        Ok(all)
    }

    fn slice(&mut self, requests: usize) -> io::Result<u64> {
        let mut took = 0;
        let mut left = requests;
        while left > 0 {
            self.start_anew()?;
            let began = thread_cpu_ns();
            // The first request of a part tells how many requests fit the file.
            self.write(1)?;
            let bytes = (&*self.file).stream_position()?.max(1);
            let more = ((MAX_FILE_BYTES / bytes) as usize).min(left - 1);
            self.write(more)?;
            took += thread_cpu_ns() - began;
            left -= 1 + more;
        }
        Ok(took)
    }
}

/// A file without a name: nothing is left behind, however the process ends.
fn unnamed(directory: &Path, flags: OFlags) -> io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(file.into()),
        // Not every file system has O_TMPFILE: open(2).
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let name = format!(".vectored-programs-{}", std::process::id());
            let path = directory.join(name);
            let file = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            std::fs::remove_file(&path)?;
            Ok(file.into())
        }
        Err(error) => Err(io::Error::new(
            io::Error::from(error).kind(),
            format!("cannot make a file in '{}': {error}", directory.display()),
        )),
    }
}
