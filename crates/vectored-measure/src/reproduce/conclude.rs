//! Computes everything that follows from the samples of an experiment; pure
//! functions.

use crate::model::{ExperimentName, Measure, Reproduction};
use crate::report::experiments::finding;
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
    experiment.setting.start_s = middle_of(&experiment.setting.start_s_samples);
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
