//! `fork`, `execve` and the ends of processes and threads, in any order of the log's lines.

use crate::advisor::descriptors::fd_table::{FdTable, Slot};
use crate::advisor::descriptors::kernel_tables::{ANCESTORS_MAX, KernelTables, Process};
use crate::advisor::descriptors::keys::{ProcessId, ThreadId};
use crate::advisor::descriptors::thread::Thread;
use crate::model::Runtime;

impl KernelTables {
    /// A `fork`, `vfork` or `clone` that returned in the parent.
    pub(crate) fn fork(
        &mut self,
        event: u64,
        parent: ProcessId,
        child: u32,
        same_process: bool,
        shares: bool,
    ) {
        let known = self.by_number.get(&child).copied();
        let found = known.filter(|&key| self.is_found(key));
        match (found, same_process) {
            (Some(thread), true) => self.adopt_thread(parent, thread),
            (Some(thread), false) => self.adopt_process(parent, thread, shares),
            (None, _) => {
                if known.is_some() {
                    // The kernel uses the number again; the end of its last owner did not show.
                    self.end_thread(child, false, true);
                }
                let process =
                    if same_process { Some(parent) } else { self.forked(parent, child, shares) };
                if let Some(process) = process {
                    self.new_thread(child, process);
                }
            }
        }
        if !same_process {
            self.note_birth(event, parent, child, found.is_some());
        }
    }

    /// Notes the parent and the fork of a child. If the child made a call before its fork returned, the
    /// order of that call and the parent's calls is unknown.
    fn note_birth(&mut self, event: u64, parent: ProcessId, child: u32, was_found: bool) {
        let key = self.by_number.get(&child).copied();
        let Some(thread) = key.and_then(|key| self.threads.get(key)) else {
            return;
        };
        let (process, is_new) = (thread.process, thread.last == 0);
        if was_found && self.descends_from(parent, process) {
            // The log is wrong: no process is its own ancestor.
            return;
        }
        if let Some(process) = self.process_mut(process) {
            process.parent = Some(parent);
            process.born = if is_new { event } else { 0 };
        }
    }

