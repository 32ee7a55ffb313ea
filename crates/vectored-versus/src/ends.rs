//! How the runs of a command ended, and which of them failed.

use crate::model::FailedRun;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The exit status. For a run that a signal ended: 128 plus the signal number.
    pub code: i32,
    pub run: FailedRun,
}

impl RunEnd {
    /// Returns whether the end is a failure in every case: the command did not start, or a signal ended the command.
    /// Shells return 126 and 127 for a command that could not be started, and 128 plus the signal number after a
    /// signal.
    fn is_failure(&self) -> bool {
        matches!(self.code, 126 | 127 | 129..=159)
    }
}

/// Returns a run with the usual end. Status 0 is usual if any run ended with 0. If no run ended with 0, the most
/// frequent status that is no failure is usual. A grep(1) without a match always ends with 1, and 1 is then usual.
pub fn usual(runs: &[RunEnd]) -> Option<&RunEnd> {
    let alike = |run: &&RunEnd| runs.iter().filter(|other| other.code == run.code).count();
    let normal = runs.iter().rev().filter(|run| !run.is_failure());
    let success = runs.iter().find(|run| run.code == 0);
    success
        .or_else(|| normal.max_by_key(alike))
        .or(runs.first())
}

/// Returns the runs with an unusual end, and the runs whose end is a failure.
pub fn failed(runs: &[RunEnd]) -> Vec<FailedRun> {
    let usual = usual(runs).map(|run| run.code);
    let failed = runs
        .iter()
        .filter(|run| run.is_failure() || Some(run.code) != usual);
    failed.map(|run| run.run.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Phase;

    #[test]
    fn a_run_fails_by_its_end_or_by_ending_otherwise_than_the_others() {
        // Each row: the ends of six runs, the usual end, and the numbers of the failed runs.
        for (ends, usual_end, failures) in [
            ("0 0 0 0 0 0", 0, ""),
            ("1 1 1 1 1 1", 1, ""),
            ("0 0 1 0 0 0", 0, "3"),
            ("1 1 0 1 1 1", 0, "1 2 4 5 6"),
            ("1 1 1 2 1 1", 1, "4"),
            ("0 137 0 0 0 0", 0, "2"),
            ("1 1 1 1 1 127", 1, "6"),
            ("137 137 137 137 137 137", 137, "1 2 3 4 5 6"),
            ("127 127 127 127 127 1", 1, "1 2 3 4 5"),
            ("160 160 160 160 160 160", 160, ""),
            ("128 128 128 128 128 128", 128, ""),
        ] {
            let runs = ends.split(' ').zip(1..).map(|(end, number)| RunEnd {
                code: end.parse().unwrap(),
                run: FailedRun {
                    phase: Phase::Timed,
                    number,
                    ended: end.to_owned(),
                    said: String::new(),
                },
            });
            let runs: Vec<RunEnd> = runs.collect();
            assert_eq!(usual(&runs).unwrap().code, usual_end, "{ends}");
            let found = failed(&runs).into_iter().map(|run| run.number.to_string());
            assert_eq!(found.collect::<Vec<_>>().join(" "), failures, "{ends}");
        }
        assert_eq!(usual(&[]), None);
    }
}
