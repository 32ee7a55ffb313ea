//! The kernel's tables, if a log shows them: threads, processes, descriptors and open file descriptions.

use rustc_hash::{FxHashMap, FxHashSet};
use vectored_report::sort;

use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::descriptors::thread::Thread;
use crate::advisor::keys::{Arena, DescriptorId, ProcessId, TableId, ThreadId};
use crate::advisor::runs::barriers::Barrier;
use crate::model::Runtime;

#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    /// The process ID: the ID of the first thread.
    pub(crate) number: u32,
    pub(crate) program: u32,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) has_database: bool,
    pub(crate) counted: FxHashSet<u32>,
    pub(crate) killed: bool,
    pub(crate) folder: Vec<u8>,
    pub(crate) was_forked: bool,
    /// The last event at which any thread of the process forked. The child copies the buffers of all threads.
    pub(crate) forked: u64,
    pub(super) table: TableId,
    pub(super) threads: u32,
    /// Whether the log showed the process before its fork.
    pub(super) is_found: bool,
    pub(crate) has_executed: bool,
    pub(crate) is_counted: bool,
}

/// The descriptors of one process, or of several processes that share descriptors (`CLONE_FILES`).
#[derive(Clone, Debug, Default)]
pub(super) struct FdTable {
    pub(super) processes: u32,
    /// By number: the open file description, and whether `execve` closes the descriptor; `None` if the descriptor is
    /// closed. A number that is missing here may have been open before the log began.
    pub(super) slots: FxHashMap<i32, Option<(DescriptorId, bool)>>,
}

/// A closed descriptor below this number is kept. A log may have many processes, each with high numbers.
const KEPT: i32 = 64;

impl FdTable {
    pub(super) fn open(&self) -> impl Iterator<Item = (i32, DescriptorId, bool)> + '_ {
        let slots = self.slots.iter();
        slots.filter_map(|(&number, slot)| {
            slot.map(|(open_file, closes)| (number, open_file, closes))
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.slots.len() as u64
    }

    fn closed_at_execute(&self) -> Vec<i32> {
        let closed = self.open().filter(|open| open.2);
        closed.map(|open| open.0).collect()
    }
}

/// An open file description, and a process that has closed its last descriptor to the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DroppedFile {
    pub(crate) open_file: DescriptorId,
    pub(crate) process: ProcessId,
    pub(crate) is_closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct KernelTables {
    pub(crate) threads: Arena<1, Thread>,
    pub(crate) by_number: FxHashMap<u32, ThreadId>,
    pub(crate) processes: Arena<4, Process>,
    pub(super) fd_tables: Arena<2, FdTable>,
    pub(crate) open_files: Arena<0, OpenFile>,
    pub(crate) dropped: Vec<DroppedFile>,
    pub(crate) process_count: u64,
    pub(crate) work: u64,
    pub(super) ended_threads: usize,
    /// The process that ended last. Its held findings are counted after its end.
    pub(crate) ended: Option<(ProcessId, Process)>,
}

const OPEN_FILES_MAX: usize = 1 << 15;
const PROCESSES_MAX: usize = 1 << 15;
const THREADS_MAX: usize = 1 << 17;

/// The most descriptors that may be copied or searched: this number, plus `WORK_AN_EVENT` for each event.
const WORK_MIN: u64 = 1 << 20;
const WORK_AN_EVENT: u64 = 16;

impl KernelTables {
    #[inline]
    pub(crate) fn is_full(&self, events: u64) -> bool {
        self.open_files.len() > OPEN_FILES_MAX
            || self.processes.len() > PROCESSES_MAX
            || self.threads.len() > THREADS_MAX
            || self.work > WORK_MIN + events * WORK_AN_EVENT
    }

    pub(crate) fn forget(&mut self) {
        self.threads.clear();
        self.by_number.clear();
        self.processes.clear();
        self.fd_tables.clear();
        self.open_files.clear();
        self.dropped.clear();
        (self.work, self.ended_threads, self.ended) = (0, 0, None);
    }

    /// The key of a thread. A new thread gets a process whose creation was not seen.
    #[inline]
    pub(crate) fn thread(&mut self, number: u32) -> ThreadId {
        match self.by_number.get(&number) {
            Some(&key) => key,
            None => {
                let table = self.fd_tables.insert(FdTable {
                    processes: 1,
                    ..FdTable::default()
                });
                let process = self.new_process(Process {
                    number,
                    table,
                    is_found: true,
                    ..Process::default()
                });
                self.new_thread(number, process)
            }
        }
    }

    pub(super) fn new_process(&mut self, mut process: Process) -> ProcessId {
        self.process_count += 1;
        process.is_counted = true;
        self.processes.insert(process)
    }

    pub(super) fn new_thread(&mut self, number: u32, process: ProcessId) -> ThreadId {
        let key = self.threads.insert(Thread::default());
        self.threads[key].process = process;
        self.by_number.insert(number, key);
        self.processes[process].threads += 1;
        key
    }

