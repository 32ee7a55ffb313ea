//! The transfers of one direction through one opening, cut into runs.
//!
//! Two calls in a row are linked, by what lies between them. Calls that are linked soundly are a run.
//! What is left alone by that is chained by its links instead: calls that only a `poll` keeps apart
//! are told as such, but not counted. So each call is in one run or one chain at most.

use crate::advisor::descriptors::process_id::ProcessId;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::run::{Bounds, Piece, Run};

/// What lies between a transfer and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nothing that matters; nothing at all unless `has_between`.
    Joined {
        /// Calls that cannot observe the data.
        has_between: bool,
    },
    /// What makes it unsound to merge the two, or unknown.
    Crossed(Reason),
    /// The offset was set.
    Sought {
        /// Other calls, besides `lseek`.
        has_between: bool,
    },
    /// There is none before it, or it was short, or elsewhere.
    Broken,
}

/// What a run or chain turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Soundly linked.
    Joined,
    /// Each of its links was crossed, for this reason.
    Crossed(Reason),
    /// Each of its links was a seek.
    Sought,
}

/// Who takes runs and chains that are over.
pub(crate) type Take<'a> = &'a mut dyn FnMut(&mut Run, Outcome);

/// The thread that made a transfer, and its process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct User {
    /// The thread, by its serial number; 0 for none.
    pub(crate) thread: u64,
    /// Its process.
    pub(crate) owner: ProcessId,
    /// That process's number.
    pub(crate) process: u32,
    /// That process's program.
    pub(crate) program: u32,
}

/// Transfers of one direction.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// The thread that made the last of them.
    pub(crate) user: User,
    /// The number of the event that was the last of them; 0 if the next one starts anew.
    pub(crate) last: u64,
    /// When that ended, in ns.
    pub(crate) ended_ns: u64,
    /// Whether it gave an offset.
    pub(crate) is_positional: bool,
    /// Whether it had `MSG_MORE`.
    pub(crate) has_more: bool,
    /// Whether it is too large to be a small read.
    pub(crate) is_large: bool,
    /// Where it ended, if it gave an offset.
    pub(crate) next_offset: u64,
    /// What happened since on the same opening that makes merging unsound.
    pub(crate) crossed: Option<Reason>,
    /// How many calls the run has; the first is in `first` as long as it is alone.
    calls: u64,
    first: Piece,
    first_site: u32,
    /// What lay before `first`, if that is the chain's, and whether it was more than a seek.
    before: Option<(Outcome, bool)>,
    run: Option<Box<Run>>,
    chain: Option<Box<Run>>,
    chained: Option<Outcome>,
}

impl Lane {
    /// Adds the next transfer.
    pub(crate) fn push(
        &mut self,
        link: Link,
        piece: &Piece,
        site: u32,
        bounds: Bounds,
        take: Take<'_>,
    ) {
        let link = match (link, &self.run) {
            (Link::Joined { .. }, Some(run)) if self.calls > 1 && run.is_left_for(site) => {
                Link::Broken
            }
            _ => link,
        };
        match link {
            _ if self.calls == 0 => self.start(piece, site),
            Link::Broken => {
                self.end(bounds, take);
                self.start(piece, site);
            }
            Link::Joined { has_between } => {
                if self.calls == 1 {
                    self.end_chain(take);
                    let run = self.run.get_or_insert_with(|| Box::new(Run::new()));
                    run.push(&self.first, self.first_site, bounds);
                }
                // There is one: it was made with the second call.
                if let Some(run) = &mut self.run {
                    run.has_between |= has_between;
                    run.push(piece, site, bounds);
                }
                self.calls += 1;
                self.before = None;
            }
            Link::Crossed(reason) => {
                self.part(Outcome::Crossed(reason), bounds, take);
                self.start_after(Outcome::Crossed(reason), false, piece, site);
            }
            Link::Sought { has_between } => {
                self.part(Outcome::Sought, bounds, take);
                self.start_after(Outcome::Sought, has_between, piece, site);
            }
        }
    }

