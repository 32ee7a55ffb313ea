//! The kernel's tables, as far as a log shows them: threads, processes, descriptors and open file
//! descriptions.

use rustc_hash::FxHashMap;
use slab::Slab;
use vectored_report::sort;

use crate::advisor::descriptors::fd_table::{FdTable, Slot};
use crate::advisor::descriptors::keys::{
    Arena, DescriptorId, ProcessId, Serial, TableId, ThreadId,
};
use crate::advisor::descriptors::open_file::{Bits, OpenFile};
use crate::advisor::descriptors::thread::Thread;
use crate::advisor::runs::barriers::Barrier;
use crate::model::Runtime;

/// A process.
#[derive(Debug)]
pub(crate) struct Process {
    generation: u32,
    /// Process ID: the ID of its first thread.
    pub(crate) number: u32,
    /// Number of the program's name.
    pub(crate) program: u32,
    /// Runtime of the program.
    pub(crate) runtime: Option<Runtime>,
    /// Whether it has opened the library of a database.
    pub(crate) has_database: bool,
    /// Patterns in which this process is counted.
    pub(crate) counted: Bits,
    /// Whether a signal killed it.
    pub(crate) killed: bool,
    /// Its working folder; empty if unknown.
    pub(crate) folder: Vec<u8>,
    /// Parent, if its fork showed.
    pub(crate) parent: Option<ProcessId>,
    /// Event of that fork; 0 if it did not show or its order is unknown.
    pub(crate) born: u64,
    /// The last event of a fork by any of its threads: the child has a copy of what all of them have in buffers.
    pub(crate) forked: u64,
    pub(super) table: TableId,
    pub(super) threads: u32,
    /// Its fork has not shown; it may come later in the log.
    pub(super) is_found: bool,
    /// It has called `execve`.
    pub(crate) has_executed: bool,
    /// Whether it is in [`KernelTables::process_count`].
    pub(crate) is_counted: bool,
}

/// An open file description to which a process has closed its last descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DroppedFile {
    /// Its key.
    pub(crate) open_file: DescriptorId,
    /// The process that closed it.
    pub(crate) process: ProcessId,
    /// Whether no process has a descriptor of it any more.
    pub(crate) is_closed: bool,
}

/// Threads, processes, descriptor tables and open file descriptions of a log.
#[derive(Debug)]
pub(crate) struct KernelTables {
    pub(super) threads: Arena<ThreadId, Thread>,
    pub(super) by_number: FxHashMap<u32, ThreadId>,
    /// Recently used threads: number and key, by the last bits of the number.
    pub(super) recent: [(u32, ThreadId); RECENT],
    /// Processes that have not ended.
    pub(crate) processes: Slab<Process>,
    pub(super) fd_tables: Arena<TableId, FdTable>,
    /// Open file descriptions.
    pub(crate) open_files: Arena<DescriptorId, OpenFile>,
    /// Open file descriptions that a process dropped since the tracker last looked.
    pub(crate) dropped: Vec<DroppedFile>,
    /// Number of processes in the log.
    pub(crate) process_count: u64,
    /// Descriptors that were copied or looked through.
    pub(crate) work: u64,
    generation: u32,
    thread_count: u64,
    pub(super) ended_threads: usize,
    /// The process that ended last: its held findings are counted after its end.
    pub(crate) ended: Option<(ProcessId, Process)>,
}

/// Open file descriptions, processes and threads that are known at once.
const OPEN_FILES_MAX: usize = 1 << 15;
const PROCESSES_MAX: usize = 1 << 15;
const THREADS_MAX: usize = 1 << 17;

/// How many descriptors may be copied or looked through: this many, and `WORK_AN_EVENT` more for each event.
const WORK_MIN: u64 = 1 << 20;
const WORK_AN_EVENT: u64 = 16;

/// Generations of a process that are looked through for a common ancestor.
pub(super) const ANCESTORS_MAX: usize = 256;

/// Entries of the cache in front of `by_number`.
pub(super) const RECENT: usize = 64;

/// An empty entry of that cache.
pub(super) const NO_THREAD: (u32, ThreadId) = (0, ThreadId::NONE);

impl KernelTables {
    pub(crate) fn new() -> KernelTables {
        KernelTables {
            threads: Arena::new(),
            by_number: FxHashMap::default(),
            recent: [NO_THREAD; RECENT],
            processes: Slab::new(),
            fd_tables: Arena::new(),
            open_files: Arena::new(),
            dropped: Vec::new(),
            process_count: 0,
            work: 0,
            generation: 0,
            thread_count: 0,
            ended_threads: 0,
            ended: None,
        }
    }

