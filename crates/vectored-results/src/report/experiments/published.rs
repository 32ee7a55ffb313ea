//! The published figures, as rows. `published/README.md` names their sources.

use crate::model::{ExperimentName, ExperimentRow, IovecSetup, Operation};

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

/// The row of a line. No field has a comma.
fn row(heads: &[&str], line: &str) -> ExperimentRow {
    let mut row = ExperimentRow::default();
    let ExperimentRow {
        source,
        key,
        times,
        loops,
        ..
    } = &mut row;
    for (head, word) in std::iter::zip(heads, line.split(',')) {
        let number = || word.parse::<f64>().expect(VALID);
        let whole = || word.parse::<u64>().expect(VALID);
        match *head {
            "source" => *source = word.to_owned(),
            "technique" => key.technique = word.to_owned(),
            "operation" => {
                key.operation = Operation::ALL.into_iter().find(|one| one.name() == word);
            }
            "iovec_setup" => {
                key.iovec_setup = IovecSetup::ALL.into_iter().find(|one| one.name() == word);
            }
            "segment_count" => key.segment_count = Some(whole() as usize),
            "segment_bytes" => key.segment_bytes = Some(whole() as usize),
            "buffer_bytes" => key.buffer_bytes = Some(whole()),
            "loops" => *loops = Some(whole()),
            "user_s" => times.user_s = Some(number()),
            "system_s" => times.system_s = Some(number()),
            "clock_s" => times.clock_s = Some(number()),
            "cpu_ms" => times.cpu_s = Some(number() / 1e3),
            "clock_us" => times.clock_s = Some(number() / 1e6),
            // The printed rates do not follow from the times.
            "printed_mb_s" => {}
            unknown => panic!("{VALID}: {unknown}"),
        }
    }
    if let Some((user_s, system_s)) = times.user_s.zip(times.system_s) {
        times.cpu_s = Some(user_s + system_s);
    }
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
