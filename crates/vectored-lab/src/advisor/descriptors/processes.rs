//! Which thread is of which process, and which descriptor leads to which opening.

use crate::advisor::descriptors::fd_table::{Slot, Table};
use crate::advisor::descriptors::open_file::{Bits, Opening};
use crate::advisor::descriptors::process_id::ProcessId;
use crate::advisor::descriptors::runtime::surer;
use crate::advisor::descriptors::thread::Thread;
use crate::advisor::hash::FastMap;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::slab::Slab;
use crate::model::Runtime;

/// A process.
#[derive(Debug)]
pub(crate) struct Process {
    generation: u32,
    /// Its number: its first thread's.
    pub(crate) number: u32,
    /// The program that it runs, by the number of its name.
    pub(crate) program: u32,
    /// What runs that program.
    pub(crate) runtime: Option<Runtime>,
    /// Patterns that it was counted for.
    pub(crate) counted: Bits,
    /// The process that forked it, if that showed.
    pub(crate) parent: Option<ProcessId>,
    /// The event of that fork; 0 if it did not show.
    pub(crate) born: u64,
    pub(super) table: u32,
    pub(super) threads: u32,
    /// Nobody was seen making it: its fork may come later in the log.
    pub(super) is_found: bool,
    /// It ran a program since.
    pub(super) has_executed: bool,
    /// Whether it is in [`Tables::process_count`].
    pub(super) is_counted: bool,
}

/// An opening that a process has no descriptor of any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Its place.
    pub(crate) opening: u32,
    /// The process that had it.
    pub(crate) process: ProcessId,
    /// Whether nobody has one.
    pub(crate) is_closed: bool,
}

/// All threads, processes, tables and openings of a log.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(super) threads: Slab<Thread>,
    pub(super) by_number: FastMap<u32, u32>,
    /// Threads whose places were looked up of late, by the last bits of their numbers.
    pub(super) recent: [(u32, u32); RECENT],
    /// All processes.
    pub(crate) processes: Slab<Process>,
    pub(super) tables: Slab<Table>,
    /// All openings.
    pub(crate) openings: Slab<Opening>,
    /// Those that a process left, to be dealt with.
    pub(crate) left: Vec<Left>,
    /// How many processes there were.
    pub(crate) process_count: u64,
    generation: u32,
    thread_count: u64,
    pub(super) ended_threads: usize,
    /// The process that ended last: what its openings held back is counted after its end.
    pub(crate) ended: Option<(ProcessId, Process)>,
}

/// So many threads are found without a hash.
pub(super) const RECENT: usize = 64;

/// A thread that is nowhere.
pub(super) const NO_THREAD: (u32, u32) = (0, u32::MAX);

/// Threads of processes that ended are kept, since their own ends may follow, but not more.
const ENDED_THREADS_MAX: usize = 1024;

impl Tables {
    pub(crate) fn new() -> Tables {
        Tables {
            threads: Slab::new(),
            by_number: FastMap::default(),
            recent: [NO_THREAD; RECENT],
            processes: Slab::new(),
            tables: Slab::new(),
            openings: Slab::new(),
            left: Vec::new(),
            process_count: 0,
            generation: 0,
            thread_count: 0,
            ended_threads: 0,
            ended: None,
        }
    }

    /// The place of a thread, that is made if it is new.
    #[inline]
    pub(crate) fn thread(&mut self, number: u32) -> u32 {
        let recent = self.recent[number as usize % RECENT];
        if recent.0 == number && recent.1 != NO_THREAD.1 {
            return recent.1;
        }
        self.look_up(number)
    }

    fn look_up(&mut self, number: u32) -> u32 {
        let place = match self.by_number.get(&number) {
            Some(&place) => place,
            None => self.found(number),
        };
        self.recent[number as usize % RECENT] = (number, place);
        place
    }

    /// A thread that nobody was seen making.
    fn found(&mut self, number: u32) -> u32 {
        let table = self.tables.insert(Table::of_one_process());
        let process = self.new_process(number, table, 0, true);
        self.new_thread(number, process)
    }

