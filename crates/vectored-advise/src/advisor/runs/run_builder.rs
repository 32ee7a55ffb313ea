//! The transfers of one direction through one open file description, cut into runs.
//!
//! A link describes what lies between two transfers in a row. Transfers with sound links form a run. A transfer without
//! a sound link on either side joins a chain. All links of a chain are unsound for the same reason. For example, calls
//! that only a `poll` keeps apart are a chain: they are listed, but not counted. Each call is in at most one run or
//! chain.

use crate::advisor::keys::{ProcessId, ThreadId};
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pending::Pending;
use crate::advisor::runs::run::{IN_TURN_MAX, Link, Mode, Run, RunCall};

/// The thread that made a transfer, and its process at that time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallingThread {
    pub(crate) thread: ThreadId,
    pub(crate) process: ProcessId,
    pub(crate) process_number: u32,
    pub(crate) program: u32,
}

/// The runs of one direction, and the state of the last transfer.
#[derive(Debug, Default)]
pub(crate) struct DirectionRuns {
    pub(crate) last_caller: CallingThread,
    /// The event of the last transfer; 0 if the next transfer starts a new run.
    pub(crate) last: u64,
    pub(crate) ended_ns: u64,
    pub(crate) is_positional: bool,
    pub(crate) number: i32,
    pub(crate) has_more: bool,
    pub(crate) is_large: bool,
    pub(crate) next_offset: u64,
    /// The first barrier since the last transfer, on the same open file description.
    pub(crate) barrier: Option<Barrier>,
    /// All barriers since the last transfer: each kind with its first event.
    pub(crate) barriers: Vec<(u64, Barrier)>,
    pub(crate) pending: Pending,
    /// The number of calls of the current run. A single call is in `first`.
    calls: u64,
    first: RunCall,
    /// The link before `first`, and whether calls besides a seek lay there; `None` if the chain cannot continue with
    /// `first`.
    before: Option<(Link, bool)>,
    run: Option<Box<Run>>,
    chain: Option<Box<Run>>,
    chained: Option<Link>,
}

impl DirectionRuns {
    /// Adds a transfer. `has_between`: calls that cannot observe the data lie before the transfer, besides a seek.
    pub(crate) fn push(&mut self, link: Link, has_between: bool, call: &RunCall, mode: Mode) {
        match link {
            _ if self.calls == 0 => self.start(call),
            Link::Joined if self.calls > 1 && !self.goes_on_with(link, call.site) => {
                self.push(Link::Broken, false, call, mode);
            }
            Link::Broken => {
                self.end(mode);
                self.start(call);
            }
            Link::Joined => {
                if self.calls == 1 {
                    self.end_chain(mode);
                    let run = self.run.get_or_insert_default();
                    run.push(&self.first, mode);
                }
                // The second call made the run.
                if let Some(run) = &mut self.run {
                    run.has_between |= has_between;
                    run.push(call, mode);
                }
                self.calls += 1;
                self.before = None;
            }
            Link::Barrier(_) | Link::Sought => {
                self.part(link, mode);
                self.start(call);
                self.before = self.chained.map(|_| (link, has_between));
            }
        }
    }

    #[inline]
    pub(crate) fn goes_on_with(&self, link: Link, site: u32) -> bool {
        let run = self.run.as_ref().filter(|_| self.calls > 1);
        link == Link::Joined && run.is_some_and(|run| !run.is_left_for(site))
    }

    pub(crate) fn note_order(&mut self, path: &[u8]) {
        if let (2.., Some(run)) = (self.calls, &mut self.run)
            && run.order_between.len() < IN_TURN_MAX
            && run.order_between.iter().all(|known| known != path)
        {
            run.order_between.push(path.to_vec());
        }
    }

    /// Whether the current run has only one call so far. Such a run would not be counted.
    pub(crate) fn is_single(&self) -> bool {
        self.last != 0 && self.calls == 1
    }

    /// Puts a barrier between the last transfer and the next: `reason`, or [`Barrier::Elsewhere`] if the event is of
    /// another thread.
    pub(crate) fn cross_by(&mut self, event: u64, thread: ThreadId, reason: Barrier) {
        let is_own = self.last_caller.thread == thread || self.last == 0;
        self.cross(event, if is_own { reason } else { Barrier::Elsewhere });
    }

    pub(crate) fn cross(&mut self, event: u64, reason: Barrier) {
        self.barrier.get_or_insert(reason);
        self.note_barrier(event, reason);
    }

    pub(crate) fn note_barrier(&mut self, event: u64, reason: Barrier) {
        if self.barriers.iter().all(|known| known.1 != reason) {
            self.barriers.push((event, reason));
        }
    }

    pub(crate) fn end(&mut self, mode: Mode) {
        self.last = 0;
        self.barrier = None;
        self.barriers.clear();
        match self.calls {
            0 => {}
            1 if self.goes_on() => self.chain_first(mode),
            1 => self.alone(mode),
            _ => self.end_run(mode),
        }
        self.calls = 0;
        self.end_chain(mode);
    }

    fn start(&mut self, call: &RunCall) {
        self.first.clone_from(call);
        self.calls = 1;
        self.before = None;
    }

    /// Ends the run at an unsound link. A single call joins the chain.
    fn part(&mut self, by: Link, mode: Mode) {
        if self.calls > 1 {
            self.end_run(mode);
        } else if self.goes_on() {
            self.chain_first(mode);
            if self.chained != Some(by) {
                self.end_chain(mode);
            }
        } else {
            self.end_chain(mode);
            if by != Link::Sought && self.first.is_tiny_list() {
                self.alone(mode);
            } else {
                self.chained = Some(by);
                self.chain_first(mode);
            }
        }
        self.calls = 0;
    }

    /// Whether the single call continues the chain. A list of tiny segments is a finding by itself, with any calls
    /// around it.
    fn goes_on(&self) -> bool {
        match self.before {
            Some((Link::Sought, _)) => self.chained == Some(Link::Sought),
            Some((before, _)) => self.chained == Some(before) && !self.first.is_tiny_list(),
            None => false,
        }
    }

    fn chain_first(&mut self, mode: Mode) {
        // A chain is not counted, so the waits in it do not matter.
        let max_delay_ns = u64::MAX;
        let chain = self.chain.get_or_insert_default();
        if let Some((before, has_between)) = self.before {
            chain.seeks += u64::from(before == Link::Sought);
            chain.has_between |= has_between;
        }
        let mode = Mode {
            max_delay_ns,
            ..mode
        };
        chain.push(&self.first, mode);
    }

    /// Ends a call that is in no run and no chain. The list of the call may be a finding.
    fn alone(&mut self, mode: Mode) {
        if self.first.is_list {
            let run = self.run.get_or_insert_default();
            run.push(&self.first, mode);
            self.end_run(mode);
        }
    }

    fn end_run(&mut self, mode: Mode) {
        if let Some(run) = self.run.take() {
            self.pending.add(*run, Link::Joined, mode);
        }
    }

    fn end_chain(&mut self, mode: Mode) {
        if let (Some(chain), Some(link)) = (self.chain.take(), self.chained.take()) {
            // A chain of one call has no link.
            let link = if chain.calls == 1 { Link::Joined } else { link };
            self.pending.add(*chain, link, mode);
        }
    }
}
