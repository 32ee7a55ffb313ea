//! The sum of two tallies.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use vectored_report::sort;

use crate::advisor::runs::run::{IN_TURN_MAX, add_counts};
use crate::model::{FileCalls, StallTally, Tally};

const NAMED_MAX: usize = 16;

/// The most files of a finding that are counted separately while a log is read.
const FILES_READ: usize = 64;

/// Findings that are counted only if no other thread or process uses the same file or stream. The key is the place of
/// the pattern in `PatternCounts`.
pub(crate) type HeldFindings = FxHashMap<u32, Counts>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// The files and call sites are not bounded yet.
    pub(crate) tally: Tally,
    /// The buffers that would change the calls.
    pub(crate) buffers: BTreeSet<u32>,
}

impl Counts {
    pub(crate) fn join(&mut self, other: Counts) {
        add(&mut self.tally, &other.tally);
        self.buffers.extend(other.buffers);
    }
}

pub(crate) fn join(known: &mut Tally, new: &Tally) {
    add(known, new);
    bound(known);
}

fn add(known: &mut Tally, new: &Tally) {
    // If a tally has no runs, it may count the processes and open file descriptions of several files.
    let processes = known.processes.saturating_add(new.processes);
    let openings = known.openings.saturating_add(new.openings);
    if known.runs == 0 || new.runs == 0 {
        if known.runs == 0 {
            *known = new.clone();
        }
        (known.processes, known.openings) = (processes, openings);
        return;
    }
    known.more_files = known.more_files.saturating_add(new.more_files);
    for file in &new.files {
        let is_it =
            |one: &&mut FileCalls| one.descriptor == file.descriptor && one.path == file.path;
        let has_room = known.files.len() < FILES_READ;
        match known.files.iter_mut().find(is_it) {
            Some(one) => {
                one.calls = one.calls.saturating_add(file.calls);
                one.bytes = one.bytes.saturating_add(file.bytes);
            }
            None if has_room => known.files.push(file.clone()),
            None => known.more_files = known.more_files.saturating_add(1),
        }
    }
    #[cfg(test)]
    known.members.extend(new.members.iter().cloned());
    known.runs = known.runs.saturating_add(new.runs);
    known.calls = known.calls.saturating_add(new.calls);
    known.bytes = known.bytes.saturating_add(new.bytes);
    known.merged_calls = known.merged_calls.saturating_add(new.merged_calls);
    known.merged_calls_most = known
        .merged_calls_most
        .saturating_add(new.merged_calls_most);
    known.late_ns = known.late_ns.max(new.late_ns);
    known.segments = known.segments.saturating_add(new.segments);
    known.gathered_calls = known.gathered_calls.saturating_add(new.gathered_calls);
    known.list_calls = known.list_calls.saturating_add(new.list_calls);
    known.long_list_calls = known.long_list_calls.saturating_add(new.long_list_calls);
    add_counts(&mut known.sizes, &new.sizes);
    add_counts(&mut known.list_sizes, &new.list_sizes);
    for (step, &(least, most)) in new.step_bytes.iter().enumerate() {
        match known.step_bytes.get_mut(step) {
            Some(range) => *range = (range.0.min(least), range.1.max(most)),
            None => known.step_bytes.push((least, most)),
        }
    }
    for (step, &runs) in new.starts.iter().enumerate() {
        match known.starts.get_mut(step) {
            Some(start) => *start = start.saturating_add(runs),
            None => known.starts.push(runs),
        }
    }
    (known.processes, known.openings) = (processes, openings);
    known.process = known.process.min(new.process);
    known.runtime = known.runtime.into_iter().chain(new.runtime).min();
    known.stall = match (known.stall, new.stall) {
        (Some(one), Some(other)) => Some(StallTally {
            stalls: one.stalls.saturating_add(other.stalls),
            waited_ns: one.waited_ns.saturating_add(other.waited_ns),
            lost_ns: one.lost_ns.saturating_add(other.lost_ns),
            serves: one.serves && other.serves,
        }),
        (one, other) => one.or(other),
    };
    for (call, runs) in &new.ends {
        add_ends(&mut known.ends, call, *runs);
    }
    known.killed |= new.killed;
    known.forked |= new.forked;
    known.others_write |= new.others_write;
    for path in &new.order_between {
        add_in_turn(&mut known.order_between, path);
    }
    for site in &new.sites {
        match known.sites.iter_mut().find(|one| one.site == site.site) {
            Some(one) => {
                one.calls = one.calls.saturating_add(site.calls);
                one.bytes = one.bytes.saturating_add(site.bytes);
            }
            None => known.sites.push(site.clone()),
        }
    }
}

/// Keeps the files and call sites with the most calls. The first file gives the descriptor and the path.
pub(crate) fn bound(tally: &mut Tally) {
    sort::sort_by(&mut tally.files, |one, other| {
        let (known, new) = ((one.descriptor, &one.path), (other.descriptor, &other.path));
        other.calls.cmp(&one.calls).then(known.cmp(&new))
    });
    let more = tally.files.len().saturating_sub(NAMED_MAX);
    tally.files.truncate(NAMED_MAX);
    tally.more_files = tally.more_files.saturating_add(more as u64);
    if let Some(first) = tally.files.first() {
        tally.descriptor = first.descriptor;
        tally.path.clone_from(&first.path);
    }
    sort::sort_by(&mut tally.sites, |one, other| {
        (other.calls, &one.site).cmp(&(one.calls, &other.site))
    });
    tally.sites.truncate(NAMED_MAX);
}

pub(crate) fn add_in_turn(known: &mut Vec<String>, path: &str) {
    if let Err(place) = known.binary_search_by(|one| one.as_str().cmp(path))
        && place < IN_TURN_MAX
    {
        known.insert(place, path.to_owned());
        known.truncate(IN_TURN_MAX);
    }
}

pub(crate) fn add_ends(known: &mut Vec<(String, u64)>, call: &str, runs: u64) {
    match known.binary_search_by(|end| end.0.as_str().cmp(call)) {
        Ok(place) => known[place].1 = known[place].1.saturating_add(runs),
        Err(place) => known.insert(place, (call.to_owned(), runs)),
    }
}
