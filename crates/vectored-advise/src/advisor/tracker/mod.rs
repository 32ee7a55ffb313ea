//! Tracks the state of a log's processes, event by event.

mod calls;
mod descriptors;
mod exchanges;
mod links;
mod names;
mod run_ends;
mod transfers;

use std::collections::{BTreeMap, VecDeque};

use crate::advisor::descriptors::kernel_tables::KernelTables;
use crate::advisor::descriptors::latest::Latest;
use crate::advisor::descriptors::name_set::NameSet;
use crate::advisor::descriptors::same_file::FileGroups;
use crate::advisor::findings::buffers::Buffers;
use crate::advisor::findings::pattern_counts::PatternCounts;
use crate::advisor::findings::stream_writes::StreamWrites;
use crate::advisor::findings::tallies::Tallies;
use crate::advisor::keys::{DescriptorId, ProcessId, ThreadId};
use crate::advisor::options::Options;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::call_effects::{self, Evidence, classify};
use crate::advisor::runs::run::RunCall;
use crate::advisor::runs::tally::join;
use crate::advisor::stalls::counts::StallCounts;
use crate::languages::runtime_of_program;
use crate::model::Runtime;
use rustc_hash::{FxHashMap, FxHashSet};
use vectored_strace::event::{Action, Ask, Descriptor, Event};

#[derive(Debug, Default)]
pub(super) struct Tracker {
    pub(super) options: Options,
    pub(super) event: u64,
    thread: ThreadId,
    process: ProcessId,
    first_thread: u32,
    pub(super) kernel: KernelTables,
    groups: FileGroups,
    awaited: FxHashSet<u32>,
    submitted: FxHashMap<ProcessId, u64>,
    lost: u64,
    /// The last event at which any thread may have made any call.
    forgot: u64,
    looked_at: u64,
    /// For each hash of the last part of a name: the thread that made a file of that name.
    made: FxHashMap<u64, ThreadId>,
    synced: Latest<ThreadId>,
    pub(super) own_standard: [bool; 3],
    /// The working folder in which the log begins; empty if unknown.
    pub(super) folder: Vec<u8>,
    /// Files that were closed after a single write, the oldest first. They may be opened again.
    closed: VecDeque<DescriptorId>,
    pub(super) runtimes: FxHashMap<Vec<u8>, Runtime>,
    pub(super) fifos: NameSet,
    pattern_counts: PatternCounts,
    buffers: Buffers,
    stream_writes: StreamWrites,
    stalls: StallCounts,
    tcp_ends: NameSet,
    call: RunCall,
    tallies: Tallies,
    lacks_times: bool,
    has_coarse_times: bool,
    evidence: Evidence,
    /// The durations of calls, in classes of a quarter of a power of two: the number in each class, and their sum in ns.
    durations: BTreeMap<(u32, u64), (u64, u64)>,
    timed_calls: u64,
    /// The least time that strace added to a call so far, in ns.
    overhead_ns: u64,
}

impl Tracker {
    pub(super) fn new(options: Options) -> Tracker {
        Tracker {
            options: Options {
                buffer_bytes: options.buffer_bytes.max(1),
                ..options
            },
            evidence: if options.shows_all { call_effects::ALL } else { 0 },
            ..Tracker::default()
        }
    }

    pub(super) fn close(mut self) -> Tallies {
        let max_delay_ns = self.options.max_delay_ns;
        self.settle_all();
        let lacks = [
            (self.lacks_times, Barrier::NoTimes),
            (self.has_coarse_times, Barrier::CoarseTimes),
            (!call_effects::is_enough(self.evidence), Barrier::Filtered),
        ];
        let lack = lacks.into_iter().find(|lack| lack.0).map(|lack| lack.1);
        let mut tallies = self.tallies;
        let names = (&self.pattern_counts.programs, &self.pattern_counts.sites);
        self.stalls.close(lack, names, |key, reason, tally| {
            let reason = reason.map(|reason| reason.in_words(max_delay_ns));
            join(tallies.found.entry((key, reason)).or_default(), &tally);
        });
        let about = (&self.buffers, &self.stream_writes);
        self.pattern_counts
            .close(about, lack, max_delay_ns, &mut tallies);
        tallies.processes = self.kernel.process_count;
        tallies
    }

