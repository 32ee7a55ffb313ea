//! The figures of several writers at once.

use crate::model::WriterFigures;
use crate::stats::summary::{hundredths, median, ten_thousandths};

/// The samples of one technique in a cell with several writers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriterSamples {
    /// For each sample the time of a record for each writer, from the common start to the end of the writer, in ns.
    pub record_ns: Vec<Vec<f64>>,
}

impl WriterSamples {
    /// Adds the samples of another visit.
    pub fn merge(&mut self, other: WriterSamples) {
        self.record_ns.extend(other.record_ns);
    }

    /// The figures for records of `record_bytes` bytes. `None` without samples.
    pub fn figures(&self, record_bytes: u64) -> Option<WriterFigures> {
        let writers = self.record_ns.first()?.len();
        let of_writer = |writer: usize| self.record_ns.iter().map(move |sample| sample[writer]);
        let writer_median_ns = (0..writers)
            .map(|writer| median(&of_writer(writer).collect::<Vec<_>>()).map(hundredths))
            .collect::<Option<Vec<f64>>>()?;
        let samples = self.record_ns.iter();
        let rates: Vec<f64> = samples
            .clone()
            .map(|sample| records_per_s(sample))
            .collect();
        let indices: Vec<f64> = samples.map(|sample| jain_index(sample)).collect();
        let records_per_s = hundredths(median(&rates)?);
        Some(WriterFigures {
            writer_median_ns,
            records_per_s,
            bytes_per_s: (records_per_s * record_bytes as f64).round(),
            fairness: ten_thousandths(median(&indices)?),
            fairness_min: ten_thousandths(indices.iter().copied().fold(1.0, f64::min)),
        })
    }
}

/// Records of all writers in a second, up to the end of the last one. All write equally many.
fn records_per_s(record_ns: &[f64]) -> f64 {
    let longest_ns = record_ns.iter().copied().fold(0.0, f64::max);
    record_ns.len() as f64 * 1e9 / longest_ns
}

/// Jain's fairness index of the rates 1/t: (Σx)² ÷ (n Σx²), from 1/n to 1 (Jain, Chiu and Hawe, "A quantitative
/// measure of fairness", DEC-TR-301, 1984). The times are positive.
pub fn jain_index(record_ns: &[f64]) -> f64 {
    let rates = || record_ns.iter().map(|ns| 1.0 / ns);
    let sum: f64 = rates().sum();
    let squares: f64 = rates().map(|rate| rate * rate).sum();
    sum * sum / (record_ns.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_one_for_equal_rates_and_one_nth_for_a_monopoly() {
        assert!((jain_index(&[250.0; 4]) - 1.0).abs() < 1e-12);
        assert!((jain_index(&[1.0, 1e15, 1e15, 1e15]) - 0.25).abs() < 1e-9);
        // Rates 2 and 1: 9 ÷ (2 × 5).
        assert!((jain_index(&[100.0, 200.0]) - 0.9).abs() < 1e-12);
    }

    #[test]
    fn figures_are_medians_over_the_samples() {
        let samples = WriterSamples {
            record_ns: vec![vec![100.0, 200.0], vec![100.0, 100.0], vec![300.0, 400.0]],
        };
        let figures = samples.figures(10).unwrap();
        assert_eq!(figures.writer_median_ns, [100.0, 200.0]);
        // The slower writer takes 200, 100 and 400 ns for one record of two.
        assert_eq!(figures.records_per_s, 1e7);
        assert_eq!(figures.bytes_per_s, 1e8);
        assert_eq!((figures.fairness, figures.fairness_min), (0.9800, 0.9));
        assert_eq!(WriterSamples::default().figures(10), None);
    }
}
