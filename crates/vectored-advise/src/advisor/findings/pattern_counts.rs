//! The findings of a log, counted by pattern.

use std::collections::{BTreeMap, BTreeSet};

use vectored_machine::model::DescriptorKind;
use vectored_report::sort;

use crate::advisor::findings::buffers::Buffers;
use crate::advisor::findings::classify::rests_on_order;
use crate::advisor::findings::counts::Counts;
use crate::advisor::findings::held::HeldFindings;
use crate::advisor::findings::name_table::NameTable;
use crate::advisor::findings::row::Row;
use crate::advisor::findings::stream_writes::StreamWrites;
use crate::advisor::findings::tallies::{FILES_APART, Tallies};
use crate::advisor::findings::tally::{add_ends, bound, join};
use crate::advisor::findings::uses::DescriptorUses;
use crate::advisor::runs::barriers::{Barrier, PAUSE, delay_in_words};
use crate::advisor::runs::pattern::{Pattern, PatternStep, call_name};
use crate::model::{FileCalls, FindingKey, FindingKind, Grade, Runtime, SiteCalls, Step, Tally};
use rustc_hash::FxHashMap;

/// Patterns of a log that are counted separately; later ones are counted together.
const PATTERNS_MAX: usize = 4096;

/// The process and the file that rows belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunOwner<'a> {
    /// Number of the program's name.
    pub(crate) program: u32,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) process: u32,
    pub(crate) killed: bool,
    /// Whether it was forked, and runs the program of its parent.
    pub(crate) forked: bool,
    /// Whether others may write to the file or pipe.
    pub(crate) others_write: bool,
    pub(crate) target: DescriptorKind,
    /// Path, or the text that the log shows.
    pub(crate) path: &'a [u8],
    /// Number of the buffer that would change the calls.
    pub(crate) buffer: u32,
    /// Place in the table of uses.
    pub(crate) used: u32,
}

/// A pattern of a log, with names by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: FindingKind,
    grade: Grade,
    reason: Option<Barrier>,
    program: u32,
    target: DescriptorKind,
    file: u32,
    sites: u32,
    pattern: Pattern,
}

#[derive(Debug, Default)]
pub(crate) struct PatternCounts {
    places: FxHashMap<Key, u32>,
    entries: Vec<(Key, Entry)>,
    programs: NameTable,
    sites: NameTable,
    /// Sets of call sites: their names, sorted and joined.
    site_sets: NameTable,
    files: NameTable,
}

#[derive(Debug, Default)]
struct Entry {
    counts: Counts,
    /// In the entry of any file: files that have an entry of their own.
    apart: u32,
}

/// Keys of the entries of a row: for its file, and for any file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) own: u32,
    pub(crate) any_file: u32,
}

impl PatternCounts {
    pub(crate) fn program(&mut self, name: &[u8]) -> u32 {
        self.programs.number(name)
    }

    pub(crate) fn program_name(&self, number: u32) -> String {
        self.programs.name(number).unwrap_or_default()
    }

    pub(crate) fn sites(&self) -> &NameTable {
        &self.sites
    }

    pub(crate) fn site(&mut self, site: Option<&[u8]>) -> u32 {
        site.map_or(0, |site| self.sites.number(site))
    }

    /// Counts a row, or holds it back.
    pub(crate) fn add(
        &mut self,
        row: &Row,
        owner: &RunOwner<'_>,
        held: Option<&mut HeldFindings>,
    ) -> Counted {
        let standard: Option<&[u8]> = match row.descriptor {
            0 => Some(b"stdin"),
            1 => Some(b"stdout"),
            2 => Some(b"stderr"),
            _ => None,
        };
        let file = match owner.target {
            DescriptorKind::File => self.files.number(owner.path),
            DescriptorKind::Unknown => 0,
            _ => standard.map_or(0, |name| self.files.number(name)),
        };
        let key = Key {
            kind: row.kind,
            grade: row.grade,
            reason: row.reason,
            program: owner.program,
            target: owner.target,
            file,
            sites: self.site_set(&row.sites),
            pattern: row.pattern,
        };
        let counted = self.place(key);
        let counts = self.counts(counted.own, held);
        counts.join(Counts {
            tally: Tally {
                process: owner.process,
                descriptor: row.descriptor,
                runtime: owner.runtime,
                killed: owner.killed,
                forked: owner.forked,
                others_write: owner.others_write,
                ..row.tally.clone()
            },
            sites: row.sites.clone(),
            files: Vec::new(),
            buffers: vec![(owner.buffer, owner.used, row.transfers())],
        });
        counts.add_file(owner.path, row);
        counted
    }

    fn counts<'a>(&'a mut self, place: u32, held: Option<&'a mut HeldFindings>) -> &'a mut Counts {
        match held {
            Some(held) => held.counts.entry(place).or_default(),
            None => &mut self.entries[place as usize].1.counts,
        }
    }