    fn settle_all(&mut self) {
        for open_file in self.kernel.open_files.keys() {
            self.end_all_runs(open_file);
            self.settle_reads(open_file);
        }
        for group in self.groups.groups.values_mut() {
            self.pattern_counts.settle(std::mem::take(&mut group.held));
        }
    }

    /// Starts as with a new log: no process and no descriptor is known. Called only if a log has more processes or
    /// descriptors at once than any real program.
    #[cold]
    fn forget_all(&mut self) {
        self.settle_all();
        self.kernel.forget();
        self.groups.forget();
        self.closed.clear();
        self.awaited.clear();
        self.submitted.clear();
        self.forget_descriptors();
    }

    #[cold]
    pub(super) fn forget_descriptors(&mut self) {
        self.lost = self.event;
        self.forgot = self.event;
    }

    /// Notes that calls are missing. None of them changed a descriptor.
    #[cold]
    fn lose(&mut self) {
        self.lost = self.event;
        for open_file in self.kernel.open_files.values_mut() {
            open_file.position = None;
            open_file.read_from = None;
            open_file.is_placed = false;
            open_file.exchange.lose();
        }
    }

    pub(super) fn follow(&mut self, event: &Event<'_>) {
        if let Action::Name { program } = event.action {
            return self.name(event.thread, program);
        }
        self.event += 1;
        if self.event == 1 {
            self.first_thread = event.thread;
        }
        if matches!(event.action, Action::Unread { .. }) && event.name.is_empty() {
            return self.forget_descriptors();
        }
        if matches!(event.action, Action::Lost) {
            return self.lose();
        }
        // The end of a thread has two events: the call of `exit`, then the end itself.
        let is_call = match event.action {
            Action::Exit { .. } => matches!(event.name, b"exit" | b"exit_group"),
            Action::Signal => false,
            // An event without a name is no call. It tells the state of a process that ran before the log began.
            _ => !event.name.is_empty(),
        };
        self.tallies.calls += u64::from(is_call);
        self.note_time(event);
        if let Action::Exit { process_ended } = event.action {
            let is_killed = event.name == b"killed";
            if is_killed {
                let process = self.kernel.thread_of_number(event.thread);
                let process = process.map_or(ProcessId::NONE, |(_, process)| process);
                self.kernel.processes[process].killed = true;
            }
            if is_call || is_killed {
                self.evidence |= call_effects::END;
            }
            if event.name == b"exit" && event.thread == self.first_thread {
                self.evidence |= call_effects::PLAIN_EXIT;
            }
            self.note_last_barriers(event.thread);
            self.kernel
                .end_thread(event.thread, process_ended, !is_call);
            return self.settle_dropped();
        }
        self.enter(event.thread);
        if self.kernel.processes.get(self.process).is_none() {
            // The process of the thread has ended. The end interrupted a call, or the thread number is used again.
            if !matches!(event.action, Action::Execute { .. }) {
                return;
            }
            self.kernel.end_thread(event.thread, true, true);
            self.enter(event.thread);
        }
        self.note_clock(event);
        // A logger asks for its process and for the time before every write.
        let mut is_question = false;
        match &event.action {
            Action::Transfer(transfer) => self.transfer(event, transfer),
            Action::Unread { descriptor } => self.unread(event.name, *descriptor),
            Action::Submit { unseen } => {
                self.evidence |= classify(event.name).1;
                self.submit(*unseen);
            }
            action => {
                if let Some(descriptor) = judged_by_name(action) {
                    let (effect, evidence) = classify(event.name);
                    self.evidence |= evidence;
                    is_question = evidence == call_effects::ASKS;
                    self.other(effect, descriptor);
                }
                self.change(event);
            }
        }
        let thread = &mut self.kernel.threads[self.thread];
        if !is_question {
            thread.last = self.event;
        }
        if self.options.deflates {
            thread.delayed_ns += self.overhead_ns;
        }
        if !self.kernel.dropped.is_empty() {
            self.settle_dropped();
        }
        if self.kernel.is_full(self.event) {
            self.forget_all();
        }
    }