    /// Whether there is more than a bounded memory and time allow, after so many events.
    #[inline]
    pub(crate) fn is_full(&self, events: u64) -> bool {
        self.open_files.len() > OPEN_FILES_MAX
            || self.processes.len() > PROCESSES_MAX
            || self.threads.len() > THREADS_MAX
            || self.work > WORK_MIN + events * WORK_AN_EVENT
    }

    /// Forgets all but the counts.
    pub(crate) fn forget(&mut self) {
        *self = KernelTables {
            process_count: self.process_count,
            generation: self.generation,
            thread_count: self.thread_count,
            ..KernelTables::new()
        };
    }

    /// The key of a thread, which is created if it is new.
    #[inline]
    pub(crate) fn thread(&mut self, number: u32) -> ThreadId {
        let recent = self.recent[number as usize % RECENT];
        if recent.0 == number && recent.1 != NO_THREAD.1 {
            return recent.1;
        }
        self.look_up(number)
    }

    fn look_up(&mut self, number: u32) -> ThreadId {
        let key = match self.by_number.get(&number) {
            Some(&key) => key,
            None => self.found(number),
        };
        self.recent[number as usize % RECENT] = (number, key);
        key
    }

    /// Creates a thread, and its process, whose creation has not shown.
    fn found(&mut self, number: u32) -> ThreadId {
        let table = self.fd_tables.insert(FdTable::of_one_process());
        let process = self.new_process(number, table, 0, true);
        self.new_thread(number, process)
    }

    pub(super) fn new_process(
        &mut self,
        number: u32,
        table: TableId,
        program: u32,
        is_found: bool,
    ) -> ProcessId {
        self.generation = self.generation.wrapping_add(1);
        self.process_count += 1;
        let generation = self.generation;
        let key = self.processes.insert(Process {
            generation,
            number,
            program,
            runtime: None,
            has_database: false,
            counted: Bits::default(),
            killed: false,
            folder: Vec::new(),
            parent: None,
            born: 0,
            forked: 0,
            table,
            threads: 0,
            is_found,
            is_counted: true,
            has_executed: false,
        });
        ProcessId { key, generation }
    }

    pub(super) fn new_thread(&mut self, number: u32, process: ProcessId) -> ThreadId {
        self.thread_count += 1;
        let thread = Thread::new(number, process, Serial(self.thread_count));
        let key = self.threads.insert(thread);
        self.by_number.insert(number, key);
        if let Some(process) = self.process_mut(process) {
            process.threads += 1;
        }
        key
    }

    /// A thread by its key, if it is known.
    pub(crate) fn thread_at(&self, thread: ThreadId) -> Option<&Thread> {
        self.threads.get(thread)
    }

    /// A thread by its key.
    pub(crate) fn at(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        self.threads.get_mut(thread)
    }

    /// A thread and an open file description by their keys.
    #[inline]
    pub(crate) fn both(
        &mut self,
        thread: ThreadId,
        open_file: DescriptorId,
    ) -> Option<(&mut Thread, &mut OpenFile)> {
        Some((
            self.threads.get_mut(thread)?,
            self.open_files.get_mut(open_file)?,
        ))
    }

    /// A process by its ID; `None` if it has ended.
    pub(crate) fn process(&self, id: ProcessId) -> Option<&Process> {
        let process = self.processes.get(id.key)?;
        (process.generation == id.generation).then_some(process)
    }

    pub(crate) fn process_mut(&mut self, id: ProcessId) -> Option<&mut Process> {
        process_at(&mut self.processes, id)
    }

    /// Takes a process that ran before the log began for part of another one: it is not counted.
    pub(crate) fn count_with_another(&mut self, id: ProcessId) {
        if let Some(process) = process_at(&mut self.processes, id)
            && process.is_found
            && std::mem::replace(&mut process.is_counted, false)
        {
            self.process_count -= 1;
        }
    }

    /// The key of a known thread with this ID, and its process.
    pub(crate) fn thread_of_number(&self, number: u32) -> Option<(ThreadId, ProcessId)> {
        let key = *self.by_number.get(&number)?;
        Some((key, self.threads.get(key)?.process))
    }

