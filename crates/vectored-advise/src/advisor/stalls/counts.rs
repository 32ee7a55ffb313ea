//! The exchanges of a log, counted by program and shape, and the findings of those that stall.

use rustc_hash::{FxHashMap, FxHashSet};
use vectored_machine::model::DescriptorKind;

use crate::advisor::findings::name_table::NameTable;
use crate::advisor::runs::barriers::Barrier;
use crate::advisor::runs::pattern::{PatternStep, call_name};
use crate::advisor::stalls::exchange::Answered;
use crate::model::{FindingKey, FindingKind, Grade, Runtime, StallTally, Step, Tally};

/// Shapes of a log that are counted separately; later ones are not counted.
const SHAPES_MAX: usize = 4096;

/// Stalls are listed from one in this number of exchanges on.
const LISTED_PART: u64 = 10;

/// Exchanges from which on a stall is certain.
const EXCHANGES_MIN: u64 = 3;

/// An answer within this time, in ns, shows that neither the round trip nor the peer takes as long as a stall.
const QUICK_NS: u64 = 20_000_000;

/// A delay of acknowledgements, in ns. The timer of the peer is the least; a busy machine adds to it.
struct Delay {
    /// Waits from here to the least are those of a slow peer.
    unclear_ns: u64,
    least_ns: u64,
    /// The end of waits that the timer alone explains.
    near_ns: u64,
    /// The end of waits that are counted.
    most_ns: u64,
}

/// The delays of Linux and of other systems.
const DELAYS: [Delay; 2] = [
    Delay {
        unclear_ns: QUICK_NS,
        least_ns: 38_000_000,
        near_ns: 55_000_000,
        most_ns: 190_000_000,
    },
    Delay {
        unclear_ns: 100_000_000,
        least_ns: 190_000_000,
        near_ns: 230_000_000,
        most_ns: 600_000_000,
    },
];

/// Waits, by a delay.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    unclear: u64,
    near: u64,
    late: u64,
    /// Sum of the near and late ones, each up to the end of the near ones, in ns.
    ns: u64,
}

impl Waits {
    fn note(&mut self, delay: &Delay, ns: u64, alone_ns: u64) {
        if (delay.unclear_ns..delay.least_ns).contains(&ns) {
            self.unclear += 1;
        } else if (delay.least_ns..delay.most_ns).contains(&ns) {
            let is_near = ns < delay.near_ns;
            self.near += u64::from(is_near);
            self.late += u64::from(!is_near);
            self.ns = self.ns.saturating_add(alone_ns.min(delay.near_ns));
        }
    }

    fn stalls(&self) -> u64 {
        self.near + self.late
    }

    /// Whether they begin at the delay: few are shorter, and not too many much longer.
    fn has_edge(&self) -> bool {
        self.unclear * 20 <= self.near && self.near * 4 >= self.stalls()
    }
}

/// Who made an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    /// Number of the program's name.
    pub(crate) program: u32,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) process: u32,
    pub(crate) descriptor: i32,
    /// The text that the log shows of the socket.
    pub(crate) path: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
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
    waits: [Waits; DELAYS.len()],
    /// Sum of the round trips of the stalled exchanges, in ns.
    round_trips_ns: u64,
    long_round_trips: u64,
    unknown_options: u64,
    quick: u64,
    quick_ns: u64,
}

/// The exchanges of a log.
#[derive(Debug, Default)]
pub(crate) struct StallCounts {
    shapes: FxHashMap<Shape, Counts>,
    peers: FxHashMap<u32, Peers>,
}

/// How quickly the peers of a program answer.
#[derive(Clone, Copy, Debug, Default)]
struct Peers {
    /// First exchanges of connections, and those of them that were quick.
    firsts: u64,
    quick_firsts: u64,
    /// Exchanges of a single write, and those of them that were not quick.
    single: u64,
    slow: u64,
}

impl Peers {
    /// The reason why a stall is not certain: Linux acknowledges the first exchange of a connection at once, and single writes never
    /// wait. A peer that answers them quickly is not slow.
    fn doubt(&self) -> Option<Barrier> {
        let quick_firsts = self.quick_firsts > 0 && self.quick_firsts * 2 > self.firsts;
        let many_single = self.single >= EXCHANGES_MIN;
        if many_single && self.slow * 2 >= self.single {
            Some(Barrier::SlowPeer)
        } else if quick_firsts || many_single && self.slow * 10 < self.single {
            None
        } else {
            Some(Barrier::NoContrast)
        }
    }
}

