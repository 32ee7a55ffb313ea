//! Counts of a log: its contents, and the lines that could not be used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The reason and, where there is one, the remedy: `lists of segments were cut: trace again with -s1 -v`.
    pub reason: &'static str,
    pub lines: u64,
    /// Number of the first such line in its file, from 1. If several files have such lines, the smallest number.
    pub first_line: u64,
    /// The file with that line; `-` is standard input. `None` from a [`Reader`](crate::Reader), which knows no file.
    pub first_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub lines: u64,
    /// System calls, including calls whose arguments could not be read.
    pub calls: u64,
    /// Whether the log ends in the middle of a line. That line was not used.
    pub truncated: bool,
    skipped: BTreeMap<SkipReason, Skipped>,
}

impl Counts {
    pub fn skipped(&self) -> Vec<Skipped> {
        self.skipped.values().cloned().collect()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.calls += other.calls;
        self.truncated |= other.truncated;
        for (reason, theirs) in other.skipped {
            self.add_skipped(reason, theirs);
        }
    }

    fn add_skipped(&mut self, reason: SkipReason, new: Skipped) {
        let known = self.skipped.entry(reason).or_insert(Skipped {
            lines: 0,
            ..new.clone()
        });
        known.lines += new.lines;
        if new.first_line < known.first_line {
            (known.first_line, known.first_file) = (new.first_line, new.first_file);
        }
    }

    pub(crate) fn skip(&mut self, reason: SkipReason, line: u64) {
        let skipped = Skipped {
            reason: REASONS[reason as usize],
            lines: 1,
            first_line: line,
            first_file: None,
        };
        self.add_skipped(reason, skipped);
    }

    pub(crate) fn set_file(&mut self, file: &Path) {
        for lines in self.skipped.values_mut() {
            lines.first_file = Some(file.into());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SkipReason {
    NotALine,
    TooLong,
    Overflow,
    Unreadable,
    ListCut,
    NotShown,
    NeverBegun,
    NeverResumed,
    TooManyUnfinished,
    Truncated,
}

/// The texts of the reasons, in the order of their values.
const REASONS: [&str; SkipReason::Truncated as usize + 1] = [
    "not a line of strace",
    "longer than 16 MiB: trace again with -s1",
    "a number does not fit 64 bits",
    "a call whose arguments could not be read",
    "lists of segments were cut: trace again with -s1 -v",
    "a log of perf or bpftrace shows neither paths nor lists in memory, nor signals: for them, trace again with strace",
    "the end of a call whose beginning is missing",
    "the beginning of a call whose end is missing",
    "too many calls were unfinished at once",
    "the last line is cut",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_several_logs_is_the_smallest_and_keeps_its_file() {
        let counts = |line: u64| {
            let mut counts = Counts::default();
            counts.skip(SkipReason::NotALine, line);
            counts.set_file(Path::new(&format!("log.{line}")));
            counts
        };
        let mut all = Counts::default();
        for line in [7, 3, 5] {
            all.add(counts(line));
            all.add(Counts::default());
        }
        let expected = Skipped {
            reason: REASONS[0],
            lines: 3,
            first_line: 3,
            first_file: Some("log.3".into()),
        };
        assert_eq!(all.skipped(), [expected]);
    }
}
