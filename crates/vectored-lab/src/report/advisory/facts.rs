//! What all forms of a report say: sentences and figures in words.
//!
//! Texts from outside (programs, paths, reasons of a loaded file) are escaped here for a terminal;
//! Markdown and HTML escape what means something to them.

use crate::advisor::wording::remedies::{language, remedy, runtime_of};
use crate::advisor::{UNPRICED, operation_of};
use crate::model::{
    Advisory, DescriptorUse, Finding, FindingKey, FindingKind, Grade, Leads, Operation, Price,
    Tally, WallSource,
};
use crate::report::advisory::figures::{MIN_SAID_SHARE, seconds, share, shortened, span};
use crate::text::format::{about_bytes, count, escape_control, grouped, machine_of};

/// Names of sources that are told; the JSON has all.
const NAMED_SOURCES: usize = 4;

/// Characters of a source, a path or a call site that are shown.
const SHOWN_CHARACTERS: usize = 60;

/// Characters of a pattern: ours are shorter, those of a loaded file may not be.
const SHOWN_PATTERN: usize = 160;

/// Characters of a sentence, likewise.
const SHOWN_SENTENCE: usize = 300;

/// Call sites of a finding that are shown.
const NAMED_SITES: usize = 4;

/// Files and descriptors that are shown.
const SHOWN_USES: usize = 8;

/// Those with fewer calls are not, and those with less than 1 % of all.
const MIN_CALLS: u64 = 100;

/// A saving of less is called little, as a share of the wall time.
const LITTLE_SHARE: f64 = 0.01;

/// A table that would save less ends after its headline.
const NEGLIGIBLE_SHARE: f64 = 0.001;

/// An estimated wall time may be so many times the true one, or so small a part of it.
const ESTIMATE_FACTOR: f64 = 3.0;

/// A finding of a smaller part of all savings is not shown by itself.
const MIN_PART: f64 = 0.01;

/// A report before it is set.
pub struct Facts {
    /// What it would save altogether, in a sentence or two.
    pub answer: String,
    /// Whether that is next to nothing: a table ends here.
    pub is_negligible: bool,
    /// All findings in one line, where they save next to nothing and only what is listed matters.
    pub sum: Option<String>,
    /// What shares are of: `the wall time`.
    pub share_of: &'static str,
    /// What was read.
    pub extent: String,
    /// The findings that are shown, the largest saving first.
    pub items: Vec<Item>,
    /// Those that are not.
    pub more: Option<String>,
    /// What is not counted.
    pub left: Vec<Left>,
    /// Those of them that are not shown.
    pub more_left: Option<String>,
    /// The files and descriptors with the most calls.
    pub uses: Vec<Used>,
    /// Those of them that are not shown.
    pub more_uses: Option<String>,
    /// What is needed to judge the figures.
    pub notes: Vec<String>,
}

/// A finding in words.
pub struct Item {
    /// `812 ms`.
    pub saving: String,
    /// `[700, 910]`.
    pub interval: String,
    /// `19 %`, of [`Facts::share_of`].
    pub share: Option<String>,
    /// `10,233 × write 8 B`.
    pub pattern: String,
    /// Program, process, descriptor, path.
    pub who: String,
    /// The call site.
    pub site: Option<String>,
    /// What lies between the calls.
    pub grade: &'static str,
    /// What to do.
    pub action: String,
    /// How, in the language of its runtime; `None` if an item before has the same.
    pub remedy: Option<(&'static str, &'static str)>,
    /// Its part of all savings, from 0 to 1.
    pub part: f64,
}

/// What is not counted, in words.
pub struct Left {
    /// The pattern.
    pub pattern: String,
    /// Program, process, descriptor, path.
    pub who: String,
    /// Why.
    pub reason: String,
}

/// All calls on a file or descriptor, in words.
pub struct Used {
    /// `5000 writes, 50 KiB`.
    pub calls: String,
    /// Program, file, descriptor.
    pub who: String,
    /// Which of the calls are counted, and why the others are not.
    pub counted: String,
}

