//! The findings of a log, counted by pattern.

use vectored_machine::model::{DescriptorKind, Operation};
use vectored_report::sort;

use crate::advisor::findings::buffers::Buffers;
use crate::advisor::findings::price::operation_of;
use crate::advisor::findings::stream_writes::StreamWrites;
use crate::advisor::findings::tallies::{FILES_APART, Tallies};
use crate::advisor::name_table::NameTable;
use crate::advisor::runs::barriers::{Barrier, PAUSE, delay_in_words};
use crate::advisor::runs::pattern::PatternStep;
use crate::advisor::runs::row::{Row, rests_on_order};
use crate::advisor::runs::tally::{Counts, HeldFindings, add_ends, bound, join};
use crate::model::{FileCalls, FindingKey, FindingKind, Grade, SiteCalls, Tally};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// The most patterns of a log that are counted separately; later patterns are counted together.
const PATTERNS_MAX: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunOwner<'a> {
    pub(crate) program: u32,
    pub(crate) target: DescriptorKind,
    /// Path, or the text that the log shows.
    pub(crate) path: &'a [u8],
    pub(crate) buffer: u32,
}

/// A finding, and the reason why it is not counted.
type Key = (FindingKey, Option<Barrier>);

#[derive(Debug, Default)]
pub(crate) struct PatternCounts {
    entries: IndexMap<Key, Entry, FxBuildHasher>,
    pub(crate) programs: NameTable,
    pub(crate) sites: NameTable,
}

#[derive(Debug, Default)]
struct Entry {
    counts: Counts,
    /// If the entry stands for any file: the number of files with an entry of their own, or `FILES_APART + 1`.
    apart: u32,
}

impl PatternCounts {
    /// Counts a row, or holds the row back. `is_new` returns whether a pattern is new to the process, and whether it is
    /// new to the open file description.
    pub(crate) fn add(
        &mut self,
        row: Row,
        owner: &RunOwner<'_>,
        mut held: Option<&mut HeldFindings>,
        is_new: impl FnMut(u32) -> (bool, bool),
    ) {
        let path = String::from_utf8_lossy(owner.path).into_owned();
        let path = Some(path).filter(|path| !path.is_empty());
        let file = match (owner.target, row.tally.descriptor) {
            (DescriptorKind::File, _) => path.clone(),
            (DescriptorKind::Unknown, _) => None,
            (_, 0) => Some("stdin".to_owned()),
            (_, 1) => Some("stdout".to_owned()),
            (_, 2) => Some("stderr".to_owned()),
            _ => None,
        };
        let sites = row.sites.iter().filter_map(|&(site, calls, bytes)| {
            let site = self.sites.name(site)?;
            Some(SiteCalls { site, calls, bytes })
        });
        let sites: Vec<SiteCalls> = sites.collect();
        let mut names: Vec<&str> = sites.iter().map(|site| &*site.site).collect();
        sort::sort(&mut names);
        let key = FindingKey {
            kind: row.kind,
            grade: row.grade,
            program: self.programs.name(owner.program).unwrap_or_default(),
            target: owner.target,
            file,
            site: Some(names.join(" + ")).filter(|site| !site.is_empty()),
            steps: row.pattern.steps().iter().map(PatternStep::named).collect(),
        };
        let places = self.places((key, row.reason));
        let file = FileCalls {
            path,
            descriptor: row.tally.descriptor,
            calls: row.tally.calls,
            bytes: row.tally.bytes,
        };
        let buffers = [owner.buffer].into();
        let files = vec![file];
        let tally = Tally {
            sites,
            files,
            ..row.tally
        };
        let counts = self.counts(places[0], held.as_deref_mut());
        counts.join(Counts { tally, buffers });
        self.count_new(&places, held, is_new);
    }

    fn counts<'a>(&'a mut self, place: u32, held: Option<&'a mut HeldFindings>) -> &'a mut Counts {
        match held {
            Some(held) => held.entry(place).or_default(),
            None => &mut self.entries[place as usize].counts,
        }
    }

    fn count_new(
        &mut self,
        places: &[u32],
        mut held: Option<&mut HeldFindings>,
        mut is_new: impl FnMut(u32) -> (bool, bool),
    ) {
        for &place in places {
            let (process, open_file) = is_new(place);
            let tally = &mut self.counts(place, held.as_deref_mut()).tally;
            tally.processes += u64::from(process);
            tally.openings += u64::from(open_file);
        }
    }

    /// Counts held findings, since no other thread or process used the file.
    pub(crate) fn settle(&mut self, held: HeldFindings) {
        for (place, counts) in held {
            self.entries[place as usize].counts.join(counts);
        }
    }

    /// Lists held findings, for a reason. `is_new` is as in `add`.
    pub(crate) fn list(
        &mut self,
        held: HeldFindings,
        reason: Barrier,
        mut is_new: impl FnMut(u32) -> (bool, bool),
    ) {
        for (place, mut counts) in held {
            if counts.tally.runs == 0 {
                // An entry that stands for any file has no runs. `places` finds that entry again for each single file.
                continue;
            }
            let Some(((key, _), _)) = self.entries.get_index(place as usize) else {
                continue;
            };
            let places = self.places(crossing(key, reason));
            (counts.tally.processes, counts.tally.openings) = (0, 0);
            self.entries[places[0] as usize].counts.join(counts);
            self.count_new(&places, None, &mut is_new);
        }
    }