    fn enter(&mut self, thread: u32) {
        self.thread = self.kernel.thread(thread);
        self.process = self.kernel.threads[self.thread].process;
    }

    /// Notes a name that the log shows beside a thread. The first name is the program's, unless an `execve` showed the
    /// program.
    #[cold]
    fn name(&mut self, thread: u32, program: &[u8]) {
        self.enter(thread);
        let name = self.pattern_counts.programs.number(program);
        let process = &mut self.kernel.processes[self.process];
        if process.program == 0 {
            process.program = name;
            process.runtime = process.runtime.or_else(|| runtime_of_program(program));
        }
    }

    #[inline(always)]
    fn note_clock(&mut self, event: &Event<'_>) {
        let Some(began_ns) = event.began_ns else {
            return;
        };
        let thread = &mut self.kernel.threads[self.thread];
        if began_ns < std::mem::replace(&mut thread.began_ns, began_ns) {
            self.wait(Barrier::ClockSetBack);
        }
    }

    fn note_duration(&mut self, took_ns: u64) {
        let power = took_ns.max(4).ilog2();
        let class = (power, took_ns >> (power - 2));
        let (count, sum) = self.durations.entry(class).or_default();
        (*count, *sum) = (*count + 1, sum.saturating_add(took_ns));
        self.timed_calls += 1;
        if self.timed_calls.is_power_of_two() && self.timed_calls >= TIMED_MIN {
            let mut seen = 0;
            let quarter = self.durations.values().find(|(count, _)| {
                seen += count;
                seen > self.timed_calls / 4
            });
            // Half of the time that strace adds lies within a call. A quarter of all calls are so cheap that their
            // durations show this time.
            let added_ns = quarter.map_or(0, |(count, sum)| 2 * (sum / count));
            self.overhead_ns = added_ns.min(OVERHEAD_MAX_NS);
        }
    }

    #[inline(always)]
    fn note_time(&mut self, event: &Event<'_>) {
        if event.delayed_ns > 0 {
            let thread = self.kernel.thread(event.thread);
            let thread = &mut self.kernel.threads[thread];
            thread.delayed_ns += event.delayed_ns;
        }
        if event.began_ns.is_some() {
            if let Some(took_ns) = event.took_ns.filter(|_| self.options.deflates) {
                self.note_duration(took_ns);
            }
            self.has_coarse_times |= event.clock_ns > self.options.max_delay_ns;
        } else if matches!(event.action, Action::Transfer(_)) {
            self.lacks_times = true;
        }
    }
}

/// The most that strace adds to a call, in ns, with the options used here. If most calls of a log take longer, they
/// wait for something else.
const OVERHEAD_MAX_NS: u64 = 300_000;

const TIMED_MIN: u64 = 32;

const WRITES: usize = 0;
const READS: usize = 1;

/// The descriptor of a call whose name tells its effect. `None` if only the arguments tell the effect.
fn judged_by_name<'a>(action: &Action<'a>) -> Option<Option<Descriptor<'a>>> {
    match action {
        Action::Other { descriptor } => Some(*descriptor),
        Action::SetTcpOption { descriptor, .. } | Action::Connect { descriptor } => {
            Some(Some(*descriptor))
        }
        Action::Fifo(file) | Action::Ask(Ask { file, .. }) => Some(file.descriptor()),
        Action::Wait { .. }
        | Action::Truncate { .. }
        | Action::ChangeFolder(_)
        | Action::MakeFolder(_)
        | Action::Link { .. }
        | Action::Poll { .. }
        | Action::Watch { .. } => Some(None),
        _ => None,
    }
}
