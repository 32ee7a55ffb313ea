//! The exchanges of a log, counted by program and shape, and findings of the exchanges that stall.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use vectored_machine::model::DescriptorKind;

use crate::advisor::name_table::NameTable;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::PatternStep;
use crate::advisor::stalls::exchange::{Answered, QUICK_NS};
use crate::model::{FindingKey, FindingKind, Grade, Runtime, StallTally, Step, Tally};

/// The most shapes of a log that are counted. Later shapes are left out.
const SHAPES_MAX: usize = 4096;

/// A shape is a finding only if at least one in this many of its exchanges stalls.
const LISTED_PART: u64 = 10;

const EXCHANGES_MIN: u64 = 3;

/// The peer's own work does not explain slow answers if other answers come sooner by this time, in ns.
const SOONER_NS: u64 = 10_000_000;

/// An undisturbed timer of the peer ends at most this time, in ns, after the least delay. A busy machine can make the timer
/// end later, never sooner.
const LATE_TIMER_NS: u64 = 2_000_000;

/// The delays of acknowledgements of Linux and of other systems, in ns, beyond the time that the peer itself takes.
/// Something other than the timer explains a wait between the first time and the second. The timer alone explains a
/// wait up to the third time. A wait longer than the fourth time is not counted.
const DELAYS: [[u64; 4]; 2] = [
    [QUICK_NS, LINUX_NS, 55_000_000, 190_000_000],
    [100_000_000, 190_000_000, 230_000_000, 600_000_000],
];

const LINUX_NS: u64 = 38_000_000;

/// For each whole ms: the number of waits, their sum in ns, and the part of the sum in which the thread waited for no
/// other answer.
#[derive(Debug, Default)]
struct Times(BTreeMap<u64, (u64, u64, u64)>);

impl Times {
    fn note(&mut self, ns: u64, alone_ns: u64) {
        let (count, all_ns, all_alone_ns) = self.0.entry(ns / 1_000_000).or_default();
        *count += 1;
        *all_ns = all_ns.saturating_add(ns);
        *all_alone_ns = all_alone_ns.saturating_add(alone_ns.min(ns));
    }

    fn from(&self, least_ns: u64) -> u64 {
        let range = self.0.range(least_ns / 1_000_000..);
        range.map(|(_, one)| one.0).sum()
    }

    fn low_ns(&self, least_ns: u64) -> Option<u64> {
        let mut left = self.from(least_ns) / 10;
        let mut range = self.0.range(least_ns / 1_000_000..);
        let found = range.find(|(_, one)| {
            let is_here = left < one.0;
            left = left.saturating_sub(one.0);
            is_here
        });
        found.map(|(_, one)| one.1 / one.0)
    }

    /// Sorts the waits by a delay. The time `own_ns` that the peer itself took is subtracted from each wait.
    fn waits(&self, delay: [u64; 4], own_ns: u64) -> Waits {
        let [unclear_ns, least_ns, near_ns, most_ns] = delay;
        let mut waits = Waits::default();
        for (count, all_ns, alone_ns) in self.0.values() {
            let over_ns = (all_ns / count).saturating_sub(own_ns);
            if (unclear_ns..least_ns).contains(&over_ns) {
                waits.unclear += count;
            } else if (least_ns..most_ns).contains(&over_ns) {
                let of = if over_ns < near_ns { &mut waits.near } else { &mut waits.late };
                *of += count;
                let counted_ns = near_ns.saturating_add(own_ns);
                let ns = (*alone_ns).min(counted_ns.saturating_mul(*count));
                waits.ns = waits.ns.saturating_add(ns);
            }
        }
        waits
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    unclear: u64,
    near: u64,
    late: u64,
    ns: u64,
}

impl Waits {
    fn stalls(&self) -> u64 {
        self.near + self.late
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) program: u32,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) process: u32,
    pub(crate) descriptor: i32,
    pub(crate) path: &'a [u8],
    pub(crate) serves: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    kind: FindingKind,
    program: u32,
    site: u32,
    first: PatternStep,
    last: PatternStep,
    is_longer: bool,
}

#[derive(Debug, Default)]
struct Counts {
    tally: Tally,
    processes: FxHashSet<u32>,
    times: Times,
    first_ns: Option<u64>,
    long_round_trips: u64,
    unknown_options: u64,
    serves: bool,
}

#[derive(Debug, Default)]
pub(crate) struct StallCounts {
    shapes: FxHashMap<Shape, Counts>,
    peers: FxHashMap<(FindingKind, u32), Peers>,
}

/// How quickly the peers of a program answer.
///
/// Two kinds of exchanges show how long a peer itself takes: Linux acknowledges the first exchange of a connection at
/// once, and a single write never waits.
#[derive(Debug, Default)]
struct Peers {
    first_ns: Option<u64>,
    single: Times,
}