    /// The ancestors of a process, itself first, as far as they are looked through.
    fn line_of(&self, process: ProcessId) -> impl Iterator<Item = ProcessId> + '_ {
        let parent = |one: &ProcessId| self.process(*one).and_then(|known| known.parent);
        std::iter::successors(Some(process), parent).take(ANCESTORS_MAX)
    }

    /// Whether `process` is `of` or a descendant of it, or too deep to tell.
    fn descends_from(&self, process: ProcessId, of: ProcessId) -> bool {
        let mut line = self.line_of(process);
        line.any(|one| one == of) || self.line_of(process).count() == ANCESTORS_MAX
    }

    /// Whether all that `process` does from now on comes after `event` of `of`: it is that process, or
    /// descends from a child that was forked later.
    pub(crate) fn comes_after(&self, process: ProcessId, event: u64, of: ProcessId) -> bool {
        let is_child = |one: &ProcessId| {
            self.process(*one)
                .is_some_and(|known| known.parent == Some(of))
        };
        process == of
            || self
                .line_of(process)
                .find(is_child)
                .is_some_and(|child| self.process(child).is_some_and(|known| known.born > event))
    }

    fn is_found(&self, thread: ThreadId) -> bool {
        let thread = self.threads.get(thread);
        let process = thread.and_then(|thread| self.process(thread.process));
        process.is_some_and(|process| process.is_found && process.threads == 1)
    }

    fn forked(&mut self, parent: ProcessId, child: u32, shares: bool) -> Option<ProcessId> {
        let Process {
            program,
            runtime,
            has_database,
            table,
            ..
        } = *self.process(parent)?;
        let key = if shares {
            self.fd_tables[table].processes += 1;
            table
        } else {
            self.copied(table, false)
        };
        let folder = self.process(parent)?.folder.clone();
        let child = self.new_process(child, key, program, false);
        let process = self.process_mut(child)?;
        (process.runtime, process.folder) = (runtime, folder);
        process.has_database = has_database;
        Some(child)
    }

    /// Moves a thread that was taken for a process of its own to its process.
    fn adopt_thread(&mut self, parent: ProcessId, thread: ThreadId) {
        let Some(found) = self.threads.get(thread).map(|thread| thread.process) else {
            return;
        };
        if found == parent {
            return;
        }
        let is_counted = self
            .process(found)
            .is_some_and(|process| process.is_counted);
        self.end_process(found);
        self.process_count -= u64::from(is_counted);
        self.threads[thread].process = parent;
        // `end_process` counted it as ended.
        self.ended_threads = self.ended_threads.saturating_sub(1);
        if let Some(process) = self.process_mut(parent) {
            process.threads += 1;
        }
    }

    /// Gives a process that ran before its fork returned the descriptors of its parent, except those
    /// that it opened or closed itself.
    fn adopt_process(&mut self, parent: ProcessId, thread: ThreadId, shares: bool) {
        let child = self.threads.get(thread).map(|thread| thread.process);
        let parts = child.and_then(|child| {
            let executed = self.process(child)?.has_executed;
            Some((child, self.process(child)?.table, executed))
        });
        let Some((child, own, executed)) = parts else {
            return;
        };
        let Some(Process {
            program,
            runtime,
            table,
            folder,
            ..
        }) = self.process(parent)
        else {
            return;
        };
        let (program, runtime, table, folder) = (*program, *runtime, *table, folder.clone());
        if let Some(child) = self.process_mut(child) {
            child.is_found = false;
            if child.folder.is_empty() {
                child.folder = folder;
            }
            if !child.has_executed {
                child.program = program;
                child.runtime = runtime;
            }
        }
        if table == own || shares {
            return;
        }
        let from = self.fd_tables[table].clone();
        let into = &mut self.fd_tables[own];
        let mut taken = FdTable::default();
        self.work += from.len();
        for (number, open_file, close_on_exec) in from.open() {
            if into.get(number) == Slot::Unseen && !(executed && close_on_exec) {
                let slot = Slot::Open {
                    open_file,
                    close_on_exec,
                };
                into.set(number, slot);
                taken.set(number, slot);
            }
        }
        self.count_copy(&taken);
    }

    /// `execve`: the program changes and `FD_CLOEXEC` descriptors close.
    pub(crate) fn execute(&mut self, process: ProcessId, program: u32, runtime: Option<Runtime>) {
        let Some(known) = self.process_mut(process) else {
            return;
        };
        known.program = program;
        known.runtime = runtime;
        known.has_database = false;
        known.has_executed = true;
        let table = known.table;
        if self.fd_tables[table].processes > 1 {
            let own = self.copied(table, true);
            self.fd_tables[table].processes -= 1;
            if let Some(known) = self.process_mut(process) {
                known.table = own;
            }
            return;
        }
        let gone = self.fd_tables[table].open().filter(|open| open.2);
        for number in gone.map(|open| open.0).collect::<Vec<i32>>() {
            self.close(process, number);
        }
    }

    /// Notes that a signal kills the process of a thread.
    pub(crate) fn note_kill(&mut self, number: u32) {
        let key = self.by_number.get(&number).copied();
        let process = key.and_then(|key| Some(self.threads.get(key)?.process));
        if let Some(process) = process.and_then(|process| self.process_mut(process)) {
            process.killed = true;
        }
    }

    /// Ends a thread, and its process if that was the last one or `process_ended` says so. Unless it is `last`, a line with
    /// its own end may follow.
    pub(crate) fn end_thread(&mut self, number: u32, process_ended: bool, last: bool) {
        let Some(&key) = self.by_number.get(&number) else {
            return;
        };
        let Some(id) = self.threads.get(key).map(|thread| thread.process) else {
            return;
        };
        let is_over = match self.process_mut(id) {
            Some(process) if last || !process_ended => {
                process.threads = process.threads.saturating_sub(1);
                process_ended || process.threads == 0
            }
            Some(_) => true,
            // Its process has ended already.
            None => {
                self.ended_threads = self.ended_threads.saturating_sub(1);
                false
            }
        };
        if last || !process_ended {
            self.threads.try_remove(key);
            self.by_number.remove(&number);
        }
        if is_over {
            self.end_process(id);
        }
        if self.ended_threads > ENDED_THREADS_MAX {
            self.forget_ended_threads();
        }
    }

    fn end_process(&mut self, id: ProcessId) {
        let open_files = self.open_files_of(id);
        let Some(process) = self.process(id) else {
            return;
        };
        let table = process.table;
        self.ended_threads += process.threads as usize;
        self.ended = self
            .processes
            .try_remove(id.key)
            .map(|process| (id, process));
        let processes = &mut self.fd_tables[table].processes;
        *processes = processes.saturating_sub(1);
        if *processes == 0 {
            self.fd_tables.try_remove(table);
            let mut open_files = open_files;
            open_files.sort_unstable();
            for (index, &open_file) in open_files.iter().enumerate() {
                let more = open_files.get(index + 1) == Some(&open_file);
                if more {
                    let descriptors = &mut self.open_files[open_file].descriptors;
                    *descriptors = descriptors.saturating_sub(1);
                } else {
                    self.leave(open_file, None, id);
                }
            }
        }
    }

    fn forget_ended_threads(&mut self) {
        let ended = |thread: &Thread| self.process(thread.process).is_none();
        let gone: Vec<(ThreadId, u32)> = self
            .threads
            .iter()
            .filter(|(_, thread)| ended(thread))
            .map(|(key, thread)| (key, thread.number))
            .collect();
        for (key, number) in gone {
            self.threads.try_remove(key);
            self.by_number.remove(&number);
        }
        self.ended_threads = 0;
    }
}

/// Threads of ended processes that are kept, since a line with their own end may follow.
const ENDED_THREADS_MAX: usize = 1024;