    /// Counts a process and an open file description, if they are new to a pattern.
    pub(crate) fn count_new(
        &mut self,
        place: u32,
        process: bool,
        open_file: bool,
        held: Option<&mut HeldFindings>,
    ) {
        let tally = &mut self.counts(place, held).tally;
        tally.processes += u64::from(process);
        tally.openings += u64::from(open_file);
    }

    /// Counts held findings: no other thread or process used the file.
    pub(crate) fn settle(&mut self, held: HeldFindings) {
        for (place, counts) in held.counts {
            self.entries[place as usize].1.counts.join(counts);
        }
    }

    /// Lists held findings, for a reason. `is_new` returns whether a pattern is new to the process and
    /// to the open file description.
    pub(crate) fn list(
        &mut self,
        held: HeldFindings,
        reason: Barrier,
        mut is_new: impl FnMut(u32) -> (bool, bool),
    ) {
        for (place, mut counts) in held.counts {
            let key = Key {
                grade: Grade::Crossing,
                reason: Some(reason),
                ..self.entries[place as usize].0
            };
            if counts.tally.runs == 0 {
                // This entry of any file has no runs of its own. `place` finds it again for each single file.
                continue;
            }
            let counted = self.place(key);
            let (process, open_file) = is_new(counted.own);
            (counts.tally.processes, counts.tally.openings) =
                (u64::from(process), u64::from(open_file));
            self.entries[counted.own as usize].1.counts.join(counts);
            if counted.any_file != counted.own {
                let (process, open_file) = is_new(counted.any_file);
                self.count_new(counted.any_file, process, open_file, None);
            }
        }
    }

    fn site_set(&mut self, sites: &[(u32, u64, u64)]) -> u32 {
        let mut names: Vec<String> = sites
            .iter()
            .filter_map(|site| self.sites.name(site.0))
            .collect();
        sort::sort(&mut names);
        self.site_sets.number(names.join(" + ").as_bytes())
    }

    /// The keys of a pattern. Up to `FILES_APART` files have an entry each; further files share the entry for
    /// any file.
    fn place(&mut self, key: Key) -> Counted {
        let any_file = self.place_of(Key { file: 0, ..key });
        let both = Counted {
            own: any_file,
            any_file,
        };
        if key.file == 0 {
            return both;
        }
        if let Some(&own) = self.places.get(&key) {
            return Counted { own, any_file };
        }
        let apart = &mut self.entries[any_file as usize].1.apart;
        let is_apart = key.target != DescriptorKind::File || *apart < FILES_APART;
        // Counted no further than needed: a log may have millions of files.
        *apart = apart.saturating_add(1);
        if is_apart {
            Counted {
                own: self.place_of(key),
                any_file,
            }
        } else {
            both
        }
    }

