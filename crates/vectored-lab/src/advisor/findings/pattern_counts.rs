//! What was found, counted by pattern: first for a log, then for all of them.

use crate::advisor::findings::counts::Counts;
use crate::advisor::findings::held::Held;
use crate::advisor::findings::judge::rests_on_order;
use crate::advisor::findings::name_table::Names;
use crate::advisor::findings::row::Row;
use crate::advisor::findings::tallies::{FILES_APART, Tallies};
use crate::advisor::findings::tally::{bound, join};
use crate::advisor::hash::FastMap;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::pattern::{Move, Pattern, call_name};
use crate::model::{
    FileCalls, FindingKey, FindingKind, Grade, Leads, Runtime, SiteCalls, Step, Tally,
};

/// So many patterns of a log are told apart; those that come later are one.
const PATTERNS_MAX: usize = 4096;

/// Whose rows are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whose<'a> {
    /// The program, by the number of its name.
    pub(crate) program: u32,
    /// What runs it.
    pub(crate) runtime: Option<Runtime>,
    /// The process's number.
    pub(crate) process: u32,
    /// What the descriptor leads to.
    pub(crate) target: Leads,
    /// Its path, or what the log shows.
    pub(crate) path: &'a [u8],
}

/// A pattern of a log, with names by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: FindingKind,
    grade: Grade,
    reason: Option<Reason>,
    program: u32,
    target: Leads,
    file: u32,
    sites: u32,
    pattern: Pattern,
}

/// Patterns of one log.
#[derive(Debug, Default)]
pub(crate) struct Book {
    places: FastMap<Key, u32>,
    entries: Vec<(Key, Entry)>,
    programs: Names,
    sites: Names,
    /// Sets of call sites: their names, in order.
    site_sets: Names,
    files: Names,
}

/// What was found of a pattern.
#[derive(Debug, Default)]
struct Entry {
    counts: Counts,
    /// Of a pattern without a file: how many files have an entry of their own.
    apart: u32,
}

/// Where rows were counted: in the entry of the pattern, and in that of the pattern with any file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) own: u32,
    pub(crate) any_file: u32,
}

impl Book {
    /// The number of a program's name.
    pub(crate) fn program(&mut self, name: &[u8]) -> u32 {
        self.programs.number(name)
    }

    /// The name of a program by its number.
    pub(crate) fn program_name(&self, number: u32) -> String {
        self.programs.name(number).unwrap_or_default()
    }

    /// The number of a call site.
    pub(crate) fn site(&mut self, site: Option<&[u8]>) -> u32 {
        site.map_or(0, |site| self.sites.number(site))
    }

    /// Counts runs of one pattern, or holds them back.
    pub(crate) fn add(&mut self, row: &Row, whose: &Whose<'_>, held: Option<&mut Held>) -> Counted {
        let standard: Option<&[u8]> = match row.descriptor {
            0 => Some(b"stdin"),
            1 => Some(b"stdout"),
            2 => Some(b"stderr"),
            _ => None,
        };
        let file = match whose.target {
            Leads::File => self.files.number(whose.path),
            Leads::Unknown => 0,
            _ => standard.map_or(0, |name| self.files.number(name)),
        };
        let key = Key {
            kind: row.kind,
            grade: row.grade,
            reason: row.reason,
            program: whose.program,
            target: whose.target,
            file,
            sites: self.site_set(&row.sites),
            pattern: row.pattern,
        };
        let counted = self.place(key);
        let counts = self.counts(counted.own, held);
        counts.join(Counts {
            tally: Tally {
                process: whose.process,
                descriptor: row.descriptor,
                runtime: whose.runtime,
                ..row.tally.clone()
            },
            sites: row.sites.clone(),
            files: Vec::new(),
        });
        counts.add_file(whose.path, row);
        counted
    }

    fn counts<'a>(&'a mut self, place: u32, held: Option<&'a mut Held>) -> &'a mut Counts {
        match held {
            Some(held) => held.counts.entry(place).or_default(),
            None => &mut self.entries[place as usize].1.counts,
        }
    }

    /// Counts a process, an opening or both, where they are new to a pattern.
    pub(crate) fn count_new(
        &mut self,
        place: u32,
        process: bool,
        opening: bool,
        held: Option<&mut Held>,
    ) {
        let tally = &mut self.counts(place, held).tally;
        tally.processes += u64::from(process);
        tally.openings += u64::from(opening);
    }

