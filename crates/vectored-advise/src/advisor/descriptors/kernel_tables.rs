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

#[derive(Debug, Default)]
pub(crate) struct Process {
    generation: u32,
    /// Process ID: the ID of its first thread.
    pub(crate) number: u32,
    /// Number of the program's name.
    pub(crate) program: u32,
    pub(crate) runtime: Option<Runtime>,
    /// Whether it has opened the library of a database.
    pub(crate) has_database: bool,
    pub(crate) counted: Bits,
    pub(crate) killed: bool,
    /// Its working folder; empty if unknown.
    pub(crate) folder: Vec<u8>,
    /// Parent, if its fork showed.
    pub(crate) parent: Option<ProcessId>,
    /// Event of the fork that made it; 0 if it did not show or its order is unknown.
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
    pub(crate) open_file: DescriptorId,
    pub(crate) process: ProcessId,
    /// Whether no process has a descriptor of it any more.
    pub(crate) is_closed: bool,
}

/// Threads, processes, descriptor tables and open file descriptions of a log.
#[derive(Debug, Default)]
pub(crate) struct KernelTables {
    pub(super) threads: Arena<ThreadId, Thread>,
    pub(super) by_number: FxHashMap<u32, ThreadId>,
    pub(crate) processes: Slab<Process>,
    pub(super) fd_tables: Arena<TableId, FdTable>,
    pub(crate) open_files: Arena<DescriptorId, OpenFile>,
    /// Open file descriptions that a process dropped since the tracker last looked.
    pub(crate) dropped: Vec<DroppedFile>,
    /// Number of processes in the log.
    pub(crate) process_count: u64,
    /// How many descriptors were copied or looked through.
    pub(crate) work: u64,
    generation: u32,
    thread_count: u64,
    pub(super) ended_threads: usize,
    /// The process that ended last: its held findings are counted after its end.
    pub(crate) ended: Option<(ProcessId, Process)>,
}

/// How many open file descriptions, processes and threads are known at once, at most.
const OPEN_FILES_MAX: usize = 1 << 15;
const PROCESSES_MAX: usize = 1 << 15;
const THREADS_MAX: usize = 1 << 17;

/// How many descriptors may be copied or looked through: this many, and `WORK_AN_EVENT` more for each event.
const WORK_MIN: u64 = 1 << 20;
const WORK_AN_EVENT: u64 = 16;

/// The most processes of a line of ancestors that are looked through: a process, its parent, and so on.
pub(super) const ANCESTORS_MAX: usize = 256;

impl KernelTables {
    /// Whether the tables, or the work for `events` events, exceed their limits.
    #[inline]
    pub(crate) fn is_full(&self, events: u64) -> bool {
        self.open_files.len() > OPEN_FILES_MAX
            || self.processes.len() > PROCESSES_MAX
            || self.threads.len() > THREADS_MAX
            || self.work > WORK_MIN + events * WORK_AN_EVENT
    }

    pub(crate) fn forget(&mut self) {
        *self = KernelTables {
            process_count: self.process_count,
            generation: self.generation,
            thread_count: self.thread_count,
            ..KernelTables::default()
        };
    }

