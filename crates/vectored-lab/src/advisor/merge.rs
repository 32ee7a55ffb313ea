//! Several advisories as one: counts are added, and priced again.

use std::collections::BTreeMap;

use super::advise::{About, Words, advise};
use super::tally::{Tallies, join};
use crate::model::{Advisory, Price, Skipped, WallSource};

/// The advisory of all logs that these are of, with the machine and the prices of the first.
///
/// It is the one that all logs together would have given. Wall times add up, as if the programs had
/// run one after the other; with one that is not known the sum is not known.
pub fn merge(advisories: &[Advisory], words: Words) -> Advisory {
    let mut tallies = Tallies::default();
    let mut about = About {
        complete: true,
        ..About::default()
    };
    if let Some(first) = advisories.first() {
        about.version.clone_from(&first.version);
        about.started_at.clone_from(&first.started_at);
        about.host = first.host.clone();
    }
    let mut skipped = BTreeMap::new();
    for advisory in advisories {
        about.sources.extend_from_slice(&advisory.sources);
        about.complete &= advisory.complete;
        for lines in &advisory.skipped {
            add_skipped(&mut skipped, lines);
        }
        add(&mut tallies, advisory);
    }
    about.skipped = skipped.into_values().collect();
    let walls = || advisories.iter().map(|advisory| advisory.wall_s);
    // In whole ns, so that the order of additions does not matter.
    let wall_ns = walls().try_fold(0_u64, |sum, wall_s| {
        wall_s.map(|wall_s| sum.saturating_add((wall_s * 1e9).round() as u64))
    });
    tallies.span_ns = wall_ns;
    let is_untraced =
        |advisory: &Advisory| matches!(advisory.wall_source, Some(WallSource::Untraced));
    if !advisories.is_empty() && advisories.iter().all(is_untraced) {
        about.untraced_wall_s = wall_ns.map(|ns| ns as f64 / 1e9);
    }
    advise(tallies, &prices_of(advisories), about, words)
}

fn add(tallies: &mut Tallies, advisory: &Advisory) {
    tallies.calls = tallies.calls.saturating_add(advisory.calls);
    tallies.transfers = tallies.transfers.saturating_add(advisory.transfers);
    tallies.bytes = tallies.bytes.saturating_add(advisory.bytes);
    tallies.processes = tallies.processes.saturating_add(advisory.processes);
    for finding in &advisory.findings {
        let known = tallies.findings.entry(finding.key.clone());
        join(known.or_default(), &finding.tally);
    }
    for uncounted in &advisory.uncounted {
        let key = (uncounted.key.clone(), uncounted.reason.clone());
        join(tallies.uncounted.entry(key).or_default(), &uncounted.tally);
    }
}

/// By reason, so that they come in one order.
fn add_skipped(known: &mut BTreeMap<String, Skipped>, new: &Skipped) {
    let sum = known.entry(new.reason.clone()).or_insert_with(|| Skipped {
        lines: 0,
        ..new.clone()
    });
    sum.lines = sum.lines.saturating_add(new.lines);
    sum.first_line = sum.first_line.min(new.first_line);
}

/// Those of the first, and what it lacks from the others.
fn prices_of(advisories: &[Advisory]) -> Vec<Price> {
    let mut prices: Vec<Price> = Vec::new();
    for price in advisories.iter().flat_map(|advisory| &advisory.prices) {
        let is_same =
            |known: &&Price| (known.target, known.operation) == (price.target, price.operation);
        if prices.iter().find(is_same).is_none() {
            prices.push(*price);
        }
    }
    prices
}