    /// The place of a pattern, and the place of the pattern for any file. Up to `FILES_APART` files have a place each;
    /// further files share the place for any file.
    fn places(&mut self, key: Key) -> Vec<u32> {
        let any_file = self.place_of(of_any_file(&key));
        let mut places = vec![any_file];
        if key.0.file.is_none() {
            return places;
        }
        if !self.entries.contains_key(&key) {
            // After `FILES_APART` files, a new file has no separate entry.
            let is_full = self.entries.len() >= PATTERNS_MAX;
            let apart = &mut self.entries[any_file as usize].apart;
            if key.0.target == DescriptorKind::File && *apart >= FILES_APART {
                *apart = FILES_APART + 1;
                return places;
            }
            *apart += u32::from(!is_full);
        }
        places.insert(0, self.place_of(key));
        places.dedup();
        places
    }

    fn place_of(&mut self, mut key: Key) -> u32 {
        if self.entries.len() >= PATTERNS_MAX && !self.entries.contains_key(&key) {
            key.0 = FindingKey {
                kind: key.0.kind,
                grade: key.0.grade,
                target: key.0.target,
                ..FindingKey::default()
            };
        }
        let entry = self.entries.entry(key);
        let place = entry.index() as u32;
        entry.or_default();
        place
    }

    /// Lists each finding whose buffer would break other calls. To other findings, adds the barriers that their buffers
    /// meet outside of the finding.
    fn judge(&mut self, buffers: &Buffers, writes: &StreamWrites) {
        for place in 0..self.entries.len() {
            let Some(((key, reason), entry)) = self.entries.get_index_mut(place) else {
                break;
            };
            let has_buffer = matches!(
                key.kind,
                FindingKind::AdjacentWrites | FindingKind::SmallReads
            );
            let is_judged = matches!(reason, None | Some(Barrier::SeveralWriters));
            if !has_buffer || !is_judged || entry.counts.tally.runs == 0 {
                continue;
            }
            let (buffer, ends) = buffers.judge(key, &entry.counts.buffers);
            let tally = &mut entry.counts.tally;
            if key.grade == Grade::ReadsAhead {
                tally.merged_calls_most = writes.most_reads(&tally.files);
            }
            if reason.is_some() {
                tally.ends = ends;
                continue;
            }
            let Some(reason) = buffer.reason else {
                tally.ends = ends;
                tally.killed |= buffer.killed;
                tally.forked |= buffer.forked;
                tally.others_write |= buffer.others_write;
                continue;
            };
            let (key, counts) = (crossing(key, reason), std::mem::take(&mut entry.counts));
            let places = self.places(key);
            let (processes, openings) = (counts.tally.processes, counts.tally.openings);
            for &place in &places {
                let known = &mut self.entries[place as usize].counts;
                // Both entries may have counted the same processes and openings.
                let most = (
                    known.tally.processes.max(processes),
                    known.tally.openings.max(openings),
                );
                if place == places[0] {
                    known.join(counts.clone());
                }
                (known.tally.processes, known.tally.openings) = most;
            }
        }
    }

    /// Adds the findings of a log to empty tallies. If the log has a `lack`, findings that rest on the order and the
    /// times of all calls are not counted.
    pub(crate) fn close(
        mut self,
        (buffers, writes): (&Buffers, &StreamWrites),
        lack: Option<Barrier>,
        max_delay_ns: u64,
        into: &mut Tallies,
    ) {
        self.judge(buffers, writes);
        for place in 0..self.entries.len() {
            let key = &self.entries.keys()[place];
            if key.0.file.is_none() || key.0.target != DescriptorKind::File {
                continue;
            }
            let any_file = self.entries.get_index_of(&of_any_file(key));
            let Some(any_file) = any_file.filter(|&of| self.entries[of].apart > FILES_APART) else {
                continue;
            };
            let mut own = std::mem::take(&mut self.entries[place].counts);
            // The entry for any file counts these processes and open file descriptions already.
            (own.tally.processes, own.tally.openings) = (0, 0);
            self.entries[any_file].counts.join(own);
        }
        for ((mut key, mut reason), entry) in self.entries {
            let mut tally = entry.counts.tally;
            if tally.runs == 0 {
                // All runs of the entry are listed, or the entry counts only what several files share.
                continue;
            }
            // Threads to which strace was attached count as one process, in another entry.
            tally.processes = tally.processes.max(1);
            // The calls for which the opening was counted may now be listed.
            tally.openings = tally.openings.max(1);
            if let Some(place) = tally.ends.iter().position(|(call, _)| call == PAUSE) {
                let (_, times) = tally.ends.remove(place);
                let pause = format!("a pause of more than {}", delay_in_words(max_delay_ns));
                add_ends(&mut tally.ends, &pause, times);
            }
            if rests_on_order(key.kind) {
                reason = reason.or(lack);
            }
            if reason.is_some_and(Barrier::is_of_the_log) {
                key.grade = Grade::Unknown;
            }
            let is_write = operation_of(&key) == Operation::Write;
            if reason.is_none() && key.target == DescriptorKind::File && is_write {
                let names = tally.files.iter().filter_map(|file| file.path.as_ref());
                names.for_each(|name| into.files.count(name));
            }
            bound(&mut tally);
            let reason = reason.map(|reason| reason.in_words(max_delay_ns));
            let known = into.found.entry((key, reason)).or_default();
            // Both findings may have counted the same processes.
            let processes = known.processes.max(tally.processes);
            let openings = known.openings.max(tally.openings);
            join(known, &tally);
            (known.processes, known.openings) = (processes, openings);
        }
    }
}

fn crossing(key: &FindingKey, reason: Barrier) -> Key {
    let mut key = key.clone();
    key.grade = Grade::Crossing;
    (key, Some(reason))
}

fn of_any_file((key, reason): &Key) -> Key {
    let mut key = key.clone();
    key.file = None;
    (key, *reason)
}