    /// Takes back the count of a process that ran before the log began. The process is a part of another process.
    pub(crate) fn count_with_another(&mut self, process: ProcessId) {
        let process = &mut self.processes[process];
        if process.is_found && std::mem::replace(&mut process.is_counted, false) {
            self.process_count -= 1;
        }
    }

    pub(crate) fn thread_of_number(&self, number: u32) -> Option<(ThreadId, ProcessId)> {
        let key = *self.by_number.get(&number)?;
        Some((key, self.threads.get(key)?.process))
    }

    fn table_of(&self, process: ProcessId) -> &FdTable {
        &self.fd_tables[self.processes[process].table]
    }

    #[inline]
    pub(crate) fn open_file_of(&self, process: ProcessId, number: i32) -> Option<DescriptorId> {
        let slot = self.table_of(process).slots.get(&number)?;
        slot.map(|slot| slot.0)
    }

    fn set(&mut self, process: ProcessId, number: i32, open_file: DescriptorId, closes: bool) {
        let table = &mut self.fd_tables[self.processes[process].table];
        table.slots.insert(number, Some((open_file, closes)));
    }

    pub(crate) fn open(
        &mut self,
        process: ProcessId,
        mut open_file: OpenFile,
        close_on_exec: bool,
    ) -> DescriptorId {
        let number = open_file.number;
        self.close(process, number);
        (open_file.descriptors, open_file.fd_tables) = (1, 1);
        let open_file = self.open_files.insert(open_file);
        self.set(process, number, open_file, close_on_exec);
        open_file
    }

    /// `dup` and `dup2`. Does nothing if `from` is not open or equals `to`.
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
        let table = self.processes[process].table;
        let slots = &mut self.fd_tables[table].slots;
        let before = if (0..KEPT).contains(&number) {
            slots.insert(number, None)
        } else {
            slots.remove(&number)
        };
        if let Some(Some((open_file, _))) = before {
            self.leave(open_file, Some(table), process);
        }
    }

    pub(crate) fn close_range(&mut self, process: ProcessId, first: i32, last: i32) {
        let table = self.table_of(process);
        let open = table.open().map(|open| open.0);
        let closed: Vec<i32> = open.filter(|open| (first..=last).contains(open)).collect();
        self.work += table.len();
        for number in closed {
            self.close(process, number);
        }
    }

    /// Takes one descriptor from an open file description. `table` is `None` if the whole table is gone.
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
        let leads_there = table.is_some_and(|table| table.open().any(|open| open.1 == open_file));
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

    pub(crate) fn share(&mut self, process: ProcessId, number: i32, open_file: DescriptorId) {
        self.close(process, number);
        let known = &mut self.open_files[open_file];
        known.descriptors += 1;
        known.fd_tables += 1;
        self.set(process, number, open_file, false);
    }

    pub(super) fn copied(&mut self, table: TableId, executed: bool) -> TableId {
        let mut copy = self.fd_tables[table].clone();
        copy.processes = 1;
        self.work += copy.len();
        if executed {
            for number in copy.closed_at_execute() {
                copy.slots.insert(number, None);
            }
        }
        self.count_copy(&copy);
        self.fd_tables.insert(copy)
    }

    pub(super) fn count_copy(&mut self, copy: &FdTable) {
        // Of two descriptors of one open file description, the descriptor that stays open at `execve` sorts last.
        let mut open_files: Vec<(DescriptorId, bool)> =
            copy.open().map(|open| (open.1, !open.2)).collect();
        sort::sort(&mut open_files);
        for (index, &(open_file, stays)) in open_files.iter().enumerate() {
            let known = &mut self.open_files[open_file];
            known.descriptors += 1;
            known.fd_tables += u32::from(index == 0 || open_files[index - 1].0 != open_file);
            if stays && known.reader != ThreadId::NONE && known.kind.has_peer() {
                known.shared_reads.get_or_insert(Barrier::OtherReaders);
            }
        }
    }

    /// The open file descriptions of a process. The flag tells whether the descriptor stays open at `execve`.
    pub(crate) fn open_files_of(&mut self, process: ProcessId) -> Vec<(DescriptorId, bool)> {
        let table = self.table_of(process);
        let mut open_files: Vec<_> = table.open().map(|open| (open.1, !open.2)).collect();
        self.work += table.len();
        // Of two descriptors of one open file description, the descriptor that stays open comes first.
        sort::sort_by_key(&mut open_files, |&(open_file, is_kept)| {
            (open_file, !is_kept)
        });
        open_files
    }

    pub(crate) fn execute(&mut self, process: ProcessId, program: u32, runtime: Option<Runtime>) {
        let known = &mut self.processes[process];
        (known.program, known.runtime) = (program, runtime);
        (known.has_database, known.has_executed) = (false, true);
        let table = known.table;
        if self.fd_tables[table].processes > 1 {
            let own = self.copied(table, true);
            self.fd_tables[table].processes -= 1;
            self.processes[process].table = own;
            return;
        }
        for number in self.fd_tables[table].closed_at_execute() {
            self.close(process, number);
        }
    }
}
