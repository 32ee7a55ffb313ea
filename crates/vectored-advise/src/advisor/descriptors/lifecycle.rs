//! `fork`, and the ends of processes and threads. The lines of the log may come in any order.

use crate::advisor::descriptors::kernel_tables::{FdTable, KernelTables, Process};
use crate::advisor::keys::{ProcessId, ThreadId};

impl KernelTables {
    /// Notes a `fork`, `vfork` or `clone` that returned in the parent.
    pub(crate) fn fork(&mut self, parent: ProcessId, child: u32, same_process: bool, shares: bool) {
        let known = self.by_number.get(&child).copied();
        let found = known.filter(|&key| self.is_found(key));
        match (found, same_process) {
            (Some(thread), true) => self.adopt_thread(parent, thread),
            (Some(thread), false) => self.adopt_process(parent, thread, shares),
            (None, _) => {
                if known.is_some() {
                    // The kernel uses the number again. The end of the earlier thread was not in the log.
                    self.end_thread(child, false, true);
                }
                let process =
                    if same_process { parent } else { self.forked(parent, child, shares) };
                self.new_thread(child, process);
            }
        }
    }

    fn is_found(&self, thread: ThreadId) -> bool {
        let process = &self.processes[self.threads[thread].process];
        process.is_found && process.threads == 1
    }

    fn forked(&mut self, parent: ProcessId, child: u32, shares: bool) -> ProcessId {
        let parent = &self.processes[parent];
        let mut process = Process {
            number: child,
            program: parent.program,
            runtime: parent.runtime,
            folder: parent.folder.clone(),
            has_database: parent.has_database,
            table: parent.table,
            was_forked: true,
            ..Process::default()
        };
        if shares {
            self.fd_tables[process.table].processes += 1;
        } else {
            process.table = self.copied(process.table, false);
        }
        self.new_process(process)
    }

    fn adopt_thread(&mut self, parent: ProcessId, thread: ThreadId) {
        let found = self.threads[thread].process;
        if found == parent {
            return;
        }
        let is_counted = self.processes[found].is_counted;
        self.end_process(found);
        self.process_count -= u64::from(is_counted);
        self.threads[thread].process = parent;
        // `end_process` has counted the thread as ended.
        self.ended_threads = self.ended_threads.saturating_sub(1);
        self.processes[parent].threads += 1;
    }

    /// Gives a process the descriptors of its parent. The process ran before its fork returned. Numbers that the
    /// process opened or closed itself are left out.
    fn adopt_process(&mut self, parent: ProcessId, thread: ThreadId, shares: bool) {
        let parent = self.processes[parent].clone();
        let child = &mut self.processes[self.threads[thread].process];
        (child.is_found, child.was_forked) = (false, true);
        if child.folder.is_empty() {
            child.folder = parent.folder;
        }
        if !child.has_executed {
            (child.program, child.runtime) = (parent.program, parent.runtime);
        }
        let (own, executed) = (child.table, child.has_executed);
        if parent.table == own || shares {
            return;
        }
        let mut taken = FdTable::default();
        self.work += self.fd_tables[parent.table].len();
        for (number, open_file, closes) in self.fd_tables[parent.table].open() {
            if !(self.fd_tables[own].slots.contains_key(&number) || executed && closes) {
                taken.slots.insert(number, Some((open_file, closes)));
            }
        }
        self.count_copy(&taken);
        self.fd_tables[own].slots.extend(taken.slots);
    }

    /// Ends a thread. Also ends the thread's process, if the thread was its last or `process_ended` says so. Unless
    /// `last`, a line with the thread's own end may follow.
    pub(crate) fn end_thread(&mut self, number: u32, process_ended: bool, last: bool) {
        let Some((key, id)) = self.thread_of_number(number) else {
            return;
        };
        let is_over = match self.processes.get_mut(id) {
            Some(process) if last || !process_ended => {
                process.threads = process.threads.saturating_sub(1);
                process_ended || process.threads == 0
            }
            Some(_) => true,
            // The process of the thread has ended already.
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
            self.by_number.retain(|_, key| {
                let goes_on = self.processes.get(self.threads[*key].process).is_some();
                if !goes_on {
                    self.threads.try_remove(*key);
                }
                goes_on
            });
            self.ended_threads = 0;
        }
    }

    fn end_process(&mut self, id: ProcessId) {
        let open_files = self.open_files_of(id);
        let Some(process) = self.processes.try_remove(id) else {
            return;
        };
        let table = process.table;
        self.ended_threads += process.threads as usize;
        self.ended = Some((id, process));
        let processes = &mut self.fd_tables[table].processes;
        *processes = processes.saturating_sub(1);
        if *processes == 0 {
            self.fd_tables.try_remove(table);
            for (index, &(open_file, _)) in open_files.iter().enumerate() {
                let next = open_files.get(index + 1);
                if next.is_some_and(|next| next.0 == open_file) {
                    let descriptors = &mut self.open_files[open_file].descriptors;
                    *descriptors = descriptors.saturating_sub(1);
                } else {
                    self.leave(open_file, None, id);
                }
            }
        }
    }
}

/// The most threads of ended processes that are kept, since a line with the thread's own end may follow.
const ENDED_THREADS_MAX: usize = 1024;