/// Everything that a report says; the first `top` findings, and of what is not counted as many.
pub fn facts(advisory: &Advisory, top: usize) -> Facts {
    // Those that hardly matter are summed up, unless nothing matters more.
    let least_s = advisory.saving_s * MIN_PART;
    let matters = |one: &Finding| one.saving_s > 0.0 && one.saving_s >= least_s;
    let mattering = advisory.findings.iter().filter(|one| matters(one)).count();
    let shown = &advisory.findings[..mattering.max(1).min(top).min(advisory.findings.len())];
    let rest = &advisory.findings[shown.len()..];
    let left = &advisory.uncounted[..advisory.uncounted.len().min(top)];
    let uses = notable(advisory);
    let mut items: Vec<Item> = shown.iter().map(|one| item(advisory, one)).collect();
    let mut told = Vec::new();
    for item in &mut items {
        match item.remedy {
            Some(remedy) if told.contains(&remedy) => item.remedy = None,
            Some(remedy) => told.push(remedy),
            None => {}
        }
    }
    let saves_little =
        advisory.saving_s > 0.0 && most_share(advisory).is_some_and(|most| most < NEGLIGIBLE_SHARE);
    let lists_little = uncounted_share(advisory).is_none_or(|most| most < NEGLIGIBLE_SHARE);
    Facts {
        answer: answer(advisory),
        is_negligible: saves_little && lists_little,
        sum: (saves_little && !lists_little).then(|| {
            format!(
                "{} would save {}; the JSON has {}.",
                count(advisory.findings.len(), "finding"),
                seconds(advisory.saving_s),
                if advisory.findings.len() == 1 {
                    "it"
                } else {
                    "them"
                },
            )
        }),
        share_of: share_of(advisory.wall_source),
        extent: extent(advisory),
        items,
        more: (!rest.is_empty()).then(|| {
            let saving = rest
                .iter()
                .fold(0.0, |sum, one| sum + one.saving_s.max(0.0));
            format!(
                "{} more would save {}.",
                count(rest.len(), "finding"),
                match (saving > 0.0, rest.len()) {
                    (false, _) => "nothing".to_owned(),
                    (true, 1) => seconds(saving),
                    (true, _) => format!("{} together", seconds(saving)),
                }
            )
        }),
        left: left
            .iter()
            .map(|one| Left {
                pattern: shortened(&one.pattern, SHOWN_PATTERN),
                who: who(&one.key, &one.tally),
                reason: shortened(&one.reason, SHOWN_SENTENCE),
            })
            .collect(),
        more_left: more_in_json(advisory.uncounted.len() - left.len()),
        uses: uses.iter().map(|one| used(one)).collect(),
        more_uses: match advisory.descriptors.len() - uses.len() {
            _ if uses.is_empty() => None,
            more => more_in_json(more),
        },
        notes: notes(advisory),
    }
}

/// Of a time that strace made longer: the share of the program's own is this or more.
fn at_least(share_of_traced: f64) -> String {
    let said = share(share_of_traced);
    match share_of_traced.abs() < MIN_SAID_SHARE || share_of_traced > 1.0 {
        // Less than a bound from below is no bound, and more than one says so.
        true => said,
        false => format!("{said} or more"),
    }
}

/// A share of an estimated time, as far as that may be wrong: `4.0 % to 36 %`. No program takes longer
/// without strace than with it.
fn estimated_share(advisory: &Advisory, of_estimate: f64) -> String {
    let longer = match (advisory.traced_wall_s, advisory.wall_s) {
        (Some(traced), Some(wall)) if wall > 0.0 => (traced / wall).clamp(1.0, ESTIMATE_FACTOR),
        _ => ESTIMATE_FACTOR,
    };
    let (least, most) = (of_estimate / longer, of_estimate * ESTIMATE_FACTOR);
    let (low, high) = (share(least), share(most));
    if low == high {
        low
    } else if least.abs() < MIN_SAID_SHARE {
        format!("at most {high}")
    } else if most > 1.0 {
        format!("{low} or more")
    } else {
        format!("{low} to {high}")
    }
}

/// The share of the program's own wall time that all findings may save; `None` if that is not known.
fn most_share(advisory: &Advisory) -> Option<f64> {
    let factor = match advisory.wall_source? {
        WallSource::Untraced => 1.0,
        WallSource::Estimated => ESTIMATE_FACTOR,
        // It says nothing of the program's own.
        WallSource::Traced => return None,
    };
    let wall_s = advisory.wall_s.filter(|wall| *wall > 0.0)?;
    Some(advisory.saving_s / wall_s * factor)
}

