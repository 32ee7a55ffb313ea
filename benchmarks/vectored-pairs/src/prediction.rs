//! The saving that the advisor predicts from a log.

use std::path::Path;

use anyhow::{Context, Result};
use vectored_advise::advisor::{Analysis, Options, Saving, Tallies, price};
use vectored_advise::model::FindingKind;
use vectored_machine::model::{DescriptorKind, Operation, Price};
use vectored_results::stats::median;

/// Counts the calls that could be merged.
///
/// # Errors
///
/// If the log cannot be read.
pub fn count(log: &Path) -> Result<Tallies> {
    let mut analysis = Analysis::new(Options::default());
    let read = analysis.read_logs(&[log.to_owned()]);
    read.context("cannot read the log")?;
    Ok(analysis.finish())
}

/// The saving of all findings at these prices.
pub fn total(tallies: &Tallies, prices: &[Price]) -> Saving {
    let mut total = Saving::default();
    for (key, tally) in tallies.counted() {
        let saving = price(key, tally, prices).unwrap_or_default();
        total.s += saving.s;
        total.low_s += saving.low_s;
        total.high_s += saving.high_s;
    }
    total
}

/// The median of each figure; `None` without savings.
pub fn median_saving(savings: &[Saving]) -> Option<Saving> {
    let of = |number: fn(&Saving) -> f64| median(&savings.iter().map(number).collect::<Vec<_>>());
    Some(Saving {
        s: of(|saving| saving.s)?,
        low_s: of(|saving| saving.low_s)?,
        high_s: of(|saving| saving.high_s)?,
    })
}

/// The prices that these findings need.
pub fn wanted(finds: &[(FindingKind, DescriptorKind)]) -> Vec<(DescriptorKind, Operation)> {
    let operation = |kind| match kind {
        FindingKind::SmallReads | FindingKind::PositionalReads => Operation::Read,
        _ => Operation::Write,
    };
    finds
        .iter()
        .map(|&(kind, target)| (target, operation(kind)))
        .collect()
}
