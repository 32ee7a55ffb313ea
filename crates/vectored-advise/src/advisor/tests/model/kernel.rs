//! A small kernel: files with several names, open file descriptions, streams, processes.

use std::collections::{BTreeMap, VecDeque};

use super::program::OWN_DESCRIPTOR;

/// A byte with its origin: the step that wrote the byte, and the place of the byte in the write.
pub(super) type Cell = u16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    File(usize),
    /// The stream to read from, and the stream to write to.
    Stream(Option<usize>, Option<usize>),
}

#[derive(Clone, Debug)]
pub(super) struct OpenFile {
    pub(super) object: Object,
    pub(super) offset: usize,
    pub(super) append: bool,
    pub(super) may_read: bool,
    pub(super) may_write: bool,
    /// The text of the descriptor in `strace -yy`.
    pub(super) text: String,
}

impl OpenFile {
    pub(super) fn new(object: Object, text: String) -> OpenFile {
        let (may_read, may_write) = match object {
            Object::File(_) => (true, true),
            Object::Stream(from, to) => (from.is_some(), to.is_some()),
        };
        OpenFile {
            object,
            offset: 0,
            append: false,
            may_read,
            may_write,
            text,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) bytes: Vec<Cell>,
    /// The bytes that remain after a loss of power.
    durable: Vec<Cell>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    bytes: VecDeque<Cell>,
    /// All bytes that were ever written to the stream.
    pub(super) history: Vec<Cell>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    pub(super) descriptors: BTreeMap<i32, usize>,
    pub(super) has_ended: bool,
    pub(super) is_awaited: bool,
    /// The number of programs that the process has run before.
    pub(super) programs: u32,
    pub(super) parent: u32,
}

#[derive(Debug, Default)]
pub(super) struct Kernel {
    pub(super) names: BTreeMap<u8, usize>,
    pub(super) files: Vec<File>,
    pub(super) streams: Vec<Stream>,
    /// By the step that made the open file.
    pub(super) open_files: BTreeMap<usize, OpenFile>,
    pub(super) processes: BTreeMap<u32, Process>,
    /// Whether a futex was woken before anybody waited for it.
    pub(super) is_awake: bool,
}

pub(super) fn path_of(name: u8) -> String {
    match name.checked_sub(OWN_DESCRIPTOR) {
        Some(descriptor) => format!("/proc/self/fd/{descriptor}"),
        None => format!("/d/{}", char::from(b'a' + name)),
    }
}

impl Kernel {
    /// Process 1 with standard descriptors from before the log began: a pipe, a file, and a file to append to.
    pub(super) fn new() -> Kernel {
        let mut kernel = Kernel::default();
        kernel.streams.push(Stream::default());
        for name in [0, 5, 6] {
            kernel.create(name);
        }
        let ends = [
            (0, Object::Stream(Some(0), None), "pipe:[90]"),
            (1, Object::File(1), "/d/f"),
            (2, Object::File(2), "/d/g"),
        ];
        kernel.processes.insert(1, Process::default());
        for (fd, object, text) in ends {
            let key = usize::MAX - fd as usize;
            let mut open_file = OpenFile::new(object, text.to_owned());
            open_file.append = fd == 2;
            open_file.may_read &= fd == 0;
            kernel.open_files.insert(key, open_file);
            kernel.install(1, fd, key);
        }
        kernel
    }

    pub(super) fn key_of(&self, process: u32, fd: i32) -> Option<usize> {
        self.processes.get(&process)?.descriptors.get(&fd).copied()
    }

    pub(super) fn at(&self, process: u32, fd: i32) -> Option<&OpenFile> {
        self.open_files.get(&self.key_of(process, fd)?)
    }

    pub(super) fn object(&self, process: u32, fd: i32) -> Option<Object> {
        self.at(process, fd).map(|open_file| open_file.object)
    }

    pub(super) fn file_of(&self, process: u32, fd: i32) -> Option<usize> {
        match self.object(process, fd)? {
            Object::File(file) => Some(file),
            Object::Stream(..) => None,
        }
    }

    pub(super) fn install(&mut self, process: u32, fd: i32, key: usize) {
        if let Some(process) = self.processes.get_mut(&process) {
            process.descriptors.insert(fd, key);
        }
    }