    /// The key of the open file description that a descriptor leads to.
    #[inline]
    pub(crate) fn open_file_of(&self, process: ProcessId, number: i32) -> Option<DescriptorId> {
        let table = self.process(process)?.table;
        match self.fd_tables.get(table)?.get(number) {
            Slot::Open { open_file, .. } => Some(open_file),
            Slot::Unseen | Slot::Closed => None,
        }
    }

    /// Opens a descriptor; if the number was open, it is closed first.
    pub(crate) fn open(
        &mut self,
        process: ProcessId,
        number: i32,
        open_file: OpenFile,
        close_on_exec: bool,
    ) -> Option<DescriptorId> {
        self.close(process, number);
        let table = self.process(process)?.table;
        let open_file = self.open_files.insert(OpenFile {
            descriptors: 1,
            fd_tables: 1,
            ..open_file
        });
        let slot = Slot::Open {
            open_file,
            close_on_exec,
        };
        self.fd_tables.get_mut(table)?.set(number, slot);
        Some(open_file)
    }

    /// `dup` and `dup2`; `None` if `from` is not open.
    pub(crate) fn duplicate(
        &mut self,
        process: ProcessId,
        from: i32,
        to: i32,
        close_on_exec: bool,
    ) -> Option<()> {
        let open_file = self.open_file_of(process, from)?;
        if from == to {
            return Some(());
        }
        self.open_files.get_mut(open_file)?.descriptors += 1;
        self.close(process, to);
        let table = self.process(process)?.table;
        let slot = Slot::Open {
            open_file,
            close_on_exec,
        };
        self.fd_tables.get_mut(table)?.set(to, slot);
        Some(())
    }

    /// Sets or clears `FD_CLOEXEC`.
    pub(crate) fn set_close_on_exec(&mut self, process: ProcessId, number: i32, up: bool) {
        let Some(open_file) = self.open_file_of(process, number) else {
            return;
        };
        let table = self.process(process).map(|process| process.table);
        if let Some(table) = table.and_then(|table| self.fd_tables.get_mut(table)) {
            let slot = Slot::Open {
                open_file,
                close_on_exec: up,
            };
            table.set(number, slot);
        }
    }

    /// Closes a descriptor.
    pub(crate) fn close(&mut self, process: ProcessId, number: i32) {
        let Some(table_place) = self.process(process).map(|process| process.table) else {
            return;
        };
        let Some(table) = self.fd_tables.get_mut(table_place) else {
            return;
        };
        if let Slot::Open { open_file, .. } = table.get(number) {
            table.set(number, Slot::Closed);
            self.leave(open_file, Some(table_place), process);
        } else {
            table.set(number, Slot::Closed);
        }
    }

    /// Closes a range of descriptors.
    pub(crate) fn close_range(&mut self, process: ProcessId, first: i32, last: i32) {
        let table = self.process(process).map(|process| process.table);
        let Some(table) = table.and_then(|table| self.fd_tables.get(table)) else {
            return;
        };
        let open = table.open().map(|open| open.0);
        let closed: Vec<i32> = open.filter(|open| (first..=last).contains(open)).collect();
        self.work += table.len();
        for number in closed {
            self.close(process, number);
        }
    }

    /// Counts down the descriptors of an open file description. `table` is `None` if the whole table is
    /// gone.
    pub(super) fn leave(
        &mut self,
        open_file: DescriptorId,
        table: Option<TableId>,
        process: ProcessId,
    ) {
        let others = |table| {
            self.fd_tables
                .get(table)
                .is_some_and(|table| table.leads_to(open_file))
        };
        let is_duplicated = self
            .open_files
            .get(open_file)
            .is_some_and(|known| known.descriptors > 1);
        let leads_there = is_duplicated && table.is_some_and(others);
        if is_duplicated && let Some(table) = table.and_then(|table| self.fd_tables.get(table)) {
            self.work += table.len();
        }
        let Some(known) = self.open_files.get_mut(open_file) else {
            return;
        };
        known.descriptors = known.descriptors.saturating_sub(1);
        if !leads_there {
            known.fd_tables = known.fd_tables.saturating_sub(1);
            self.dropped.push(DroppedFile {
                open_file,
                process,
                is_closed: known.descriptors == 0,
            });
        }
    }