/// The order of magnitude of a call whose price is not known, in ns: it decides only what is shown.
const CALL_NS: f64 = 1000.0;

/// The share of the wall time that fewer calls would save if what is not counted could be merged, roughly.
fn uncounted_share(advisory: &Advisory) -> Option<f64> {
    let wall_s = advisory.wall_s.filter(|wall| *wall > 0.0)?;
    let calls = advisory.uncounted.iter().fold(0, |sum: u64, one| {
        let saved = one.tally.calls.saturating_sub(one.tally.merged_calls);
        sum.saturating_add(saved)
    });
    Some(calls as f64 * CALL_NS * 1e-9 / wall_s)
}

/// What a share is of.
fn share_of(source: Option<WallSource>) -> &'static str {
    match source {
        Some(WallSource::Estimated) => "the estimated wall time",
        Some(WallSource::Traced) => "the traced time",
        _ => "the wall time",
    }
}

/// Whether calls are listed only because their cost is not known.
fn has_unpriced(advisory: &Advisory) -> bool {
    let mut uncounted = advisory.uncounted.iter();
    uncounted.any(|one| one.reason == UNPRICED)
}

/// What merging would save altogether, in a sentence or two. Where there is nothing, it says so.
pub fn answer(advisory: &Advisory) -> String {
    let transfers = advisory.transfers;
    if advisory.findings.iter().all(|one| one.saving_s <= 0.0) {
        if has_unpriced(advisory) {
            return format!(
                "No known saving: of {} calls that move bytes, some could be merged, but what they \
                 cost is not known.",
                grouped(transfers)
            );
        }
        return match (transfers, advisory.uncounted.is_empty()) {
            (0, _) => "Nothing to gain: the log has no call that moves bytes.".to_owned(),
            (1, true) => "Nothing to gain: there is one call that moves bytes.".to_owned(),
            (_, true) if advisory.findings.is_empty() => format!(
                "Nothing to gain: none of {} calls that move bytes could be merged with others.",
                grouped(transfers)
            ),
            (_, true) => format!(
                "Nothing to gain: of {} calls that move bytes, merging those that could be saves \
                 nothing.",
                grouped(transfers)
            ),
            (_, false) => format!(
                "No certain saving: of {} calls that move bytes, some could be merged, but that could \
                 change what the program does.",
                grouped(transfers)
            ),
        };
    }
    let (saving, interval) = span(
        advisory.saving_s,
        advisory.saving_low_s,
        advisory.saving_high_s,
    );
    let wall = advisory.wall_s.filter(|wall| *wall > 0.0);
    let of = wall.map_or_else(String::new, |wall| {
        let saved_share = advisory.saving_s / wall;
        let (said, wall) = (share(saved_share), seconds(wall));
        match advisory.wall_source {
            Some(WallSource::Traced) => {
                format!(", {} of the traced time of {wall}", at_least(saved_share))
            }
            Some(WallSource::Estimated) => format!(
                ", {} of an estimated wall time of {wall}",
                estimated_share(advisory, saved_share)
            ),
            _ => format!(", {said} of the wall time of {wall} (measured without strace)"),
        }
    });
    let is_little = most_share(advisory).is_some_and(|most| most < LITTLE_SHARE);
    let saving_ones: Vec<&Finding> = advisory
        .findings
        .iter()
        .filter(|one| one.saving_s > 0.0)
        .collect();
    let what = what_saves(&saving_ones);
    let begin = if advisory.saving_low_s <= 0.0 {
        format!("No certain saving: {} would save", lower(what))
    } else if is_little {
        format!("Little to gain: {} would save", lower(what))
    } else {
        format!("{what} would save")
    };
    let total = |of: &dyn Fn(&Tally) -> u64| {
        let all = saving_ones.iter().map(|one| of(&one.tally));
        grouped(all.fold(0, u64::saturating_add))
    };
    let (left, calls) = (
        total(&|tally| tally.merged_calls),
        total(&|tally| tally.calls),
    );
    let of_calls = if left == "1" { "call" } else { "calls" };
    format!("{begin} {saving} {interval}{of}: {left} {of_calls} instead of {calls}.")
}

