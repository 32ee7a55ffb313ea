//! Tracks the state of a log's processes, event by event.

mod calls;
mod descriptors;
mod exchanges;
mod links;
mod names;
mod run_ends;
mod strace_overhead;
mod transfers;

use std::collections::VecDeque;

use crate::advisor::descriptors::kernel_tables::KernelTables;
use crate::advisor::descriptors::keys::{DescriptorId, ProcessId, Serial, ThreadId};
use crate::advisor::descriptors::latest::Latest;
use crate::advisor::descriptors::name_set::NameSet;
use crate::advisor::descriptors::same_file::FileGroups;
use crate::advisor::findings::buffers::Buffers;
use crate::advisor::findings::named_files::NamedFiles;
use crate::advisor::findings::pattern_counts::PatternCounts;
use crate::advisor::findings::stream_writes::StreamWrites;
use crate::advisor::findings::tallies::Tallies;
use crate::advisor::findings::tally::join;
use crate::advisor::findings::uses::DescriptorUses;
use crate::advisor::options::{Look, Options};
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::call_effects::{ClassCache, FilterEvidence};
use crate::advisor::runs::run::{MergeLimits, RunCall};
use crate::advisor::stalls::counts::StallCounts;
use crate::advisor::tracker::strace_overhead::StraceOverhead;
use crate::languages::runtime_of_program;
use crate::model::Runtime;
use rustc_hash::FxHashMap;
use vectored_strace::event::{Action, Descriptor, Event, Named};

/// The state after the events of a log so far.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    limits: MergeLimits,
    max_delay_ns: u64,
    /// Number of events so far; the first event has the number 1.
    event: u64,
    first_thread: u32,
    kernel: KernelTables,
    groups: FileGroups,
    /// Ended processes that were waited for: the event of the wait, and the waiting process.
    awaited: FxHashMap<u32, (u64, ProcessId)>,
    /// By process, the last event that submitted transfers that do not show.
    submitted: FxHashMap<ProcessId, u64>,
    /// The last event that may have moved bytes or waited in any thread.
    lost: u64,
    /// The last event at which any thread may have made any call.
    forgot: u64,
    forked: u64,
    /// The last event that may have asked for the size of any file.
    looked_at: u64,
    /// Hashes of the last parts of names that were made, with the serial number of the thread.
    made: FxHashMap<u64, Serial>,
    /// The last syncs of all files, by thread.
    synced: Latest<Serial>,
    /// Standard descriptors that no other process appends to.
    own_standard: [bool; 3],
    /// See [`Options::look`].
    look: Option<Look>,
    /// The working folder in which the log begins; empty if unknown.
    folder: Vec<u8>,
    /// Files that were closed after a single write, the oldest first: they may be opened again.
    closed: VecDeque<DescriptorId>,
    /// Runtimes of programs, by their paths.
    runtimes: FxHashMap<Vec<u8>, Runtime>,
    /// Last parts of the paths of FIFOs.
    fifos: NameSet,
    pattern_counts: PatternCounts,
    buffers: Buffers,
    uses: DescriptorUses,
    stream_writes: StreamWrites,
    files: NamedFiles,
    stalls: StallCounts,
    /// Open file descriptions of TCP connections, by the text that the log shows.
    tcp_ends: FxHashMap<Vec<u8>, DescriptorId>,
    call: RunCall,
    /// Memory for the barriers between two transfers, and for the barriers that the own thread set.
    ends: (Vec<Barrier>, Vec<(u64, Barrier)>),
    calls: u64,
    transfers: u64,
    bytes: u64,
    lacks_times: bool,
    has_coarse_times: bool,
    evidence: FilterEvidence,
    strace_overhead: StraceOverhead,
    deflates: bool,
}

impl Tracker {
    pub(super) fn new(options: Options) -> Tracker {
        Tracker {
            limits: MergeLimits {
                buffer_bytes: options.buffer_bytes.max(1),
                most_bytes: u64::MAX,
                max_delay_ns: Some(options.max_delay_ns),
                is_cut_by_time: false,
            },
            max_delay_ns: options.max_delay_ns,
            look: options.look,
            evidence: if options.shows_all { FilterEvidence::ALL } else { FilterEvidence::NONE },
            deflates: options.deflates,
            ..Tracker::default()
        }
    }

