//! What was found, counted by pattern: first for a log, then for all of them.

use std::collections::{BTreeMap, HashMap};

use crate::advisor::findings::pending::{Row, add_sizes, join_ranges};
use crate::advisor::findings::uses::UsesByName;
use crate::advisor::hash::FastMap;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::pattern::{FSYNC, LSEEK, Move, Pattern, call_name};
use crate::advisor::runs::run::{Moved, Run};
use crate::advisor::runs::run_builder::Outcome;
use crate::model::{
    FileCalls, FindingKey, FindingKind, Grade, Leads, Runtime, SiteCalls, Step, Tally,
};

/// So many patterns of a log are told apart; those that come later are one.
const PATTERNS_MAX: usize = 4096;

/// So many names of programs and call sites of a log are told apart.
const NAMES_MAX: usize = 4096;

/// A program that does the same with more files than this has one finding for all of them.
const FILES_APART: u32 = 8;

/// Files of a finding that are told apart while a log is read.
const FILES_READ: usize = 64;

/// Files and call sites that a finding names.
const NAMED_MAX: usize = 16;

/// What was found in all logs.
#[derive(Clone, Debug, PartialEq)]
pub struct Tallies {
    /// What could be merged.
    pub findings: BTreeMap<FindingKey, Tally>,
    /// What could be merged but is not counted, and why.
    pub uncounted: BTreeMap<(FindingKey, String), Tally>,
    /// All calls by program and file, counted or not.
    pub(crate) uses: UsesByName,
    /// Files of earlier results that are in no entry of `uses`.
    pub(crate) more_uses: u64,
    /// System calls.
    pub calls: u64,
    /// Those of them that move bytes.
    pub transfers: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Processes.
    pub processes: u64,
    /// From the first call's begin to the last one's end, in ns, summed over the logs; `None` if one
    /// of them has no times.
    pub span_ns: Option<u64>,
    /// How long the programs waited in calls, in ns, beyond what strace adds to these.
    pub waited_ns: u64,
}

impl Default for Tallies {
    /// Of no log.
    fn default() -> Tallies {
        Tallies {
            findings: BTreeMap::new(),
            uncounted: BTreeMap::new(),
            uses: UsesByName::new(),
            more_uses: 0,
            calls: 0,
            transfers: 0,
            bytes: 0,
            processes: 0,
            span_ns: Some(0),
            waited_ns: 0,
        }
    }
}

/// Which direction a run went, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// Reads, not writes.
    pub(crate) is_read: bool,
    /// At offsets that the calls gave.
    pub(crate) is_positional: bool,
    /// Through a pipe or a stream socket.
    pub(crate) is_stream: bool,
    /// Through a datagram socket.
    pub(crate) is_datagram: bool,
}

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

/// Findings that are counted only if nobody else turns out to use the same file or stream.
#[derive(Debug, Default)]
pub(crate) struct Held {
    counts: FastMap<u32, Counts>,
    /// How many of the calls that a use counts they are, and how many of these rest on the order of all.
    uses: FastMap<u32, (u64, u64)>,
}

impl Held {
    /// Takes over those of another.
    pub(crate) fn append(&mut self, other: Held) {
        for (place, counts) in other.counts {
            self.counts.entry(place).or_default().join(counts);
        }
        for (place, (calls, ordered)) in other.uses {
            let known = self.uses.entry(place).or_default();
            *known = (known.0 + calls, known.1 + ordered);
        }
    }

    /// A row of this use is held back.
    pub(crate) fn note_use(&mut self, place: u32, row: &Row) {
        let known = self.uses.entry(place).or_default();
        known.0 += row.transfers();
        if rests_on_order(row.kind) {
            known.1 += row.transfers();
        }
    }

    /// The uses that are held back: which, how many calls, and how many of these rest on the order of all.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        let of = |(&place, &(calls, ordered)): (&u32, &(u64, u64))| (place, calls, ordered);
        self.uses.iter().map(of)
    }
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

/// Counts, with call sites by number.
#[derive(Debug, Default)]
struct Counts {
    tally: Tally,
    sites: Vec<(u32, u64, u64)>,
    files: Vec<(Vec<u8>, FileCalls)>,
}

/// Where rows were counted: in the entry of the pattern, and in that of the pattern with any file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) own: u32,
    pub(crate) any_file: u32,
}

/// Linux writes no more at once into a pipe without mixing it with what others write.
const PIPE_BUF_BYTES: u64 = 4096;

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

impl Counts {
    fn join(&mut self, other: Counts) {
        join(&mut self.tally, &other.tally);
        add_sites(&mut self.sites, &other.sites);
        for (path, file) in other.files {
            self.join_file(&path, file);
        }
    }

    fn add_file(&mut self, path: &[u8], row: &Row) {
        let file = FileCalls {
            path: None,
            descriptor: row.descriptor,
            calls: row.tally.calls,
            bytes: row.tally.bytes,
        };
        self.join_file(path, file);
    }

