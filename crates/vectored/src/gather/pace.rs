//! Measures whether a producer writes one list after another without a pause.

use std::io;
use std::time::{Duration, Instant};

use crate::descriptor::borrowed::RawDescriptor;

/// The longest time between the end of a list and the start of the next one of the same burst.
///
/// A program that does nothing but write begins its next list within 0.1 µs. Measured by
/// the bench `pipes` with pauses of 0 to 10 µs: without a pause, calls of 8 KiB
/// take less than half the time of one call a list; with a pause of 1 µs, one call is as fast or faster for lists
/// that fill half a pipe or less.
pub(crate) const MAX_GAP: Duration = Duration::from_nanos(500);

/// Measures the time between the end of one list and the start of the next one.
///
/// It reads the clock at each start and each end. It is used for long lists into pipes only.
pub(crate) struct Pace {
    clock: fn() -> Instant,
    /// The end of the last list, and its descriptor if that is known.
    last: Option<(Instant, Option<RawDescriptor>)>,
    /// Whether it is known that the descriptor of this burst takes a list in several calls.
    may_split: bool,
}

impl Pace {
    pub(crate) const fn new() -> Pace {
        Pace {
            clock: Instant::now,
            last: None,
            may_split: false,
        }
    }

    /// A pace that reads this clock.
    #[cfg(test)]
    pub(crate) fn with_clock(clock: fn() -> Instant) -> Pace {
        Pace {
            clock,
            ..Pace::new()
        }
    }

    /// Records the start of a list. Returns whether it follows the last list into the same descriptor without a pause.
    pub(crate) fn begin(&mut self, descriptor: Option<RawDescriptor>) -> bool {
        let is_burst = match self.last {
            Some((ended, last)) if last == descriptor => {
                (self.clock)().saturating_duration_since(ended) <= MAX_GAP
            }
            _ => false,
        };
        self.may_split &= is_burst;
        is_burst
    }

    /// Asks whether the descriptor takes a list in several calls; once a burst, if its number is known.
    ///
    /// The question is a system call. Asked before each list, it took so long that the reader was done with the last list
    /// and slept: lists took 1.3 times as long.
    pub(crate) fn ask(
        &mut self,
        descriptor: Option<RawDescriptor>,
        may_split: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.may_split {
            may_split()?;
            self.may_split = descriptor.is_some();
        }
        Ok(())
    }

    /// Records the end of a list.
    pub(crate) fn end(&mut self, descriptor: Option<RawDescriptor>) {
        self.last = Some(((self.clock)(), descriptor));
    }
}

impl Default for Pace {
    fn default() -> Pace {
        Pace::new()
    }
}
