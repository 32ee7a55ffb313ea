//! CSV: a line for each measured or published row.

use ::csv::WriterBuilder;

use crate::model::{ExperimentRow, Experiments, PublishedRow, Reproduction};
use crate::text::format::csv_word as word;

const HEAD: [&str; 21] = [
    "experiment",
    "source",
    "reduced",
    "cache",
    "technique",
    "operation",
    "iovec_setup",
    "segment_count",
    "segment_bytes",
    "segment_sizes",
    "buffer_bytes",
    "calls",
    "loops",
    "repeats",
    "user_s",
    "system_s",
    "cpu_s",
    "clock_s",
    "pass_median_s",
    "bytes_per_s",
    "direct",
];

/// Everything except the samples, a line for each row. `source` is `here` for measured rows, otherwise
/// the publication; further columns have the names of the JSON fields.
pub fn csv(experiments: &Experiments) -> String {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    // Writing to memory, with equally many fields in each line, cannot fail.
    const SOUND: &str = "a line as long as the head, into memory";
    writer.write_record(HEAD).expect(SOUND);
    for experiment in &experiments.experiments {
        for row in &experiment.rows {
            writer.write_record(ours(experiment, row)).expect(SOUND);
        }
        for row in &experiment.published {
            writer
                .write_record(published(experiment, row))
                .expect(SOUND);
        }
    }
    let bytes = writer.into_inner().expect(SOUND);
    String::from_utf8(bytes).expect("text in, text out")
}

fn ours(experiment: &Reproduction, row: &ExperimentRow) -> [String; 21] {
    [
        word(&experiment.name),
        "here".to_owned(),
        word(&experiment.reduced),
        word(&experiment.cache),
        word(&row.technique),
        word(&row.operation),
        word(&row.iovec_setup),
        word(&row.segment_count),
        word(&row.segment_bytes),
        word(&row.segment_sizes),
        word(&row.buffer_bytes),
        word(&row.calls),
        word(&row.loops),
        word(&row.repeats),
        word(&row.user_s),
        word(&row.system_s),
        word(&row.cpu_s),
        word(&row.clock_s),
        word(&row.pass_median_s),
        word(&row.bytes_per_s),
        word(&row.direct),
    ]
}

fn published(experiment: &Reproduction, row: &PublishedRow) -> [String; 21] {
    [
        word(&experiment.name),
        word(&row.source),
        String::new(),
        String::new(),
        word(&row.technique),
        word(&row.operation),
        word(&row.iovec_setup),
        word(&row.segment_count),
        word(&row.segment_bytes),
        String::new(),
        word(&row.buffer_bytes),
        String::new(),
        word(&row.loops),
        String::new(),
        word(&row.user_s),
        word(&row.system_s),
        word(&row.cpu_s),
        word(&row.clock_s),
        String::new(),
        String::new(),
        String::new(),
    ]
}
