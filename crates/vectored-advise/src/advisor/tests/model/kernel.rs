//! A small kernel: files with several names, open file descriptions, streams, processes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A byte with its origin: the step that wrote it, and the place in what the step wrote.
pub(super) type Cell = u16;

/// What is at the other end of an open file description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    File(usize),
    /// `O_PATH`: the file can be looked at only.
    Handle(usize),
    /// The stream that is read, and the stream that is written.
    Stream(Option<usize>, Option<usize>),
}

#[derive(Clone, Debug)]
pub(super) struct OpenFile {
    pub(super) object: Object,
    pub(super) offset: usize,
    pub(super) append: bool,
    pub(super) may_write: bool,
    pub(super) may_read: bool,
    /// What `strace -yy` shows of it.
    pub(super) text: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) bytes: Vec<Cell>,
    /// The bytes that a loss of power leaves.
    pub(super) durable: Vec<Cell>,
    pub(super) is_watched: bool,
    /// Calls that changed it while it was watched.
    pub(super) changes: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    pub(super) bytes: VecDeque<Cell>,
    /// All bytes that were ever written to it.
    pub(super) history: Vec<Cell>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    pub(super) descriptors: BTreeMap<i32, usize>,
    pub(super) has_ended: bool,
    pub(super) parent: u32,
}

/// A name in the folder.
#[derive(Clone, Copy, Debug)]
enum Entry {
    File(usize),
    Symbolic(u8),
}

/// From this number on a name is `/proc/self/fd/N`.
pub(super) const OWN_DESCRIPTOR: u8 = 100;

#[derive(Clone, Debug, Default)]
pub(super) struct Kernel {
    names: BTreeMap<u8, Entry>,
    pub(super) files: Vec<File>,
    pub(super) streams: Vec<Stream>,
    /// By the step that made them.
    pub(super) open_files: BTreeMap<usize, OpenFile>,
    pub(super) processes: BTreeMap<u32, Process>,
    /// Posted semaphores: futexes that a thread may wait for.
    pub(super) posted: BTreeSet<u8>,
}

pub(super) fn path_of(name: u8) -> String {
    match name {
        OWN_DESCRIPTOR.. => format!("/proc/self/fd/{}", name - OWN_DESCRIPTOR),
        _ => format!("/d/{}", char::from(b'a' + name)),
    }
}

impl Kernel {
    pub(super) fn key_of(&self, process: u32, descriptor: i32) -> Option<usize> {
        let process = self.processes.get(&process)?;
        process.descriptors.get(&descriptor).copied()
    }

    pub(super) fn at(&self, process: u32, descriptor: i32) -> Option<&OpenFile> {
        self.open_files.get(&self.key_of(process, descriptor)?)
    }

    pub(super) fn install(&mut self, process: u32, descriptor: i32, key: usize) {
        if let Some(process) = self.processes.get_mut(&process) {
            process.descriptors.insert(descriptor, key);
        }
    }

    /// The file that a name leads to, and its own name.
    pub(super) fn resolve(&self, process: u32, name: u8) -> Option<(usize, u8)> {
        if name >= OWN_DESCRIPTOR {
            let descriptor = i32::from(name - OWN_DESCRIPTOR);
            return match self.at(process, descriptor)?.object {
                Object::File(file) | Object::Handle(file) => Some((file, name)),
                _ => None,
            };
        }
        match *self.names.get(&name)? {
            Entry::File(file) => Some((file, name)),
            Entry::Symbolic(to) => match *self.names.get(&to)? {
                Entry::File(file) => Some((file, to)),
                Entry::Symbolic(_) => None,
            },
        }
    }

    pub(super) fn has(&self, name: u8) -> bool {
        self.names.contains_key(&name)
    }

    pub(super) fn names(&self) -> Vec<u16> {
        self.names.keys().map(|&name| u16::from(name)).collect()
    }

    pub(super) fn create(&mut self, name: u8) -> usize {
        self.files.push(File::default());
        let file = self.files.len() - 1;
        let name = match self.names.get(&name) {
            Some(Entry::Symbolic(to)) => *to,
            _ => name,
        };
        self.names.insert(name, Entry::File(file));
        file
    }

    /// `link`, `symlink`, `rename` if the first exists and is no symbolic link.
    pub(super) fn name_again(&mut self, from: u8, to: u8, symbolic: bool, renames: bool) -> bool {
        let Some(&Entry::File(file)) = self.names.get(&from) else {
            return false;
        };
        if from == to || !renames && self.has(to) {
            return false;
        }
        self.names.insert(to, if symbolic { Entry::Symbolic(from) } else { Entry::File(file) });
        if renames {
            self.names.remove(&from);
            let (from, to) = (path_of(from), path_of(to));
            for open_file in self.open_files.values_mut().filter(|known| known.text == from) {
                open_file.text.clone_from(&to);
            }
        }
        true
    }

    pub(super) fn unlink(&mut self, name: u8) -> bool {
        self.names.remove(&name).is_some()
    }

    fn changed(&mut self, file: usize) {
        let file = &mut self.files[file];
        file.changes += u32::from(file.is_watched);
    }

    /// Writes at the offset, at the end, or at a place of its own.
    pub(super) fn write(&mut self, key: usize, bytes: &[Cell], at: Option<usize>) {
        let Some(open_file) = self.open_files.get_mut(&key) else {
            return;
        };
        match open_file.object {
            Object::File(file) => {
                let content = &mut self.files[file].bytes;
                let end = content.len();
                let start = if open_file.append { end } else { at.unwrap_or(open_file.offset) };
                content.resize(end.max(start + bytes.len()), 0);
                content[start..start + bytes.len()].copy_from_slice(bytes);
                if at.is_none() {
                    open_file.offset = start + bytes.len();
                }
                if !bytes.is_empty() {
                    self.changed(file);
                }
            }
            Object::Stream(_, Some(stream)) => {
                self.streams[stream].history.extend(bytes);
                self.streams[stream].bytes.extend(bytes);
            }
            _ => {}
        }
    }

    /// Reads up to so many bytes; `None` if it has to wait.
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
                let has_writer = self.has_writer(stream);
                let waiting = &mut self.streams[stream].bytes;
                let count = waiting.len().min(most);
                (count > 0 || !has_writer).then(|| waiting.drain(..count).collect())
            }
            _ => Some(Vec::new()),
        }
    }

    /// Whether a read would return at once.
    pub(super) fn is_readable(&self, key: usize) -> bool {
        match self.open_files[&key].object {
            Object::Stream(Some(stream), _) => {
                !self.streams[stream].bytes.is_empty() || !self.has_writer(stream)
            }
            _ => true,
        }
    }

    fn has_writer(&self, stream: usize) -> bool {
        let running = self.processes.values().filter(|process| !process.has_ended);
        let mut keys = running.flat_map(|process| process.descriptors.values());
        keys.any(|key| matches!(self.open_files[key].object, Object::Stream(_, Some(to)) if to == stream))
    }

    pub(super) fn truncate(&mut self, file: usize, length: usize) {
        self.files[file].bytes.resize(length, 0);
        self.changed(file);
    }

    /// Makes what a file has durable; all files if none is given.
    pub(super) fn sync(&mut self, file: Option<usize>) {
        for (number, known) in self.files.iter_mut().enumerate() {
            if file.is_none_or(|file| file == number) {
                known.durable.clone_from(&known.bytes);
            }
        }
    }

    /// What a loss of power would leave of all files.
    pub(super) fn durable(&self) -> Vec<Cell> {
        self.files.iter().flat_map(|file| file.durable.iter().copied().chain([Cell::MAX])).collect()
    }
}
