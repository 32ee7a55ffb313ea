//! A program of the user beside `vectored copy`: the smallest buffer near the fastest.

use vectored_report::words;

use crate::model::{ExperimentRow, Reproduction};
use crate::report::experiments::layout::is_of_its_own;

/// A buffer is near the fastest buffer if a copy with this buffer takes at most this many times as long.
const NEAR: f64 = 1.05;

/// The smallest buffer within 5 % of the fastest, by the median time without the start of the process. `None` if a copy of
/// the whole file takes too little time to differ from the noise of the starts, or the program does not read with its
/// buffer.
pub fn smallest_near_fastest(experiment: &Reproduction, technique: &str) -> Option<u64> {
    if technique == "program" && other_buffer(experiment).is_some() {
        return None;
    }
    let sized = experiment
        .rows
        .iter()
        .filter(|row| row.key.technique == technique);
    let sized = sized.filter_map(|row| Some((row, row.key.buffer_bytes?)));
    let timed =
        sized.map(|(row, bytes)| (row, bytes, experiment.copying_s(row, experiment.compared())));
    // A buffer that was too slow to copy the whole file may have no time.
    let timed =
        timed.filter(|(row, _, copying_s)| copying_s.is_some() || row.copied_bytes.is_none());
    let timed: Vec<(u64, f64)> = timed
        .map(|(_, bytes, s)| Some((bytes, s?)))
        .collect::<Option<_>>()?;
    let fastest_s = timed.iter().map(|timed| timed.1).reduce(f64::min)?;
    let near = timed.iter().filter(|timed| timed.1 <= fastest_s * NEAR);
    near.map(|timed| timed.0).min()
}

pub fn finding(experiment: &Reproduction) -> String {
    let measure = experiment.compared();
    let time = measure.in_words();
    let ours = near_in_words(experiment, "read-write");
    let its_own = experiment.rows.iter().find(|row| is_of_its_own(row));
    let is_ignored = its_own.is_none() && other_buffer(experiment).is_some();
    let mut sentence = if let Some(row) = its_own {
        let takes = experiment.copying_s(row, measure);
        let takes = takes.map_or_else(
            || format!("{time} that is not resolved"),
            |s| format!("{} of {time}", words::time(s * 1e9)),
        );
        format!(
            "The program, which is not told the size of a buffer, takes {takes} for copying; the smallest buffer within \
             5 % of the fastest is {ours} for vectored copy"
        )
    } else {
        let theirs = near_in_words(experiment, "program");
        let theirs = if is_ignored { "none" } else { &theirs };
        format!(
            "The smallest buffer within 5 % of the fastest is {theirs} for the program, {ours} for vectored copy"
        )
    };
    if sentence.contains("not resolved") {
        let more = "copy more, as with --file-size 1GiB";
        let remedy = if experiment.reduced { "omit --quick" } else { more };
        sentence += &format!(
            ". Not resolved: copying takes less than twice the spread of the starts of a process: {remedy}"
        );
    }
    if is_ignored {
        sentence += ". The program ignores its buffer size";
    }
    let near = smallest_near_fastest(experiment, "program");
    let ratio = experiment.ratios.iter().find(|ratio| {
        let told = experiment.rows[ratio.of].key.buffer_bytes;
        ratio.measure == measure && told == near
    });
    if let Some((ratio, near)) = ratio.zip(near) {
        let times = words::ratio_within(ratio.ratio, ratio.ratio_low.zip(ratio.ratio_high));
        let near = words::bytes(near);
        sentence +=
            &format!("; with {near}, the program takes {times} the {time} of vectored copy");
    }
    sentence
}

fn near_in_words(experiment: &Reproduction, technique: &str) -> String {
    let Some(bytes) = smallest_near_fastest(experiment, technique) else {
        return "not resolved".to_owned();
    };
    let rows = experiment.rows.iter();
    let sizes: Vec<u64> = rows.filter_map(|row| row.key.buffer_bytes).collect();
    let edge = match (sizes.iter().min(), sizes.iter().max()) {
        (smallest, largest) if smallest == largest => "",
        (smallest, _) if smallest == Some(&bytes) => " (the smallest measured)",
        (_, largest) if largest == Some(&bytes) => {
            " (the largest measured: the time still falls there)"
        }
        _ => "",
    };
    words::bytes(bytes) + edge
}

/// The note on a program that ignores its buffer size, with the figures of the row in which the reads differ most from this
/// size. `None` if the reads of each row are near the size.
pub fn other_buffer(experiment: &Reproduction) -> Option<String> {
    let file_bytes = experiment.setting.file_bytes?;
    let of_row = |row: &ExperimentRow| {
        let (buffer, reads) = (row.key.buffer_bytes?, row.loops?);
        let bytes = row.copied_bytes.unwrap_or(file_bytes);
        let expected = bytes.div_ceil(buffer);
        let is_near = reads.abs_diff(expected) <= 2 + expected / 10;
        let far = (reads.max(1) as f64 / expected as f64).ln().abs();
        (!is_near).then_some((far, buffer, reads, expected, bytes))
    };
    let rows = experiment.rows.iter();
    let theirs = rows.filter(|row| row.key.technique == "program");
    let farthest = theirs
        .filter_map(of_row)
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (_, buffer, reads, expected, bytes) = farthest;
    let made = match reads {
        0 => "it made no calls that read".to_owned(),
        reads => format!(
            "it made {} reads, of {} each",
            words::grouped(reads),
            words::about(bytes as f64 / reads as f64)
        ),
    };
    Some(format!(
        "The program ignores its buffer size: given {}, {made}, instead of {} reads. A library in between may have its \
         own buffer.",
        words::bytes(buffer),
        words::grouped(expected)
    ))
}
