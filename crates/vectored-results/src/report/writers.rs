//! The figures of several writers at once, explained.

use crate::model::{Results, Target};

/// Explains the figures of several writers.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let cells = || {
        results
            .cells
            .iter()
            .filter(|cell| cell.conditions.writers.is_some())
    };
    if cells().next().is_none() {
        return Vec::new();
    }
    let mut notes = vec![
        "Writers start each sample together. Each list is a record. The times above, the floor's too, are those in \
         which every writer writes one record: from the common start to the end of the last writer."
            .to_owned(),
        "Several writers: the times are those of one record for the fastest and for the slowest writer, from the \
         common start to the end of that writer, medians over the rounds. Records per \
         second are those of all writers together. Fairness is Jain's index of the writers' rates: 1 if all are \
         equal, 1/n if one of n writers has everything."
            .to_owned(),
    ];
    let most = cells()
        .filter_map(|cell| cell.conditions.writers)
        .max()
        .unwrap_or(1);
    let cpus = results.host.cpu.allowed_cpus.len();
    if cpus > 0 && most as usize > cpus {
        notes.push(format!(
            "With more writers than CPUs (up to {most} on {cpus}) some start when others have ended or are interrupted."
        ));
    }
    if cells().any(|cell| cell.conditions.target != Target::File) {
        notes.push(
            "Pipes and sockets of several writers are read during the samples, so no crossover is located there."
                .to_owned(),
        );
    }
    notes
}
