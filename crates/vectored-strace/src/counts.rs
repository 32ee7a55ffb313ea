//! What was read of a log, and what could not be used.

/// Lines of a log that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Why, and what to do: `lists of segments were cut: trace again with -s1 -v`.
    pub reason: String,
    /// How many lines.
    pub lines: u64,
    /// The first such line's number, from 1 (the smallest over all logs).
    pub first_line: u64,
}

/// What a reader saw of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines, whatever was in them.
    pub lines: u64,
    /// Bytes of the text, after decompression.
    pub bytes: u64,
    /// System calls, those included whose arguments could not be read.
    pub calls: u64,
    /// The log ends in the middle of a line, which was not used.
    pub truncated: bool,
    /// Some line told when it was written.
    pub times: bool,
    /// Some call told how long it took (`-T`).
    pub durations: bool,
    /// Some descriptor told what it leads to (`-y`, `-yy`).
    pub paths: bool,
    /// Some call told where it was made (`-k`).
    pub sites: bool,
    skipped: [Lines; Reason::ALL.len()],
}

impl Counts {
    /// Lines that could not be used, by reason; reasons that did not occur are left out.
    pub fn skipped(&self) -> Vec<Skipped> {
        let with_reasons = self.skipped.iter().zip(Reason::ALL);
        with_reasons
            .filter(|(lines, _)| lines.count > 0)
            .map(|(lines, reason)| Skipped {
                reason: reason.text().to_owned(),
                lines: lines.count,
                first_line: lines.first,
            })
            .collect()
    }

    /// Counts what another log had.
    pub fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.bytes += other.bytes;
        self.calls += other.calls;
        self.truncated |= other.truncated;
        self.times |= other.times;
        self.durations |= other.durations;
        self.paths |= other.paths;
        self.sites |= other.sites;
        for (ours, theirs) in self.skipped.iter_mut().zip(&other.skipped) {
            ours.add(*theirs);
        }
    }

    /// Counts a line that could not be used.
    pub(crate) fn skip(&mut self, reason: Reason, line: u64) {
        let lines = Lines {
            count: 1,
            first: line,
        };
        self.skipped[reason as usize].add(lines);
    }
}

/// Why a line could not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    NotALine,
    TooLong,
    Overflow,
    Unreadable,
    ListCut,
    NeverBegun,
    NeverResumed,
    TooManyUnfinished,
    Truncated,
}

impl Reason {
    /// In the order of their values.
    const ALL: [Self; 9] = [
        Self::NotALine,
        Self::TooLong,
        Self::Overflow,
        Self::Unreadable,
        Self::ListCut,
        Self::NeverBegun,
        Self::NeverResumed,
        Self::TooManyUnfinished,
        Self::Truncated,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::NotALine => "not a line of strace",
            Self::TooLong => "longer than 16 MiB: trace again with -s1",
            Self::Overflow => "a number does not fit 64 bits",
            Self::Unreadable => "a call whose arguments could not be read",
            Self::ListCut => "lists of segments were cut: trace again with -s1 -v",
            Self::NeverBegun => "the end of a call whose beginning is missing",
            Self::NeverResumed => "the beginning of a call whose end is missing",
            Self::TooManyUnfinished => "too many calls were unfinished at once",
            Self::Truncated => "the last line is cut",
        }
    }
}

/// Lines with the same reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    count: u64,
    first: u64,
}

impl Lines {
    fn add(&mut self, other: Self) {
        if self.count == 0 || other.count > 0 && other.first < self.first {
            self.first = other.first;
        }
        self.count += other.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_listed_in_their_own_order() {
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index);
        }
    }

    #[test]
    fn the_first_line_of_several_logs_is_the_smallest() {
        let counts = |line| {
            let mut counts = Counts::default();
            counts.skip(Reason::NotALine, line);
            counts
        };
        let mut all = Counts::default();
        for line in [7, 3, 5] {
            all.add(&counts(line));
            all.add(&Counts::default());
        }
        let expected = Skipped {
            reason: Reason::NotALine.text().to_owned(),
            lines: 3,
            first_line: 3,
        };
        assert_eq!(all.skipped(), [expected]);
    }
}