    /// Counts what was held back: nobody else used it.
    pub(crate) fn settle(&mut self, held: Held) {
        for (place, counts) in held.counts {
            self.entries[place as usize].1.counts.join(counts);
        }
    }

    /// Lists what was held back, for this reason. `is_new` tells whether a pattern is new to the process
    /// and to the opening.
    pub(crate) fn list(
        &mut self,
        held: Held,
        reason: Reason,
        mut is_new: impl FnMut(u32) -> (bool, bool),
    ) {
        for (place, mut counts) in held.counts {
            let key = Key {
                grade: Grade::Crossing,
                reason: Some(reason),
                ..self.entries[place as usize].0
            };
            if counts.tally.runs == 0 {
                // The count of all files, which the entry of one leads to.
                continue;
            }
            let counted = self.place(key);
            let (process, opening) = is_new(counted.own);
            (counts.tally.processes, counts.tally.openings) =
                (u64::from(process), u64::from(opening));
            self.entries[counted.own as usize].1.counts.join(counts);
            if counted.any_file != counted.own {
                let (process, opening) = is_new(counted.any_file);
                self.count_new(counted.any_file, process, opening, None);
            }
        }
    }

    fn site_set(&mut self, sites: &[(u32, u64, u64)]) -> u32 {
        let mut names: Vec<String> = sites
            .iter()
            .filter_map(|site| self.sites.name(site.0))
            .collect();
        names.sort_unstable();
        self.site_sets.number(names.join(" + ").as_bytes())
    }

    /// The place of a pattern. That of a few files each is its own; with more files there is one for
    /// all that follow.
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
        let is_apart = key.target != Leads::File || *apart < FILES_APART;
        // More than that need not be counted, nor be kept in mind: a log may have millions of files.
        *apart = apart.saturating_add(1);
        match is_apart {
            true => Counted {
                own: self.place_of(key),
                any_file,
            },
            false => both,
        }
    }

    fn place_of(&mut self, key: Key) -> u32 {
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        let key = match self.entries.len() < PATTERNS_MAX {
            true => key,
            false => Key {
                pattern: Pattern::ANY,
                program: 0,
                file: 0,
                sites: 0,
                ..key
            },
        };
        let next = self.entries.len() as u32;
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.entries.push((key, Entry::default()));
        }
        place
    }

    /// Hands over what was found. What rests on the order and the times of all calls is not counted
    /// if the log lacks them.
    pub(crate) fn close(mut self, lack: Option<Reason>, max_delay_ns: u64, into: &mut Tallies) {
        for place in 0..self.entries.len() {
            let key = self.entries[place].0;
            if key.file == 0 || key.target != Leads::File {
                continue;
            }
            let Some(&any_file) = self.places.get(&Key { file: 0, ..key }) else {
                continue;
            };
            if self.entries[any_file as usize].1.apart > FILES_APART {
                let mut own = std::mem::take(&mut self.entries[place].1.counts);
                // Its processes and openings are counted there before.
                (own.tally.processes, own.tally.openings) = (0, 0);
                self.entries[any_file as usize].1.counts.join(own);
            }
        }
        for (mut key, entry) in self.entries {
            let Counts {
                mut tally,
                sites,
                files,
            } = entry.counts;
            if tally.runs == 0 {
                // All of it turned out to be listed, or it only counts what several files have.
                continue;
            }
            tally.files = named_files(files);
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
            if key.reason.is_some_and(Reason::is_of_the_log) {
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
            let known = match key.reason {
                None => into.findings.entry(named).or_default(),
                Some(reason) => into
                    .uncounted
                    .entry((named, reason.in_words(max_delay_ns)))
                    .or_default(),
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

fn step_in_words(step: &Move) -> Step {
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
        let mut book = Book::default();
        for file in 0..1000 {
            let path = format!("/{file}");
            let whose = Whose {
                program: 0,
                runtime: None,
                process: 1,
                target: Leads::File,
                path: path.as_bytes(),
            };
            book.add(&row, &whose, None);
        }
        assert_eq!(book.places.len(), FILES_APART as usize + 1);
        let mut tallies = Tallies::default();
        book.close(None, 1, &mut tallies);
        let calls: Vec<u64> = tallies.findings.values().map(|tally| tally.calls).collect();
        assert_eq!(calls, [2000]);
    }
}
