//! The findings of a log, counted by pattern.

use vectored_machine::model::DescriptorKind;
use vectored_report::sort;

use crate::advisor::findings::buffers::Buffers;
use crate::advisor::findings::classify::rests_on_order;
use crate::advisor::findings::counts::{Counts, HeldFindings};
use crate::advisor::findings::name_table::NameTable;
use crate::advisor::findings::row::Row;
use crate::advisor::findings::stream_writes::StreamWrites;
use crate::advisor::findings::tallies::{FILES_APART, Tallies};
use crate::advisor::findings::tally::{add_ends, bound, join};
use crate::advisor::findings::uses::DescriptorUses;
use crate::advisor::runs::barriers::{Barrier, PAUSE, delay_in_words};
use crate::advisor::runs::pattern::{Pattern, PatternStep, call_name};
use crate::model::{FileCalls, FindingKey, FindingKind, Grade, SiteCalls, Step};
use rustc_hash::FxHashMap;

/// Patterns of a log that are counted separately; later patterns are counted together.
const PATTERNS_MAX: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunOwner<'a> {
    pub(crate) program: u32,
    pub(crate) target: DescriptorKind,
    /// Path, or the text that the log shows.
    pub(crate) path: &'a [u8],
    pub(crate) buffer: u32,
    pub(crate) used: u32,
}

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
    /// In the entry that stands for any file: the number of files that have an entry of their own.
    apart: u32,
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

    /// Counts a row, or holds it back. `is_new` returns whether a pattern is new to the process and to the open file
    /// description.
    pub(crate) fn add(
        &mut self,
        row: Row,
        owner: &RunOwner<'_>,
        mut held: Option<&mut HeldFindings>,
        is_new: impl FnMut(u32) -> (bool, bool),
    ) {
        let standard: Option<&[u8]> = match row.tally.descriptor {
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
        let places = self.places(key);
        let counts = self.counts(places[0], held.as_deref_mut());
        let file = FileCalls {
            path: None,
            descriptor: row.tally.descriptor,
            calls: row.tally.calls,
            bytes: row.tally.bytes,
        };
        counts.join(Counts {
            buffers: vec![(owner.buffer, owner.used, row.transfers())],
            tally: row.tally,
            sites: row.sites,
            files: vec![(owner.path.to_vec(), file)],
        });
        self.count_new(&places, held, is_new);
    }

    fn counts<'a>(&'a mut self, place: u32, held: Option<&'a mut HeldFindings>) -> &'a mut Counts {
        match held {
            Some(held) => held.entry(place).or_default(),
            None => &mut self.entries[place as usize].1.counts,
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

    /// Counts held findings: no other thread or process used the file.
    pub(crate) fn settle(&mut self, held: HeldFindings) {
        for (place, counts) in held {
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
        for (place, mut counts) in held {
            let key = Key {
                grade: Grade::Crossing,
                reason: Some(reason),
                ..self.entries[place as usize].0
            };
            if counts.tally.runs == 0 {
                // An entry that stands for any file has no runs of its own. `place` finds the entry again for each single
                // file.
                continue;
            }
            let places = self.places(key);
            (counts.tally.processes, counts.tally.openings) = (0, 0);
            self.entries[places[0] as usize].1.counts.join(counts);
            self.count_new(&places, None, &mut is_new);
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

    /// The place of a pattern, and its place for any file. Up to `FILES_APART` files have a place each; further files share
    /// the place for any file.
    fn places(&mut self, key: Key) -> Vec<u32> {
        let any_file = self.place_of(Key { file: 0, ..key });
        let mut places = vec![any_file];
        if key.file == 0 {
            return places;
        }
        if !self.places.contains_key(&key) {
            let apart = &mut self.entries[any_file as usize].1.apart;
            let is_apart = key.target != DescriptorKind::File || *apart < FILES_APART;
            // Counted no further than needed: a log may have millions of files.
            *apart = apart.saturating_add(1);
            if !is_apart {
                return places;
            }
        }
        places.insert(0, self.place_of(key));
        places.dedup();
        places
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

    /// Lists each finding whose buffer would also change calls that it breaks. Adds to other findings the barriers that
    /// their buffers meet outside of the finding.
    fn judge(&mut self, buffers: &Buffers, writes: &StreamWrites) {
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
            let key = Key {
                grade: Grade::Crossing,
                reason: Some(reason),
                ..*key
            };
            let counts = std::mem::take(&mut entry.counts);
            let places = self.places(key);
            let (processes, openings) = (counts.tally.processes, counts.tally.openings);
            for &place in &places {
                let known = &mut self.entries[place as usize].1.counts;
                // Both may have counted the same processes and openings.
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

    /// Adds the findings of a log, and the uses of its calls, to empty tallies. If the log has a `lack`, findings that rest on the
    /// order and the times of all calls are not counted.
    pub(crate) fn close(
        mut self,
        (buffers, writes): (&Buffers, &StreamWrites),
        mut uses: DescriptorUses,
        lack: Option<Barrier>,
        max_delay_ns: u64,
        into: &mut Tallies,
    ) {
        self.judge(buffers, writes);
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
        for (mut key, entry) in self.entries {
            let Counts {
                mut tally,
                sites,
                files,
                buffers,
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
            for (_, used, calls) in buffers {
                uses.note_found(used, calls, key.reason);
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
            let known = into.found.entry((named, reason)).or_default();
            // Both may have counted the same processes.
            let processes = known.processes.max(tally.processes);
            let openings = known.openings.max(tally.openings);
            join(known, &tally);
            (known.processes, known.openings) = (processes, openings);
        }
        uses.close(max_delay_ns, &mut into.uses);
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