impl StallCounts {
    pub(crate) fn add(&mut self, answered: &Answered, owner: &Owner<'_>) {
        let Answered {
            kind, parts, calls, ..
        } = *answered;
        let is_own = kind == FindingKind::Stall;
        let waited_ns = answered.wait.whole_ns();
        let waited_ns = waited_ns.saturating_sub(answered.round_trip_ns);
        // If the connection is older than the log, the first exchange in the log may wait like any other.
        let is_first = answered.is_first && (answered.is_whole || waited_ns < LINUX_NS);
        let first_ns = is_first.then_some(waited_ns);
        let peers = self.peers.entry((kind, owner.program)).or_default();
        peers.first_ns = least(peers.first_ns, first_ns);
        if is_own && calls == 1 {
            return peers.single.note(waited_ns, 0);
        }
        let [first, last] = parts.map(|part| PatternStep {
            size_class: if is_own { part.step.size_class } else { Step::ANY_SIZE },
            ..part.step
        });
        let shape = Shape {
            kind,
            program: owner.program,
            site: answered.site,
            first,
            last,
            is_longer: is_own && calls > 2,
        };
        let has_room = self.shapes.len() < SHAPES_MAX || self.shapes.contains_key(&shape);
        if !has_room || !answered.may_stall {
            return;
        }
        let counts = self.shapes.entry(shape).or_default();
        counts.processes.insert(owner.process);
        let tally = &mut counts.tally;
        if tally.runs == 0 {
            tally.process = owner.process;
            tally.descriptor = owner.descriptor;
            tally.runtime = owner.runtime;
            tally.path = Some(String::from_utf8_lossy(owner.path).into_owned());
            tally.starts = vec![0, 0];
            tally.step_bytes = parts.map(|part| (part.bytes, part.bytes)).to_vec();
        }
        tally.runs += 1;
        tally.starts[0] += 1;
        tally.calls += calls;
        tally.bytes = tally.bytes.saturating_add(answered.bytes);
        for ((least, most), part) in tally.step_bytes.iter_mut().zip(parts) {
            (*least, *most) = ((*least).min(part.bytes), (*most).max(part.bytes));
        }
        counts.times.note(waited_ns, answered.wait.alone_ns);
        if !is_own {
            return;
        }
        counts.serves = owner.serves && (counts.serves || counts.tally.merged_calls == 0);
        counts.tally.merged_calls += 1;
        counts.first_ns = least(counts.first_ns, first_ns);
        if waited_ns >= LINUX_NS {
            counts.long_round_trips += u64::from(answered.round_trip_ns > 0);
            counts.unknown_options += u64::from(!answered.is_whole);
        }
    }

    /// Hands each stall to `take`, with the reason why the stall is not certain. `lack` is the reason if the log lacks
    /// something.
    pub(crate) fn close(
        self,
        lack: Option<Barrier>,
        (programs, sites): (&NameTable, &NameTable),
        mut take: impl FnMut(FindingKey, Option<Barrier>, Tally),
    ) {
        let unknown = Peers::default();
        for (shape, counts) in self.shapes {
            let peers = self.peers.get(&(shape.kind, shape.program));
            let (waits, own_ns, doubt) = counts.judged(peers.unwrap_or(&unknown));
            if waits.near * LISTED_PART < counts.tally.runs.max(1) {
                continue;
            }
            let reason = lack.or(doubt);
            let key = FindingKey {
                kind: shape.kind,
                grade: match reason {
                    None => Grade::Adjacent,
                    Some(reason) if reason.is_of_the_log() => Grade::Unknown,
                    Some(_) => Grade::Crossing,
                },
                program: programs.name(shape.program).unwrap_or_default(),
                target: DescriptorKind::Tcp,
                file: None,
                site: sites.name(shape.site),
                steps: vec![shape.first.named(), shape.last.named()],
            };
            let stalls = waits.stalls();
            let stall = StallTally {
                stalls,
                waited_ns: waits.ns,
                lost_ns: waits.ns.saturating_sub(own_ns.saturating_mul(stalls)),
                serves: counts.serves,
            };
            let tally = Tally {
                stall: Some(stall),
                processes: counts.processes.len() as u64,
                ..counts.tally
            };
            take(key, reason, tally);
        }
    }
}

fn least(known: Option<u64>, new: Option<u64>) -> Option<u64> {
    known.into_iter().chain(new).min()
}

impl Counts {
    /// Judges the waits by the delay with more waits near it. Returns the waits, the time in ns that the peer itself
    /// takes, and what speaks against a stall.
    fn judged(&self, peers: &Peers) -> (Waits, u64, Option<Barrier>) {
        let quick_ns = self.first_ns.or(peers.first_ns);
        let [one, other] = DELAYS.map(|delay| {
            let low_ns = self.times.low_ns(delay[1]).unwrap_or(0);
            let most_ns = low_ns.saturating_sub(delay[1] + LATE_TIMER_NS);
            let single_ns = peers.single.low_ns(0);
            let quick_ns = quick_ns.or(single_ns).unwrap_or(u64::MAX);
            let own_ns = quick_ns.min(most_ns);
            (self.times.waits(delay, own_ns), own_ns, low_ns)
        });
        let (waits, own_ns, low_ns) = if one.0.near >= other.0.near { one } else { other };
        let (stalls, slow_ns) = (waits.stalls(), low_ns.saturating_sub(SOONER_NS));
        let is_most = |exchanges: u64| exchanges * 2 > stalls;
        let (singles, slow) = (peers.single.from(0), peers.single.from(slow_ns));
        let many_single = singles >= EXCHANGES_MIN;
        let is_quick = match quick_ns {
            Some(quick_ns) => quick_ns < slow_ns,
            None => many_single && slow * 10 < singles,
        };
        // The waits begin at the delay: few waits are shorter, and at least a quarter of them are near the delay.
        let has_edge = waits.unclear * 8 <= waits.near && waits.near * 4 >= stalls;
        let is_rare = stalls < EXCHANGES_MIN || stalls * 2 < self.tally.runs;
        let is_unknown = quick_ns.is_none() && !many_single;
        let doubts = [
            (is_rare, Barrier::FewStalls),
            (!has_edge, Barrier::UnevenStalls),
            (many_single && slow * 2 >= singles, Barrier::SlowPeer),
            (is_unknown, Barrier::NoFirst),
            (!is_quick, Barrier::NoContrast),
            (is_most(self.unknown_options), Barrier::UnknownNoDelay),
            (is_most(self.long_round_trips), Barrier::LongRoundTrip),
        ];
        let doubt = doubts.into_iter().find(|doubt| doubt.0);
        (waits, own_ns, doubt.map(|doubt| doubt.1))
    }
}
