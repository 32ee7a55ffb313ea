//! Several advisories as one: counts are added and priced again.

use std::collections::BTreeMap;

use vectored_machine::model::Price;

use crate::advisor::findings::advise::{advise, is_priced_out};
use crate::advisor::findings::tallies::Tallies;
use crate::advisor::runs::tally::join;
use crate::model::{Advisory, FindingKey, Skipped, Watched};

/// Merges advisories into the advisory that all their logs together would have given. The machine and the prices are
/// from the first advisory.
pub fn merge(advisories: &[Advisory]) -> Advisory {
    let mut tallies = Tallies::default();
    let mut about = Advisory {
        complete: true,
        is_command: !advisories.is_empty(),
        ..Advisory::default()
    };
    if let Some(first) = advisories.first() {
        about.version.clone_from(&first.version);
        about.started_at.clone_from(&first.started_at);
        about.host = first.host.clone();
    }
    let mut skipped = BTreeMap::new();
    let watches = advisories.iter().map(|one| one.watch);
    about.watch = watches.collect::<Option<Vec<_>>>().map(|watches| {
        watches.iter().fold(Watched::default(), |sum, one| Watched {
            wall_s: sum.wall_s + one.wall_s,
            cpu_s: sum.cpu_s + one.cpu_s,
            lost: sum.lost.saturating_add(one.lost),
        })
    });
    for advisory in advisories {
        about.sources.extend_from_slice(&advisory.sources);
        about.complete &= advisory.complete;
        about.is_command &= advisory.is_command;
        about.failed = about.failed.or_else(|| advisory.failed.clone());
        for lines in &advisory.skipped {
            add_skipped(&mut skipped, lines);
        }
        add(&mut tallies, advisory);
    }
    about.skipped = skipped.into_values().collect();
    advise(tallies, &prices_of(advisories), about)
}

fn add(tallies: &mut Tallies, advisory: &Advisory) {
    tallies.calls = tallies.calls.saturating_add(advisory.calls);
    tallies.transfers = tallies.transfers.saturating_add(advisory.transfers);
    tallies.bytes = tallies.bytes.saturating_add(advisory.bytes);
    tallies.processes = tallies.processes.saturating_add(advisory.processes);
    let mut add = |key: &FindingKey, reason, tally| {
        let known = tallies.found.entry((key.clone(), reason));
        join(known.or_default(), tally);
    };
    for one in &advisory.findings {
        add(&one.key, None, &one.tally);
    }
    for one in &advisory.uncounted {
        // Another advisory may have a price for the finding.
        let reason = (!is_priced_out(one)).then(|| one.reason.clone());
        add(&one.key, reason, &one.tally);
    }
}

fn add_skipped(known: &mut BTreeMap<String, Skipped>, new: &Skipped) {
    let sum = known.entry(new.reason.clone()).or_insert_with(|| Skipped {
        lines: 0,
        ..new.clone()
    });
    sum.lines = sum.lines.saturating_add(new.lines);
    // A known file comes before an unknown file, so that the result does not depend on the order of merging.
    let first = |lines: &Skipped| (lines.first_line, lines.first_file.is_none());
    if (first(new), &new.first_file) < (first(sum), &sum.first_file) {
        sum.first_line = new.first_line;
        sum.first_file.clone_from(&new.first_file);
    }
}

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