    pub(super) fn close(mut self, options: &Options, into: &mut Tallies) {
        self.settle_all();
        let lack = if self.lacks_times {
            Some(Barrier::NoTimes)
        } else if self.has_coarse_times {
            Some(Barrier::CoarseTimes)
        } else if !self.evidence.is_enough() {
            Some(Barrier::Filtered)
        } else {
            None
        };
        self.pattern_counts
            .judge(&self.buffers, &self.stream_writes, &mut self.uses);
        let pattern_counts = &self.pattern_counts;
        let program = |number| pattern_counts.program_name(number);
        self.uses
            .close(program, lack, options.max_delay_ns, &mut into.uses);
        self.stalls.close(
            lack,
            program,
            self.pattern_counts.sites(),
            |key, reason, tally| {
                let known = match reason {
                    None => into.findings.entry(key).or_default(),
                    Some(reason) => {
                        let reason = reason.in_words(options.max_delay_ns);
                        into.uncounted.entry((key, reason)).or_default()
                    }
                };
                join(known, &tally);
            },
        );
        self.pattern_counts.close(lack, options.max_delay_ns, into);
        into.files.add(self.files);
        into.calls += self.calls;
        into.transfers += self.transfers;
        into.bytes = into.bytes.saturating_add(self.bytes);
        into.processes += self.kernel.process_count;
    }

    /// Ends all runs, and counts what was held.
    fn settle_all(&mut self) {
        let open_files: Vec<DescriptorId> =
            self.kernel.open_files.iter().map(|(key, _)| key).collect();
        for open_file in open_files {
            self.end_all_runs(open_file);
            self.settle_reads(open_file);
        }
        for held in self.groups.take_all_held() {
            self.pattern_counts.settle(held);
        }
    }

    #[cfg(test)]
    pub(super) fn is_full(&self) -> bool {
        self.kernel.is_full(self.event)
    }

    /// Goes on as at the begin of a log: no process and no descriptor is known. Called only if a log has more of them
    /// at once than any real program.
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

    /// Any call may have been made here.
    #[cold]
    pub(super) fn forget_descriptors(&mut self) {
        self.lost = self.event;
        self.forgot = self.event;
    }

    /// Calls are missing that changed no descriptor.
    #[cold]
    fn lose(&mut self) {
        self.lost = self.event;
        for (_, open_file) in self.kernel.open_files.iter_mut() {
            open_file.position = None;
            open_file.read_from = None;
            open_file.is_placed = false;
            open_file.exchange.lose();
        }
    }

    pub(super) fn follow(&mut self, event: &Event<'_>, classes: &mut ClassCache) {
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
        // The end of a thread shows again after its call of `exit`.
        let is_call = match event.action {
            Action::Exit { .. } => matches!(event.name, b"exit" | b"exit_group"),
            Action::Signal => false,
            // An event without a name is no call: it tells the state of a process that ran before.
            _ => !event.name.is_empty(),
        };
        self.calls += u64::from(is_call);
        self.note_time(event);
        if let Action::Exit { process_ended } = event.action {
            let is_killed = event.name == b"killed";
            if is_killed {
                self.kernel.note_kill(event.thread);
            }
            if is_call || is_killed {
                self.evidence |= FilterEvidence::END;
            }
            if event.name == b"exit" && event.thread == self.first_thread {
                self.evidence |= FilterEvidence::PLAIN_EXIT;
            }
            self.note_last_barriers(event.thread);
            self.kernel
                .end_thread(event.thread, process_ended, !is_call);
            return self.settle_dropped();
        }
        let mut thread = self.kernel.thread(event.thread);
        let mut process = self.kernel.at(thread).process;
        if self.kernel.process(process).is_none() {
            // Its process has ended: the end interrupted a call, or the number is used again.
            if !matches!(event.action, Action::Execute { .. }) {
                return;
            }
            self.kernel.end_thread(event.thread, true, true);
            thread = self.kernel.thread(event.thread);
            process = self.kernel.at(thread).process;
        }
        let caller = Caller { thread, process };
        self.note_clock(event, caller);
        // A logger asks for its process and the time between any two writes.
        let mut is_question = false;
        match &event.action {
            Action::Transfer(transfer) => self.transfer(event, transfer, caller),
            Action::Unread { descriptor } => self.unread(event.name, *descriptor, caller),
            Action::Submit { unseen } => {
                self.evidence |= classes.classify(event.name).evidence;
                self.submit(*unseen, caller);
            }
            action => {
                if let Some(descriptor) = judged_by_name(action) {
                    let class = classes.classify(event.name);
                    self.evidence |= class.evidence;
                    is_question = class.evidence == FilterEvidence::ASKS;
                    self.other(class.effect, descriptor, caller);
                }
                match action {
                    Action::Connect { descriptor } => self.connect(event, *descriptor, caller),
                    Action::Poll { ready } => self.poll(event, *ready, caller),
                    Action::Other { descriptor } if event.name == b"shutdown" => {
                        self.shut_down(*descriptor, caller);
                    }
                    _ => {}
                }
                self.change(action, caller);
            }
        }
        let thread = self.kernel.at(thread);
        if !is_question {
            thread.last = self.event;
        }
        if self.deflates {
            thread.delayed_ns += self.strace_overhead.of_call_ns();
        }
        if !self.kernel.dropped.is_empty() {
            self.settle_dropped();
        }
        if self.kernel.is_full(self.event) {
            self.forget_all();
        }
    }