    /// The key of a thread, which is created if it is new.
    #[inline]
    pub(crate) fn thread(&mut self, number: u32) -> ThreadId {
        match self.by_number.get(&number) {
            Some(&key) => key,
            None => self.found(number),
        }
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
            table,
            is_found,
            is_counted: true,
            ..Process::default()
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

    pub(crate) fn thread_at(&self, thread: ThreadId) -> Option<&Thread> {
        self.threads.get(thread)
    }

    pub(crate) fn at(&mut self, thread: ThreadId) -> &mut Thread {
        &mut self.threads[thread]
    }

    /// A thread and an open file description by their keys.
    #[inline]
    pub(crate) fn both(
        &mut self,
        thread: ThreadId,
        open_file: DescriptorId,
    ) -> (&mut Thread, &mut OpenFile) {
        (&mut self.threads[thread], &mut self.open_files[open_file])
    }

    /// A process by its ID; `None` if it has ended.
    pub(crate) fn process(&self, id: ProcessId) -> Option<&Process> {
        let process = self.processes.get(id.key)?;
        (process.generation == id.generation).then_some(process)
    }

    pub(crate) fn process_mut(&mut self, id: ProcessId) -> Option<&mut Process> {
        process_at(&mut self.processes, id)
    }

    /// Takes back the count of a process that ran before the log began, since it is a part of another process.
    pub(crate) fn count_with_another(&mut self, id: ProcessId) {
        if let Some(process) = process_at(&mut self.processes, id)
            && process.is_found
            && std::mem::replace(&mut process.is_counted, false)
        {
            self.process_count -= 1;
        }
    }

    pub(crate) fn thread_of_number(&self, number: u32) -> Option<(ThreadId, ProcessId)> {
        let key = *self.by_number.get(&number)?;
        Some((key, self.threads.get(key)?.process))
    }

    /// The table of a process; [`TableId::NONE`] if it has ended.
    fn table_of(&self, process: ProcessId) -> TableId {
        self.process(process)
            .map_or(TableId::NONE, |known| known.table)
    }

    /// The key of the open file description that a descriptor leads to.
    #[inline]
    pub(crate) fn open_file_of(&self, process: ProcessId, number: i32) -> Option<DescriptorId> {
        match self.fd_tables[self.table_of(process)].get(number) {
            Slot::Open { open_file, .. } => Some(open_file),
            Slot::Unseen | Slot::Closed => None,
        }
    }

    fn set(&mut self, process: ProcessId, number: i32, open_file: DescriptorId, close: bool) {
        let table = self.table_of(process);
        let slot = Slot::Open {
            open_file,
            close_on_exec: close,
        };
        self.fd_tables[table].set(number, slot);
    }

    /// Opens a descriptor; if the number was open, it is closed first.
    pub(crate) fn open(
        &mut self,
        process: ProcessId,
        number: i32,
        open_file: OpenFile,
        close_on_exec: bool,
    ) -> DescriptorId {
        self.close(process, number);
        let open_file = self.open_files.insert(OpenFile {
            descriptors: 1,
            fd_tables: 1,
            ..open_file
        });
        self.set(process, number, open_file, close_on_exec);
        open_file
    }

    /// `dup` and `dup2`; nothing if `from` is not open, or is `to`.
    pub(crate) fn duplicate(
        &mut self,
        process: ProcessId,
        from: i32,
        to: i32,
        close_on_exec: bool,
    ) {
        if let Some(open_file) = self.open_file_of(process, from)
            && from != to
        {
            self.open_files[open_file].descriptors += 1;
            self.close(process, to);
            self.set(process, to, open_file, close_on_exec);
        }
    }

    pub(crate) fn set_close_on_exec(&mut self, process: ProcessId, number: i32, up: bool) {
        if let Some(open_file) = self.open_file_of(process, number) {
            self.set(process, number, open_file, up);
        }
    }

    pub(crate) fn close(&mut self, process: ProcessId, number: i32) {
        let table = self.table_of(process);
        let before = self.fd_tables[table].get(number);
        self.fd_tables[table].set(number, Slot::Closed);
        if let Slot::Open { open_file, .. } = before {
            self.leave(open_file, Some(table), process);
        }
    }

    pub(crate) fn close_range(&mut self, process: ProcessId, first: i32, last: i32) {
        let table = &self.fd_tables[self.table_of(process)];
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
        let known = &mut self.open_files[open_file];
        let table = table.filter(|_| known.descriptors > 1);
        let table = table.map(|table| &self.fd_tables[table]);
        self.work += table.map_or(0, FdTable::len);
        let leads_there = table.is_some_and(|table| table.leads_to(open_file));
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
    pub(crate) fn share(&mut self, process: ProcessId, number: i32, open_file: DescriptorId) {
        self.close(process, number);
        let known = &mut self.open_files[open_file];
        known.descriptors += 1;
        known.fd_tables += 1;
        self.set(process, number, open_file, false);
    }

    /// Copies a table for one process; after `execve`, without the descriptors that it closes.
    pub(super) fn copied(&mut self, table: TableId, executed: bool) -> TableId {
        let mut copy = self.fd_tables[table].clone();
        copy.processes = 1;
        self.work += copy.len();
        let gone = copy.open().filter(|open| executed && open.2);
        for number in gone.map(|open| open.0).collect::<Vec<i32>>() {
            copy.set(number, Slot::Closed);
        }
        self.count_copy(&copy);
        self.fd_tables.insert(copy)
    }

    pub(super) fn count_copy(&mut self, copy: &FdTable) {
        // Of the descriptors of one open file description, the ones that stay open at `execve` sort last.
        let mut open_files: Vec<(DescriptorId, bool)> =
            copy.open().map(|open| (open.1, !open.2)).collect();
        sort::sort(&mut open_files);
        for (index, &(open_file, stays)) in open_files.iter().enumerate() {
            let known = &mut self.open_files[open_file];
            known.descriptors += 1;
            known.fd_tables += u32::from(index == 0 || open_files[index - 1].0 != open_file);
            if stays && known.reader != Serial::NONE && known.kind.has_peer() {
                known.shared_reads.get_or_insert(Barrier::OtherReaders);
            }
        }
    }

    /// Notes a name that the log shows beside a thread. The first name is the program's, unless an `execve` showed.
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
        let table = &self.fd_tables[self.table_of(process)];
        self.work += table.len();
        table.open().map(|open| open.1).collect()
    }

    /// The open file descriptions of a process, each with whether the descriptor stays open at `execve`.
    pub(crate) fn open_files_at_execute(
        &mut self,
        process: ProcessId,
    ) -> Vec<(DescriptorId, bool)> {
        let table = &self.fd_tables[self.table_of(process)];
        self.work += table.len();
        let mut open_files: Vec<_> = table.open().map(|open| (open.1, !open.2)).collect();
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
