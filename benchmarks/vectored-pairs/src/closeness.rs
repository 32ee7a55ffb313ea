//! Predicted and measured savings beside each other: which are close, as a table.

use std::fmt::Write;

use vectored_advise::advisor::Saving;

use crate::saving::MeasuredSaving;

/// A prediction is close if it differs from the measured saving by at most this share.
const CLOSE_SHARE: f64 = 0.25;

/// A prediction that is far off is not an error, since times depend on the machine.
const INFORMATION_ONLY: &str =
    "for information: this share does not decide whether the command fails";

/// The result for a pair.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The name of the pair.
    pub name: &'static str,
    /// The measured times.
    pub measured: MeasuredSaving,
    /// The predicted saving.
    pub predicted: Saving,
}

impl Row {
    /// Predicted ÷ measured.
    pub fn ratio(&self) -> f64 {
        self.predicted.s / self.measured.saving_s
    }

    /// Whether the prediction is close.
    pub fn is_close(&self) -> bool {
        (self.ratio() - 1.0).abs() <= CLOSE_SHARE
    }
}

/// A Markdown table with times in ms, and the number of close predictions.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| program | before | after | predicted saving | measured saving | predicted ÷ measured |\n\
         |---|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let Row {
            name,
            measured,
            predicted,
        } = row;
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} [{}, {}] | {} [{}, {}] | {:.2}{} |",
            ms(measured.before_s),
            ms(measured.after_s),
            ms(predicted.s),
            ms(predicted.low_s),
            ms(predicted.high_s),
            ms(measured.saving_s),
            ms(measured.saving_low_s),
            ms(measured.saving_high_s),
            row.ratio(),
            if row.is_close() { "" } else { " ✗" },
        );
    }
    let close = rows.iter().filter(|row| row.is_close()).count();
    let _ = writeln!(
        text,
        "\nmilliseconds; {close} of {} predictions within {:.0} % ({INFORMATION_ONLY})",
        rows.len(),
        CLOSE_SHARE * 100.0
    );
    text
}

fn ms(seconds: f64) -> String {
    format!("{:.0}", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(predicted_s: f64) -> Row {
        Row {
            name: "log_writer",
            measured: MeasuredSaving {
                before_s: 0.3,
                after_s: 0.1,
                saving_s: 0.2,
                saving_low_s: 0.19,
                saving_high_s: 0.21,
            },
            predicted: Saving {
                s: predicted_s,
                low_s: 0.1,
                high_s: 0.3,
            },
        }
    }

    #[test]
    fn a_quarter_more_or_less_is_close() {
        let good = [0.149, 0.151, 0.249, 0.251].map(|predicted_s| row(predicted_s).is_close());
        assert_eq!(good, [false, true, true, false]);
    }

    #[test]
    fn every_row_has_the_predicted_and_the_measured_saving() {
        let text = table(&[row(0.2), row(0.4)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2],
            "| log_writer | 300 | 100 | 200 [100, 300] | 200 [190, 210] | 1.00 |"
        );
        assert!(lines[3].ends_with("| 2.00 ✗ |"));
        assert_eq!(
            lines[5],
            "milliseconds; 1 of 2 predictions within 25 % (for information: this share does not \
             decide whether the command fails)"
        );
    }
}