    pub(super) fn new_process(
        &mut self,
        number: u32,
        table: u32,
        program: u32,
        is_found: bool,
    ) -> ProcessId {
        self.generation = self.generation.wrapping_add(1);
        self.process_count += 1;
        let generation = self.generation;
        let place = self.processes.insert(Process {
            generation,
            number,
            program,
            runtime: None,
            counted: Bits::default(),
            parent: None,
            born: 0,
            table,
            threads: 0,
            is_found,
            is_counted: true,
            has_executed: false,
        });
        ProcessId { place, generation }
    }

    pub(super) fn new_thread(&mut self, number: u32, process: ProcessId) -> u32 {
        self.thread_count += 1;
        let thread = Thread::new(number, process, self.thread_count);
        let place = self.threads.insert(thread);
        self.by_number.insert(number, place);
        if let Some(process) = self.process_mut(process) {
            process.threads += 1;
        }
        place
    }

    /// A thread by its place.
    pub(crate) fn at(&mut self, thread: u32) -> Option<&mut Thread> {
        self.threads.get_mut(thread)
    }

    /// A thread and an opening by their places.
    #[inline]
    pub(crate) fn both(
        &mut self,
        thread: u32,
        opening: u32,
    ) -> Option<(&mut Thread, &mut Opening)> {
        Some((
            self.threads.get_mut(thread)?,
            self.openings.get_mut(opening)?,
        ))
    }

    /// A process that has not ended.
    pub(crate) fn process(&self, id: ProcessId) -> Option<&Process> {
        let process = self.processes.get(id.place)?;
        (process.generation == id.generation).then_some(process)
    }

    /// As [`Tables::process`].
    pub(crate) fn process_mut(&mut self, id: ProcessId) -> Option<&mut Process> {
        process_at(&mut self.processes, id)
    }

    /// A process that was there before the log began is a thread of another one: it is not counted.
    pub(crate) fn count_with_another(&mut self, id: ProcessId) {
        if let Some(process) = process_at(&mut self.processes, id)
            && process.is_found
            && std::mem::replace(&mut process.is_counted, false)
        {
            self.process_count -= 1;
        }
    }

    /// The opening that a descriptor leads to.
    #[inline]
    pub(crate) fn opening_of(&self, process: ProcessId, number: i32) -> Option<u32> {
        let table = self.process(process)?.table;
        match self.tables.get(table)?.get(number) {
            Slot::Open { opening, .. } => Some(opening),
            Slot::Unseen | Slot::Closed => None,
        }
    }

    /// A descriptor that leads to a new opening; what it led to before is closed.
    pub(crate) fn open(
        &mut self,
        process: ProcessId,
        number: i32,
        opening: Opening,
        close_on_exec: bool,
    ) -> Option<u32> {
        self.close(process, number);
        let table = self.process(process)?.table;
        let opening = self.openings.insert(Opening {
            descriptors: 1,
            tables: 1,
            ..opening
        });
        let slot = Slot::Open {
            opening,
            close_on_exec,
        };
        self.tables.get_mut(table)?.set(number, slot);
        Some(opening)
    }

    /// `dup2`: the old one has to lead somewhere.
    pub(crate) fn duplicate(
        &mut self,
        process: ProcessId,
        from: i32,
        to: i32,
        close_on_exec: bool,
    ) -> Option<()> {
        let opening = self.opening_of(process, from)?;
        if from == to {
            return Some(());
        }
        self.openings.get_mut(opening)?.descriptors += 1;
        self.close(process, to);
        let table = self.process(process)?.table;
        let slot = Slot::Open {
            opening,
            close_on_exec,
        };
        self.tables.get_mut(table)?.set(to, slot);
        Some(())
    }

    /// `FD_CLOEXEC`.
    pub(crate) fn set_close_on_exec(&mut self, process: ProcessId, number: i32, up: bool) {
        let Some(opening) = self.opening_of(process, number) else {
            return;
        };
        let table = self.process(process).map(|process| process.table);
        if let Some(table) = table.and_then(|table| self.tables.get_mut(table)) {
            let slot = Slot::Open {
                opening,
                close_on_exec: up,
            };
            table.set(number, slot);
        }
    }

    /// `close`.
    pub(crate) fn close(&mut self, process: ProcessId, number: i32) {
        let Some(table_place) = self.process(process).map(|process| process.table) else {
            return;
        };
        let Some(table) = self.tables.get_mut(table_place) else {
            return;
        };
        if let Slot::Open { opening, .. } = table.get(number) {
            table.set(number, Slot::Closed);
            self.leave(opening, Some(table_place), process);
        } else {
            table.set(number, Slot::Closed);
        }
    }

