//! From tallies to an advisory: adds a price and words to findings, and sorts them by their saving.

use std::collections::BTreeMap;

use vectored_machine::model::Price;
use vectored_report::sort;

use crate::advisor::findings::price::{Saving, price};
use crate::advisor::findings::tallies::{Tallies, fold_files};
use crate::advisor::runs::tally::join;
use crate::advisor::wording::remedies::{lack, part_bytes, starts};
use crate::advisor::wording::sentences::{action, is_of_varying_reads, pattern, waits_unseen};
use crate::model::{ADVISORY_SCHEMA, Advisory, Finding, FindingKey, FindingKind, Tally, Uncounted};

pub const UNPRICED: &str = "what such a call costs is not known";

pub const DEARER: &str = "the copies that merging needs may cost more than the calls";

pub const STARTS: &str = "the programs that the remedy starts take longer than the calls";

/// The reason why a few reads of a system file are not counted: the user did not write the code that reads.
pub const SYSTEM: &str = "a library or the interpreter reads a file of the system";

pub const FILTER: &str = "the program reads a pipe or socket between the writes, perhaps through a buffer of its language: a \
    reader may wait for these bytes while the program waits for more";

pub const VARYING: &str = "the lengths of the reads vary, or their number: the program may learn the length of a read from the read before it";

/// No user notices a saving below this time, however long the program runs.
pub(crate) const LITTLE_S: f64 = 100e-6;

/// Whether one call could replace the calls of a listed finding. The finding is listed only because of its price, or
/// because the user cannot change the code.
pub(crate) fn is_priced_out(one: &Uncounted) -> bool {
    [UNPRICED, DEARER, STARTS, SYSTEM, FILTER, VARYING].contains(&&*one.reason)
        || lack(&one.key, &one.tally).as_ref() == Some(&one.reason)
}

fn priced_out(key: &FindingKey, tally: &Tally, saving: Option<Saving>) -> Option<String> {
    let in_system = |path: &String| {
        let mut folders = ["/usr/", "/lib", "/etc/"].iter();
        folders.any(|folder| path.starts_with(folder))
    };
    let mut files = tally.files.iter().map(|file| file.path.as_ref());
    let reason = match (lack(key, tally), saving) {
        (Some(lack), _) => return Some(lack),
        _ if waits_unseen(key, tally) => FILTER,
        _ if is_of_varying_reads(key, tally) => VARYING,
        (_, None) => UNPRICED,
        (_, Some(saving)) if saving.s < 0.0 && starts(key, tally) > 0 => STARTS,
        (_, Some(saving)) if saving.s < 0.0 => DEARER,
        (_, Some(saving)) if saving.s < LITTLE_S && key.kind == FindingKind::SmallReads => {
            return files
                .all(|path| path.is_some_and(in_system))
                .then(|| SYSTEM.to_owned());
        }
        _ => return None,
    };
    Some(reason.to_owned())
}

/// Prices the findings of tallies. If a finding has no price, or the language lacks the remedy, the finding is listed.
/// `about` has the source, the machine and what was skipped.
pub fn advise(mut tallies: Tallies, prices: &[Price], about: Advisory) -> Advisory {
    fold_files(&mut tallies.found);
    let mut priced: Vec<(Saving, FindingKey, Tally)> = Vec::new();
    let mut uncounted: BTreeMap<(FindingKey, String), Tally> = BTreeMap::new();
    for ((key, reason), mut tally) in tallies.found {
        if let Some(reason) = reason {
            join(uncounted.entry((key, reason)).or_default(), &tally);
            continue;
        }
        if let Some(bytes) = part_bytes(&key, &tally) {
            let least = tally.merged_calls.max(tally.bytes.div_ceil(bytes));
            tally.merged_calls = least.min(tally.calls);
        }
        let saving = price(&key, &tally, prices);
        match priced_out(&key, &tally, saving) {
            Some(reason) => join(uncounted.entry((key, reason)).or_default(), &tally),
            None => priced.push((saving.unwrap_or_default(), key, tally)),
        }
    }
    let finding = |(saving, key, tally): (Saving, FindingKey, Tally)| Finding {
        pattern: pattern(&key, &tally),
        action: action(&key, &tally),
        saving_s: saving.s,
        saving_low_s: saving.low_s,
        saving_high_s: saving.high_s,
        key,
        tally,
    };
    let left = |((key, reason), tally): ((FindingKey, String), Tally)| Uncounted {
        pattern: pattern(&key, &tally),
        at_most_s: match lack(&key, &tally) {
            None if reason != SYSTEM => {
                price(&key, &tally, prices).map(|saving| saving.high_s.max(0.0))
            }
            _ => Some(0.0),
        },
        key,
        reason,
        tally,
    };
    // Both lists are sorted by key, and the sort is stable.
    let mut findings: Vec<Finding> = priced.into_iter().map(finding).collect();
    sort::sort_by(&mut findings, |one, other| {
        other.saving_s.total_cmp(&one.saving_s)
    });
    let mut uncounted: Vec<Uncounted> = uncounted.into_iter().map(left).collect();
    sort::sort_by(&mut uncounted, |one, other| {
        let most_s = |one: &Uncounted| one.at_most_s.unwrap_or(0.0);
        let by_saving = most_s(other).total_cmp(&most_s(one));
        by_saving.then(other.tally.calls.cmp(&one.tally.calls))
    });
    let mut advisory = Advisory {
        schema: ADVISORY_SCHEMA.to_owned(),
        calls: tallies.calls,
        transfers: tallies.transfers,
        bytes: tallies.bytes,
        processes: tallies.processes,
        prices: prices.to_vec(),
        uncounted,
        ..about
    };
    for finding in &findings {
        if let Some(stall) = finding.tally.stall {
            advisory.stalls = advisory.stalls.saturating_add(stall.stalls);
            advisory.stalled_s += finding.saving_s;
        } else {
            advisory.saving_s += finding.saving_s;
            advisory.saving_low_s += finding.saving_low_s;
            advisory.saving_high_s += finding.saving_high_s;
        }
    }
    advisory.findings = findings;
    advisory
}
