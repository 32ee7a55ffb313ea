//! What was found, counted by pattern: first for a log, then for all of them.

use std::collections::{BTreeMap, HashMap};

use super::hash::FastMap;
use super::lane::Outcome;
use super::reason::Reason;
use super::run::{Moved, Run};
use super::steps::{FSYNC, LSEEK, Move, Pattern, call_name};
use crate::model::{FindingKey, FindingKind, Grade, Leads, SiteCalls, Step, Tally};

/// So many patterns of a log are told apart; those that come later are one.
const PATTERNS_MAX: usize = 4096;

/// So many names of programs and call sites of a log are told apart.
const NAMES_MAX: usize = 4096;

/// What was found in all logs.
#[derive(Clone, Debug, PartialEq)]
pub struct Tallies {
    /// What could be merged.
    pub findings: BTreeMap<FindingKey, Tally>,
    /// What could be merged but is not counted, and why.
    pub uncounted: BTreeMap<(FindingKey, String), Tally>,
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
pub(super) struct Way {
    /// Reads, not writes.
    pub(super) is_read: bool,
    /// At offsets that the calls gave.
    pub(super) is_positional: bool,
}

/// Whose a run is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose<'a> {
    /// The program, by the number of its name.
    pub(super) program: u32,
    /// The process's number.
    pub(super) process: u32,
    /// What the descriptor leads to.
    pub(super) target: Leads,
    /// The descriptor's number.
    pub(super) descriptor: i32,
    /// Its path, or what the log shows.
    pub(super) path: &'a [u8],
    /// Whether processes that do not show may write to it: it is a FIFO.
    pub(super) has_other_writers: bool,
    /// Why nothing of it is counted, if others use it, too.
    pub(super) shared: Option<Reason>,
}

/// Findings that are counted only if nobody else turns out to use the same file or stream.
#[derive(Debug, Default)]
pub(super) struct Held(FastMap<u32, (Tally, Vec<u8>)>);

impl Held {
    /// Takes over those of another.
    pub(super) fn append(&mut self, other: Held) {
        for (place, (tally, path)) in other.0 {
            let known = self.0.entry(place).or_default();
            join_entry((&mut known.0, &mut known.1), &tally, &path);
        }
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
    site: u32,
    pattern: Pattern,
}

/// Patterns of one log.
#[derive(Debug, Default)]
pub(super) struct Book {
    places: FastMap<Key, u32>,
    entries: Vec<(Key, Tally, Vec<u8>)>,
    programs: Names,
    sites: Names,
}

/// Linux writes no more at once into a pipe without mixing it with what others write.
const PIPE_BUF_BYTES: u64 = 4096;

impl Book {
    /// The number of a program's name.
    pub(super) fn program(&mut self, name: &[u8]) -> u32 {
        self.programs.number(name)
    }

    /// The number of a call site.
    pub(super) fn site(&mut self, site: Option<&[u8]>) -> u32 {
        site.map_or(0, |site| self.sites.number(site))
    }

    /// Counts a run that is over: the place of its pattern, if it is one.
    pub(super) fn add(
        &mut self,
        run: &mut Run,
        outcome: Outcome,
        way: Way,
        whose: &Whose<'_>,
        held: Option<&mut Held>,
    ) -> Option<u32> {
        let merged_calls = run.finish();
        let run = &*run;
        let found = judge(run, merged_calls, outcome, way, whose)?;
        let key = Key {
            kind: found.kind,
            grade: found.grade,
            reason: found.reason,
            program: whose.program,
            target: whose.target,
            site: self.site_of(run),
            pattern: found.pattern,
        };
        let place = self.place(key);
        let Key { pattern, site, .. } = self.entries[place as usize].0;
        let (tally, path) = match held {
            Some(held) if found.depends_on_others() => {
                let (tally, path) = held.0.entry(place).or_default();
                (tally, path)
            }
            _ => {
                let (_, tally, path) = &mut self.entries[place as usize];
                (tally, path)
            }
        };
        if run.sites.len() > 1 && site != 0 {
            for &(site, calls) in &run.sites {
                let name = self.sites.get(site).unwrap_or_default();
                add_site(&mut tally.sites, name, calls);
            }
        }
        let first = tally.runs == 0;
        tally.runs += 1;
        tally.calls += found.calls;
        tally.bytes += run.bytes;
        tally.merged_calls += found.merged_calls;
        if let Some(moved) = found.moved {
            tally.gathered_calls += run.gathered_calls;
            tally.segments += moved.segments;
            tally.list_calls += moved.list_calls;
            tally.long_list_calls += moved.long_list_calls;
            add_sizes(&mut tally.sizes, &moved.sizes.0);
            add_sizes(&mut tally.list_sizes, &moved.list_sizes.0);
        }
        if pattern.steps().len() > 1 {
            tally.starts.resize(pattern.steps().len(), 0);
            tally.starts[found.start] += 1;
        }
        let ranges = pattern.steps().iter().map(|&step| range(run, step));
        join_ranges(&mut tally.step_bytes, ranges);
        if !run.order_between.is_empty() {
            let other = String::from_utf8_lossy(&run.order_between);
            if tally
                .order_between
                .as_deref()
                .is_none_or(|known| *other < *known)
            {
                tally.order_between = Some(other.into_owned());
            }
        }
        let least = |known: &mut u32, new: u32| *known = if first { new } else { new.min(*known) };
        least(&mut tally.process, whose.process);
        if first || whose.descriptor < tally.descriptor {
            tally.descriptor = whose.descriptor;
        }
        if !whose.path.is_empty() && (path.is_empty() || whose.path < path.as_slice()) {
            path.clear();
            path.extend_from_slice(whose.path);
        }
        Some(place)
    }