    fn join_file(&mut self, path: &[u8], new: FileCalls) {
        let is_it = |file: &&mut (Vec<u8>, FileCalls)| {
            file.1.descriptor == new.descriptor && file.0 == path
        };
        if let Some((_, file)) = self.files.iter_mut().find(is_it) {
            file.calls += new.calls;
            file.bytes += new.bytes;
        } else if self.files.len() < FILES_READ {
            self.files.push((path.to_vec(), new));
        } else {
            self.tally.more_files += 1;
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

/// Keeps the files and call sites with the most calls, and names the first file.
fn bound(tally: &mut Tally) {
    tally.files.sort_by(|one, other| {
        let rank = |file: &FileCalls| (std::cmp::Reverse(file.calls), file.descriptor);
        rank(one)
            .cmp(&rank(other))
            .then_with(|| one.path.cmp(&other.path))
    });
    let more = tally.files.len().saturating_sub(NAMED_MAX);
    tally.files.truncate(NAMED_MAX);
    tally.more_files = tally.more_files.saturating_add(more as u64);
    if let Some(first) = tally.files.first() {
        tally.descriptor = first.descriptor;
        tally.path.clone_from(&first.path);
    }
    tally.sites.sort_by(|one, other| {
        let calls = other.calls.cmp(&one.calls);
        calls.then_with(|| one.site.cmp(&other.site))
    });
    tally.sites.truncate(NAMED_MAX);
}

fn add_sites(known: &mut Vec<(u32, u64, u64)>, new: &[(u32, u64, u64)]) {
    for &(site, calls, bytes) in new {
        match known.iter_mut().find(|known| known.0 == site) {
            Some(known) => {
                known.1 += calls;
                known.2 += bytes;
            }
            None => known.push((site, calls, bytes)),
        }
    }
}

pub(crate) fn rests_on_order(kind: FindingKind) -> bool {
    !matches!(
        kind,
        FindingKind::SeekThenTransfer | FindingKind::TinySegments | FindingKind::ManySegments
    )
}

fn step_in_words(step: &Move) -> Step {
    Step {
        call: call_name(step.call).to_owned(),
        size_class: step.size_class,
    }
}

/// What a run is found to be.
pub(crate) struct Found<'a> {
    pub(crate) kind: FindingKind,
    pub(crate) grade: Grade,
    pub(crate) reason: Option<Reason>,
    pub(crate) pattern: Pattern,
    /// The step of the pattern that the run began with.
    pub(crate) start: usize,
    pub(crate) calls: u64,
    pub(crate) merged_calls: u64,
    pub(crate) moved: Option<&'a Moved>,
}

/// What a run is, and whether it is counted; `has_other_writers` of the pipe that it went to.
pub(crate) fn judge(
    run: &Run,
    merged_calls: u64,
    outcome: Outcome,
    way: Way,
    has_other_writers: bool,
) -> Option<Found<'_>> {
    let own_grade = match run.has_between {
        true => Grade::HarmlessBetween,
        false => Grade::Adjacent,
    };
    let grade = match way.is_read && way.is_stream {
        true => Grade::ReadsAhead,
        false => own_grade,
    };
    let (pattern, start) = run.pattern().canonical();
    let found = Found {
        kind: kind_of(way),
        grade,
        reason: None,
        pattern,
        start,
        calls: run.calls,
        merged_calls,
        moved: Some(&run.gathered),
    };
    let is_merged = merged_calls < run.calls;
    if way.is_datagram {
        let crossed = match outcome {
            Outcome::Crossed(reason) => reason,
            Outcome::Joined | Outcome::Sought => Reason::Datagrams,
        };
        return is_merged.then_some(Found {
            kind: FindingKind::Datagrams,
            grade: Grade::Crossing,
            reason: Some(crossed),
            ..found
        });
    }
    match outcome {
        Outcome::Sought => Some(Found {
            kind: FindingKind::SeekThenTransfer,
            pattern: pattern.with(SEEK, true),
            start: start * pattern.with(SEEK, true).steps().len() / pattern.steps().len().max(1),
            calls: run.calls + run.seeks,
            merged_calls: run.calls,
            moved: None,
            ..found
        }),
        Outcome::Crossed(reason) if is_merged => Some(Found {
            grade: Grade::Crossing,
            reason: Some(reason),
            ..match reason {
                Reason::SyncOwn if !way.is_read => Found {
                    kind: FindingKind::SyncEach,
                    pattern: pattern.with(SYNC, false),
                    start: start * pattern.with(SYNC, false).steps().len()
                        / pattern.steps().len().max(1),
                    ..found
                },
                _ => found,
            }
        }),
        Outcome::Joined if is_merged => {
            let mixes = has_other_writers && run.longest_bytes > PIPE_BUF_BYTES;
            Some(match mixes {
                false => found,
                true => Found {
                    grade: Grade::Crossing,
                    reason: Some(Reason::OtherWriters),
                    ..found
                },
            })
        }
        Outcome::Joined if run.is_all_tiny_lists() => Some(Found {
            grade: own_grade,
            kind: FindingKind::TinySegments,
            moved: Some(&run.alone),
            ..found
        }),
        Outcome::Joined if run.is_split_list() => Some(Found {
            grade: own_grade,
            kind: FindingKind::ManySegments,
            moved: Some(&run.alone),
            ..found
        }),
        Outcome::Joined | Outcome::Crossed(_) => None,
    }
}

const SEEK: Move = Move {
    call: LSEEK,
    size_class: 0,
};

const SYNC: Move = Move {
    call: FSYNC,
    size_class: 0,
};

fn kind_of(way: Way) -> FindingKind {
    match (way.is_read, way.is_positional) {
        (false, false) => FindingKind::AdjacentWrites,
        (false, true) => FindingKind::PositionalWrites,
        (true, false) => FindingKind::SmallReads,
        (true, true) => FindingKind::PositionalReads,
    }
}

/// Adds the counts of one tally to those of another with the same key.
pub(crate) fn join(known: &mut Tally, new: &Tally) {
    if known.runs == 0 || new.runs == 0 {
        // What has no runs may have counts of processes and openings that are held for several files.
        let (processes, openings) = (known.processes, known.openings);
        if known.runs == 0 {
            *known = new.clone();
            known.processes = known.processes.saturating_add(processes);
            known.openings = known.openings.saturating_add(openings);
        } else {
            known.processes = processes.saturating_add(new.processes);
            known.openings = openings.saturating_add(new.openings);
        }
        return;
    }
    join_files(known, new);
    known.runs = known.runs.saturating_add(new.runs);
    known.calls = known.calls.saturating_add(new.calls);
    known.bytes = known.bytes.saturating_add(new.bytes);
    known.merged_calls = known.merged_calls.saturating_add(new.merged_calls);
    known.segments = known.segments.saturating_add(new.segments);
    known.gathered_calls = known.gathered_calls.saturating_add(new.gathered_calls);
    known.list_calls = known.list_calls.saturating_add(new.list_calls);
    known.long_list_calls = known.long_list_calls.saturating_add(new.long_list_calls);
    add_sizes(&mut known.sizes, &new.sizes);
    add_sizes(&mut known.list_sizes, &new.list_sizes);
    join_ranges(&mut known.step_bytes, new.step_bytes.iter().copied());
    for (step, &runs) in new.starts.iter().enumerate() {
        match known.starts.get_mut(step) {
            Some(start) => *start = start.saturating_add(runs),
            None => known.starts.push(runs),
        }
    }
    known.processes = known.processes.saturating_add(new.processes);
    known.process = known.process.min(new.process);
    known.openings = known.openings.saturating_add(new.openings);
    known.runtime = match (known.runtime, new.runtime) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    known.order_between = first(known.order_between.take(), &new.order_between);
    for site in &new.sites {
        match known.sites.iter_mut().find(|one| one.site == site.site) {
            Some(one) => {
                one.calls = one.calls.saturating_add(site.calls);
                one.bytes = one.bytes.saturating_add(site.bytes);
            }
            None => known.sites.push(site.clone()),
        }
    }
    bound(known);
}

fn first(known: Option<String>, new: &Option<String>) -> Option<String> {
    match (known, new) {
        (Some(one), Some(other)) if *other < one => Some(other.clone()),
        (one, other) => one.or_else(|| other.clone()),
    }
}

/// Findings that differ by file only become one where there are more files than are told apart.
///
/// Each log has done so for itself. A process that used several of the files counts once for each.
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
        .filter(|key| finding(key).target == Leads::File)
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
}