    /// `close_range`: which openings it closes is in `left`.
    pub(crate) fn close_range(&mut self, process: ProcessId, first: i32, last: i32) {
        let table = self.process(process).map(|process| process.table);
        let Some(table) = table.and_then(|table| self.tables.get(table)) else {
            return;
        };
        let open = table.open().map(|open| open.0);
        let closed: Vec<i32> = open.filter(|open| (first..=last).contains(open)).collect();
        for number in closed {
            self.close(process, number);
        }
    }

    /// A descriptor of a table leads to an opening no more. Without a table: that table is gone.
    fn leave(&mut self, opening: u32, table: Option<u32>, process: ProcessId) {
        let others = |table| {
            self.tables
                .get(table)
                .is_some_and(|table| table.leads_to(opening))
        };
        let leads_there = match self.openings.get(opening) {
            Some(known) if known.descriptors > 1 => table.is_some_and(others),
            _ => false,
        };
        let Some(known) = self.openings.get_mut(opening) else {
            return;
        };
        known.descriptors = known.descriptors.saturating_sub(1);
        if !leads_there {
            known.tables = known.tables.saturating_sub(1);
            self.left.push(Left {
                opening,
                process,
                is_closed: known.descriptors == 0,
            });
        }
    }

    /// As [`Tables::open`], but what it leads to is open already.
    pub(crate) fn share(&mut self, process: ProcessId, number: i32, opening: u32) -> Option<u32> {
        self.close(process, number);
        let table = self.process(process)?.table;
        let known = self.openings.get_mut(opening)?;
        known.descriptors += 1;
        known.tables += 1;
        let slot = Slot::Open {
            opening,
            close_on_exec: false,
        };
        self.tables.get_mut(table)?.set(number, slot);
        Some(opening)
    }

    /// A copy of a table, for one process.
    pub(super) fn copied(&mut self, table: u32, executed: bool) -> Option<u32> {
        let mut copy = self.tables.get(table)?.clone();
        copy.processes = 1;
        let gone: Vec<i32> = copy
            .open()
            .filter(|open| executed && open.2)
            .map(|open| open.0)
            .collect();
        for number in gone {
            copy.set(number, Slot::Closed);
        }
        self.count_copy(&copy);
        Some(self.tables.insert(copy))
    }

    pub(super) fn count_copy(&mut self, copy: &Table) {
        // One that stays open when the child runs a program comes last of its opening.
        let mut openings: Vec<(u32, bool)> = copy.open().map(|open| (open.1, !open.2)).collect();
        openings.sort_unstable();
        for (index, &(opening, stays)) in openings.iter().enumerate() {
            if let Some(known) = self.openings.get_mut(opening) {
                known.descriptors += 1;
                known.tables += u32::from(index == 0 || openings[index - 1].0 != opening);
                if stays && known.reader != 0 && known.kind.has_peer() {
                    known.shared_reads.get_or_insert(Reason::OtherReaders);
                }
            }
        }
    }

    /// A name that the log shows beside a thread of a process; the first is its program's, unless an
    /// `execve` showed.
    pub(crate) fn name(&mut self, process: ProcessId, program: u32, runtime: Option<Runtime>) {
        if let Some(known) = self.process_mut(process)
            && known.program == 0
        {
            known.program = program;
            known.runtime = surer(known.runtime, runtime);
        }
    }

    /// `execve`.
    pub(crate) fn execute(
        &mut self,
        process: ProcessId,
        program: u32,
        runtime: Option<Runtime>,
    ) -> Option<()> {
        let known = self.process_mut(process)?;
        known.program = program;
        known.runtime = runtime;
        known.has_executed = true;
        let table = known.table;
        if self.tables.get(table)?.processes > 1 {
            let own = self.copied(table, true)?;
            self.tables.get_mut(table)?.processes -= 1;
            self.process_mut(process)?.table = own;
            return Some(());
        }
        let open = self.tables.get(table)?.open();
        let gone: Vec<i32> = open.filter(|open| open.2).map(|open| open.0).collect();
        for number in gone {
            self.close(process, number);
        }
        Some(())
    }

