//! What strace adds to a call, by the durations in the log.

/// Upper bound of what strace adds to a call, in ns, with the options used here. If most calls of a log
/// take longer, they wait.
const MAX_OVERHEAD_NS: u64 = 300_000;

/// Calls that are needed to estimate what strace adds.
const MIN_CALLS: u64 = 32;

/// Durations of calls, in classes of a quarter of a power of two: the number in each class, and their sum in ns.
#[derive(Debug)]
pub(super) struct StraceOverhead {
    classes: Box<[(u64, u64); 64 * 4]>,
    calls: u64,
    of_call_ns: u64,
}

impl Default for StraceOverhead {
    fn default() -> StraceOverhead {
        StraceOverhead {
            classes: Box::new([(0, 0); 64 * 4]),
            calls: 0,
            of_call_ns: 0,
        }
    }
}

impl StraceOverhead {
    /// Adds the duration of a call.
    #[inline]
    pub(super) fn note(&mut self, took_ns: u64) {
        let class = match took_ns.checked_ilog2() {
            Some(power @ 2..) => power as usize * 4 + (took_ns >> (power - 2) & 3) as usize,
            _ => took_ns as usize,
        };
        let (count, sum) = &mut self.classes[class];
        *count += 1;
        *sum = sum.saturating_add(took_ns);
        self.calls += 1;
        if self.calls.is_power_of_two() && self.calls >= MIN_CALLS {
            // Half of the time that strace adds lies within a call, and a quarter of all calls are cheap
            // enough to show it.
            self.of_call_ns = (2 * self.lower_quartile_ns()).min(MAX_OVERHEAD_NS);
        }
    }

    /// The least time that strace adds to a call, in ns, by the calls so far; 0 if unknown.
    pub(super) fn of_call_ns(&self) -> u64 {
        self.of_call_ns
    }

    fn lower_quartile_ns(&self) -> u64 {
        let mut seen = 0;
        for (count, sum) in self.classes.iter() {
            seen += count;
            if seen > self.calls / 4 {
                return sum / count;
            }
        }
        0
    }
}