    /// Counts a process, an opening or both, where they are new to a pattern.
    pub(super) fn count_new(
        &mut self,
        place: u32,
        process: bool,
        opening: bool,
        held: Option<&mut Held>,
    ) {
        let held = held.and_then(|held| held.0.get_mut(&place));
        let tally = match held {
            Some((tally, _)) => tally,
            None => &mut self.entries[place as usize].1,
        };
        tally.processes += u64::from(process);
        tally.openings += u64::from(opening);
    }

    /// Counts what was held back: nobody else used it.
    pub(super) fn settle(&mut self, held: Held) {
        for (place, (new, path)) in held.0 {
            let (_, tally, known) = &mut self.entries[place as usize];
            join_entry((tally, known), &new, &path);
        }
    }

    /// Lists what was held back, for this reason. `is_new` tells whether a pattern is new to the process
    /// and to the opening.
    pub(super) fn list(
        &mut self,
        held: Held,
        reason: Reason,
        mut is_new: impl FnMut(u32) -> (bool, bool),
    ) {
        for (place, (mut new, path)) in held.0 {
            let key = Key {
                grade: Grade::Crossing,
                reason: Some(reason),
                ..self.entries[place as usize].0
            };
            let place = self.place(key);
            let (process, opening) = is_new(place);
            (new.processes, new.openings) = (u64::from(process), u64::from(opening));
            let (_, tally, known) = &mut self.entries[place as usize];
            join_entry((tally, known), &new, &path);
        }
    }

    /// The number of a run's call site; of several, that of all their names.
    fn site_of(&mut self, run: &Run) -> u32 {
        match run.sites.as_slice() {
            [] => 0,
            [(site, _)] => *site,
            sites => {
                let names = sites.iter().filter_map(|site| self.sites.get(site.0));
                let mut names: Vec<&str> = names.collect();
                names.sort_unstable();
                let names = names.join(" + ");
                self.sites.number(names.as_bytes())
            }
        }
    }

    fn place(&mut self, key: Key) -> u32 {
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        let key = match self.entries.len() < PATTERNS_MAX {
            true => key,
            false => Key {
                pattern: Pattern::ANY,
                program: 0,
                site: 0,
                ..key
            },
        };
        let next = self.entries.len() as u32;
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.entries.push((key, Tally::default(), Vec::new()));
        }
        place
    }

    /// Hands over what was found. What rests on the order and the times of all calls is not counted
    /// if the log lacks them.
    pub(super) fn close(self, lack: Option<Reason>, max_delay_ns: u64, into: &mut Tallies) {
        for (mut key, mut tally, path) in self.entries {
            if tally.runs == 0 {
                // All of it turned out to be listed.
                continue;
            }
            if !path.is_empty() {
                tally.path = Some(String::from_utf8_lossy(&path).into_owned());
            }
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
                site: self.sites.name(key.site),
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

fn rests_on_order(kind: FindingKind) -> bool {
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

fn range(run: &Run, step: Move) -> (u64, u64) {
    match step.call {
        LSEEK | FSYNC => (0, 0),
        _ => run.range(step),
    }
}

/// What a run is found to be.
struct Found<'a> {
    kind: FindingKind,
    grade: Grade,
    reason: Option<Reason>,
    /// The least of the rotations of its period.
    pattern: Pattern,
    /// The place in that of the step that the run began with.
    start: usize,
    calls: u64,
    merged_calls: u64,
    moved: Option<&'a Moved>,
}

impl Found<'_> {
    /// Whether it is sound only if nobody else uses the same file or stream. To copy the tiny segments of
    /// a list changes no call.
    fn depends_on_others(&self) -> bool {
        self.reason.is_none() && self.kind != FindingKind::TinySegments
    }
}

/// What a run is found to be. What depends on others is listed if there are others.
fn judge<'a>(
    run: &'a Run,
    merged_calls: u64,
    outcome: Outcome,
    way: Way,
    whose: &Whose<'_>,
) -> Option<Found<'a>> {
    let found = judge_alone(run, merged_calls, outcome, way, whose)?;
    Some(match whose.shared {
        Some(reason) if found.depends_on_others() => Found {
            grade: Grade::Crossing,
            reason: Some(reason),
            ..found
        },
        _ => found,
    })
}