    fn place_of(&mut self, key: Key) -> u32 {
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        let key = if self.entries.len() < PATTERNS_MAX {
            key
        } else {
            Key {
                pattern: Pattern::ANY,
                program: 0,
                file: 0,
                sites: 0,
                ..key
            }
        };
        let next = self.entries.len() as u32;
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.entries.push((key, Entry::default()));
        }
        place
    }

    /// Lists each finding whose buffer would also change calls that it breaks. To other findings it adds the barriers
    /// that their buffers meet outside of the finding.
    pub(crate) fn judge(
        &mut self,
        buffers: &Buffers,
        writes: &StreamWrites,
        uses: &mut DescriptorUses,
    ) {
        for place in 0..self.entries.len() {
            let (key, entry) = &mut self.entries[place];
            let has_buffer = matches!(
                key.kind,
                FindingKind::AdjacentWrites | FindingKind::SmallReads
            );
            let is_judged = matches!(key.reason, None | Some(Barrier::SeveralWriters));
            if !has_buffer || !is_judged || entry.counts.tally.runs == 0 {
                continue;
            }
            let Counts {
                tally,
                buffers: of_counts,
                files,
                ..
            } = &mut entry.counts;
            if key.grade == Grade::ReadsAhead {
                tally.merged_calls_most = writes.most_reads(files);
            }
            let by_buffer = of_counts.chunk_by(|one, next| one.0 == next.0);
            let numbers = by_buffer.map(|same| same[0].0);
            if key.reason.is_some() {
                tally.ends = buffers.ends(key.kind, numbers);
                continue;
            }
            let Some(reason) = buffers.judge(key.kind, key.grade, numbers, tally) else {
                continue;
            };
            for &(_, used, calls) in of_counts.iter() {
                uses.list_calls(used, calls, reason);
            }
            let key = Key {
                grade: Grade::Crossing,
                reason: Some(reason),
                ..*key
            };
            let counts = std::mem::take(&mut entry.counts);
            let listed = self.place(key);
            let (processes, openings) = (counts.tally.processes, counts.tally.openings);
            for place in BTreeSet::from([listed.own, listed.any_file]) {
                let known = &self.entries[place as usize].1.counts.tally;
                // Both may have counted the same ones.
                let most = (known.processes.max(processes), known.openings.max(openings));
                if place == listed.own {
                    self.entries[place as usize].1.counts.join(counts.clone());
                }
                let known = &mut self.entries[place as usize].1.counts.tally;
                (known.processes, known.openings) = most;
            }
        }
    }

    /// Adds the findings to tallies. If the log has a `lack`, findings that rest on the order and the
    /// times of all calls are not counted.
    pub(crate) fn close(mut self, lack: Option<Barrier>, max_delay_ns: u64, into: &mut Tallies) {
        for place in 0..self.entries.len() {
            let key = self.entries[place].0;
            if key.file == 0 || key.target != DescriptorKind::File {
                continue;
            }
            let Some(&any_file) = self.places.get(&Key { file: 0, ..key }) else {
                continue;
            };
            if self.entries[any_file as usize].1.apart > FILES_APART {
                let mut own = std::mem::take(&mut self.entries[place].1.counts);
                // The entry of any file counts these processes and open file descriptions already.
                (own.tally.processes, own.tally.openings) = (0, 0);
                self.entries[any_file as usize].1.counts.join(own);
            }
        }
        let mut own: BTreeMap<(FindingKey, Option<String>), Tally> = BTreeMap::new();
        for (mut key, entry) in self.entries {
            let Counts {
                mut tally,
                sites,
                files,
                ..
            } = entry.counts;
            if tally.runs == 0 {
                // All its runs are listed, or it counts only what several files share.
                continue;
            }
            // Threads to which strace was attached count as one process, elsewhere.
            tally.processes = tally.processes.max(1);
            // The first calls of an opening may have been listed since it was counted.
            tally.openings = tally.openings.max(1);
            tally.files = named_files(files);
            if let Some(place) = tally.ends.iter().position(|(call, _)| call == PAUSE) {
                let (_, times) = tally.ends.remove(place);
                let pause = format!("a pause of more than {}", delay_in_words(max_delay_ns));
                add_ends(&mut tally.ends, &pause, times);
            }
            tally.sites = sites
                .iter()
                .filter_map(|&(site, calls, bytes)| {
                    let site = self.sites.name(site)?;
                    Some(SiteCalls { site, calls, bytes })
                })
                .collect();
            bound(&mut tally);
            if lack.is_some() && key.reason.is_none() && rests_on_order(key.kind) {
                key.reason = lack;
            }
            if key.reason.is_some_and(Barrier::is_of_the_log) {
                key.grade = Grade::Unknown;
            }
            let named = FindingKey {
                kind: key.kind,
                grade: key.grade,
                program: self.programs.name(key.program).unwrap_or_default(),
                target: key.target,
                file: self.files.name(key.file),
                site: self.site_sets.name(key.sites),
                steps: key.pattern.steps().iter().map(step_in_words).collect(),
            };
            let reason = key.reason.map(|reason| reason.in_words(max_delay_ns));
            let known = own.entry((named, reason)).or_default();
            // Both may have counted the same ones.
            let processes = known.processes.max(tally.processes);
            let openings = known.openings.max(tally.openings);
            join(known, &tally);
            (known.processes, known.openings) = (processes, openings);
        }
        for ((named, reason), tally) in own {
            let known = match reason {
                None => into.findings.entry(named).or_default(),
                Some(reason) => into.uncounted.entry((named, reason)).or_default(),
            };
            join(known, &tally);
        }
    }
}

fn named_files(files: Vec<(Vec<u8>, FileCalls)>) -> Vec<FileCalls> {
    files
        .into_iter()
        .map(|(path, file)| FileCalls {
            path: (!path.is_empty()).then(|| String::from_utf8_lossy(&path).into_owned()),
            ..file
        })
        .collect()
}

fn step_in_words(step: &PatternStep) -> Step {
    Step {
        call: call_name(step.call).to_owned(),
        size_class: step.size_class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_many_files_is_kept_once() {
        let row = Row {
            kind: FindingKind::AdjacentWrites,
            grade: Grade::Adjacent,
            reason: None,
            is_read: false,
            is_positional: false,
            descriptor: 3,
            pattern: Pattern::ANY,
            sites: Vec::new(),
            tally: Tally {
                runs: 1,
                calls: 2,
                ..Tally::default()
            },
        };
        let mut book = PatternCounts::default();
        for file in 0..1000 {
            let path = format!("/{file}");
            let owner = RunOwner {
                program: 0,
                runtime: None,
                process: 1,
                killed: false,
                forked: false,
                others_write: false,
                target: DescriptorKind::File,
                path: path.as_bytes(),
                buffer: 0,
                used: 0,
            };
            book.add(&row, &owner, None);
        }
        assert_eq!(book.places.len(), FILES_APART as usize + 1);
        let mut tallies = Tallies::default();
        book.close(None, 1, &mut tallies);
        let calls: Vec<u64> = tallies.findings.values().map(|tally| tally.calls).collect();
        assert_eq!(calls, [2000]);
    }
}