    /// Does [`Analysis::name_runtime`](crate::advisor::analysis::Analysis::name_runtime).
    pub(super) fn name_runtime(&mut self, program: &[u8], runtime: Runtime) {
        self.runtimes.insert(program.to_vec(), runtime);
    }

    /// Notes a name that the log shows beside a thread. It is no event.
    #[cold]
    fn name(&mut self, thread: u32, program: &[u8]) {
        let key = self.kernel.thread(thread);
        let process = self.kernel.at(key).process;
        let name = self.pattern_counts.program(program);
        self.kernel.name(process, name, runtime_of_program(program));
    }

    /// Notes that the clock of the log was set back.
    #[inline(always)]
    fn note_clock(&mut self, event: &Event<'_>, caller: Caller) {
        let Some(began_ns) = event.began_ns else {
            return;
        };
        let thread = self.kernel.at(caller.thread);
        if began_ns < std::mem::replace(&mut thread.began_ns, began_ns) {
            self.mark_wait(caller, Barrier::ClockSetBack);
        }
    }

    #[inline(always)]
    fn note_time(&mut self, event: &Event<'_>) {
        if event.delayed_ns > 0 {
            let thread = self.kernel.thread(event.thread);
            let thread = self.kernel.at(thread);
            thread.delayed_ns += event.delayed_ns;
        }
        if event.began_ns.is_some() {
            if let Some(took_ns) = event.took_ns {
                self.strace_overhead.note(took_ns);
            }
            self.has_coarse_times |= event.clock_ns > self.max_delay_ns;
        } else if matches!(event.action, Action::Transfer(_)) {
            self.lacks_times = true;
        }
    }
}

const WRITES: usize = 0;
const READS: usize = 1;

/// The calling thread and its process.
#[derive(Clone, Copy, Debug)]
struct Caller {
    thread: ThreadId,
    process: ProcessId,
}

/// The descriptor of a call whose name decides what it does; `None` if its arguments decide.
fn judged_by_name<'a>(action: &Action<'a>) -> Option<Option<Descriptor<'a>>> {
    match action {
        Action::Other { descriptor } => Some(*descriptor),
        Action::Fifo(Named::Descriptor(descriptor))
        | Action::SetTcpOption { descriptor, .. }
        | Action::Connect { descriptor } => Some(Some(*descriptor)),
        Action::Ask(ask) => Some(match ask.file {
            Named::Descriptor(descriptor) => Some(descriptor),
            Named::Path(_) => None,
        }),
        Action::Fifo(Named::Path(_))
        | Action::Wait { .. }
        | Action::Truncate { .. }
        | Action::ChangeFolder(_)
        | Action::MakeFolder(_)
        | Action::Link { .. }
        | Action::Poll { .. }
        | Action::Watch { .. } => Some(None),
        _ => None,
    }
}
