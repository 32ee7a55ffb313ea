//! How the runs of a command ended: which of them failed, and whether two commands end in the same way.

use crate::model::{FailedRun, Phase};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// The end of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// What the run was for.
    pub phase: Phase,
    /// Its number among the runs of this phase, from 1 on: the round of a timed run.
    pub number: u64,
    /// How it ended.
    pub end: End,
    /// Its end in words: `exit status 2`.
    pub ended: String,
    /// The last line of its standard error.
    pub said: String,
}

/// What the ends of two commands mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndsVerdict {
    /// All runs of both ended in the same way.
    Same,
    /// All runs of each ended in the same way, and the two ways differ.
    Different,
    /// A run failed: nothing can be concluded.
    Failed,
}

impl RunEnd {
    /// Whether it ended with status 0.
    pub fn succeeds(&self) -> bool {
        self.end == End::Status(0)
    }
}

impl End {
    /// Whether no command that did its work ends so: by a signal, or with a status that says, of shells and of programs that
    /// start others, that a command could not be started (126, 127) or was ended by a signal (128 + signal).
    fn is_failure(self) -> bool {
        match self {
            End::Status(status) => matches!(status, 126 | 127 | 129..=159),
            End::Signal(_) => true,
        }
    }
}

/// A run with the end that is normal for the command: status 0 if any run had it, else the most frequent status. So a status
/// that all runs have, such as the 1 of a grep(1) that finds nothing, is normal.
pub fn usual(runs: &[RunEnd]) -> Option<&RunEnd> {
    let alike = |run: &&RunEnd| runs.iter().filter(|other| other.end == run.end).count();
    let normal = runs.iter().rev().filter(|run| !run.end.is_failure());
    let success = runs.iter().find(|run| run.succeeds());
    success
        .or_else(|| normal.max_by_key(alike))
        .or(runs.first())
}

/// The runs that failed: those with another end than the usual one, and those with an end that is never normal.
pub fn failed(runs: &[RunEnd]) -> Vec<FailedRun> {
    let usual = usual(runs).map(|run| run.end);
    let fails = |run: &&RunEnd| run.end.is_failure() || Some(run.end) != usual;
    let failed = runs.iter().filter(fails).map(|run| FailedRun {
        phase: run.phase,
        number: run.number,
        ended: run.ended.clone(),
        said: run.said.clone(),
    });
    failed.collect()
}

/// What the ends of all runs of an old command, its second runs in each round included, and of a new one mean.
pub fn verdict(old: &[RunEnd], new: &[RunEnd]) -> EndsVerdict {
    let [old_usual, new_usual] = [old, new].map(|runs| usual(runs).map(|run| run.end));
    if !failed(old).is_empty() || !failed(new).is_empty() {
        EndsVerdict::Failed
    } else if old_usual != new_usual {
        EndsVerdict::Different
    } else {
        EndsVerdict::Same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EndsVerdict::{Different, Failed, Same};

    /// `0 0 0` or `0 K9 1`: the ends of a warm-up run, two counted runs and timed runs.
    fn runs(ends: &str) -> Vec<RunEnd> {
        let phases = [(Phase::WarmUp, 1), (Phase::Counted, 1), (Phase::Counted, 2)];
        let timed = (1..).map(|round| (Phase::Timed, round));
        let places = phases.into_iter().chain(timed);
        let run = |(word, (phase, number)): (&str, (Phase, u64))| RunEnd {
            phase,
            number,
            end: match word.strip_prefix('K') {
                Some(signal) => End::Signal(signal.parse().unwrap()),
                None => End::Status(word.parse().unwrap()),
            },
            ended: word.to_owned(),
            said: String::new(),
        };
        ends.split(' ').zip(places).map(run).collect()
    }

    #[test]
    fn every_place_and_every_end_has_its_verdict() {
        for (usual, other, alone, both) in [
            // The end of all runs but one; the end of that one; the verdict if all runs of new end so; the verdict if all of both do.
            ("0", "1", Different, Same),
            ("0", "2", Different, Same),
            ("1", "2", Different, Same),
            ("1", "0", Different, Same),
            ("0", "K9", Failed, Failed),
            ("1", "K11", Failed, Failed),
            ("0", "127", Failed, Failed),
            ("1", "126", Failed, Failed),
            ("0", "139", Failed, Failed),
        ] {
            let steady = [usual; 6].join(" ");
            let all_other = [other; 6].join(" ");
            assert_eq!(verdict(&runs(&steady), &runs(&steady)), Same, "{usual}");
            assert_eq!(
                verdict(&runs(&steady), &runs(&all_other)),
                alone,
                "{usual} {other}"
            );
            assert_eq!(
                verdict(&runs(&all_other), &runs(&all_other)),
                both,
                "{other}"
            );
            // One run in any place: of warm-up, counted, of old, of old again, of new.
            for place in 0..6 {
                let mut ends = [usual; 6];
                ends[place] = other;
                let flaky = runs(&ends.join(" "));
                for (old, new) in [
                    (&flaky, &runs(&steady)),
                    (&runs(&steady), &flaky),
                    (&flaky, &flaky),
                ] {
                    assert_eq!(verdict(old, new), Failed, "{ends:?}");
                }
                // Where some runs succeed, those that do not have failed.
                let wrong = if other == "0" { usual } else { other };
                let wrong = flaky.iter().filter(|run| run.ended == wrong);
                let wrong: Vec<_> = wrong.map(|run| (run.phase, run.number)).collect();
                let named = failed(&flaky)
                    .into_iter()
                    .map(|run| (run.phase, run.number));
                assert_eq!(named.collect::<Vec<_>>(), wrong, "{ends:?}");
            }
        }
        assert_eq!(verdict(&[], &[]), Same);
    }
}
