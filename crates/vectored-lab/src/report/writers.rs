//! What several writers at once achieve, in words and as tables.

use crate::model::{
    Cell, RecordCounts, Results, Target, TechniqueName, WriterAdvice, WriterFigures,
};
use crate::report::grid::Grid;
use crate::report::scaling::{Crowd, extremes, list_of};
use crate::text::format;

/// Several writers, for the sentences on their number.
const WRITERS: Crowd = Crowd {
    noun: ("writer", "writers"),
    count: |cell| cell.conditions.writers,
    count_in: |conditions| &mut conditions.writers,
    rate: |technique| Some(technique.writers.as_ref()?.records_per_s),
    achieve: ("write", "records"),
};

/// One entry for each set of conditions other than the number of writers: which technique is fastest with how many
/// writers, and how the total throughput changes.
pub fn writer_advice(cells: &[&Cell], rivals: &[TechniqueName]) -> Vec<WriterAdvice> {
    let sentences = WRITERS.sentences(cells, rivals).into_iter();
    sentences
        .map(|sentences| WriterAdvice {
            conditions: sentences.conditions,
            writer_counts: sentences.counts,
            text: sentences.text,
        })
        .collect()
}

/// Each entry of [`Results::writer_advice`] with the place that it is about: `file (ext4)`.
pub(crate) fn answers(results: &Results) -> Vec<(String, String)> {
    let entries = results.writer_advice.iter();
    let texts = entries.map(|advice| (&advice.conditions, &*advice.text));
    WRITERS.answers(&results.cells, texts)
}

/// A table for each set of conditions with writers.
pub(crate) fn tables(results: &Results) -> Vec<Grid> {
    WRITERS.tables(&results.cells, &HEADS, rows)
}

const HEADS: [&str; 8] = [
    "list",
    "writers",
    "technique",
    "fastest writer",
    "slowest writer",
    "records/s",
    "fairness",
    "not whole",
];

/// A row for each technique; only the first one has the list and the number of writers.
fn rows(cell: &Cell) -> Vec<Vec<String>> {
    let (mut list, mut count) = (
        list_of(cell),
        cell.conditions.writers.unwrap_or(1).to_string(),
    );
    let techniques = cell.techniques.iter();
    techniques
        .filter_map(|technique| {
            let figures = technique.writers.as_ref()?;
            let [fastest, slowest] = extremes(&figures.writer_median_ns);
            Some(vec![
                std::mem::take(&mut list),
                std::mem::take(&mut count),
                technique.name.to_string(),
                fastest,
                slowest,
                format::grouped(figures.records_per_s as u64),
                format!("{:.2}", figures.fairness),
                not_whole(figures),
            ])
        })
        .collect()
}

/// `0`; `3.1 % torn`, with a `?` if the kernel does not promise whole records; `unknown` if another program read them.
fn not_whole(figures: &WriterFigures) -> String {
    if figures.records.records == 0 {
        return "unknown".to_owned();
    }
    let sign = if figures.whole_records_promised {
        ""
    } else {
        "?"
    };
    if figures.records.is_sound() {
        return format!("0{sign}");
    }
    let all = figures.records.records.max(1) as f64;
    let parts = kinds(&figures.records);
    let parts = parts.filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| match count as f64 / all {
            share if share < 0.001 => format!("<0.1 % {what}"),
            share => format!("{} {what}", format::percent(share)),
        })
        .collect();
    format!("{}{sign}", parts.join(", "))
}

fn kinds(counts: &RecordCounts) -> impl Iterator<Item = (u64, &'static str)> {
    [
        (counts.torn, "torn"),
        (counts.lost, "lost"),
        (counts.doubled, "doubled"),
        (counts.out_of_order, "out of order"),
    ]
    .into_iter()
}

/// What the figures of several writers are.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_without_a_promise_is_marked() {
        let figures = |records, torn, whole_records_promised| WriterFigures {
            writer_median_ns: vec![1.0],
            records_per_s: 1.0,
            bytes_per_s: 1.0,
            fairness: 1.0,
            fairness_min: 1.0,
            whole_records_promised,
            records: RecordCounts {
                records,
                torn,
                ..RecordCounts::default()
            },
        };
        assert_eq!(not_whole(&figures(0, 0, true)), "unknown");
        assert_eq!(not_whole(&figures(1000, 0, true)), "0");
        assert_eq!(not_whole(&figures(1000, 0, false)), "0?");
        assert_eq!(not_whole(&figures(1000, 31, false)), "3.1 % torn?");
    }
}
