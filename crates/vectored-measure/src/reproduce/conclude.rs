//! Computes everything that follows from the samples of an experiment; pure
//! functions.

use vectored_results::model::{ExperimentName, ExperimentRow, Measure, Reproduction};
use vectored_results::report::experiments::{finding, other_buffer};

use crate::reproduce::crossover::crossovers;
use crate::reproduce::mincer;
use crate::reproduce::repeats::{middle_of, summarize};
#[cfg(unix)]
use crate::reproduce::{apue_3_5, apue_14_28, kalinin};

/// Fills in the medians, rates, ratios, crossovers and the finding from the
/// samples of the rows. Deterministic.
pub fn conclude(experiment: &mut Reproduction) {
    let file_bytes = experiment.setting.file_bytes;
    for row in &mut experiment.rows {
        summarize(row);
        let call_bytes = row.segment_bytes.zip(row.segment_count);
        let call_bytes = call_bytes.map(|(bytes, count)| (bytes * count) as u64);
        row.bytes_per_s = file_bytes
            .or(call_bytes)
            .zip(row.clock_s)
            .map(|(bytes, clock_s)| bytes as f64 / clock_s);
    }
    if let Some(file_bytes) = file_bytes {
        scale(&mut experiment.rows, file_bytes);
    }
    let start_s = experiment
        .start_of("read-write")
        .and_then(|row| row.clock_s);
    experiment.setting.start_s = middle_of(&experiment.setting.start_s_samples).or(start_s);
    if let Some(note) = other_buffer(experiment)
        && !experiment.notes.contains(&note)
    {
        experiment.notes.insert(0, note);
    }
    experiment.ratios = match experiment.name {
        #[cfg(unix)]
        ExperimentName::Apue35 => apue_3_5::ratios(experiment),
        #[cfg(unix)]
        ExperimentName::Apue1428 => apue_14_28::ratios(experiment),
        #[cfg(unix)]
        ExperimentName::Kalinin => kalinin::ratios(experiment),
        ExperimentName::Mincer => mincer::ratios(experiment),
        // Not measured here.
        #[cfg(windows)]
        _ => Vec::new(),
    };
    // Only this experiment measures a series of sizes of one kind of list.
    if experiment.name == ExperimentName::Kalinin {
        experiment.crossovers = [Measure::Cpu, Measure::Clock]
            .into_iter()
            .flat_map(|measure| crossovers(&experiment.rows, &experiment.ratios, measure))
            .collect();
    }
    experiment.finding = finding(experiment);
}

/// Scales the times of copies of a prefix to the whole file, but for the time of a copy of nothing: the start. A time of
/// less than twice the start would be scaled noise, so there is none then. CPU and wall time are scaled both or not at all.
/// A process that waited longer in its start than in its copy, by chance, keeps a wall time of at least its CPU time.
fn scale(rows: &mut [ExperimentRow], file_bytes: u64) {
    let starts = rows.iter().filter(|row| row.copied_bytes == Some(0));
    let starts: Vec<ExperimentRow> = starts.cloned().collect();
    for row in rows {
        let Some(bytes) = row.copied_bytes else {
            continue;
        };
        row.bytes_per_s = None;
        let mut starts = starts.iter().filter(|_| bytes > 0);
        let Some(start) = starts.find(|start| start.technique == row.technique) else {
            continue;
        };
        let factor = file_bytes as f64 / bytes as f64;
        let scaled = |time: Option<f64>, start: Option<f64>| {
            let (time, start) = (time?, start?);
            (time >= 2.0 * start).then_some(start + (time - start) * factor)
        };
        let is_on_one_cpu = |row: &ExperimentRow| row.cpu_s <= row.clock_s;
        let is_on_one_cpu = is_on_one_cpu(row) && is_on_one_cpu(start);
        let cpu_s = scaled(row.cpu_s, start.cpu_s);
        let clock_s = scaled(row.clock_s, start.clock_s);
        let both = cpu_s.zip(clock_s).map(|(cpu_s, clock_s)| {
            let least_s = if is_on_one_cpu { cpu_s } else { 0.0 };
            (cpu_s, clock_s.max(least_s))
        });
        row.user_s = scaled(row.user_s, start.user_s).filter(|_| both.is_some());
        row.system_s = scaled(row.system_s, start.system_s).filter(|_| both.is_some());
        (row.cpu_s, row.clock_s) = both.unzip();
        row.bytes_per_s = row.clock_s.map(|clock_s| file_bytes as f64 / clock_s);
    }
}
