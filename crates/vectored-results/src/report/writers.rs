//! The rates of several writers at once, in words.

use crate::model::{Results, Target, WriterFigures};
use crate::report::scaling::Crowd;

/// Several writers, for the sentences on their number.
pub(crate) const WRITERS: Crowd = Crowd {
    noun: ("writer", "writers"),
    count: |cell| cell.conditions.writers,
    count_in: |conditions| &mut conditions.writers,
    rate: |technique| Some(technique.writers.as_ref()?.records_per_s),
    achieve: ("write", "records"),
};

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
        "Writers start each sample together. Each list is a record with the numbers of its writer and of itself in \
         its first 16 bytes. The times above, the floor's too, are those in which every writer writes one record: \
         from the common start to the end of the last writer."
            .to_owned(),
        "Several writers: the times are those of one record for the fastest and for the slowest writer, from the \
         common start to the end of that writer, medians over the rounds. Records per \
         second are those of all writers together. Fairness is Jain's index of the writers' rates: 1 if all are \
         equal, 1/n if one of n writers has everything."
            .to_owned(),
    ];
    let any = |is: &dyn Fn(&WriterFigures) -> bool| {
        let mut all = cells().flat_map(|cell| &cell.techniques);
        all.any(|technique| technique.writers.as_ref().is_some_and(is))
    };
    let mut whole =
        "Every record was read back and looked for. \"Not whole\" are records that are torn \
                     (bytes of others stand between their own), lost, doubled or out of order."
            .to_owned();
    if any(&|figures| !figures.whole_records_promised) {
        whole += " ?: the kernel does not promise whole records there, so this is what was observed: several calls \
                  for a record, more than PIPE_BUF (4 KiB) to a shared pipe, or a file system \
                  whose appends are not known to be in one piece.";
    }
    if cells().any(|cell| cell.conditions.target.has_peer()) {
        whole += " unknown: another program read the records, so nothing is known of them.";
    }
    notes.push(whole);
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