fn what_saves(findings: &[&Finding]) -> &'static str {
    let reads = |kind| matches!(kind, FindingKind::SmallReads | FindingKind::PositionalReads);
    let copies = |one: &&Finding| one.key.kind == FindingKind::TinySegments;
    if findings.iter().any(copies) {
        return "Merging or copying calls";
    }
    match findings.iter().filter(|one| reads(one.key.kind)).count() {
        0 => "Gathering",
        all if all == findings.len() => "Reading more at once",
        _ => "Merging calls",
    }
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

fn extent(advisory: &Advisory) -> String {
    let named = advisory.sources.iter().take(NAMED_SOURCES);
    let mut sources: Vec<String> = named
        .map(|name| shortened(name, SHOWN_CHARACTERS))
        .collect();
    let rest = advisory.sources.len().saturating_sub(NAMED_SOURCES);
    if rest > 0 {
        sources.push(format!("{rest} more"));
    }
    let begin = match sources.is_empty() {
        true => String::new(),
        false => format!("{}: ", sources.join(", ")),
    };
    let end = if advisory.complete {
        ""
    } else {
        " The log was not read to its end."
    };
    let calls = |number, one| {
        let ending = if number == 1 { "" } else { "s" };
        format!("{} {one}{ending}", grouped(number))
    };
    format!(
        "{begin}{}, {} in the log, {} that move {}.{end}",
        match advisory.processes {
            1 => "1 process".to_owned(),
            processes => format!("{} processes", grouped(processes)),
        },
        calls(advisory.calls, "system call"),
        grouped(advisory.transfers),
        about_bytes(advisory.bytes)
    )
}

fn more_in_json(more: usize) -> Option<String> {
    match more {
        0 => None,
        1 => Some("1 more is in the JSON.".to_owned()),
        more => Some(format!("{more} more are in the JSON.")),
    }
}

fn item(advisory: &Advisory, finding: &Finding) -> Item {
    let (saving, interval) = span(
        finding.saving_s,
        finding.saving_low_s,
        finding.saving_high_s,
    );
    let FindingKey { kind, target, .. } = finding.key;
    let runtime = runtime_of(&finding.key, &finding.tally);
    let part = match advisory.saving_s > 0.0 {
        true => (finding.saving_s / advisory.saving_s).clamp(0.0, 1.0),
        false => 0.0,
    };
    Item {
        saving,
        interval,
        share: finding
            .share_of_wall
            .map(|of_wall| match advisory.wall_source {
                Some(WallSource::Estimated) => estimated_share(advisory, of_wall),
                _ => share(of_wall),
            }),
        pattern: shortened(&finding.pattern, SHOWN_PATTERN),
        who: who(&finding.key, &finding.tally),
        site: sites(finding),
        grade: match finding.key.grade {
            // What lies between one of them and the next does not matter.
            Grade::Adjacent | Grade::HarmlessBetween if kind == FindingKind::SeekThenTransfer => {
                "an lseek right before each call"
            }
            Grade::Adjacent => "no other call between them",
            Grade::HarmlessBetween => "between them only calls that cannot observe the data",
            Grade::ReadsAhead => {
                "all bytes were there; a larger buffer reads ahead, so nothing else may read this stream"
            }
            Grade::Crossing => "something between the calls could notice",
            Grade::Unknown => "what lies between the calls is not known",
        },
        action: shortened(&finding.action, SHOWN_SENTENCE),
        remedy: Some((language(runtime), remedy(kind, target, runtime))),
        part,
    }
}

