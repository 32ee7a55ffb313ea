//! From the times that lines bear to nanoseconds since one moment.

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// What a line says of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// `-t`, `-tt`: since midnight, in ns.
    OfDay(u64),
    /// `-ttt`: since 1970, in ns.
    OfEpoch(u64),
    /// `-r`: since the line before, in ns.
    SinceLast(u64),
    /// Either, in ns: `-r` of which the blanks were lost, or hours; or `-ttt` where the clock was not
    /// set.
    Short(u64),
}

/// Follows the times of the lines of a log.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// Midnights that went by, or the sum of what was relative.
    base_ns: u64,
    last_ns: u64,
    /// Some time was relative to the line before.
    pub(crate) relative: bool,
    /// There was a time.
    has_begun: bool,
}

impl Clock {
    /// When it is by the next line, in ns since a moment that all lines share.
    pub(crate) fn read(&mut self, stamp: Stamp) -> u64 {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        match stamp {
            // The first of `-r` is 0, and those of `-ttt` do not go back.
            Stamp::Short(ns) if self.relative || ns < self.last_ns || ns == 0 && is_first => {
                self.later(ns)
            }
            Stamp::Short(now_ns) | Stamp::OfEpoch(now_ns) => {
                self.last_ns = now_ns;
                now_ns
            }
            Stamp::OfDay(now_ns) => {
                // Clocks are set back by seconds, or an hour in autumn; midnight is a day.
                if self.last_ns > now_ns + DAY_NS / 2 {
                    self.base_ns = self.base_ns.saturating_add(DAY_NS);
                }
                self.last_ns = now_ns;
                self.base_ns.saturating_add(now_ns)
            }
            Stamp::SinceLast(ns) => self.later(ns),
        }
    }

    /// So long after the line before.
    fn later(&mut self, ns: u64) -> u64 {
        if !self.relative {
            // What came before, if anything, was not.
            self.base_ns = self.base_ns.max(self.last_ns);
        }
        self.relative = true;
        self.base_ns = self.base_ns.saturating_add(ns);
        self.base_ns
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

    #[test]
    fn short_times_are_relative_if_the_first_is_zero_or_one_goes_back() {
        let read = |stamps: &[u64]| -> Vec<u64> {
            let mut clock = Clock::default();
            let read = stamps.iter().map(|&ns| clock.read(Stamp::Short(ns)));
            read.collect()
        };
        assert_eq!(read(&[0, 5, 7]), [0, 5, 12]);
        assert_eq!(read(&[3, 5, 7]), [3, 5, 7]);
        assert_eq!(read(&[3, 5, 4, 9]), [3, 5, 9, 18]);
    }
}