    /// As [`Lane::push`], where the run goes on and nothing ends with that; false if it is not so.
    #[inline]
    pub(crate) fn goes_on_with(
        &mut self,
        link: Link,
        piece: &Piece,
        site: u32,
        bounds: Bounds,
    ) -> bool {
        let (Link::Joined { has_between }, Some(run), 2..) = (link, &mut self.run, self.calls)
        else {
            return false;
        };
        if run.is_left_for(site) {
            return false;
        }
        run.has_between |= has_between;
        run.push(piece, site, bounds);
        self.calls += 1;
        self.before = None;
        true
    }

    /// Another file was written before the call that was pushed last, which the run has.
    pub(crate) fn note_order(&mut self, path: &[u8]) {
        if let (2.., Some(run)) = (self.calls, &mut self.run)
            && run.order_between.is_empty()
        {
            run.order_between.extend_from_slice(path);
        }
    }

    /// Whether its only run so far is a call alone, so that nothing of it would be counted.
    pub(crate) fn is_single(&self) -> bool {
        self.last != 0 && self.calls == 1
    }

    /// No further transfer will be linked to those so far.
    pub(crate) fn end(&mut self, bounds: Bounds, take: Take<'_>) {
        self.last = 0;
        self.crossed = None;
        match self.calls {
            0 => {}
            1 if self.goes_on() => self.chain_first(bounds),
            1 => self.alone(bounds, take),
            _ => self.end_run(take),
        }
        self.calls = 0;
        self.end_chain(take);
    }

    fn start(&mut self, piece: &Piece, site: u32) {
        self.first.take_over(piece);
        self.first_site = site;
        self.calls = 1;
        self.before = None;
    }

    fn start_after(&mut self, before: Outcome, has_between: bool, piece: &Piece, site: u32) {
        self.start(piece, site);
        self.before = self.chained.map(|_| (before, has_between));
    }

    /// What came before is parted from what comes next: a call alone goes to the chain.
    fn part(&mut self, by: Outcome, bounds: Bounds, take: Take<'_>) {
        if self.calls > 1 {
            self.end_run(take);
        } else if self.goes_on() {
            self.chain_first(bounds);
            if self.chained != Some(by) {
                self.end_chain(take);
            }
        } else {
            self.end_chain(take);
            if by != Outcome::Sought && self.first.is_tiny_list() {
                self.alone(bounds, take);
            } else {
                self.chained = Some(by);
                self.chain_first(bounds);
            }
        }
        self.calls = 0;
    }

    /// Whether the call alone is the chain's next one. A list of tiny segments is a finding of its
    /// own, whatever lies around it.
    fn goes_on(&self) -> bool {
        match self.before {
            Some((Outcome::Sought, _)) => self.chained == Some(Outcome::Sought),
            Some((before, _)) => self.chained == Some(before) && !self.first.is_tiny_list(),
            None => false,
        }
    }

    fn chain_first(&mut self, bounds: Bounds) {
        let bounds = Bounds {
            max_delay_ns: None,
            ..bounds
        };
        let chain = self.chain.get_or_insert_with(|| Box::new(Run::new()));
        if let Some((before, has_between)) = self.before {
            chain.seeks += u64::from(before == Outcome::Sought);
            chain.has_between |= has_between;
        }
        chain.push(&self.first, self.first_site, bounds);
    }

    /// A call that is in no run and no chain may still have a list of its own.
    fn alone(&mut self, bounds: Bounds, take: Take<'_>) {
        if self.first.is_list {
            let run = self.run.get_or_insert_with(|| Box::new(Run::new()));
            run.push(&self.first, self.first_site, bounds);
            self.end_run(take);
        }
    }

    fn end_run(&mut self, take: Take<'_>) {
        if let Some(run) = &mut self.run {
            take(run, Outcome::Joined);
            run.clear();
        }
    }

    fn end_chain(&mut self, take: Take<'_>) {
        if let (Some(chain), Some(outcome)) = (&mut self.chain, self.chained.take()) {
            // A call alone was chained to nothing: it is as if it had been met alone.
            let outcome = match chain.calls {
                1 => Outcome::Joined,
                _ => outcome,
            };
            take(chain, outcome);
            chain.clear();
        }
    }
}
