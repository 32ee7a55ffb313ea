//! The findings of all logs.

use std::collections::BTreeMap;

use vectored_machine::model::DescriptorKind;

use crate::advisor::findings::named_files::{NamedFiles, RunFiles};
use crate::advisor::findings::tally::join;
use crate::advisor::findings::uses::{UsesByName, join_use};
use crate::model::{FindingKey, Tally};

/// The findings of all logs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tallies {
    /// Findings that are counted.
    pub findings: BTreeMap<FindingKey, Tally>,
    /// Findings that are not counted, by reason.
    pub uncounted: BTreeMap<(FindingKey, String), Tally>,
    /// All calls by program and file.
    pub(crate) uses: UsesByName,
    /// Files that calls without a descriptor made, changed or renamed.
    pub(crate) files: NamedFiles,
    /// Uses of saved advisories that were cut from their tables.
    pub(crate) more_uses: u64,
    /// System calls.
    pub calls: u64,
    /// System calls that move bytes.
    pub transfers: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Processes.
    pub processes: u64,
}

/// A program that does the same with more files than this has one finding for all of them.
pub(crate) const FILES_APART: u32 = 8;

impl Tallies {
    /// The files that were read and written.
    pub fn run_files(&self) -> RunFiles {
        RunFiles::of(&self.uses, &self.files)
    }

    pub(crate) fn add(&mut self, other: Tallies) {
        for (key, tally) in other.findings {
            join(self.findings.entry(key).or_default(), &tally);
        }
        for (key, tally) in other.uncounted {
            join(self.uncounted.entry(key).or_default(), &tally);
        }
        for one in other.uses.into_values() {
            join_use(&mut self.uses, one);
        }
        self.files.add(other.files);
        self.more_uses = self.more_uses.saturating_add(other.more_uses);
        self.calls = self.calls.saturating_add(other.calls);
        self.transfers = self.transfers.saturating_add(other.transfers);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.processes = self.processes.saturating_add(other.processes);
    }
}

/// Joins findings that differ only by file if there are more than `FILES_APART`, or if the files are parts of one log.
///
/// Each log has done so for itself. A process that used several of the files is counted once for each.
pub(crate) fn fold_files(tallies: &mut Tallies) {
    fold(&mut tallies.findings, |key| key, |key, _| key);
    fold(
        &mut tallies.uncounted,
        |key| &key.0,
        |key, of| (key, of.1.clone()),
    );
}

fn fold<K: Clone + Ord>(
    known: &mut BTreeMap<K, Tally>,
    finding: impl Fn(&K) -> &FindingKey,
    with: impl Fn(FindingKey, &K) -> K,
) {
    let any_file = |key: &K| {
        let file = None;
        with(
            FindingKey {
                file,
                ..finding(key).clone()
            },
            key,
        )
    };
    let mut files: BTreeMap<K, u32> = BTreeMap::new();
    for key in known
        .keys()
        .filter(|key| finding(key).target == DescriptorKind::File)
    {
        let is_many = finding(key).file.is_none();
        *files.entry(any_file(key)).or_default() += if is_many { FILES_APART + 1 } else { 1 };
    }
    let folded: Vec<K> = known
        .keys()
        .filter(|key| finding(key).file.is_some())
        .filter(|key| {
            files
                .get(&any_file(key))
                .is_some_and(|&files| files > FILES_APART)
        })
        .cloned()
        .collect();
    for key in folded {
        if let Some(tally) = known.remove(&key) {
            join(known.entry(any_file(&key)).or_default(), &tally);
        }
    }
    let mut kept: Vec<K> = Vec::new();
    for key in known.keys().cloned().collect::<Vec<K>>() {
        let is_first = |one: &&K| {
            is_of_one_rotation(finding(one), finding(&key))
                && with(finding(one).clone(), &key) == **one
        };
        let Some(first) = kept.iter().find(is_first) else {
            kept.push(key);
            continue;
        };
        if let (Some(tally), Some(first)) = (known.remove(&key), known.get_mut(first)) {
            let processes = first.processes.max(tally.processes);
            let is_same = first.process == tally.process;
            join(first, &tally);
            if is_same {
                first.processes = processes;
            }
        }
    }
}

/// Joins a finding without a call site to the finding of the same kind that has one, and the most calls: a sample of the stack that
/// cannot be unwound names none.
pub(crate) fn fold_sites(tallies: &mut Tallies) {
    fold_unknown_sites(&mut tallies.findings, |key| key);
    fold_unknown_sites(&mut tallies.uncounted, |key| &key.0);
}

fn fold_unknown_sites<K: Clone + Ord>(
    known: &mut BTreeMap<K, Tally>,
    finding: impl Fn(&K) -> &FindingKey,
) {
    let apart = |key: &K| FindingKey {
        site: None,
        ..finding(key).clone()
    };
    let mut most: BTreeMap<FindingKey, (u64, K)> = BTreeMap::new();
    for (key, tally) in known.iter().filter(|(key, _)| finding(key).site.is_some()) {
        let first = most
            .entry(apart(key))
            .or_insert_with(|| (tally.calls, key.clone()));
        if tally.calls > first.0 {
            *first = (tally.calls, key.clone());
        }
    }
    for key in known
        .keys()
        .filter(|key| finding(key).site.is_none())
        .cloned()
        .collect::<Vec<K>>()
    {
        if let Some((_, with_site)) = most.get(finding(&key))
            && let Some(tally) = known.remove(&key)
            && let Some(first) = known.get_mut(with_site)
        {
            join(first, &tally);
        }
    }
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|c: char| c.is_ascii_digit() || c == '.');
    parts.filter(|part| !part.is_empty())
}

/// Whether two findings differ only by the numbers in the names of their files, as the parts of a log do.
fn is_of_one_rotation(one: &FindingKey, other: &FindingKey) -> bool {
    let (Some(file), Some(next)) = (&one.file, &other.file) else {
        return false;
    };
    one.target == DescriptorKind::File
        && (one.kind, one.grade, &one.program) == (other.kind, other.grade, &other.program)
        && (&one.site, &one.steps) == (&other.site, &other.steps)
        && parts(file).eq(parts(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FindingKind, Grade};

    #[test]
    fn a_finding_without_a_site_joins_the_largest_that_has_one() {
        let key = |program: &str, site: Option<&str>| FindingKey {
            kind: FindingKind::SmallReads,
            grade: Grade::Adjacent,
            program: program.to_owned(),
            target: DescriptorKind::File,
            file: None,
            site: site.map(str::to_owned),
            steps: Vec::new(),
        };
        let calls = |calls| Tally {
            runs: 1,
            calls,
            ..Tally::default()
        };
        let mut tallies = Tallies::default();
        let found = [
            (key("a", None), 5),
            (key("a", Some("f")), 7),
            (key("a", Some("g")), 90),
            (key("b", None), 3),
        ];
        tallies
            .findings
            .extend(found.iter().map(|(key, n)| (key.clone(), calls(*n))));
        tallies.uncounted.extend(
            found
                .iter()
                .map(|(key, n)| ((key.clone(), "reason".to_owned()), calls(*n))),
        );
        fold_sites(&mut tallies);
        let left = [
            (key("a", Some("f")), 7),
            (key("a", Some("g")), 95),
            (key("b", None), 3),
        ];
        assert!(
            tallies
                .findings
                .iter()
                .map(|(key, tally)| (key.clone(), tally.calls))
                .eq(left.clone())
        );
        assert!(
            tallies
                .uncounted
                .iter()
                .map(|(key, tally)| (key.0.clone(), tally.calls))
                .eq(left)
        );
    }
}
