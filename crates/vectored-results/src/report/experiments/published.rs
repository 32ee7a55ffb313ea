//! The published figures, as rows. `published/README.md` names their sources.

use vectored_report::value_of;

use crate::model::{ExperimentName, ExperimentRow};

const VALID: &str = "the embedded CSV files are valid: a test reads all of them";

pub fn published(experiment: ExperimentName) -> Vec<ExperimentRow> {
    let text = match experiment {
        ExperimentName::Apue35 => include_str!("published/apue-3.5.csv"),
        ExperimentName::Apue1428 => include_str!("published/apue-14.28.csv"),
        ExperimentName::Kalinin => include_str!("published/kalinin.csv"),
        ExperimentName::Mincer => include_str!("published/mincer.csv"),
    };
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let heads: Vec<&str> = lines.next().expect(VALID).split(',').collect();
    lines.map(|line| row(&heads, line)).collect()
}

/// A line of CSV as a row. No field has a comma.
fn row(heads: &[&str], line: &str) -> ExperimentRow {
    let mut row = value_of(&ExperimentRow::default()).expect(VALID);
    for (head, word) in std::iter::zip(heads, line.split(',')) {
        let number = || word.parse::<f64>().expect(VALID);
        match *head {
            "cpu_ms" => row["cpu_s"] = (number() / 1e3).into(),
            "clock_us" => row["clock_s"] = (number() / 1e6).into(),
            // The printed rates do not follow from the times.
            "printed_mb_s" => {}
            // Some sources are years.
            "source" => row["source"] = word.into(),
            head if row.get(head).is_some() => {
                row[head] = serde_json::from_str(word).unwrap_or_else(|_| word.into());
            }
            unknown => panic!("{VALID}: {unknown}"),
        }
    }
    let mut row: ExperimentRow = serde_json::from_value(row).expect(VALID);
    let parts = row.times.user_s.zip(row.times.system_s);
    row.times.cpu_s = parts.map_or(row.times.cpu_s, |(user_s, system_s)| {
        Some(user_s + system_s)
    });
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_has_a_time_and_a_key_of_its_own() {
        for (name, count) in std::iter::zip(ExperimentName::ALL, [20, 12, 20, 12]) {
            let rows = published(name);
            assert_eq!(rows.len(), count, "{name}");
            for (index, row) in rows.iter().enumerate() {
                assert!(row.times.cpu_s.or(row.times.clock_s).is_some(), "{row:?}");
                let is_same =
                    |other: &&ExperimentRow| (&other.source, &other.key) == (&row.source, &row.key);
                assert_eq!(rows.iter().position(|one| is_same(&one)), Some(index));
            }
        }
    }
}
