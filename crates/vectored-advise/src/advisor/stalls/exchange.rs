//! The exchange of a TCP socket: what was written since the last answer, and how long the next one takes.

use crate::advisor::runs::pattern::PatternStep;

/// Longer segments are not kept back: the most bytes of a segment on Ethernet.
const SEGMENT_BYTES: u64 = 1460;

/// The same over the loopback interface, whose packets have up to 64 KiB.
const LOOPBACK_SEGMENT_BYTES: u64 = 65_483;

/// After a pause of this length, in ns, the earlier bytes are acknowledged.
const ACKNOWLEDGED_NS: u64 = 38_000_000;

/// What the answers of a TCP socket depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exchange {
    /// `TCP_NODELAY`; `None` if it may have been set before the log began.
    pub(crate) no_delay: Option<bool>,
    /// The time of `connect`, in ns.
    pub(crate) round_trip_ns: Option<u64>,
    /// The event of the last write, and the time that its thread had spent in polls before, in ns.
    pub(crate) written: u64,
    pub(crate) polled_ns: u64,
    /// Whether an exchange was answered before.
    is_used: bool,
    writes: u64,
    bytes: u64,
    first: Part,
    last: Part,
    site: u32,
    ended_ns: u64,
    /// Whether the kernel joins the next write with the last one.
    joins: bool,
}

/// A write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) step: PatternStep,
    pub(crate) bytes: u64,
}

/// A write to a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) event: u64,
    pub(crate) polled_ns: u64,
    pub(crate) part: Part,
    pub(crate) site: u32,
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
    /// `MSG_MORE` or `TCP_CORK`.
    pub(crate) joins: bool,
}

/// An exchange that was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) writes: u64,
    pub(crate) bytes: u64,
    pub(crate) first: Part,
    pub(crate) last: Part,
    pub(crate) site: u32,
    pub(crate) no_delay: Option<bool>,
    pub(crate) round_trip_ns: Option<u64>,
    /// Whether it was the first of the socket.
    pub(crate) is_first: bool,
    /// The time that the program waited for the answer.
    pub(crate) waited_ns: u64,
    /// The part of it in which the thread did not wait for another answer, too.
    pub(crate) alone_ns: u64,
    /// Whether the last write is short enough to be kept back while the first is unacknowledged.
    pub(crate) may_stall: bool,
}

impl Exchange {
    pub(crate) fn write(&mut self, new: Written) {
        let is_acknowledged = new.began_ns.saturating_sub(self.ended_ns) >= ACKNOWLEDGED_NS;
        if self.writes == 0 || is_acknowledged && !self.joins {
            (self.writes, self.bytes, self.first) = (0, 0, new.part);
        }
        self.writes += u64::from(self.writes == 0 || !self.joins);
        self.bytes = self.bytes.saturating_add(new.part.bytes);
        (self.last, self.site) = (new.part, new.site);
        (self.written, self.ended_ns) = (new.event, new.ended_ns);
        self.polled_ns = new.polled_ns;
        self.joins = new.joins;
    }

    /// The kernel sends what it has gathered.
    pub(crate) fn uncork(&mut self) {
        self.joins = false;
    }

    /// Forgets what was written: `shutdown` sends all of it at once.
    pub(crate) fn shut_down(&mut self) {
        self.writes = 0;
    }

    /// Ends the exchange with its answer; `None` if nothing was written before it. The read lasted from `began_ns` to
    /// `ended_ns`, and the thread spent `polled_ns` in polls between the last write and that.
    pub(crate) fn answer(
        &mut self,
        began_ns: u64,
        ended_ns: u64,
        polled_ns: u64,
        is_loopback: bool,
    ) -> Option<Answered> {
        let writes = std::mem::take(&mut self.writes);
        let is_first = writes > 0 && !std::mem::replace(&mut self.is_used, true);
        let waited_ns = ended_ns.saturating_sub(began_ns.max(self.ended_ns)) + polled_ns;
        let most = if is_loopback { LOOPBACK_SEGMENT_BYTES } else { SEGMENT_BYTES };
        (writes > 0).then(|| Answered {
            writes,
            bytes: self.bytes,
            first: self.first,
            last: self.last,
            site: self.site,
            no_delay: self.no_delay,
            round_trip_ns: self.round_trip_ns,
            is_first,
            waited_ns,
            alone_ns: waited_ns,
            may_stall: writes > 1 && self.no_delay != Some(true) && self.last.bytes < most,
        })
    }
}
