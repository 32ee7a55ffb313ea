//! The findings of all logs.

use std::collections::BTreeMap;

use vectored_machine::model::DescriptorKind;

use crate::advisor::findings::named_files::RunFiles;
use crate::advisor::runs::tally::join;
use crate::model::{FindingKey, Tally};

/// A finding, and the reason why it is not counted; `None` if the finding is counted.
pub type FoundKey = (FindingKey, Option<String>);

pub type Found = BTreeMap<FoundKey, Tally>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tallies {
    pub found: Found,
    pub files: RunFiles,
    pub calls: u64,
    pub transfers: u64,
    pub bytes: u64,
    pub processes: u64,
}

/// If a program does the same with more files than this, one finding stands for all of them.
pub(crate) const FILES_APART: u32 = 8;

impl Tallies {
    pub fn counted(&self) -> impl Iterator<Item = (&FindingKey, &Tally)> {
        let found = self.found.iter();
        found.filter_map(|((key, reason), tally)| reason.is_none().then_some((key, tally)))
    }

    pub fn listed(&self) -> impl Iterator<Item = (&FindingKey, &Tally)> {
        let found = self.found.iter();
        found.filter_map(|((key, reason), tally)| reason.is_some().then_some((key, tally)))
    }

    pub(crate) fn add(&mut self, other: Tallies) {
        for (key, tally) in other.found {
            join(self.found.entry(key).or_default(), &tally);
        }
        self.files.add(other.files);
        self.calls = self.calls.saturating_add(other.calls);
        self.transfers = self.transfers.saturating_add(other.transfers);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.processes = self.processes.saturating_add(other.processes);
    }
}

/// Joins findings that differ only by file, if there are more than `FILES_APART`. Also joins them if the files are
/// parts of one log, whose names differ only by numbers.
///
/// The findings of each log are already joined. A process that used several of the files is counted once for each file.
pub(crate) fn fold_files(found: &mut Found) {
    let named = |(key, reason): &FoundKey, file| {
        let mut key = key.clone();
        key.file = file;
        (key, reason.clone())
    };
    let of_files = |found: &Found| {
        let is_of_file = |key: &&FoundKey| key.0.target == DescriptorKind::File;
        found.keys().filter(is_of_file).cloned().collect::<Vec<_>>()
    };
    let mut files: BTreeMap<FoundKey, u32> = BTreeMap::new();
    for key in of_files(found) {
        let more = if key.0.file.is_none() { FILES_APART + 1 } else { 1 };
        *files.entry(named(&key, None)).or_default() += more;
    }
    for key in of_files(found) {
        let any_file = named(&key, None);
        if files[&any_file] > FILES_APART
            && key.0.file.is_some()
            && let Some(tally) = found.remove(&key)
        {
            join(found.entry(any_file).or_default(), &tally);
        }
    }
    let mut parts: BTreeMap<FoundKey, FoundKey> = BTreeMap::new();
    for key in of_files(found) {
        let Some(file) = &key.0.file else { continue };
        let name = file.split(|c: char| c.is_ascii_digit() || c == '.');
        let name: Vec<&str> = name.filter(|part| !part.is_empty()).collect();
        let of_log = named(&key, Some(name.join(".")));
        let Some(first) = parts.get(&of_log) else {
            parts.insert(of_log, key);
            continue;
        };
        if let (Some(tally), Some(first)) = (found.remove(&key), found.get_mut(first)) {
            let processes = first.processes.max(tally.processes);
            let is_same = first.process == tally.process;
            join(first, &tally);
            if is_same {
                first.processes = processes;
            }
        }
    }
}

/// Joins a finding without a call site to the finding of the same kind that has a call site and the most calls. If a
/// stack cannot be unwound, its sample names no site.
pub(crate) fn fold_sites(found: &mut Found) {
    let apart = |(key, reason): &FoundKey| {
        let mut key = key.clone();
        key.site = None;
        (key, reason.is_none())
    };
    let mut most: BTreeMap<(FindingKey, bool), (u64, FoundKey)> = BTreeMap::new();
    for (key, tally) in found.iter().filter(|(key, _)| key.0.site.is_some()) {
        let first = most.entry(apart(key)).or_default();
        if tally.calls > first.0 {
            *first = (tally.calls, key.clone());
        }
    }
    let without = found.keys().filter(|(key, _)| key.site.is_none());
    for key in without.cloned().collect::<Vec<FoundKey>>() {
        if let Some((_, with_site)) = most.get(&apart(&key))
            && let Some(tally) = found.remove(&key)
            && let Some(first) = found.get_mut(with_site)
        {
            join(first, &tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_without_a_site_joins_the_largest_that_has_one() {
        let of = |calls: &str, reason: Option<&str>| -> Found {
            let one = |calls: &str| {
                let [program, site, calls] = calls.split(',').collect::<Vec<_>>()[..] else {
                    panic!("{calls}");
                };
                let key = FindingKey {
                    program: program.to_owned(),
                    site: (!site.is_empty()).then(|| site.to_owned()),
                    ..FindingKey::default()
                };
                let mut tally = Tally::default();
                (tally.runs, tally.calls) = (1, calls.parse().unwrap());
                ((key, reason.map(str::to_owned)), tally)
            };
            calls.split(' ').map(one).collect()
        };
        for reason in [None, Some("reason")] {
            let mut found = of("a,,5 a,f,7 a,g,90 b,,3", reason);
            fold_sites(&mut found);
            let left = of("a,f,7 a,g,95 b,,3", reason);
            let calls = |of: Found| -> Vec<_> {
                of.into_iter()
                    .map(|(key, tally)| (key, tally.calls))
                    .collect()
            };
            assert_eq!(calls(found), calls(left));
        }
    }
}
