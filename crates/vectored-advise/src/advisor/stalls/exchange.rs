//! The exchange of a TCP socket: the writes since the last answer, and the time and the parts of the next answer.

use crate::advisor::runs::pattern::PatternStep;
use crate::model::FindingKind;

/// The most bytes of a segment on Ethernet. The kernel sends a full segment at once.
const SEGMENT_BYTES: u64 = 1460;

/// The most bytes of a segment over the loopback interface, whose packets have up to 64 KiB.
const LOOPBACK_SEGMENT_BYTES: u64 = 65_483;

/// After a pause of this length, in ns, the earlier bytes are acknowledged.
const ACKNOWLEDGED_NS: u64 = 38_000_000;

/// A wait below this time, in ns, is too short for a delayed acknowledgement.
pub(crate) const QUICK_NS: u64 = 20_000_000;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exchange {
    /// `TCP_NODELAY`; `None` if it may have been set before the log began.
    pub(crate) no_delay: Option<bool>,
    pub(crate) serves: bool,
    pub(crate) round_trip_ns: Option<u64>,
    pub(crate) touched: u64,
    /// The time that the thread had spent in polls until the last transfer, in ns.
    pub(crate) polled_ns: u64,
    is_used: bool,
    pub(crate) writes: u64,
    pub(crate) bytes: u64,
    pub(crate) first: Part,
    pub(crate) last: Part,
    pub(crate) site: u32,
    began_ns: u64,
    ended_ns: u64,
    pub(crate) joins: bool,
    message: Message,
}

#[derive(Clone, Copy, Debug, Default)]
struct Message {
    is_later: bool,
    reads: u64,
    bytes: u64,
    first: Part,
    rest: Part,
    longest: Wait,
    /// Number of waits of 20 ms or more between two parts. A delayed acknowledgement makes one such wait.
    long_waits: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) step: PatternStep,
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) event: u64,
    pub(crate) polled_ns: u64,
    pub(crate) part: Part,
    pub(crate) site: u32,
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) joins: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    pub(crate) waited_ns: u64,
    /// The part of `waited_ns` in which the thread waited for no other answer.
    pub(crate) alone_ns: u64,
    /// The time since the first write or, without a write, since the last transfer, in ns. The peer may have kept bytes
    /// back for this time. A delay of the thread between two calls makes `waited_ns` shorter, but not `since_ns`.
    since_ns: u64,
}

impl Wait {
    pub(crate) fn whole_ns(self) -> u64 {
        if self.waited_ns.saturating_mul(2) >= self.since_ns {
            self.since_ns.max(self.waited_ns)
        } else {
            self.waited_ns
        }
    }
}

/// What ended a wait: an answer to writes (a [`Stall`](FindingKind::Stall), if the answer was late), or a message that
/// was read (a [`PeerStall`](FindingKind::PeerStall)).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) kind: FindingKind,
    pub(crate) parts: [Part; 2],
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    pub(crate) site: u32,
    pub(crate) is_first: bool,
    pub(crate) wait: Wait,
    pub(crate) may_stall: bool,
    /// The time of `connect`, in ns; 0 below `QUICK_NS`.
    pub(crate) round_trip_ns: u64,
    pub(crate) is_whole: bool,
}

impl Exchange {
    /// Begins a new exchange, since the log lacks calls.
    pub(crate) fn lose(&mut self) {
        *self = Exchange {
            no_delay: self.no_delay,
            ..Exchange::default()
        };
    }

    /// Notes a write. Returns the message that the write answers.
    pub(crate) fn write(&mut self, new: Moved) -> Option<Answered> {
        let is_acknowledged = new.began_ns.saturating_sub(self.ended_ns) >= ACKNOWLEDGED_NS;
        if self.writes == 0 || is_acknowledged && !self.joins {
            (self.writes, self.bytes, self.first) = (0, 0, new.part);
            self.began_ns = new.began_ns;
        }
        self.writes += u64::from(self.writes == 0 || !self.joins);
        self.bytes = self.bytes.saturating_add(new.part.bytes);
        (self.last, self.site) = (new.part, new.site);
        self.joins = new.joins;
        self.touch(new);
        let message = self.message;
        if message.reads == 0 {
            return None;
        }
        self.message = Message {
            is_later: true,
            ..Message::default()
        };
        Some(Answered {
            kind: FindingKind::PeerStall,
            parts: [message.first, message.rest],
            calls: message.reads,
            bytes: message.bytes,
            site: 0,
            is_first: !message.is_later,
            wait: message.longest,
            // If one read returned a message, nothing is known about the parts of the message. Several long waits mean
            // a slow peer.
            may_stall: message.reads > 1 && message.long_waits < 2,
            round_trip_ns: 0,
            is_whole: true,
        })
    }

    fn touch(&mut self, new: Moved) {
        self.touched = new.event;
        self.polled_ns = new.polled_ns;
        self.ended_ns = new.ended_ns;
    }

    /// Notes a read. The thread spent `polled_ns` in polls since the last transfer. The wait counts only if `is_wait`.
    /// If there was a write before the read, returns the exchange that the read answers.
    pub(crate) fn read(
        &mut self,
        new: Moved,
        polled_ns: u64,
        is_wait: bool,
        is_loopback: bool,
    ) -> Option<Answered> {
        let writes = std::mem::take(&mut self.writes);
        let is_first = writes > 0 && !std::mem::replace(&mut self.is_used, true);
        let in_call_ns = new.ended_ns.saturating_sub(new.began_ns.max(self.ended_ns));
        let waited_ns = if is_wait { in_call_ns + polled_ns } else { 0 };
        let since_ns = if writes > 0 { self.began_ns } else { self.ended_ns };
        let wait = Wait {
            waited_ns,
            alone_ns: waited_ns,
            since_ns: new.ended_ns.saturating_sub(since_ns),
        };
        self.message.read(&new, wait);
        self.touch(new);
        let most = if is_loopback { LOOPBACK_SEGMENT_BYTES } else { SEGMENT_BYTES };
        let round_trip_ns = self.round_trip_ns.filter(|&ns| ns >= QUICK_NS);
        (writes > 0 && is_wait).then(|| Answered {
            kind: FindingKind::Stall,
            parts: [self.first, self.last],
            calls: writes,
            bytes: self.bytes,
            site: self.site,
            is_first,
            wait,
            may_stall: writes > 1 && self.no_delay != Some(true) && self.last.bytes < most,
            round_trip_ns: round_trip_ns.unwrap_or(0),
            is_whole: self.no_delay.is_some(),
        })
    }
}

impl Message {
    fn read(&mut self, new: &Moved, wait: Wait) {
        self.bytes = self.bytes.saturating_add(new.part.bytes);
        if self.reads == 0 {
            self.first = new.part;
        } else {
            self.long_waits += u64::from(wait.waited_ns >= QUICK_NS);
            if self.reads == 1 || wait.waited_ns > self.longest.waited_ns {
                (self.rest, self.longest) = (new.part, wait);
            }
        }
        self.reads += 1;
    }
}