fn judge_alone<'a>(
    run: &'a Run,
    merged_calls: u64,
    outcome: Outcome,
    way: Way,
    whose: &Whose<'_>,
) -> Option<Found<'a>> {
    let grade = match run.has_between {
        true => Grade::HarmlessBetween,
        false => Grade::Adjacent,
    };
    let (pattern, start) = run.pattern().canonical();
    // Each of its steps may become two.
    let with = |step: Move, before: bool| {
        let longer = pattern.with(step, before);
        let factor = longer.steps().len() / pattern.steps().len().max(1);
        (longer, start * factor)
    };
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
    if whose.target == Leads::Datagram {
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
        Outcome::Sought => {
            let (pattern, start) = with(SEEK, true);
            Some(Found {
                kind: FindingKind::SeekThenTransfer,
                pattern,
                start,
                calls: run.calls + run.seeks,
                merged_calls: run.calls,
                moved: None,
                ..found
            })
        }
        Outcome::Crossed(reason) if is_merged => Some(Found {
            grade: Grade::Crossing,
            reason: Some(reason),
            ..match reason {
                Reason::SyncOwn if !way.is_read => {
                    let (pattern, start) = with(SYNC, false);
                    Found {
                        kind: FindingKind::SyncEach,
                        pattern,
                        start,
                        ..found
                    }
                }
                _ => found,
            }
        }),
        Outcome::Joined if is_merged => {
            let mixes = whose.has_other_writers && run.longest_bytes > PIPE_BUF_BYTES;
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
            kind: FindingKind::TinySegments,
            moved: Some(&run.alone),
            ..found
        }),
        Outcome::Joined if run.is_split_list() => Some(Found {
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

/// As [`join`], with the paths beside them.
fn join_entry(known: (&mut Tally, &mut Vec<u8>), new: &Tally, path: &[u8]) {
    join(known.0, new);
    if !path.is_empty() && (known.1.is_empty() || path < known.1.as_slice()) {
        known.1.clear();
        known.1.extend_from_slice(path);
    }
}

/// Adds the counts of one tally to those of another with the same key.
pub(super) fn join(known: &mut Tally, new: &Tally) {
    if known.runs == 0 {
        *known = new.clone();
        return;
    }
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
    for one in &new.sites {
        add_site(&mut known.sites, &one.site, one.calls);
    }
    if known.starts.len() < new.starts.len() {
        known.starts.resize(new.starts.len(), 0);
    }
    for (known, new) in std::iter::zip(&mut known.starts, &new.starts) {
        *known = known.saturating_add(*new);
    }
    known.processes = known.processes.saturating_add(new.processes);
    known.process = known.process.min(new.process);
    known.openings = known.openings.saturating_add(new.openings);
    known.descriptor = known.descriptor.min(new.descriptor);
    let first = |known: Option<String>, new: &Option<String>| match (known, new) {
        (Some(one), Some(other)) if *other < one => Some(other.clone()),
        (one, other) => one.or_else(|| other.clone()),
    };
    known.path = first(known.path.take(), &new.path);
    known.order_between = first(known.order_between.take(), &new.order_between);
}

fn add_site(known: &mut Vec<SiteCalls>, name: &str, calls: u64) {
    match known.binary_search_by(|one| one.site.as_str().cmp(name)) {
        Ok(place) => known[place].calls = known[place].calls.saturating_add(calls),
        Err(place) => {
            let site = name.to_owned();
            known.insert(place, SiteCalls { site, calls });
        }
    }
}

fn add_sizes(known: &mut Vec<(u8, u64, u64)>, new: &[(u8, u64, u64)]) {
    for &(class, segments, bytes) in new {
        match known.binary_search_by_key(&class, |size| size.0) {
            Ok(place) => {
                known[place].1 = known[place].1.saturating_add(segments);
                known[place].2 = known[place].2.saturating_add(bytes);
            }
            Err(place) => known.insert(place, (class, segments, bytes)),
        }
    }
}

fn join_ranges(known: &mut Vec<(u64, u64)>, new: impl Iterator<Item = (u64, u64)>) {
    for (place, (least, most)) in new.enumerate() {
        match known.get_mut(place) {
            Some(range) => *range = (range.0.min(least), range.1.max(most)),
            None => known.push((least, most)),
        }
    }
}

/// Names by number; 0 is none, and any beyond those that are told apart.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Vec<u8>, u32>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &[u8]) -> u32 {
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

    fn get(&self, number: u32) -> Option<&str> {
        let place = (number as usize).checked_sub(1)?;
        self.names.get(place).map(String::as_str)
    }

    fn name(&self, number: u32) -> Option<String> {
        self.get(number).map(str::to_owned)
    }
}