/// A result of an earlier version names one file, and does not say how many of its calls went there.
fn join_files(known: &mut Tally, new: &Tally) {
    if known.files.is_empty() || new.files.is_empty() {
        known.descriptor = known.descriptor.min(new.descriptor);
        known.path = first(known.path.take(), &new.path);
    }
    known.more_files = known.more_files.saturating_add(new.more_files);
    for file in &new.files {
        let is_it =
            |one: &&mut FileCalls| one.descriptor == file.descriptor && one.path == file.path;
        match known.files.iter_mut().find(is_it) {
            Some(one) => {
                one.calls = one.calls.saturating_add(file.calls);
                one.bytes = one.bytes.saturating_add(file.bytes);
            }
            None => known.files.push(file.clone()),
        }
    }
}

/// Names by number; 0 is none, and any beyond those that are told apart.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Vec<u8>, u32>,
    names: Vec<String>,
}

impl Names {
    pub(crate) fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        if name.is_empty() || self.names.len() >= NAMES_MAX {
            return 0;
        }
        self.names.push(String::from_utf8_lossy(name).into_owned());
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_vec(), number);
        number
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// The number of a name that came before; 0 for any other.
    pub(crate) fn known(&self, name: &[u8]) -> u32 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn name(&self, number: u32) -> Option<String> {
        self.names.get((number as usize).checked_sub(1)?).cloned()
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