/// `python3 (process 1234), descriptor 3, file /tmp/log`.
fn who(key: &FindingKey, tally: &Tally) -> String {
    let program = match key.program.as_str() {
        "" => "a program".to_owned(),
        name => shortened(name, SHOWN_CHARACTERS),
    };
    let processes = match tally.processes {
        0 | 1 if tally.process == 0 => String::new(),
        0 | 1 => format!(" (process {})", tally.process),
        many => format!(" ({} processes)", grouped(many)),
    };
    let leads = match key.target {
        Leads::File => "file",
        Leads::Pipe => "pipe",
        Leads::Unix => "Unix socket",
        Leads::Tcp => "TCP",
        Leads::Datagram => "datagram socket",
        Leads::Unknown => "unknown kind",
    };
    let path = match &tally.path {
        // strace's names of what has none begin so: `pipe:[4711]`, `TCP:[…]`, `UNIX-STREAM:[…]`.
        Some(path) if path.contains(":[") => shortened(path, SHOWN_CHARACTERS),
        Some(path) => format!("{leads} {}", shortened(path, SHOWN_CHARACTERS)),
        None => match key.target {
            Leads::Tcp => "a TCP socket".to_owned(),
            Leads::Unknown => "of unknown kind".to_owned(),
            _ => format!("a {leads}"),
        },
    };
    let files = (tally.files.len() as u64).saturating_add(tally.more_files);
    let others = match (files, tally.openings) {
        (0, 2..) => format!(" and others, {} in all", grouped(tally.openings)),
        (0 | 1, 0 | 1) => String::new(),
        (1, many) => format!(", {} openings", grouped(many)),
        (2.., _) if tally.files.iter().all(|file| file.path == tally.path) => String::new(),
        (2, _) => " and another one".to_owned(),
        (many, _) => format!(" and {} others", grouped(many - 1)),
    };
    let comma = match (key.target, &tally.path) {
        (Leads::Unknown, None) => "",
        _ => ",",
    };
    format!(
        "{program}{processes}, descriptor {}{comma} {path}{others}",
        tally.descriptor
    )
}

/// Where calls came from, the most calls first.
fn sites(finding: &Finding) -> Option<String> {
    let one = |site: &str| shortened(site, SHOWN_CHARACTERS);
    let all = &finding.tally.sites;
    if all.len() < 2 {
        return finding.key.site.as_deref().map(one);
    }
    let mut named: Vec<String> = all
        .iter()
        .take(NAMED_SITES)
        .map(|site| format!("{} ({})", one(&site.site), calls_in_words(site.calls)))
        .collect();
    if all.len() > NAMED_SITES {
        named.push(format!("{} more", all.len() - NAMED_SITES));
    }
    Some(named.join(", "))
}

/// `1 call`, `5000 calls`.
fn calls_in_words(calls: u64) -> String {
    format!(
        "{} call{}",
        grouped(calls),
        if calls == 1 { "" } else { "s" }
    )
}

/// Those with enough calls to matter.
fn notable(advisory: &Advisory) -> Vec<&DescriptorUse> {
    let least = MIN_CALLS.max(advisory.transfers / 100);
    let uses = advisory.descriptors.iter();
    uses.filter(|one| one.calls >= least)
        .take(SHOWN_USES)
        .collect()
}

fn used(one: &DescriptorUse) -> Used {
    let verb = match (one.operation, one.calls) {
        (Operation::Read, 1) => "read",
        (Operation::Read, _) => "reads",
        (Operation::Write, 1) => "write",
        (Operation::Write, _) => "writes",
    };
    let program = match one.program.as_str() {
        "" => "a program".to_owned(),
        name => shortened(name, SHOWN_CHARACTERS),
    };
    let kind = escape_control(&one.kind);
    let file = match &one.path {
        Some(path) => format!("{kind} {}", shortened(path, SHOWN_CHARACTERS)),
        None => kind,
    };
    let openings = match one.openings {
        0 | 1 => String::new(),
        many => format!(", {} openings", grouped(many)),
    };
    let neither = one
        .calls
        .saturating_sub(one.counted.saturating_add(one.listed));
    let why = match &one.reason {
        Some(reason) => format!(": {}", shortened(reason, SHOWN_SENTENCE)),
        None => String::new(),
    };
    let counted = match (one.counted, one.listed, neither) {
        (_, 0, 0) => "all counted".to_owned(),
        (0, _, 0) => format!("all listed, not counted{why}"),
        (0, 0, _) => format!("none counted{why}"),
        (counted, listed, neither) => {
            let parts = [
                (counted, "counted"),
                (listed, "listed"),
                (neither, "neither"),
            ];
            let parts: Vec<String> = parts
                .into_iter()
                .filter(|(calls, _)| *calls > 0)
                .map(|(calls, word)| format!("{} {word}", grouped(calls)))
                .collect();
            format!("{}{why}", parts.join(", "))
        }
    };
    Used {
        calls: format!("{} {verb}, {}", grouped(one.calls), about_bytes(one.bytes)),
        who: format!("{program}, descriptor {}, {file}{openings}", one.descriptor),
        counted,
    }
}

