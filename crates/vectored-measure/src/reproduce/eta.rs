//! The remaining time of a run, from the duration of every row: estimated at
//! first, then measured.

use std::fmt;

use vectored_results::model::ExperimentName;

/// The progress of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ReproduceProgress {
    /// The experiment.
    pub experiment: ExperimentName,
    /// A description of the row that is being measured.
    pub row: String,
    /// Seconds of work done.
    pub done_s: f64,
    /// Estimated seconds of work left.
    pub left_s: f64,
}

/// The rows of a run, with the repeats that remain and the duration of each.
pub struct EtaTracker<'a> {
    entries: Vec<Entry>,
    current: usize,
    done_s: f64,
    on_progress: &'a mut dyn FnMut(&ReproduceProgress),
}

struct Entry {
    experiment: ExperimentName,
    row: usize,
    name: String,
    repeats_left: usize,
    repeat_s: f64,
}

impl fmt::Debug for EtaTracker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EtaTracker of {} rows", self.entries.len())
    }
}

impl<'a> EtaTracker<'a> {
    /// A tracker without rows, which calls `on_progress` at every change.
    pub fn new(on_progress: &'a mut dyn FnMut(&ReproduceProgress)) -> Self {
        EtaTracker {
            entries: Vec::new(),
            current: 0,
            done_s: 0.0,
            on_progress,
        }
    }

    /// Adds a row, with the number of its repeats and the estimated duration of
    /// one repeat.
    pub(super) fn enter(
        &mut self,
        experiment: ExperimentName,
        row: usize,
        name: String,
        (repeats, guess_s): (usize, f64),
    ) {
        self.entries.push(Entry {
            experiment,
            row,
            name,
            repeats_left: repeats,
            repeat_s: guess_s,
        });
    }

    /// Begins a repeat of a row.
    pub(super) fn begin(&mut self, experiment: ExperimentName, row: usize) {
        let is_it = |entry: &Entry| (entry.experiment, entry.row) == (experiment, row);
        self.current = self.entries.iter().position(is_it).unwrap_or(self.current);
        self.within(0.0);
    }

    /// Reports the progress of the current repeat: a share from 0 to 1.
    pub(super) fn within(&mut self, share: f64) {
        let Some(current) = self.entries.get(self.current) else {
            return;
        };
        let left_s: f64 = (self.entries.iter())
            .map(|entry| entry.repeats_left as f64 * entry.repeat_s)
            .sum();
        let within_s = current.repeat_s * share.clamp(0.0, 1.0);
        let progress = ReproduceProgress {
            experiment: current.experiment,
            row: current.name.clone(),
            done_s: self.done_s + within_s,
            left_s: (left_s - within_s).max(0.0),
        };
        (self.on_progress)(&progress);
    }

    /// Ends the current repeat, which took `took_s` seconds.
    pub(super) fn end(&mut self, took_s: f64) {
        if let Some(current) = self.entries.get_mut(self.current) {
            current.repeats_left = current.repeats_left.saturating_sub(1);
            current.repeat_s = took_s;
        }
        self.done_s += took_s;
        self.within(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_duration_of_rows() {
        let mut reported = Vec::new();
        let mut report =
            |progress: &ReproduceProgress| reported.push((progress.done_s, progress.left_s));
        let mut eta = EtaTracker::new(&mut report);
        let name = ExperimentName::Kalinin;
        eta.enter(name, 0, "one".to_owned(), (2, 10.0));
        eta.enter(name, 1, "other".to_owned(), (1, 1.0));
        eta.begin(name, 0);
        eta.within(0.5);
        eta.end(4.0);
        eta.begin(name, 1);
        eta.end(3.0);
        let expected = [
            (0.0, 21.0),
            (5.0, 16.0),
            // The second repeat is expected to take as long as the first.
            (4.0, 5.0),
            (4.0, 5.0),
            (7.0, 4.0),
        ];
        assert_eq!(reported, expected);
    }
}
