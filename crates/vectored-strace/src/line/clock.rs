//! Converts the times of lines to nanoseconds since one origin.

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timestamp {
    /// `-t`, `-tt`: ns since midnight.
    OfDay(u64),
    /// `-ttt`: ns since 1970.
    OfEpoch(u64),
    /// `-r`: ns since the line before.
    SinceLast(u64),
    /// Ambiguous, in ns: `-r` without padding, or `-ttt` on a machine whose clock was not set.
    Short(u64),
}

#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// In ns: the days that passed (`OfDay`), or the sum of relative times.
    base_ns: u64,
    last_ns: u64,
    pub(crate) now_ns: Option<u64>,
    /// Whether any time was relative to the line before it.
    pub(crate) relative: bool,
}

impl Clock {
    /// Converts the time of the next line to ns since the origin that all lines of the log share.
    pub(crate) fn read(&mut self, stamp: Timestamp) -> u64 {
        let is_first = self.now_ns.is_none();
        let now_ns = match stamp {
            // If the first time is 0, or a time is below the time before, strace wrote the log with `-r`.
            Timestamp::Short(ns) if self.relative || ns < self.last_ns || ns == 0 && is_first => {
                self.later(ns)
            }
            Timestamp::Short(now_ns) | Timestamp::OfEpoch(now_ns) => {
                self.last_ns = now_ns;
                now_ns
            }
            Timestamp::OfDay(now_ns) => {
                // A clock may be set back by seconds, or by an hour at the end of summer time. If the time goes back by
                // half a day or more, midnight passed.
                if self.last_ns > now_ns + DAY_NS / 2 {
                    self.base_ns = self.base_ns.saturating_add(DAY_NS);
                }
                self.last_ns = now_ns;
                self.base_ns.saturating_add(now_ns)
            }
            Timestamp::SinceLast(ns) => self.later(ns),
        };
        self.now_ns = Some(now_ns);
        now_ns
    }

    /// The time `ns` after the line before.
    fn later(&mut self, ns: u64) -> u64 {
        if !self.relative {
            // The first relative time continues from the last absolute time.
            self.base_ns = self.base_ns.max(self.last_ns);
        }
        self.relative = true;
        self.base_ns = self.base_ns.saturating_add(ns);
        self.base_ns
    }
}
