//! From the times that lines bear to nanoseconds since one moment.

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// What a line says of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// `-t`, `-tt`: since midnight, in ns.
    OfDay(u64),
    /// `-ttt`: since 1970, in ns.
    OfEpoch(u64),
    /// `-r`: since the line before, in ns.
    SinceLast(u64),
}

/// Follows the times of the lines of a log.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Midnights that went by, or the sum of what was relative.
    base_ns: u64,
    last_ns: u64,
    /// Some time was relative to the line before.
    pub(super) relative: bool,
}

impl Clock {
    /// When it is by the next line, in ns since a moment that all lines share.
    pub(super) fn read(&mut self, stamp: Stamp) -> u64 {
        match stamp {
            Stamp::OfEpoch(now_ns) => now_ns,
            Stamp::OfDay(now_ns) => {
                // Clocks are set back by seconds, or an hour in autumn; midnight is a day.
                if self.last_ns > now_ns + DAY_NS / 2 {
                    self.base_ns = self.base_ns.saturating_add(DAY_NS);
                }
                self.last_ns = now_ns;
                self.base_ns.saturating_add(now_ns)
            }
            Stamp::SinceLast(later_ns) => {
                self.relative = true;
                self.base_ns = self.base_ns.saturating_add(later_ns);
                self.base_ns
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midnight_goes_by_but_an_hour_back_does_not() {
        let hour = |hour: u64| Stamp::OfDay(hour * DAY_NS / 24);
        let mut clock = Clock::default();
        let read: Vec<u64> = [22, 23, 0, 3, 2, 23, 1]
            .map(|at| clock.read(hour(at)) / (DAY_NS / 24))
            .to_vec();
        assert_eq!(read, [22, 23, 24, 27, 26, 47, 49]);
    }

    #[test]
    fn relative_times_add_up() {
        let mut clock = Clock::default();
        let read = [0, 5, 7].map(|ns| clock.read(Stamp::SinceLast(ns)));
        assert_eq!(read, [0, 5, 12]);
    }
}