impl StallCounts {
    pub(crate) fn add(&mut self, answered: &Answered, owner: &Owner<'_>) {
        let round_trip_ns = answered.round_trip_ns.unwrap_or(0);
        let waited_ns = answered.waited_ns.saturating_sub(round_trip_ns);
        let is_quick = waited_ns < QUICK_NS;
        let peers = self.peers.entry(owner.program).or_default();
        peers.firsts += u64::from(answered.is_first);
        peers.quick_firsts += u64::from(answered.is_first && is_quick);
        if answered.writes == 1 {
            peers.single += 1;
            peers.slow += u64::from(!is_quick);
            return;
        }
        if !answered.may_stall {
            return;
        }
        let shape = Shape {
            program: owner.program,
            site: answered.site,
            first: answered.first.step,
            last: answered.last.step,
            is_longer: answered.writes > 2,
        };
        if self.shapes.len() >= SHAPES_MAX && !self.shapes.contains_key(&shape) {
            return;
        }
        let counts = self.shapes.entry(shape).or_default();
        counts.note(answered, owner);
        for (waits, delay) in counts.waits.iter_mut().zip(&DELAYS) {
            waits.note(delay, waited_ns, answered.alone_ns.min(waited_ns));
        }
        if waited_ns >= DELAYS[0].least_ns {
            counts.round_trips_ns = counts.round_trips_ns.saturating_add(round_trip_ns);
            counts.long_round_trips += u64::from(round_trip_ns >= QUICK_NS);
            counts.unknown_options += u64::from(answered.no_delay.is_none());
        } else if answered.waited_ns < QUICK_NS {
            counts.quick += 1;
            counts.quick_ns += answered.waited_ns;
        }
    }

    /// The stalls of the log, with the reason if one is not certain. `lack` is what the log lacks.
    pub(crate) fn close(
        self,
        lack: Option<Barrier>,
        programs: impl Fn(u32) -> String,
        sites: &NameTable,
        mut take: impl FnMut(FindingKey, Option<Barrier>, Tally),
    ) {
        for (shape, counts) in self.shapes {
            if counts.stalled().near * LISTED_PART < counts.tally.runs.max(1) {
                continue;
            }
            let peers = self.peers.get(&shape.program).copied();
            let reason = lack.or(counts.doubt(peers.unwrap_or_default()));
            let step = |step: PatternStep| Step {
                call: call_name(step.call).to_owned(),
                size_class: step.size_class,
            };
            let key = FindingKey {
                kind: FindingKind::Stall,
                grade: match reason {
                    None => Grade::Adjacent,
                    Some(reason) if reason.is_of_the_log() => Grade::Unknown,
                    Some(_) => Grade::Crossing,
                },
                program: programs(shape.program),
                target: DescriptorKind::Tcp,
                file: None,
                site: sites.name(shape.site),
                steps: [shape.first, shape.last].map(step).to_vec(),
            };
            take(key, reason, counts.into_tally());
        }
    }
}

impl Counts {
    fn note(&mut self, answered: &Answered, owner: &Owner<'_>) {
        self.processes.insert(owner.process);
        let tally = &mut self.tally;
        if tally.runs == 0 {
            tally.process = owner.process;
            tally.descriptor = owner.descriptor;
            tally.runtime = owner.runtime;
            tally.path = Some(String::from_utf8_lossy(owner.path).into_owned());
            tally.starts = vec![0, 0];
            tally.step_bytes = [answered.first, answered.last]
                .map(|part| (part.bytes, part.bytes))
                .to_vec();
        }
        tally.runs += 1;
        tally.starts[0] += 1;
        tally.merged_calls += 1;
        tally.calls += answered.writes;
        tally.bytes = tally.bytes.saturating_add(answered.bytes);
        let parts = [answered.first, answered.last];
        for ((least, most), part) in tally.step_bytes.iter_mut().zip(parts) {
            (*least, *most) = ((*least).min(part.bytes), (*most).max(part.bytes));
        }
    }

    /// The waits by the delay that most of them are near.
    fn stalled(&self) -> Waits {
        let [one, other] = self.waits;
        if one.near >= other.near { one } else { other }
    }

    /// The reason why a stall is not certain.
    fn doubt(&self, peers: Peers) -> Option<Barrier> {
        let waits = self.stalled();
        let stalls = waits.stalls();
        let is_most = |exchanges: u64| exchanges * 2 > stalls;
        if stalls < EXCHANGES_MIN || stalls * 2 < self.tally.runs || !waits.has_edge() {
            Some(Barrier::FewStalls)
        } else if let Some(doubt) = peers.doubt() {
            Some(doubt)
        } else if is_most(self.unknown_options) {
            Some(Barrier::UnknownNoDelay)
        } else if is_most(self.long_round_trips) {
            Some(Barrier::LongRoundTrip)
        } else {
            None
        }
    }

    fn into_tally(self) -> Tally {
        let waits = self.stalled();
        // The round trip is subtracted; the peer's own time is that of quick answers.
        let peer_ns = self.quick_ns.checked_div(self.quick).unwrap_or(0);
        let peer_ns =
            peer_ns.saturating_sub(self.round_trips_ns.checked_div(waits.stalls()).unwrap_or(0));
        Tally {
            stall: Some(StallTally {
                stalls: waits.stalls(),
                waited_ns: waits.ns,
                lost_ns: waits
                    .ns
                    .saturating_sub(peer_ns.saturating_mul(waits.stalls())),
            }),
            processes: self.processes.len() as u64,
            ..self.tally
        }
    }
}