    /// Gives a process another descriptor of an open file description that exists.
    pub(crate) fn share(
        &mut self,
        process: ProcessId,
        number: i32,
        open_file: DescriptorId,
    ) -> Option<DescriptorId> {
        self.close(process, number);
        let table = self.process(process)?.table;
        let known = self.open_files.get_mut(open_file)?;
        known.descriptors += 1;
        known.fd_tables += 1;
        let slot = Slot::Open {
            open_file,
            close_on_exec: false,
        };
        self.fd_tables.get_mut(table)?.set(number, slot);
        Some(open_file)
    }

    /// Copies a table for one process; after `execve` without the descriptors that are closed then.
    pub(super) fn copied(&mut self, table: TableId, executed: bool) -> Option<TableId> {
        let mut copy = self.fd_tables.get(table)?.clone();
        copy.processes = 1;
        self.work += copy.len();
        let gone: Vec<i32> = copy
            .open()
            .filter(|open| executed && open.2)
            .map(|open| open.0)
            .collect();
        for number in gone {
            copy.set(number, Slot::Closed);
        }
        self.count_copy(&copy);
        Some(self.fd_tables.insert(copy))
    }

    pub(super) fn count_copy(&mut self, copy: &FdTable) {
        // Of the descriptors of one open file description, the ones that stay open at `execve` sort last.
        let mut open_files: Vec<(DescriptorId, bool)> =
            copy.open().map(|open| (open.1, !open.2)).collect();
        sort::sort(&mut open_files);
        for (index, &(open_file, stays)) in open_files.iter().enumerate() {
            if let Some(known) = self.open_files.get_mut(open_file) {
                known.descriptors += 1;
                known.fd_tables += u32::from(index == 0 || open_files[index - 1].0 != open_file);
                if stays && known.reader != Serial::NONE && known.kind.has_peer() {
                    known.shared_reads.get_or_insert(Barrier::OtherReaders);
                }
            }
        }
    }

    /// Notes a name that the log shows beside a thread. The first one is its program's, unless an
    /// `execve` showed.
    pub(crate) fn name(&mut self, process: ProcessId, program: u32, runtime: Option<Runtime>) {
        if let Some(known) = self.process_mut(process)
            && known.program == 0
        {
            known.program = program;
            known.runtime = known.runtime.or(runtime);
        }
    }

    /// Keys of a process's open file descriptions, one for each descriptor.
    pub(crate) fn open_files_of(&mut self, process: ProcessId) -> Vec<DescriptorId> {
        let table = self.process(process).map(|process| process.table);
        let table = table.and_then(|table| self.fd_tables.get(table));
        self.work += table.map_or(0, FdTable::len);
        table.map_or(Vec::new(), |table| {
            table.open().map(|open| open.1).collect()
        })
    }

    /// The open file descriptions of a process, each with whether the descriptor stays open at `execve`.
    pub(crate) fn open_files_at_execute(
        &mut self,
        process: ProcessId,
    ) -> Vec<(DescriptorId, bool)> {
        let table = self.process(process).map(|process| process.table);
        let table = table.and_then(|table| self.fd_tables.get(table));
        self.work += table.map_or(0, FdTable::len);
        let mut open_files: Vec<(DescriptorId, bool)> = table.map_or(Vec::new(), |table| {
            table.open().map(|open| (open.1, !open.2)).collect()
        });
        // Of several descriptors of one open file description, those that stay come first.
        sort::sort_by_key(&mut open_files, |&(open_file, is_kept)| {
            (open_file, !is_kept)
        });
        open_files
    }
}

/// [`KernelTables::process_mut`] for callers that borrow other fields.
pub(crate) fn process_at(processes: &mut Slab<Process>, id: ProcessId) -> Option<&mut Process> {
    let process = processes.get_mut(id.key)?;
    (process.generation == id.generation).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_whose_numbers_end_alike_are_told_apart() {
        let mut fd_tables = KernelTables::new();
        let alike = 7 + RECENT as u32;
        let (one, other) = (fd_tables.thread(7), fd_tables.thread(alike));
        assert_ne!(one, other);
        assert_eq!((fd_tables.thread(7), fd_tables.thread(alike)), (one, other));
        let serial = |fd_tables: &mut KernelTables, number| {
            let key = fd_tables.thread(number);
            fd_tables.at(key).map(|thread| thread.serial)
        };
        let before = serial(&mut fd_tables, 7);
        fd_tables.end_thread(7, false, true);
        assert_ne!(serial(&mut fd_tables, 7), before);
    }
}