    /// The openings that a process has, with repeats.
    pub(crate) fn openings_of(&self, process: ProcessId) -> Vec<u32> {
        let table = self.process(process).map(|process| process.table);
        let table = table.and_then(|table| self.tables.get(table));
        table.map_or(Vec::new(), |table| {
            table.open().map(|open| open.1).collect()
        })
    }

    /// As [`Tables::openings_of`], and whether the next program keeps the descriptor.
    pub(crate) fn openings_at_execute(&self, process: ProcessId) -> Vec<(u32, bool)> {
        let table = self.process(process).map(|process| process.table);
        let table = table.and_then(|table| self.tables.get(table));
        let mut openings: Vec<(u32, bool)> = table.map_or(Vec::new(), |table| {
            table.open().map(|open| (open.1, !open.2)).collect()
        });
        // Of several descriptors those first that stay.
        openings.sort_unstable_by_key(|&(opening, is_kept)| (opening, !is_kept));
        openings
    }

    /// The end of a thread, and maybe of its process.
    pub(crate) fn end_thread(&mut self, number: u32, process_ended: bool) {
        self.recent = [NO_THREAD; RECENT];
        let Some(&place) = self.by_number.get(&number) else {
            return;
        };
        let Some(id) = self.threads.get(place).map(|thread| thread.process) else {
            return;
        };
        let Some(process) = self.process_mut(id) else {
            // Its process has ended before.
            self.ended_threads = self.ended_threads.saturating_sub(1);
            self.threads.remove(place);
            self.by_number.remove(&number);
            return;
        };
        if process_ended {
            self.end_process(id);
        } else {
            process.threads = process.threads.saturating_sub(1);
            let is_last = process.threads == 0;
            self.threads.remove(place);
            self.by_number.remove(&number);
            if is_last {
                self.end_process(id);
            }
        }
        if self.ended_threads > ENDED_THREADS_MAX {
            self.forget_ended_threads();
        }
    }

    pub(super) fn end_process(&mut self, id: ProcessId) {
        let openings = self.openings_of(id);
        let Some(process) = self.process(id) else {
            return;
        };
        let table = process.table;
        self.ended_threads += process.threads as usize;
        self.ended = self.processes.remove(id.place).map(|process| (id, process));
        let is_over = self.tables.get_mut(table).is_some_and(|table| {
            table.processes = table.processes.saturating_sub(1);
            table.processes == 0
        });
        if is_over {
            self.tables.remove(table);
            let mut openings = openings;
            openings.sort_unstable();
            for (index, &opening) in openings.iter().enumerate() {
                let more = openings.get(index + 1) == Some(&opening);
                match self.openings.get_mut(opening) {
                    Some(known) if more => known.descriptors = known.descriptors.saturating_sub(1),
                    _ => self.leave(opening, None, id),
                }
            }
        }
    }

    fn forget_ended_threads(&mut self) {
        let ended = |thread: &Thread| self.process(thread.process).is_none();
        let gone: Vec<(u32, u32)> = self
            .threads
            .in_use()
            .filter_map(|place| {
                let thread = self.threads.get(place)?;
                ended(thread).then_some((place, thread.number))
            })
            .collect();
        for (place, number) in gone {
            self.threads.remove(place);
            self.by_number.remove(&number);
        }
        self.ended_threads = 0;
    }
}

/// The process of an id, if it has not ended.
pub(crate) fn process_at(processes: &mut Slab<Process>, id: ProcessId) -> Option<&mut Process> {
    let process = processes.get_mut(id.place)?;
    (process.generation == id.generation).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_whose_numbers_end_alike_are_told_apart() {
        let mut tables = Tables::new();
        let alike = 7 + RECENT as u32;
        let (one, other) = (tables.thread(7), tables.thread(alike));
        assert_ne!(one, other);
        assert_eq!((tables.thread(7), tables.thread(alike)), (one, other));
        let serial = |tables: &mut Tables, number| {
            let place = tables.thread(number);
            tables.at(place).map(|thread| thread.serial)
        };
        let before = serial(&mut tables, 7);
        tables.end_thread(7, false);
        assert_ne!(serial(&mut tables, 7), before);
    }
}