fn notes(advisory: &Advisory) -> Vec<String> {
    let mut notes = Vec::new();
    for skipped in &advisory.skipped {
        let first = grouped(skipped.first_line);
        let lines = match skipped.lines {
            1 => format!("line {first}"),
            lines => format!("{} lines, the first is {first}", grouped(lines)),
        };
        let file = match &skipped.first_file {
            Some(file) if advisory.sources.len() > 1 => {
                format!(" of '{}'", shortened(file, SHOWN_CHARACTERS))
            }
            _ => String::new(),
        };
        notes.push(format!(
            "Not used: {lines}{file}: {}.",
            shortened(&skipped.reason, SHOWN_SENTENCE)
        ));
    }
    let used = |price: &&Price| {
        let of_price = |one: &Finding| {
            one.key.target == price.target && operation_of(&one.key) == price.operation
        };
        advisory.findings.iter().any(of_price)
    };
    let costs: Vec<String> = advisory.prices.iter().filter(used).map(cost).collect();
    if !costs.is_empty() {
        notes.push(format!(
            "Costs come from this machine ({}), not from strace's times, which are inflated. A \
             call beyond its bytes: {}.",
            machine_of(&advisory.host),
            costs.join("; ")
        ));
    }
    if !advisory.findings.is_empty() {
        notes.push(match advisory.wall_source {
            Some(WallSource::Untraced) => {
                "The wall time is that of a second run of the command, without strace.".to_owned()
            }
            Some(WallSource::Estimated) => {
                let traced = match advisory.traced_wall_s {
                    Some(traced) => format!(" ({} under strace)", seconds(traced)),
                    None => String::new(),
                };
                format!(
                    "The wall time without strace is estimated from CPU time, waits and the number of \
                     calls{traced}. The true time may be three times as long or a third as long, and \
                     longer still if the program waits for a disk. `--twice` measures it by a second run."
                )
            }
            Some(WallSource::Traced) => {
                "The traced time is longer than the program's own: strace delays each call. Shares of \
                 the program's own wall time are larger."
                    .to_owned()
            }
            None => "The log has no times, so there is no share of a wall time.".to_owned(),
        });
        let is_more = |finding: &Finding| finding.share_of_wall.is_some_and(|share| share > 1.0);
        if advisory.findings.iter().any(is_more) {
            notes.push(
                "Over 100 %: processes that run at the same time can save more than the wall time, \
                 and so can a program that was faster than usual when its wall time was taken."
                    .to_owned(),
            );
        }
    }
    let warnings = advisory.host.warnings.iter();
    notes.extend(warnings.map(|warning| format!("Warning: {}.", escape_control(warning))));
    notes
}

/// `312 ns [300, 330] to write to a file`.
fn cost(price: &Price) -> String {
    let (call, interval) = span(
        price.call_ns / 1e9,
        price.call_low_ns / 1e9,
        price.call_high_ns / 1e9,
    );
    let what = match (price.operation, price.target) {
        (Operation::Write, Leads::File) => "to write to a file",
        (Operation::Write, Leads::Pipe) => "to write to a pipe",
        (Operation::Write, Leads::Unix) => "to send to a Unix socket",
        (Operation::Write, Leads::Tcp) => "to send over TCP",
        (_, Leads::Datagram) => "to a datagram socket",
        (_, Leads::Unknown) => "to what is not known",
        (Operation::Read, Leads::File) => "to read from a file",
        (Operation::Read, Leads::Pipe) => "to read from a pipe",
        (Operation::Read, Leads::Unix) => "to receive from a Unix socket",
        (Operation::Read, Leads::Tcp) => "to receive over TCP",
    };
    format!("{call} {interval} {what}")
}