    /// The file that a name leads to, and the name that strace shows for a descriptor of the file.
    pub(super) fn resolve(&self, process: u32, name: u8) -> Option<(usize, String)> {
        if let Some(fd) = name.checked_sub(OWN_DESCRIPTOR) {
            let text = self.at(process, fd.into())?.text.clone();
            return Some((self.file_of(process, fd.into())?, text));
        }
        Some((*self.names.get(&name)?, path_of(name)))
    }

    pub(super) fn create(&mut self, name: u8) -> (usize, String) {
        self.files.push(File::default());
        self.names.insert(name, self.files.len() - 1);
        (self.files.len() - 1, path_of(name))
    }

    pub(super) fn name_again(&mut self, from: u8, to: u8, renames: bool) -> bool {
        let Some(&file) = self.names.get(&from) else {
            return false;
        };
        if from == to || !renames && self.names.contains_key(&to) {
            return false;
        }
        self.names.insert(to, file);
        if renames {
            self.names.remove(&from);
            let (from, to) = (path_of(from), path_of(to));
            for known in self
                .open_files
                .values_mut()
                .filter(|known| known.text == from)
            {
                known.text.clone_from(&to);
            }
        }
        true
    }

    pub(super) fn overwrites(&self, process: u32, fd: i32, at: Option<usize>) -> bool {
        let Some(open_file) = self.at(process, fd).filter(|one| !one.append) else {
            return false;
        };
        let from = at.unwrap_or(open_file.offset);
        matches!(open_file.object, Object::File(file) if from < self.files[file].bytes.len())
    }

    pub(super) fn write(&mut self, key: usize, bytes: &[Cell], at: Option<usize>) {
        let Some(open_file) = self.open_files.get_mut(&key) else {
            return;
        };
        match open_file.object {
            Object::File(file) => {
                let file = &mut self.files[file];
                let end = file.bytes.len();
                let start = if open_file.append { end } else { at.unwrap_or(open_file.offset) };
                file.bytes.resize(end.max(start + bytes.len()), 0);
                file.bytes[start..start + bytes.len()].copy_from_slice(bytes);
                if at.is_none() {
                    open_file.offset = start + bytes.len();
                }
            }
            Object::Stream(_, Some(stream)) => {
                self.streams[stream].history.extend(bytes);
                self.streams[stream].bytes.extend(bytes);
            }
            _ => {}
        }
    }

    /// Reads at most `most` bytes. Returns `None` if the read has to wait.
    pub(super) fn read(&mut self, key: usize, most: usize, at: Option<usize>) -> Option<Vec<Cell>> {
        let open_file = self.open_files.get_mut(&key)?;
        match open_file.object {
            Object::File(file) => {
                let content = &self.files[file].bytes;
                let start = at.unwrap_or(open_file.offset).min(content.len());
                let end = content.len().min(start + most);
                if at.is_none() && end > start {
                    open_file.offset = end;
                }
                Some(content[start..end].to_vec())
            }
            Object::Stream(Some(stream), _) => {
                let is_open = self.has_writer(stream);
                let waiting = &mut self.streams[stream].bytes;
                let count = waiting.len().min(most);
                (count > 0 || !is_open).then(|| waiting.drain(..count).collect())
            }
            _ => Some(Vec::new()),
        }
    }

    pub(super) fn is_readable(&self, stream: usize) -> bool {
        !self.streams[stream].bytes.is_empty() || !self.has_writer(stream)
    }

    fn has_writer(&self, stream: usize) -> bool {
        let running = self.processes.values().filter(|process| !process.has_ended);
        let mut keys = running.flat_map(|process| process.descriptors.values());
        keys.any(|key| matches!(self.open_files[key].object, Object::Stream(_, Some(to)) if to == stream))
    }

    pub(super) fn truncate(&mut self, file: usize, length: usize) {
        self.files[file].bytes.resize(length, 0);
    }

    /// Makes the bytes of a file durable, or the bytes of all files. Returns what a loss of power would leave of them.
    pub(super) fn sync(&mut self, file: Option<usize>) -> Vec<Cell> {
        for (number, known) in self.files.iter_mut().enumerate() {
            if file.is_none_or(|file| file == number) {
                known.durable.clone_from(&known.bytes);
            }
        }
        self.files
            .iter()
            .flat_map(|file| [&file.durable[..], &[0]].concat())
            .collect()
    }
}
